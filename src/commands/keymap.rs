//! Which key runs which command, from `assets/keymap.toml` and the person's own file laid over it.

use super::key::Key;
use super::table::{CommandId, Context, TABLE};
use crate::domain::nearest;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const DEFAULT: &str = include_str!("../../assets/keymap.toml");

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

/// Something wrong in a file that a person wrote. It costs the entry it stands in, nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// Counts from 1.
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.text)
    }
}

impl Keymap {
    /// The default keys.
    #[must_use]
    pub fn embedded() -> Self {
        let mut keymap = Self::default();
        let problems = keymap.lay_over(DEFAULT, "assets/keymap.toml");
        debug_assert!(problems.is_empty(), "{problems:?}");
        keymap
    }

    /// The default keys with those of `text` laid over them.
    #[must_use]
    pub fn with_user(text: &str, file: &str) -> (Self, Vec<Problem>) {
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

    fn lay_over(&mut self, text: &str, file: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        let line = |span: Range<usize>| {
            let before = text.as_bytes().get(..span.start.min(text.len())).unwrap_or_default();
            before.split(|byte| *byte == b'\n').count()
        };
        let mut report =
            |span: Range<usize>, text: String| problems.push(Problem { file: file.to_owned(), line: line(span), text });
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            report(error.span().unwrap_or_default(), error.message().to_owned());
        }
        for (name, value) in table.get_ref() {
            if name.get_ref() != "bind" {
                report(name.span(), format!("`{}` is unknown here; keys stand in the list `bind`", name.get_ref()));
                continue;
            }
            let Some(entries) = value.get_ref().as_array() else {
                report(value.span(), "`bind` must be a list".to_owned());
                continue;
            };
            for entry in entries {
                match read_entry(entry) {
                    Ok(entry) => self.bind(entry),
                    Err((span, text)) => report(span, text),
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

/// Where something is wrong, and what.
type Fault = (Range<usize>, String);

struct Entry {
    keys: Vec<Key>,
    command: Option<CommandId>,
    context: Context,
}

fn read_entry(entry: &Spanned<DeValue<'_>>) -> Result<Entry, Fault> {
    let Some(table) = entry.get_ref().as_table() else {
        return Err((entry.span(), "an entry is { keys = …, command = …, context = … }".to_owned()));
    };
    for (name, _) in table {
        if !["keys", "command", "context"].contains(&name.get_ref().as_ref()) {
            return Err((name.span(), format!("`{}` is unknown here; use keys, command, context", name.get_ref())));
        }
    }
    let word = |name: &str| -> Result<(&str, Range<usize>), Fault> {
        let value = table.get(name).ok_or_else(|| (entry.span(), format!("`{name}` is missing")))?;
        let text = value.get_ref().as_str();
        Ok((text.ok_or_else(|| (value.span(), format!("`{name}` must be a text")))?, value.span()))
    };
    let (command, command_span) = word("command")?;
    let command = if command == NOTHING {
        None
    } else {
        Some(CommandId::from_name(command).ok_or_else(|| {
            let near = nearest(command, TABLE.iter().map(|row| row.name));
            let near = near.map(|name| format!("; near is `{name}`")).unwrap_or_default();
            (command_span, format!("there is no command `{command}`{near}"))
        })?)
    };
    let context = if table.contains_key("context") {
        let (context, span) = word("context")?;
        Context::from_word(context).ok_or_else(|| {
            let all: Vec<_> = Context::ALL.iter().map(|context| context.word()).collect();
            (span, format!("there is no context `{context}`; use one of {}", all.join(", ")))
        })?
    } else {
        Context::Composer
    };
    let keys = table.get("keys").ok_or_else(|| (entry.span(), "`keys` is missing".to_owned()))?;
    let parse = |value: &Spanned<DeValue<'_>>| {
        let text = value.get_ref().as_str().ok_or_else(|| (value.span(), "a key is a text".to_owned()))?;
        text.parse::<Key>().map_err(|bad| (value.span(), bad.to_string()))
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
    fn the_default_keys_are_all_known() {
        let mut keymap = Keymap::default();
        assert_eq!(keymap.lay_over(DEFAULT, "keymap.toml"), []);
        assert!(keymap.bindings.len() > 80);
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
        let (keymap, problems) = Keymap::with_user(text, "mine.toml");
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "mine.toml:3: there is no command `prompt.sned`; near is `prompt.send`",
                "mine.toml:5: `hyper-s` is no key; write for example ctrl-p, alt-enter, F1 or ?",
                "mine.toml:7: there is no context `nowhere`; use one of composer, text, empty, working, scrolled, approval, answering, anywhere, reading, search, completion, form, picker, list, threads, items, layers, preview, sheet, queue, pager",
                "mine.toml:8: a key is a text",
                "mine.toml:10: `colour` is unknown here; keys stand in the list `bind`",
            ]
        );
        assert_eq!(keymap.command(Key::ctrl('s'), &[Context::Composer]), Some(CommandId::PromptSend));
        assert_eq!(keymap.command(Key::ctrl('t'), &[Context::Composer]), None);
    }

    #[test]
    fn a_line_that_is_no_toml_is_named() {
        let (keymap, problems) = Keymap::with_user(
            "bind = [\n  { keys = \"F9\", command = \"app.quit\" },\n  { keys = },\n]\n",
            "mine.toml",
        );
        assert_eq!(problems.first().map(|problem| problem.line), Some(3), "{problems:?}");
        let key = Key::plain(KeyCode::F(9));
        assert_eq!(keymap.command(key, &[Context::Composer, Context::Text]), Some(CommandId::AppQuit));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[a-z\\[\\]{}=\",. \n-]{0,80}") {
            drop(Keymap::with_user(&text, "x"));
        }
    }
}
