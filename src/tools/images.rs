//! Images in the results of tools.
//!
//! They are kept in the content store; the log names them, and every request reads them from there.

use crate::domain::Image;
use crate::domain::bounds::in_words;
use crate::domain::image::{LARGEST_IMAGE, media_type, too_large};
use crate::ports::ToolListener;
use crate::ports::tools::KeptResults;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;

/// Its longest side, in pixels: what Anthropic's Messages takes (its documentation, "Vision").
const LONGEST_SIDE: usize = 8_000;

/// What keeps them, where the thread keeps anything.
pub type Keeps = Option<Arc<dyn KeptResults>>;

/// Shows the image `name` with the result, and says so for the result's text.
///
/// # Errors
/// Why it is not shown, in a sentence.
pub(super) async fn show(
    name: String,
    bytes: Vec<u8>,
    keeps: &Keeps,
    listener: &dyn ToolListener,
) -> Result<String, String> {
    let refused = |why: &str| format!("{name} is not shown: {why}");
    // What a provider refuses would be refused with every request from here on.
    let media_type = media_type(&bytes).filter(|kind| *kind != "image/gif");
    let media_type = media_type.ok_or_else(|| refused("it is not a PNG, JPEG or WebP image"))?;
    let size =
        imagesize::blob_size(&bytes).map_err(|error| refused(&format!("its beginning cannot be read ({error})")))?;
    if size.width.max(size.height) > LONGEST_SIDE || size.width.min(size.height) == 0 {
        return Err(refused(&format!(
            "it has {} x {} pixels, and models take {LONGEST_SIDE}",
            size.width, size.height
        )));
    }
    let size = bytes.len() as u64;
    if size > LARGEST_IMAGE {
        return Err(refused(&too_large()));
    }
    let words = format!("[{name}: an image, {media_type}, {}]", in_words(bytes.len()));
    let Some(keeps) = keeps.clone() else { return Err(refused("nothing is kept here")) };
    let kept = tokio::task::spawn_blocking(move || keeps.keep(&bytes)).await;
    let hash = kept.unwrap_or_else(|error| Err(error.to_string())).map_err(|why| refused(&why))?;
    let image = Image { name: name.clone(), media_type: media_type.to_owned(), hash, bytes: size };
    listener.shows(image).await.map_err(|why| refused(&why))?;
    Ok(words)
}

/// Shows the images among the blocks of a result's `content`, as MCP and extensions have them, and puts words in their places.
pub async fn shown(content: &mut Value, keeps: &Keeps, listener: &dyn ToolListener) {
    let blocks = content.as_array_mut().into_iter().flatten();
    let images = blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("image"));
    for (number, block) in (1..).zip(images) {
        let name = format!("image {number}");
        let data = block.get("data").and_then(Value::as_str).unwrap_or_default();
        let said = match BASE64_STANDARD.decode(data) {
            Ok(bytes) => show(name, bytes, keeps, listener).await,
            Err(_) => Err(format!("{name} is not shown: its bytes are not in base64")),
        };
        let text = said.unwrap_or_else(|why| format!("[{why}]"));
        *block = json!({"type": "text", "text": text});
    }
}
