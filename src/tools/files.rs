//! `read`, `write` and `edit_lines`.

use super::lines::{LineNames, lines_of};
use super::root::{PathError, Place, Root, is_binary};
use super::{Answer, Failed};
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Most lines and bytes of one reading, and letters of one line.
const READ_LINES: usize = 2_000;
const READ_BYTES: usize = 50 << 10;
const LINE_LETTERS: usize = 2_000;

/// Most bytes of a difference that are shown.
const DIFF_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
pub(super) struct Read {
    pub(super) path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Write {
    path: Option<String>,
    content: Option<String>,
    #[serde(default)]
    files: Vec<NewFile>,
}

#[derive(Deserialize)]
struct NewFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
pub(super) struct EditLines {
    path: String,
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    line_id: Option<String>,
    start_line_id: Option<String>,
    end_line_id: Option<String>,
    new_content: String,
}

/// Each line of a file gets a name, which takes a while where there are very many.
const MOST_LINES: usize = 100_000;

fn few_lines(path: &str, text: &str) -> Result<(), Failed> {
    let lines = text.lines().count();
    if lines <= MOST_LINES {
        return Ok(());
    }
    Err(Failed(format!(
        "`{path}` has {lines} lines, more than {MOST_LINES}; search in it, or read or change a part with a command"
    )))
}

/// Reads a part of a file, each line with its number and name.
pub(super) fn read(root: &Root, names: &mut LineNames, arguments: &Read) -> Answer {
    let (path, bytes) = root.read(&arguments.path)?;
    if is_binary(&bytes) {
        return Err(Failed(format!("`{}` is not text ({} bytes)", arguments.path, bytes.len())));
    }
    let text = String::from_utf8_lossy(&bytes);
    few_lines(&arguments.path, &text)?;
    let names = names.of(&path, &text);
    let lines = lines_of(&text);
    let first = arguments.offset.unwrap_or(1).max(1) - 1;
    if first >= lines.len() {
        return Ok(match lines.len() {
            0 => "(the file is empty)".to_owned(),
            all => format!("(the file has {all} lines; there is nothing from line {} on)", first + 1),
        });
    }
    let most = arguments.limit.unwrap_or(READ_LINES).clamp(1, READ_LINES);
    let mut output = String::new();
    let mut next = first;
    for (line, name) in lines.iter().zip(names).skip(first).take(most) {
        let shown: String = line.chars().take(LINE_LETTERS).collect();
        let cut = if shown.len() < line.len() { "… (the line goes on)" } else { "" };
        if output.len() + shown.len() > READ_BYTES && next > first {
            break;
        }
        next += 1;
        // Writing to a text does not fail.
        let _written = writeln!(output, "{next}:{name}│ {shown}{cut}");
    }
    if next < lines.len() {
        let all = lines.len();
        let _written = write!(output, "(lines {} to {next} of {all}; read on with offset {})", first + 1, next + 1);
    }
    if matches!(text, std::borrow::Cow::Owned(_)) {
        output.push_str("(the file is not UTF-8: letters that could not be read are shown as \u{fffd})");
    }
    Ok(output)
}

/// Whether a call with these arguments writes below `.ai`, wherever the paths it names lead. One that cannot be told will
/// fail.
pub(super) fn writes_items(root: &Root, input: &serde_json::Value) -> bool {
    let files = input.get("files").and_then(|files| files.as_array()).into_iter().flatten();
    let paths = files.chain([input]).filter_map(|file| file.get("path").and_then(|path| path.as_str()));
    paths.into_iter().any(|path| root.is_item(path))
}

/// Writes whole files.
pub(super) fn write(root: &Root, names: &mut LineNames, arguments: Write) -> Answer {
    let files = new_files(arguments)?;
    files.iter().try_for_each(|file| few_lines(&file.path, &file.content))?;
    // All paths are looked at before the first file is touched.
    let places: Vec<Place> = files.iter().map(|file| root.writable(&file.path)).collect::<Result<_, _>>()?;
    let mut output = String::new();
    for (file, place) in files.iter().zip(places) {
        let old = place.exists.then(|| root.read(&file.path)).transpose()?.map(|(_, bytes)| bytes);
        root.put(&place.path, file.content.as_bytes())
            .map_err(|error| Failed(format!("`{}` was not written: {error}", file.path)))?;
        names.of(&place.path, &file.content);
        let _written = match old {
            None => writeln!(output, "created {} ({} bytes)", file.path, file.content.len()),
            Some(old) => writeln!(output, "{}", difference(&file.path, &String::from_utf8_lossy(&old), &file.content)),
        };
    }
    Ok(output.trim_end().to_owned())
}

/// A file that a call changes.
pub(super) struct FileChange {
    /// Relative to the project.
    pub(super) path: String,
    /// Nothing where there is no file yet.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Vec<u8>,
}

/// What [`write`] would change in files, up to the first that it could not write.
pub(super) fn writes(root: &Root, arguments: Write) -> Result<Vec<FileChange>, Failed> {
    let change = |file: NewFile| {
        let place = root.writable(&file.path)?;
        let before = place.exists.then(|| root.read(&file.path)).transpose()?.map(|(_, bytes)| bytes);
        Ok::<_, PathError>(FileChange { path: root.told(&place.path), before, after: file.content.into_bytes() })
    };
    Ok(new_files(arguments)?.into_iter().map(change).map_while(Result::ok).collect())
}

/// What [`edit_lines`] would change in files.
pub(super) fn edits(root: &Root, names: &LineNames, arguments: &EditLines) -> Result<Vec<FileChange>, Failed> {
    let (place, old, new) = planned(root, names, arguments)?;
    Ok(vec![FileChange { path: root.told(&place.path), before: Some(old.into_bytes()), after: new.into_bytes() }])
}

/// What [`write`] would change.
pub(super) fn preview_write(root: &Root, arguments: Write) -> Answer {
    let mut output = String::new();
    for file in new_files(arguments)? {
        let place = root.writable(&file.path)?;
        let old = if place.exists { root.read(&file.path)?.1 } else { Vec::new() };
        output.push_str(&difference(&file.path, &String::from_utf8_lossy(&old), &file.content));
    }
    Ok(output)
}

fn new_files(arguments: Write) -> Result<Vec<NewFile>, Failed> {
    let mut files = arguments.files;
    match (arguments.path, arguments.content) {
        (Some(path), Some(content)) => files.insert(0, NewFile { path, content }),
        (None, None) => {}
        (Some(_), None) => return Err(Failed("`content` is missing".to_owned())),
        (None, Some(_)) => return Err(Failed("`path` is missing".to_owned())),
    }
    if files.is_empty() { Err(Failed("give `path` and `content`, or `files`".to_owned())) } else { Ok(files) }
}

/// Replaces lines by their names, all changes or none.
pub(super) fn edit_lines(root: &Root, names: &mut LineNames, arguments: &EditLines) -> Answer {
    let (place, old, new) = planned(root, names, arguments)?;
    root.put(&place.path, new.as_bytes())
        .map_err(|error| Failed(format!("`{}` was not written: {error}", arguments.path)))?;
    let before: HashSet<String> = names.of(&place.path, &old).iter().cloned().collect();
    let after = names.of(&place.path, &new);
    let mut output = difference(&arguments.path, &old, &new);
    output.push_str("The new lines:\n");
    for (number, (line, name)) in (1..).zip(lines_of(&new).into_iter().zip(after)) {
        if !before.contains(name) && output.len() < DIFF_BYTES {
            let shown: String = line.chars().take(LINE_LETTERS).collect();
            let _written = writeln!(output, "{number}:{name}│ {shown}");
        }
    }
    Ok(output)
}

/// What [`edit_lines`] would change.
pub(super) fn preview_edit(root: &Root, names: &LineNames, arguments: &EditLines) -> Answer {
    let (_, old, new) = planned(root, names, arguments)?;
    Ok(difference(&arguments.path, &old, &new))
}

/// The file's text before and after the changes.
fn planned(root: &Root, names: &LineNames, arguments: &EditLines) -> Result<(Place, String, String), Failed> {
    let place = root.writable(&arguments.path)?;
    let (path, bytes) = root.read(&arguments.path)?;
    let old = String::from_utf8(bytes)
        .map_err(|_bytes| Failed(format!("`{}` is not UTF-8 text, so its lines cannot be edited", arguments.path)))?;
    let Some(names) = names.known(&path, &old) else {
        let path = &arguments.path;
        return Err(Failed(format!(
            "`{path}` changed since it was read, or was never read; read it, then use the line ids shown"
        )));
    };
    let new = changed(&old, names, &arguments.changes)?;
    Ok((place, old, new))
}

/// `text` with the changes made. Lines end as the others of the file do.
fn changed(text: &str, names: &[String], changes: &[Change]) -> Result<String, Failed> {
    let find = |id: &str| {
        // What stands before a colon is the number that is shown beside it.
        let id = id.rsplit(':').next().unwrap_or(id).trim_end_matches('│').trim();
        names.iter().position(|name| name == id).ok_or_else(|| {
            Failed(format!(
                "there is no line `{id}` in the file as it is now: it was changed or removed. Read it again"
            ))
        })
    };
    let mut spans = Vec::with_capacity(changes.len());
    for change in changes {
        let (first, last) = match (&change.line_id, &change.start_line_id, &change.end_line_id) {
            (Some(id), None, None) => (id, id),
            (None, Some(start), Some(end)) => (start, end),
            _ => return Err(Failed("a change names `line_id`, or `start_line_id` and `end_line_id`".to_owned())),
        };
        let (first, last) = (find(first)?, find(last)?);
        if last < first {
            return Err(Failed(
                "a change ends before it begins: exchange `start_line_id` and `end_line_id`".to_owned(),
            ));
        }
        spans.push((first, last, change.new_content.as_str()));
    }
    if spans.is_empty() {
        return Err(Failed("`changes` is empty".to_owned()));
    }
    spans.sort_by_key(|(first, ..)| *first);
    if spans.windows(2).any(|pair| matches!(pair, [(_, end, _), (start, ..)] if start <= end)) {
        return Err(Failed("two changes touch the same line: make them one".to_owned()));
    }
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let whole: Vec<&str> = text.split_inclusive('\n').collect();
    let mut new = String::with_capacity(text.len());
    let mut spans = spans.into_iter().peekable();
    let mut index = 0;
    while let Some(line) = whole.get(index) {
        if let Some((_, last, content)) = spans.next_if(|(first, ..)| *first == index) {
            for line in content.lines() {
                new.push_str(line);
                new.push_str(ending);
            }
            index = last + 1;
        } else {
            new.push_str(line);
            index += 1;
        }
    }
    // A file that did not end with a line end does not get one.
    if !text.ends_with('\n') && new.ends_with(ending) {
        new.truncate(new.len() - ending.len());
    }
    Ok(new)
}

/// How many lines come and go, of the whole difference.
pub(super) fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// The difference as a patch, cut where it gets too long to be read.
pub(super) fn difference(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return format!("{path}: nothing changes\n");
    }
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(old, new);
    let (before, after) = (if old.is_empty() { "/dev/null" } else { path }, path);
    let mut text = diff.unified_diff().context_radius(3).header(before, after).to_string();
    if text.len() > DIFF_BYTES {
        let all = text.len();
        text.truncate(text.floor_char_boundary(DIFF_BYTES));
        let _written = writeln!(text, "\n… {} more bytes of this difference", all - DIFF_BYTES);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Bench {
        folder: tempfile::TempDir,
        root: Root,
        names: LineNames,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::new(folder.path());
            Self { folder, root, names: LineNames::default() }
        }

        fn file(&self, path: &str) -> String {
            fs::read_to_string(self.folder.path().join(path)).unwrap()
        }

        fn read(&mut self, arguments: Value) -> Result<String, String> {
            read(&self.root, &mut self.names, &from_value(arguments).unwrap()).map_err(|failed| failed.0)
        }

        fn write(&mut self, arguments: Value) -> Result<String, String> {
            write(&self.root, &mut self.names, from_value(arguments).unwrap()).map_err(|failed| failed.0)
        }

        fn edit(&mut self, arguments: Value) -> Result<String, String> {
            edit_lines(&self.root, &mut self.names, &from_value(arguments).unwrap()).map_err(|failed| failed.0)
        }

        /// The name shown for line `number` of `path`.
        fn name(&mut self, path: &str, number: usize) -> String {
            let shown = self.read(json!({"path": path, "offset": number, "limit": 1})).unwrap();
            shown.split(['│', ':']).nth(1).unwrap().to_owned()
        }
    }

