//! Taking an image into the content store.

use super::content::ContentStore;
use crate::domain::Image;
use crate::domain::image::{LARGEST_IMAGE, checked};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reads the file `name`, looks that it is an image and keeps it. Any file that the person can read will do: it was
/// they who named it.
///
/// # Errors
/// Why it was not taken in, for the person.
pub fn take_in(project: &Path, content: &mut ContentStore, name: String) -> Result<Image, String> {
    let told = name.clone();
    let failed = |error: &dyn std::fmt::Display| format!("the image `{told}` was not attached: {error}");
    let path = path(project, &name);
    // A pipe without another end would hold us up.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(&path).map_err(|error| failed(&error))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(failed(&"it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_IMAGE + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    keep(content, name, bytes).map_err(|why| failed(&why))
}

/// Keeps an image, if these bytes are one.
///
/// # Errors
/// Why it was not taken in.
pub fn keep(content: &mut ContentStore, name: String, bytes: Vec<u8>) -> Result<Image, String> {
    let image = checked(name, &bytes)?;
    content.keep(&image.hash, || bytes).and_then(|()| content.sync()).map_err(|error| error.to_string())?;
    Ok(image)
}

fn path(project: &Path, name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => project.join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_kept_and_others_are_refused_with_their_name() {
        let project = tempfile::tempdir().unwrap();
        let mut content = ContentStore::new(crate::ports::Beneath::new(project.path(), "objects"));
        let png = b"\x89PNG\r\n\x1a\nrest";
        std::fs::write(project.path().join("a.png"), png).unwrap();
        let image = take_in(project.path(), &mut content, "a.png".into()).unwrap();
        assert_eq!((image.media_type.as_str(), image.bytes), ("image/png", png.len() as u64));
        assert_eq!(content.image(&image.hash).unwrap(), Some(png.to_vec()));
        std::fs::write(project.path().join("b.png"), "<svg>").unwrap();
        std::fs::write(project.path().join("c.png"), vec![0x89; (5 << 20) + 1]).unwrap();
        std::fs::create_dir(project.path().join("d.png")).unwrap();
        let mut refused = |name: &str| take_in(project.path(), &mut content, name.into()).unwrap_err();
        assert_eq!(refused("b.png"), "the image `b.png` was not attached: it is not a PNG, JPEG, GIF or WebP image");
        assert!(refused("c.png").ends_with("it is larger than 3.7 MB, the most that providers take"));
        assert!(refused("d.png").ends_with("it is not a file"));
        assert!(refused("e.png").contains("No such file"));
    }
}
