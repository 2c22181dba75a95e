//! Which key runs which command, from [`DEFAULT_KEYS`] and the person's own file laid over them.

use super::default_keys::DEFAULT_KEYS;
use super::key::Key;
use super::table::{CommandId, Context, TABLE};
use crate::domain::{Problem, Severity, nearest};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The word that takes a key away.
const NOTHING: &str = "none";

/// One key in one context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub key: Key,
    pub command: CommandId,
    pub context: Context,
}

/// All keys.
#[derive(Clone, Debug, Default)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Keymap {
    /// The default keys.
    #[must_use]
    pub fn embedded() -> Self {
        let bindings = DEFAULT_KEYS.iter().flat_map(|&(context, command, keys)| {
            keys.split(' ').filter_map(move |key| Some(Binding { key: key.parse().ok()?, command, context }))
        });
        Self { bindings: bindings.collect() }
    }

    /// The default keys with those of `text` laid over them. A mistake costs the entry it stands in, nothing else.
    #[must_use]
    pub fn with_user(text: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut keymap = Self::embedded();
        let problems = keymap.lay_over(text, file);
        (keymap, problems)
    }

    /// What `key` does where `contexts` hold, the most particular first.
    #[must_use]
    pub fn command(&self, key: Key, contexts: &[Context]) -> Option<CommandId> {
        let key = key.normal();
        contexts.iter().find_map(|context| {
            let found = self.bindings.iter().find(|binding| binding.context == *context && binding.key == key);
            found.map(|binding| binding.command)
        })
    }

    /// The first key that runs `command` where `contexts` hold.
    #[must_use]
    pub fn key_for(&self, command: CommandId, contexts: &[Context]) -> Option<Key> {
        self.bindings
            .iter()
            .filter(|binding| binding.command == command && contexts.contains(&binding.context))
            .map(|binding| binding.key)
            .find(|key| self.command(*key, contexts) == Some(command))
    }

    /// All keys of one context in the order of the file.
    pub fn in_context(&self, context: Context) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(move |binding| binding.context == context)
    }

    /// All keys as a person's own file, with what each command does, the keys that were taken away, and the commands
    /// that have none.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = "bind = [\n".to_owned();
        for context in Context::ALL {
            let mut commands: Vec<CommandId> = Vec::new();
            for binding in self.in_context(context) {
                if !commands.contains(&binding.command) {
                    commands.push(binding.command);
                }
            }
            if !commands.is_empty() {
                let _ = writeln!(text, "  # {}", context.title());
            }
            for command in commands {
                let keys = self.in_context(context).filter(|binding| binding.command == command);
                let keys: Vec<String> = keys.map(|binding| quoted(&binding.key.to_string())).collect();
                let (row, word) = (command.row(), context.word());
                let _ = writeln!(
                    text,
                    "  {{ keys = [{}], command = \"{}\", context = \"{word}\" }}, # {}",
                    keys.join(", "),
                    row.name,
                    row.help
                );
            }
        }
        let free = Self::embedded().bindings.into_iter().filter(|binding| {
            !self.bindings.iter().any(|own| (own.key, own.context) == (binding.key, binding.context))
        });
        for Binding { key, context, .. } in free {
            let (key, word) = (quoted(&key.to_string()), context.word());
            let _ = writeln!(text, "  {{ keys = [{key}], command = \"{NOTHING}\", context = \"{word}\" }},");
        }
        let unbound = TABLE.iter().filter(|row| !self.bindings.iter().any(|binding| binding.command == row.id));
        text.push_str("  # Without a key\n");
        for row in unbound {
            let _ = writeln!(text, "  # {{ keys = \"…\", command = \"{}\" }}, # {}", row.name, row.help);
        }
        text.push_str("]\n");
        text
    }

    fn lay_over(&mut self, text: &str, file: &Path) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut report = |fault: Fault| problems.push(fault.in_file(text, file));
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            report(Fault::new(error.span().unwrap_or_default(), error.message(), "fix that line"));
        }
        for (name, value) in table.get_ref() {
            if name.get_ref() != "bind" {
                let message = format!("`{}` is unknown here", name.get_ref());
                report(Fault::new(name.span(), message, "keys stand in the list `bind`"));
                continue;
            }
            let Some(entries) = value.get_ref().as_array() else {
                report(Fault::new(value.span(), "`bind` must be a list", format!("write bind = [ {ENTRY} ]")));
                continue;
            };
            for entry in entries {
                match read_entry(entry) {
                    Ok(entry) => self.bind(entry),
                    Err(fault) => report(fault),
                }
            }
        }
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    fn bind(&mut self, entry: Entry) {
        for key in entry.keys {
            self.bindings.retain(|binding| binding.key != key || binding.context != entry.context);
            if let Some(command) = entry.command {
                self.bindings.push(Binding { key, command, context: entry.context });
            }
        }
    }
}