    #[test]
    fn a_file_of_very_many_lines_is_refused_in_words() {
        let mut bench = Bench::new();
        let many = "\n".repeat(MOST_LINES + 1);
        fs::write(bench.folder.path().join("many"), &many).unwrap();
        let refused = bench.read(json!({"path": "many", "limit": 5})).unwrap_err();
        assert!(refused.contains("100001 lines") && refused.contains("search in it"), "{refused}");
        assert!(bench.write(json!({"path": "other", "content": many})).unwrap_err().contains("100001 lines"));
        assert!(!bench.folder.path().join("other").exists());
    }

    #[test]
    fn what_is_beside_the_project_is_read_where_it_is_named_and_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let skill = home.path().join("skills/cook");
        fs::create_dir_all(skill.join("more")).unwrap();
        for (path, text) in [("skills/cook/SKILL.md", "Boil."), ("skills/cook/more/soup.md", "Soup."), ("secret", "x")]
        {
            fs::write(home.path().join(path), text).unwrap();
        }
        std::os::unix::fs::symlink(home.path().join("secret"), skill.join("leak")).unwrap();
        let mut bench = Bench::new();
        let places = vec![skill.clone()];
        bench.root = Root::new(bench.folder.path()).reading(home.path(), move || places.clone());
        assert!(bench.read(json!({"path": "~/skills/cook/SKILL.md"})).unwrap().contains("Boil."));
        assert!(bench.read(json!({"path": skill.join("more/soup.md")})).unwrap().contains("Soup."));
        for kept in ["~/secret", "~/skills/cook/leak", "~/skills/cook/../../secret"] {
            let refused = bench.read(json!({"path": kept})).unwrap_err();
            assert!(!refused.is_empty(), "{kept}");
        }
        let path = skill.join("SKILL.md");
        assert!(bench.write(json!({"path": path, "content": "Burn."})).unwrap_err().contains("outside"));
        assert_eq!(fs::read_to_string(path).unwrap(), "Boil.");
    }

    #[test]
    fn a_line_is_named_alike_from_any_offset() {
        let mut bench = Bench::new();
        bench.write(json!({"path": "a", "content": "one\ntwo\nthree\n"})).unwrap();
        let whole = bench.read(json!({"path": "a"})).unwrap();
        let part = bench.read(json!({"path": "a", "offset": 2, "limit": 1})).unwrap();
        assert_eq!(part.lines().next(), whole.lines().nth(1));
        assert!(part.ends_with("(lines 2 to 2 of 3; read on with offset 3)"), "{part}");
        assert!(bench.read(json!({"path": "a", "offset": 9})).unwrap().contains("has 3 lines"));
    }

    #[test]
    fn lines_are_replaced_removed_and_added() {
        let mut bench = Bench::new();
        bench.write(json!({"path": "a", "content": "one\n}\ntwo\n}\nthree"})).unwrap();
        let (first, second, last) = (bench.name("a", 2), bench.name("a", 4), bench.name("a", 5));
        let shown = bench
            .edit(json!({"path": "a", "changes": [
                {"line_id": second, "new_content": "} // end\nmore"},
                {"line_id": format!("5:{last}"), "new_content": ""},
                {"line_id": first, "new_content": "\n"},
            ]}))
            .unwrap();
        assert_eq!(bench.file("a"), "one\n\ntwo\n} // end\nmore");
        assert!(shown.contains("-}\n") && shown.contains("+} // end"), "{shown}");
        // The names in the answer serve for the next edit.
        let more = shown.lines().find(|line| line.ends_with("│ more")).unwrap().split(['│', ':']).nth(1).unwrap();
        bench.edit(json!({"path": "a", "changes": [{"line_id": more, "new_content": "less"}]})).unwrap();
        assert!(bench.file("a").ends_with("\nless"));
    }

    #[test]
    fn an_outdated_name_is_refused_in_words() {
        let mut bench = Bench::new();
        bench.write(json!({"path": "a", "content": "one\ntwo\n"})).unwrap();
        let two = bench.name("a", 2);
        let edit = |id: &str| json!({"path": "a", "changes": [{"line_id": id, "new_content": "x"}]});
        bench.edit(edit(&two)).unwrap();
        let error = bench.edit(edit(&two)).unwrap_err();
        assert!(error.contains("changed or removed"), "{error}");
        let one = bench.name("a", 1);
        fs::write(bench.folder.path().join("a"), "one\nby somebody else\n").unwrap();
        let error = bench.edit(edit(&one)).unwrap_err();
        assert!(error.contains("changed since it was read"), "{error}");
        assert_eq!(bench.file("a"), "one\nby somebody else\n");
        bench.read(json!({"path": "a"})).unwrap();
        bench.edit(edit(&one)).unwrap();
        assert_eq!(bench.file("a"), "x\nby somebody else\n");
    }

    #[test]
    fn line_ends_and_modes_stay() {
        let mut bench = Bench::new();
        let path = bench.folder.path().join("a.sh");
        fs::write(&path, "one\r\ntwo\r\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        let one = bench.name("a.sh", 1);
        bench.edit(json!({"path": "a.sh", "changes": [{"line_id": one, "new_content": "1\n1.5"}]})).unwrap();
        assert_eq!(bench.file("a.sh"), "1\r\n1.5\r\ntwo\r\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn overlapping_changes_change_nothing() {
        let mut bench = Bench::new();
        bench.write(json!({"path": "a", "content": "one\ntwo\nthree\n"})).unwrap();
        let (one, two, three) = (bench.name("a", 1), bench.name("a", 2), bench.name("a", 3));
        let error = bench
            .edit(json!({"path": "a", "changes": [
                {"start_line_id": one, "end_line_id": two, "new_content": "x"},
                {"start_line_id": two, "end_line_id": three, "new_content": "y"},
            ]}))
            .unwrap_err();
        assert!(error.contains("the same line"), "{error}");
        assert_eq!(bench.file("a"), "one\ntwo\nthree\n");
    }

    #[test]
    fn what_is_no_text_is_told() {
        let mut bench = Bench::new();
        fs::write(bench.folder.path().join("image"), b"\x89PNG\0\0").unwrap();
        fs::write(bench.folder.path().join("latin"), b"caf\xe9\n").unwrap();
        assert!(bench.read(json!({"path": "image"})).unwrap_err().contains("not text (6 bytes)"));
        assert!(bench.read(json!({"path": "latin"})).unwrap().contains("not UTF-8"));
        let name = bench.name("latin", 1);
        let edit = json!({"path": "latin", "changes": [{"line_id": name, "new_content": "x"}]});
        assert!(bench.edit(edit).unwrap_err().contains("not UTF-8"));
    }

    #[test]
    fn a_long_file_says_how_to_read_on() {
        let mut bench = Bench::new();
        let content = format!("{}\n", "x".repeat(3_000)).repeat(40);
        bench.write(json!({"path": "long", "content": content})).unwrap();
        let shown = bench.read(json!({"path": "long"})).unwrap();
        assert!(shown.len() < READ_BYTES + 4_000 && shown.contains("(the line goes on)"));
        assert!(shown.ends_with("of 40; read on with offset 26)"), "{}", shown.lines().last().unwrap());
    }

    #[test]
    fn several_files_are_written_or_none() {
        let mut bench = Bench::new();
        let files = json!({"files": [{"path": "new/a", "content": "1"}, {"path": "../b", "content": "2"}]});
        assert!(bench.write(files).unwrap_err().contains("outside the project"));
        assert!(!bench.folder.path().join("new").exists());
        let files = json!({"files": [{"path": "new/a", "content": "1\n"}, {"path": "b", "content": "2\n"}]});
        assert_eq!(bench.write(files).unwrap(), "created new/a (2 bytes)\ncreated b (2 bytes)");
        let shown = bench.write(json!({"path": "b", "content": "3\n"})).unwrap();
        assert!(shown.contains("-2\n+3"), "{shown}");
        assert!(bench.write(json!({})).unwrap_err().contains("give `path`"));
    }
}
