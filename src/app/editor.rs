//! The person's own editor.

use crate::session::secrets;
use crate::workbench::Source;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Lets the person edit `text` in their editor.
pub(super) async fn edit(text: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("the draft could not be edited: {error}");
    let file = copy(text).map_err(failed)?;
    start(file.path(), None).await.map_err(|error| format!("{error}; the draft is unchanged"))?;
    std::fs::read_to_string(file.path()).map_err(failed)
}

/// Shows `text` in the person's editor, in a file that cannot be written: what were changed there would be lost.
pub(super) async fn show(text: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("the text could not be shown: {error}");
    let file = copy(text).map_err(failed)?;
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o400)).map_err(failed)?;
    start(file.path(), None).await
}

/// Opens a file in the person's editor, at its line where the editor can, and waits until it is closed.
pub(super) async fn open(source: &Source) -> Result<(), String> {
    start(&source.file, source.line).await
}

fn copy(text: &str) -> io::Result<tempfile::NamedTempFile> {
    let file = tempfile::Builder::new().prefix("levain-").suffix(".md").tempfile()?;
    std::fs::write(file.path(), text)?;
    Ok(file)
}

async fn start(path: &Path, line: Option<u32>) -> Result<(), String> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()));
    let editor = named.unwrap_or_else(|| "vi".to_owned());
    // People write `code --wait` there: the shell takes it apart.
    let status = tokio::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg("sh")
        .args(arguments(&editor, path, line))
        // Their editor finds everything that they have.
        .env_clear()
        .envs(secrets::all())
        .status()
        .await
        .map_err(|error| format!("the editor could not be started: {error}"))?;
    if !status.success() {
        return Err(format!("{editor} ended with {status}; set EDITOR to another editor"));
    }
    Ok(())
}

/// How an editor is told a file and a line of it. One that nobody knows gets the file alone.
fn arguments(editor: &str, path: &Path, line: Option<u32>) -> Vec<OsString> {
    let (Some(file), Some(line)) = (path.to_str(), line) else { return vec![path.into()] };
    let program = editor.split_whitespace().next().unwrap_or_default();
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let told = match name.as_str() {
        "vi" | "vim" | "nvim" | "view" | "gvim" | "nano" | "pico" | "emacs" | "emacsclient" | "kak" | "micro"
        | "joe" | "jed" | "mg" | "ne" | "nvi" | "gedit" => vec![format!("+{line}"), file.to_owned()],
        "hx" | "helix" | "zed" | "subl" => vec![format!("{file}:{line}")],
        "code" | "codium" | "cursor" | "windsurf" => vec!["-g".to_owned(), format!("{file}:{line}")],
        "kate" | "idea" => vec!["--line".to_owned(), line.to_string(), file.to_owned()],
        _ => vec![file.to_owned()],
    };
    told.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn every_editor_is_told_the_line_in_its_own_way() {
        let told = |editor: &str| {
            arguments(editor, Path::new("/p/a b.md"), Some(12)).join(OsStr::new(" ")).into_string().unwrap()
        };
        for editor in ["vi", "/usr/bin/vim -p", "nvim", "nano -w", "emacs -nw", "emacsclient"] {
            assert_eq!(told(editor), "+12 /p/a b.md", "{editor}");
        }
        assert_eq!(told("hx"), "/p/a b.md:12");
        assert_eq!(told("code --wait"), "-g /p/a b.md:12");
        assert_eq!(told("kate"), "--line 12 /p/a b.md");
        assert_eq!(told("cat"), "/p/a b.md");
        assert_eq!(arguments("vi", Path::new("/p/a"), None), ["/p/a"]);
    }
}
