//! What a text names behind `@`: images, files, folders and threads.

use super::attachment::{THREAD, ToAttach};
use super::image::is_image_name;

/// What a text names, each once, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Names of images: `@shot.png`.
    pub images: Vec<String>,
    /// Every other name, of which some may be no file at all.
    pub files: Vec<String>,
}

impl Mentions {
    /// What `text` names: `@src/main.rs`, `@thread:chat-1`, or `@"two words.md"` where the name has blanks. A name begins a
    /// word, so what stands in backticks names nothing.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut mentions = Self::default();
        let mut rest = text;
        let mut begins_word = true;
        while let Some(letter) = rest.chars().next() {
            let tail = rest.get(letter.len_utf8()..).unwrap_or_default();
            let found = (begins_word && letter == '@').then(|| name_at(tail)).flatten();
            begins_word = letter.is_whitespace() || letter == '(';
            rest = tail;
            if let Some((name, after)) = found {
                rest = after;
                begins_word = false;
                let list = if is_image_name(name) { &mut mentions.images } else { &mut mentions.files };
                if !list.iter().any(|known| known == name) {
                    list.push(name.to_owned());
                }
            }
        }
        mentions
    }

    /// The files as they are asked for.
    #[must_use]
    pub fn to_attach(&self) -> Vec<ToAttach> {
        self.files.iter().cloned().map(ToAttach::Name).collect()
    }
}

/// The name that begins here and what comes after it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').filter(|(name, _)| !name.is_empty() && !name.contains('\n'));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at_checked(end)?;
    // A name at the end of a sentence is followed by its full stop.
    let name = word.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']);
    (!name.is_empty()).then_some((name, after))
}

/// How something is named in a text.
#[must_use]
pub fn mention(name: &str) -> String {
    if name.contains(char::is_whitespace) { format!("@\"{name}\"") } else { format!("@{name}") }
}

/// Whether a name that no file has was surely meant as one: it ends like the name of a file or folder, has a blank, or is of a
/// thread. `@ada` and `@scope/package` are words.
#[must_use]
pub fn is_surely_a_name(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let ending = last.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    let is_ending = (1..=5).contains(&ending.len()) && ending.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_ending || last.is_empty() || name.contains(char::is_whitespace) || name.starts_with(THREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_files_are_named_by_words() {
        let text = "look at @shot.png, @\"two words.JPG\" and me@home.png.\n@a/b.webp? @notes.md (@src/) @shot.png `@no.rs` @\"open.png";
        let Mentions { images, files } = Mentions::of(text);
        assert_eq!(images, ["shot.png", "two words.JPG", "a/b.webp"]);
        assert_eq!(files, ["notes.md", "src/", "\"open.png"][..2]);
        assert_eq!(Mentions::of("@ @\"\""), Mentions::default());
        for name in ["shot.png", "two words.gif", "é/ü.jpeg"] {
            assert_eq!(Mentions::of(&format!("see {} please", mention(name))).images, [name]);
        }
    }

    #[test]
    fn words_are_told_from_names_of_files() {
        for name in ["main.rs", "src/", "docs/a b", "thread:x", "a/.gitignore.x", "x.json"] {
            assert!(is_surely_a_name(name), "{name}");
        }
        for name in ["ada", "types/node", "Override", "pytest.fixture", "app.route(\"/x\""] {
            assert!(!is_surely_a_name(name), "{name}");
        }
    }
}