/// As an entry is written.
const ENTRY: &str = "{ keys = …, command = …, context = … }";

/// A text in a TOML file.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Where something is wrong, what, and what to do about it.
struct Fault {
    span: Range<usize>,
    message: String,
    remedy: String,
}

impl Fault {
    fn new(span: Range<usize>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { span, message: message.into(), remedy: remedy.into() }
    }

    fn in_file(self, text: &str, file: &Path) -> Problem {
        Problem::at(file, line_of(text, self.span.start), Severity::Error, self.message, self.remedy)
    }
}

/// The line that a byte of `text` lies on, counting from 1.
#[must_use]
pub fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at.min(text.len())).unwrap_or_default();
    u32::try_from(before.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

struct Entry {
    keys: Vec<Key>,
    command: Option<CommandId>,
    context: Context,
}

fn read_entry(entry: &Spanned<DeValue<'_>>) -> Result<Entry, Fault> {
    let whole = |message: &str| Fault::new(entry.span(), message, format!("write {ENTRY}"));
    let Some(table) = entry.get_ref().as_table() else { return Err(whole("that is no entry")) };
    for (name, _) in table {
        if !["keys", "command", "context"].contains(&name.get_ref().as_ref()) {
            let message = format!("`{}` is unknown here", name.get_ref());
            return Err(Fault::new(name.span(), message, "use keys, command, context"));
        }
    }
    let word = |name: &str| -> Result<(&str, Range<usize>), Fault> {
        let value = table.get(name).ok_or_else(|| whole(&format!("`{name}` is missing")))?;
        let text = value.get_ref().as_str();
        let fault = || Fault::new(value.span(), format!("`{name}` must be a text"), format!("write {name} = \"…\""));
        Ok((text.ok_or_else(fault)?, value.span()))
    };
    let (command, command_span) = word("command")?;
    let command = if command == NOTHING {
        None
    } else {
        Some(CommandId::from_name(command).ok_or_else(|| {
            let near = nearest(command, TABLE.iter().map(|row| row.name));
            let remedy =
                near.map_or_else(|| "levain keymap lists all".to_owned(), |near| format!("did you mean `{near}`?"));
            Fault::new(command_span, format!("there is no command `{command}`"), remedy)
        })?)
    };
    let context = if table.contains_key("context") {
        let (context, span) = word("context")?;
        Context::from_word(context).ok_or_else(|| {
            let all: Vec<_> = Context::ALL.iter().map(|context| context.word()).collect();
            Fault::new(span, format!("there is no context `{context}`"), format!("use one of {}", all.join(", ")))
        })?
    } else {
        Context::Composer
    };
    let keys = table.get("keys").ok_or_else(|| whole("`keys` is missing"))?;
    let parse = |value: &Spanned<DeValue<'_>>| {
        let text = value.get_ref().as_str();
        let text = text.ok_or_else(|| Fault::new(value.span(), "a key is a text", "write for example \"ctrl-p\""))?;
        text.parse::<Key>().map_err(|bad| {
            let said = bad.to_string();
            let (message, remedy) = said.split_once("; ").unwrap_or((&said, "write for example ctrl-p"));
            Fault::new(value.span(), message, remedy)
        })
    };
    let keys = match keys.get_ref().as_array() {
        Some(list) => list.iter().map(parse).collect::<Result<_, _>>()?,
        None => vec![parse(keys)?],
    };
    Ok(Entry { keys, command, context })
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyCode;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_keys_are_all_known_and_none_stands_twice() {
        let bindings = Keymap::embedded().bindings;
        assert_eq!(bindings.len(), DEFAULT_KEYS.iter().flat_map(|(_, _, keys)| keys.split(' ')).count());
        for (at, binding) in bindings.iter().enumerate() {
            let same = |other: &&Binding| (other.key, other.context) == (binding.key, binding.context);
            assert_eq!(bindings.iter().skip(at + 1).find(same), None, "{}", binding.key);
        }
    }

    #[test]
    fn the_most_particular_context_wins() {
        let keymap = Keymap::embedded();
        let key = Key { alt: true, ..Key::plain(KeyCode::Enter) };
        assert_eq!(keymap.command(key, &[Context::Composer, Context::Text]), Some(CommandId::EditNewline));
        assert_eq!(
            keymap.command(key, &[Context::Working, Context::Composer, Context::Text]),
            Some(CommandId::PromptFollowUp)
        );
    }

    #[test]
    fn a_hint_names_a_key_that_works() {
        let keymap = Keymap::embedded();
        let contexts = [Context::Working, Context::Composer, Context::Text];
        let newline = keymap.key_for(CommandId::EditNewline, &contexts).unwrap();
        assert_eq!(newline.to_string(), "shift-enter");
        assert_eq!(keymap.key_for(CommandId::ListUp, &contexts), None);
    }

    #[test]
    fn a_bad_entry_costs_only_itself() {
        let text = r#"
bind = [
  { keys = "ctrl-s", command = "prompt.sned", context = "composer" },
  { keys = "ctrl-s", command = "prompt.send", context = "composer" },
  { keys = "hyper-s", command = "prompt.send" },
  { keys = "ctrl-t", command = "none", context = "composer" },
  { keys = "ctrl-q", command = "app.quit", context = "nowhere" },
  { keys = 3, command = "app.quit" },
]
colour = "red"
"#;
        let (keymap, problems) = Keymap::with_user(text, Path::new("mine.toml"));
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "mine.toml:3: there is no command `prompt.sned`; did you mean `prompt.send`?",
                "mine.toml:5: `hyper-s` is no key; write for example ctrl-p, alt-enter, F1 or ?",
                "mine.toml:7: there is no context `nowhere`; use one of composer, text, empty, working, scrolled, approval, answering, waiting, anywhere, reading, search, completion, form, picker, list, threads, items, layers, preview, sheet, changes, queue, conversation, steps, pager",
                "mine.toml:8: a key is a text; write for example \"ctrl-p\"",
                "mine.toml:10: `colour` is unknown here; keys stand in the list `bind`",
            ]
        );
        assert_eq!(keymap.command(Key::ctrl('s'), &[Context::Composer]), Some(CommandId::PromptSend));
        assert_eq!(keymap.command(Key::ctrl('t'), &[Context::Composer]), None);
    }

    #[test]
    fn what_is_listed_can_be_taken_for_a_file() {
        let own = "bind = [{ keys = [\"F9\", \"\\\\\"], command = \"app.redraw\" }, { keys = \"enter\", command = \"none\" }]";
        let (keymap, problems) = Keymap::with_user(own, Path::new("mine.toml"));
        assert_eq!(problems, []);
        let text = keymap.to_toml();
        let (again, problems) = Keymap::with_user(&text, Path::new("listed.toml"));
        assert_eq!(problems, []);
        assert_eq!(again.bindings.len(), keymap.bindings.len());
        assert!(keymap.bindings.iter().all(|binding| again.bindings.contains(binding)));
        assert!(TABLE.iter().all(|row| text.contains(&format!("command = \"{}\"", row.name))), "{text}");
    }

    #[test]
    fn a_line_that_is_no_toml_is_named() {
        let (keymap, problems) = Keymap::with_user(
            "bind = [\n  { keys = \"F9\", command = \"app.quit\" },\n  { keys = },\n]\n",
            Path::new("mine.toml"),
        );
        assert_eq!(problems.first().and_then(|problem| problem.line), Some(3), "{problems:?}");
        let key = Key::plain(KeyCode::F(9));
        assert_eq!(keymap.command(key, &[Context::Composer, Context::Text]), Some(CommandId::AppQuit));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[a-z\\[\\]{}=\",. \n-]{0,80}") {
            drop(Keymap::with_user(&text, Path::new("x")));
        }
    }
}
