//! Reading what a prompt names behind `@`: the text of a file, the names in a folder, the transcript of a thread.
//!
//! Only what lies below the project is read, and no link is followed on the way: the text goes to a model.

use super::layout::Layout;
use super::log;
use crate::domain::attachment::{LARGEST_FILE, LONGEST_TRANSCRIPT, MOST_NAMES, THREAD};
use crate::domain::mention::is_surely_a_name;
use crate::domain::{Attachment, AttachmentKind, Event, PromptEvent, RequestEvent, ThreadId, ToolEvent, nearest};
use crate::ports::beneath::{Beneath, Lies};
use std::fmt::Write as _;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Letters of a call's arguments or result in a transcript.
const LONGEST_PIECE: usize = 1_000;

/// What `name` means; `None` where nothing is called so and it may be a word.
///
/// # Errors
/// Why it does not go along, for the person.
pub fn include(layout: &Layout, name: &str) -> Result<Option<Attachment>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`{name}` was not attached: {why}");
    if let Some(id) = name.strip_prefix(THREAD) {
        return transcript(layout, id).map(Some).map_err(|why| failed(&why));
    }
    let path = match inside(layout.project(), name) {
        Ok(path) => path,
        // `@/` alone, or a package that is called as a path is.
        Err(_) if !is_surely_a_name(name) && !Path::new(name).is_absolute() => return Ok(None),
        Err(why) => return Err(failed(&why)),
    };
    let shown = path.to_str().ok_or_else(|| failed(&"its name is not text"))?.to_owned();
    let found = Beneath::new(layout.project(), &path);
    let lies = if shown.is_empty() { Ok(Some(Lies::Folder)) } else { found.lies() };
    match lies {
        Ok(Some(Lies::File)) => text(&found)
            .map(|text| Some(Attachment::new(AttachmentKind::File, shown, &text)))
            .map_err(|why| failed(&why)),
        Ok(Some(Lies::Folder)) => {
            let name = format!("{shown}/");
            let list = names(&found).map_err(|error| failed(&error))?;
            Ok(Some(Attachment::new(AttachmentKind::Folder, name, &list)))
        }
        Ok(Some(Lies::Else)) => {
            Err(failed(&"it is a link or no regular file, and links are not followed: name the file itself"))
        }
        Ok(None) if is_surely_a_name(name) => {
            Err(failed(&"there is no such file in this project; in backticks it is sent as a word"))
        }
        Ok(None) => Ok(None),
        Err(_) if !is_surely_a_name(name) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// The path from `root` of what is named.
fn inside(root: &Path, name: &str) -> Result<PathBuf, &'static str> {
    const OUTSIDE: &str = "it is outside the project; the tools that a directive grants can read other places";
    let expanded = match (name.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(name),
    };
    let below = if expanded.is_absolute() {
        let real = root.canonicalize().ok();
        let below = expanded.strip_prefix(root).ok();
        let below = below.or_else(|| expanded.strip_prefix(real.as_deref()?).ok());
        below.ok_or(OUTSIDE)?
    } else {
        &expanded
    };
    let mut path = PathBuf::new();
    for part in below.components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(OUTSIDE),
        }
    }
    Ok(path)
}

fn text(file: &Beneath) -> Result<String, String> {
    let bytes = match file.read(LARGEST_FILE) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(format!("it is larger than {} kB; ask for a part of it", LARGEST_FILE >> 10));
        }
        Err(error) => return Err(error.to_string()),
    };
    let is_binary = bytes.contains(&0);
    String::from_utf8(bytes).ok().filter(|_| !is_binary).ok_or_else(|| "it is not text".to_owned())
}

/// The names in a folder, one a line, those of folders with `/` behind them.
fn names(folder: &Beneath) -> io::Result<String> {
    let mut names = folder.entries()?;
    names.sort();
    let mut list = String::new();
    for name in names.iter().take(MOST_NAMES) {
        list.push_str(name);
        if matches!(folder.join(name).lies(), Ok(Some(Lies::Folder))) {
            list.push('/');
        }
        list.push('\n');
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        let _never_fails = writeln!(list, "… {more} more");
    }
    Ok(list)
}

/// What was said, called and answered in a thread, the newest of it where that is long.
fn transcript(layout: &Layout, id: &str) -> Result<Attachment, String> {
    let missing = || {
        let known = layout.threads().entries().unwrap_or_default();
        let near = nearest(id, known.iter().map(String::as_str)).map(|near| format!(" (did you mean `{near}`?)"));
        format!("there is no thread `{id}`{}", near.unwrap_or_default())
    };
    let thread_id: ThreadId = id.parse().map_err(|_no_id| missing())?;
    if !layout.thread(&thread_id).log().exists() {
        return Err(missing());
    }
    let text = transcript_of(layout, &thread_id)?;
    Ok(Attachment::new(AttachmentKind::Thread, thread_id.to_string(), &text))
}

