//! Reading back results that were cut, page by page.

use super::{Answer, Failed};
use crate::ports::KeptResults;
use serde::Deserialize;

/// As many bytes of a text are told at once: less than any result is cut to.
const PAGE: usize = 15_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    result: String,
    #[serde(default)]
    offset: usize,
}

/// A page of the result that `result` names, and where the next begins.
pub(super) fn read(kept: Option<&dyn KeptResults>, Arguments { result, offset }: &Arguments) -> Answer {
    let kept = kept.ok_or_else(|| Failed("No results are kept here.".to_owned()))?;
    let text = kept.result(result.trim()).map_err(|why| Failed(format!("It could not be read: {why}.")))?;
    let text =
        text.ok_or_else(|| Failed(format!("There is no result `{result}`: take the name that the cut result says.")))?;
    let from = text.floor_char_boundary(*offset);
    let to = text.floor_char_boundary(from.saturating_add(PAGE));
    let page = text.get(from..to).unwrap_or_default();
    let next = if to < text.len() { format!("; go on with offset {to}") } else { String::new() };
    Ok(format!("{page}\n[bytes {from} to {to} of {}{next}]", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct One(String);

    impl KeptResults for One {
        fn keep(&self, _bytes: &[u8]) -> Result<crate::domain::ContentHash, String> {
            Err("this one only reads".to_owned())
        }

        fn result(&self, prefix: &str) -> Result<Option<String>, String> {
            Ok((prefix == "ab").then(|| self.0.clone()))
        }
    }

    #[test]
    fn a_result_is_read_in_pages_that_leave_nothing_out() {
        let whole = "größe 🦀\n".repeat(3_000);
        let kept = One(whole.clone());
        let (mut offset, mut read_so_far) = (0, String::new());
        loop {
            let answer = read(Some(&kept), &Arguments { result: " ab ".into(), offset }).unwrap();
            let (page, note) = answer.rsplit_once("\n[").unwrap();
            read_so_far.push_str(page);
            let Some((_, next)) = note.trim_end_matches(']').split_once("offset ") else { break };
            offset = next.parse().unwrap();
        }
        assert_eq!(read_so_far, whole);
        let end = read(Some(&kept), &Arguments { result: "ab".into(), offset: 1 << 30 }).unwrap();
        assert!(end.contains(&format!("of {}]", whole.len())), "{end}");
        assert!(read(Some(&kept), &Arguments { result: "cd".into(), offset: 0 }).is_err());
    }
}
