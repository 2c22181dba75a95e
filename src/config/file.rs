//! One settings file laid over the settings so far.

use super::settings::{Given, SETTINGS, Setting, Written};
use super::{Config, Dirs, Source};
use crate::domain::{Problem, Severity, meant, nearest};
use crate::items::regular;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Whose file it is, which decides what it may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    Project,
}

/// More than this, in bytes, are no settings.
const LONGEST: u64 = 1 << 20;

/// After so many broken lines the file is taken for something else, and the rest of it is left alone.
const MOST_BROKEN_LINES: usize = 20;

/// Words people try here that have their place elsewhere, and where that is.
const ELSEWHERE: &[(&str, &str)] = &[
    ("base_url", "set ANTHROPIC_BASE_URL or OPENAI_BASE_URL in the environment"),
    ("api_key", "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use credentials.toml beside the user's config.toml"),
];

pub(super) fn apply(config: &mut Config, path: &Path, owner: Owner, dirs: &Dirs, problems: &mut Vec<Problem>) {
    let bytes = match regular::read(path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return,
        Err(error) => {
            problems.push(Problem {
                file: Some(path.to_owned()),
                line: None,
                severity: Severity::Fatal,
                message: format!("could not be read: {error}"),
                remedy: "make it a file that you may read, or remove it".into(),
            });
            return;
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
            problems.push(Problem {
                file: Some(path.to_owned()),
                line: Some(line),
                severity: Severity::Fatal,
                message: "not UTF-8 text".into(),
                remedy: "save the file as UTF-8".into(),
            });
            return;
        }
    };
    let mut reader = Reader { config, path, owner, dirs, problems: Vec::new() };
    reader.read(&text);
    reader.problems.sort_by_key(|problem| problem.line);
    problems.append(&mut reader.problems);
}

struct Reader<'a> {
    config: &'a mut Config,
    path: &'a Path,
    owner: Owner,
    dirs: &'a Dirs,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Reads what can be read. A line that is no TOML is reported and taken out, and the rest is parsed again: the
    /// parser's own recovery gives up everything behind some slips.
    fn read(&mut self, text: &str) {
        let mut text = text.to_owned();
        for _ in 0..MOST_BROKEN_LINES {
            let error = match DeTable::parse(&text) {
                Ok(table) => return self.entries(&text, table.get_ref()),
                Err(error) => error,
            };
            let Some(broken) = broken_line(&text, error.span().map_or(0, |span| span.start)) else { return };
            let remedy = match error.message() {
                "duplicate key" => "keep one of the two",
                _ => "write name = value, with text in quotes",
            };
            let line = line_at(text.as_bytes(), broken.start);
            let severity = severity_of(text.get(broken.clone()).unwrap_or_default());
            self.report(severity, line, format!("not TOML: {}", error.message()), remedy.into());
            text.replace_range(broken, "");
        }
        let message = format!("more than {MOST_BROKEN_LINES} lines are not TOML, so levain ignores the file");
        self.report(Severity::Fatal, 1, message, "write name = value, with text in quotes".into());
    }

    fn entries(&mut self, text: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let line = line_at(text.as_bytes(), name.span().start);
            let written = text.get(value.span()).and_then(|text| text.lines().next()).unwrap_or_default();
            self.entry(line, name.get_ref(), value.get_ref(), written);
        }
    }

    fn entry(&mut self, line: u32, name: &str, value: &DeValue<'_>, written: &str) {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            let near = nearest(name, SETTINGS.iter().map(|setting| setting.name));
            let severity = near.map_or(Severity::Error, severity_of);
            self.report(severity, line, format!("unknown setting `{name}`"), unknown_remedy(name));
            return;
        };
        if self.owner == Owner::Project && !setting.in_project {
            let remedy = format!("move it to {}", self.dirs.config_file().display());
            self.report(Severity::Error, line, format!("a project cannot set `{name}`"), remedy);
            return;
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let given = Given { written: Written::Toml(value), folder, home: &self.dirs.home };
        let source = Source::File { path: self.path.to_owned(), line };
        if let Err(remedy) = setting.set(self.config, &given, source) {
            self.report(setting.severity(), line, format!("`{name}` cannot be {written}"), remedy);
        }
    }

    fn report(&mut self, severity: Severity, line: u32, message: String, remedy: String) {
        self.problems.push(Problem::at(self.path, line, severity, message, remedy));
    }
}

/// How much a mistake costs in the line of a setting, or in what may have been one.
fn severity_of(line: &str) -> Severity {
    let name = line.split('=').next().unwrap_or_default().trim();
    SETTINGS.iter().find(|setting| setting.name == name).map_or(Severity::Fatal, Setting::severity)
}

fn unknown_remedy(name: &str) -> String {
    let plain = name.to_lowercase();
    if let Some((_, place)) = ELSEWHERE.iter().find(|(word, _)| plain.ends_with(word)) {
        return (*place).to_owned();
    }
    let names = SETTINGS.iter().map(|setting| setting.name);
    meant(name, names)
}

/// The bytes of the line that byte `offset` lies on, without its end; the nearest written one above when that line is
/// blank, as it is when the parser only finds out at the end of the file.
fn broken_line(text: &str, offset: usize) -> Option<Range<usize>> {
    let before = text.get(..offset)?;
    let rest = text.get(offset..)?;
    let end = offset + rest.find('\n').unwrap_or(rest.len());
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    if !text.get(start..end)?.trim().is_empty() {
        return Some(start..end);
    }
    let end = before.trim_end().len();
    let start = text.get(..end)?.rfind('\n').map_or(0, |at| at + 1);
    (start < end).then_some(start..end)
}

/// The line, from 1, on which byte `offset` lies.
fn line_at(text: &[u8], offset: usize) -> u32 {
    let before = text.get(..offset).unwrap_or(text);
    u32::try_from(before.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}