/// What was said, called and answered in the thread `id`, the newest of it where that is long.
///
/// # Errors
/// Why it cannot be read.
pub fn transcript_of(layout: &Layout, id: &ThreadId) -> Result<String, String> {
    if !layout.thread(id).log().exists() {
        return Err(format!("there is no thread `{id}`"));
    }
    let own = layout.log(id).map_err(|error| error.to_string())?;
    let mut said: Vec<String> = Vec::new();
    for page in log::pages(&own) {
        let page = page.map_err(|error| error.to_string())?;
        said.extend(page.into_records().filter_map(|record| told(record.event)));
    }
    let mut left = LONGEST_TRANSCRIPT;
    let fits = |text: &&String| {
        let enough = text.len() < left;
        left = left.saturating_sub(text.len() + 1);
        enough
    };
    let kept = said.iter().rev().take_while(fits).count();
    let out = said.len() - kept;
    let mut text = if out > 0 { format!("[{out} earlier entries are left out]\n\n") } else { String::new() };
    text.push_str(&said.get(out..).unwrap_or_default().join("\n"));
    Ok(text)
}

/// What an event says that belongs to the conversation.
#[expect(clippy::wildcard_enum_match_arm, reason = "everything else is about how the thread was run")]
fn told(event: Event) -> Option<String> {
    match event {
        Event::Prompt(PromptEvent::CognitionIn { text, role, files, .. }) => {
            let mut said = format!("[{role}]\n");
            for file in &files {
                let _never_fails = writeln!(said, "({})", file.in_words());
            }
            let _never_fails = writeln!(said, "{}", cut(text.trim_end(), LONGEST_TRANSCRIPT / 4));
            Some(said)
        }
        Event::Request(RequestEvent::CognitionOut { text, .. }) if !text.trim().is_empty() => {
            Some(format!("[assistant]\n{}\n", cut(text.trim_end(), LONGEST_TRANSCRIPT / 4)))
        }
        Event::Tool(ToolEvent::ToolCallStart { tool, item, input, .. }) => {
            Some(format!("[calls {} {}]\n", item.unwrap_or(tool), cut(&input.to_string(), LONGEST_PIECE)))
        }
        Event::Tool(ToolEvent::ToolCallResult { output, error, .. }) => {
            let (word, text) = error.map_or(("result", output), |error| ("failed", error));
            Some(format!("[{word}]\n{}\n", cut(text.trim_end(), LONGEST_PIECE)))
        }
        _ => None,
    }
}

/// The beginning of a text of more than `longest` bytes.
fn cut(text: &str, longest: usize) -> String {
    match text.get(..text.floor_char_boundary(longest)) {
        Some(beginning) if beginning.len() < text.len() => {
            format!("{beginning}\n… {} more bytes", text.len() - beginning.len())
        }
        Some(_) | None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("src/inner")).unwrap();
        fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
        fs::write(root.join("src/picture"), b"\x89PNG\0").unwrap();
        fs::write(root.join("large.txt"), vec![b'x'; 256 * 1024 + 1]).unwrap();
        fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        symlink(folder.path().join("secret.txt"), root.join("link.txt")).unwrap();
        symlink(folder.path(), root.join("up")).unwrap();
        let layout = Layout::new(&root, &folder.path().join("state"));
        (folder, layout)
    }

    #[test]
    fn a_file_goes_along_with_its_text_and_a_folder_with_its_names() {
        let (_folder, layout) = project();
        let absolute = layout.project().join("src/a.rs").display().to_string();
        for name in ["src/a.rs", "./src/a.rs", "src/../src/a.rs", absolute.as_str()] {
            let file = include(&layout, name).unwrap().unwrap();
            assert_eq!((file.kind, file.name.as_str(), &*file.text), (AttachmentKind::File, "src/a.rs", "fn a() {}\n"));
        }
        for name in ["src", "src/"] {
            let listing = include(&layout, name).unwrap().unwrap();
            let told = (listing.kind, listing.name.as_str(), &*listing.text);
            assert_eq!(told, (AttachmentKind::Folder, "src/", "a.rs\ninner/\npicture\n"));
        }
        assert!(include(&layout, "./").unwrap().unwrap().text.starts_with("large.txt\n"));
    }

    #[test]
    fn what_cannot_go_along_says_why() {
        let (_folder, layout) = project();
        let refused = |name: &str| include(&layout, name).unwrap_err();
        assert_eq!(
            refused("large.txt"),
            "`large.txt` was not attached: it is larger than 256 kB; ask for a part of it"
        );
        assert_eq!(refused("src/picture"), "`src/picture` was not attached: it is not text");
        assert!(
            refused("src/b.rs").ends_with("there is no such file in this project; in backticks it is sent as a word")
        );
        for outside in ["../secret.txt", "/etc/passwd", "src/../../secret.txt"] {
            assert!(refused(outside).contains("it is outside the project"), "{outside}");
        }
        assert!(refused("link.txt").contains("links are not followed"));
        assert!(!refused("up/secret.txt").contains("secret\n"));
        assert_eq!(refused("thread:chat-7"), "`thread:chat-7` was not attached: there is no thread `chat-7`");
        for word in ["ada", "types/node", "Override"] {
            assert_eq!(include(&layout, word), Ok(None), "{word}");
        }
    }
}
