//! Making room in the window: which messages stay as they are, and how the others are retold. Pure.

use crate::domain::{Block, Entry, Role, Tokens};
use std::fmt::Write as _;

/// Longest piece of a result or of arguments that is told, in letters.
const LONGEST_PIECE: usize = 2_000;

/// How many of the oldest messages can give way so that about `keep` tokens stay: all that fit from the newest on, and
/// never less than the newest message with the calls it answers. A call is not parted from its results, and what was
/// said last stays anyway. `None` when nothing else is left.
#[must_use]
pub fn cut(history: &[Entry], keep: Tokens) -> Option<usize> {
    let mut kept = Tokens(0);
    let mut from = None;
    for (index, entry) in history.iter().enumerate().rev() {
        kept += entry.tokens;
        if from.is_some() && kept > keep {
            break;
        }
        // Results belong to the calls before them.
        if entry.message.role == Role::Assistant || entry.message.is_prompt() {
            from = Some(index);
        }
    }
    let last = history.iter().rposition(|entry| entry.message.is_prompt());
    from.filter(|from| *from > usize::from(last == Some(0)))
}

/// Where what stays could begin: with each prompt and answer behind the first, as long as what was said last stays.
#[must_use]
pub fn cuts(history: &[Entry]) -> Vec<usize> {
    let Some(last) = cut(history, Tokens(0)) else { return Vec::new() };
    let begins = |place: &usize| {
        history.get(*place).is_some_and(|entry| entry.message.role == Role::Assistant || entry.message.is_prompt())
    };
    (1..=last).filter(begins).collect()
}

/// Messages as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retold {
    pub text: String,
    /// So many of the oldest had no room.
    pub dropped: usize,
}

/// Retells `entries` in at most `most` tokens, the newest first to find room. Of a text that would fill much of that, the
/// beginning and the end are told.
#[must_use]
pub fn retell(entries: &[Entry], most: Tokens) -> Retold {
    let longest = usize::try_from(most.0 / 2).unwrap_or(usize::MAX);
    let texts: Vec<String> = entries.iter().map(|entry| one(entry, longest)).collect();
    let mut room = most;
    let fits = |text: &&String| {
        let needed = Tokens::estimate(text).0 + 1;
        let enough = needed <= room.0;
        room.0 = room.0.saturating_sub(needed);
        enough
    };
    let count = texts.iter().rev().take_while(fits).count();
    let dropped = texts.len() - count;
    Retold { text: texts.get(dropped..).unwrap_or_default().join("\n\n"), dropped }
}

/// The end of a text that was retold, in at most `most` tokens, from the beginning of a message on where that leaves enough.
#[must_use]
pub fn newest(text: &str, most: Tokens) -> &str {
    if Tokens::estimate(text) <= most {
        return text;
    }
    let letters = usize::try_from(most.0).unwrap_or(usize::MAX);
    let from = text.char_indices().rev().nth(letters.saturating_sub(1)).map_or(0, |(at, _)| at);
    let end = text.get(from..).unwrap_or_default();
    end.split_once("\n\n[").and_then(|(before, _)| end.get(before.len() + 2..)).unwrap_or(end)
}

/// One message, of whose texts none is told in more than `longest` letters.
fn one(entry: &Entry, longest: usize) -> String {
    let piece = longest.min(LONGEST_PIECE);
    let role = match entry.message.role {
        Role::User if entry.message.is_prompt() => "Person",
        Role::User if entry.message.as_custom().is_some() => "Context",
        Role::User => "Results",
        Role::Assistant => "Assistant",
    };
    let mut text = format!("[{role}]");
    for block in &entry.message.blocks {
        let _never_fails = match block {
            Block::Text { text: said } => write!(text, "\n{}", short(said, longest)),
            Block::ToolCall(call) => write!(text, "\ncalls {} {}", call.tool, short(&call.input.to_string(), piece)),
            Block::ToolResult { output, error, .. } => {
                write!(text, "\n{}{}", if *error { "failed: " } else { "" }, short(output, piece))
            }
            Block::Image { media_type, .. } => write!(text, "\n(an image, {media_type})"),
            Block::Custom(custom) => write!(text, "\n{}", short(&custom.text, longest)),
            Block::Attached(attached) => {
                write!(text, "\n({})\n{}", attached.in_words(), short(&attached.text, longest))
            }
            Block::Thinking { .. } | Block::RedactedThinking { .. } => Ok(()),
        };
    }
    text
}

/// Beginning and end of a text of more than `longest` letters.
fn short(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let half = longest / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n… {} letters …\n{tail}", count - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Message, ToolCall};

    fn entry(message: Message, tokens: u64) -> Entry {
        Entry { tokens: Tokens(tokens), ..Entry::new(message) }
    }

    fn calls(id: &str) -> Message {
        let input = serde_json::json!({"path": "a"});
        let call = ToolCall { call_id: CallId(id.into()), tool: "ls".into(), input };
        Message { role: Role::Assistant, blocks: vec![Block::ToolCall(call)] }
    }

    fn result(id: &str, output: &str) -> Message {
        let block =
            Block::ToolResult { call_id: CallId(id.into()), output: output.into(), error: false, images: Vec::new() };
        Message { role: Role::User, blocks: vec![block] }
    }

    /// A prompt, two rounds of tools, an answer, a prompt; ten tokens each.
    fn history() -> Vec<Entry> {
        [
            Message::user("first"),
            calls("1"),
            result("1", "one"),
            calls("2"),
            result("2", "two"),
            Message::assistant("done"),
            Message::user("second"),
        ]
        .map(|message| entry(message, 10))
        .to_vec()
    }

    #[test]
    fn calls_are_never_parted_from_their_results() {
        let history = history();
        for (keep, expected) in
            [(0, Some(6)), (10, Some(6)), (20, Some(5)), (30, Some(5)), (40, Some(3)), (59, Some(3)), (60, Some(1))]
        {
            assert_eq!(cut(&history, Tokens(keep)), expected, "{keep}");
        }
        assert_eq!(cut(&history, Tokens(70)), None);
        assert_eq!(cuts(&history), [1, 3, 5, 6]);
        assert_eq!(cuts(&history[..1]), [] as [usize; 0]);
        assert_eq!(cut(&[], Tokens(0)), None);
        // The newest round stays even when it is too large by itself.
        assert_eq!(cut(&history[..5], Tokens(0)), Some(3));
        assert_eq!(cut(&history[..1], Tokens(0)), None);
        assert_eq!(cut(&history[..3], Tokens(0)), None, "the prompt stays, so nothing gives way");
    }

    #[test]
    fn what_is_told_is_bounded_and_keeps_the_newest() {
        let all = retell(&history()[..4], Tokens(1_000));
        assert_eq!(
            all.text,
            "[Person]\nfirst\n\n[Assistant]\ncalls ls {\"path\":\"a\"}\n\n[Results]\none\n\n[Assistant]\ncalls ls {\"path\":\"a\"}"
        );
        assert_eq!(all.dropped, 0);
        let some = retell(&history(), Tokens(16));
        assert!(some.dropped > 0 && some.text.ends_with("[Person]\nsecond"), "{some:?}");
        let long = retell(&[entry(result("1", &"é".repeat(9_000)), 1)], Tokens(10_000));
        assert!(long.text.chars().count() < 2_100 && long.text.contains("… 7000 letters …"));
    }

    #[test]
    fn of_a_text_that_is_too_long_the_newest_messages_stay() {
        let text = format!("[Person]\n{}\n\n[Assistant]\nlast words", "é ".repeat(5_000));
        assert_eq!(newest(&text, Tokens(20_000)), text);
        assert_eq!(newest(&text, Tokens(100)), "[Assistant]\nlast words");
        for most in [1, 10, 1_000] {
            assert!(Tokens::estimate(newest(&"字".repeat(9_000), Tokens(most))) <= Tokens(most), "{most}");
        }
    }

    #[test]
    fn a_long_text_is_told_in_short_so_that_something_is_told() {
        for letter in ["a", "é", "字"] {
            let pasted = Message::user(format!("first {} last", letter.repeat(90_000)));
            let answer = Message::assistant(letter.repeat(90_000));
            let retold = retell(&[entry(pasted, 1), entry(answer, 1)], Tokens(10_000));
            assert_eq!(retold.dropped, 0, "{letter}");
            assert!(retold.text.starts_with("[Person]\nfirst ") && retold.text.contains(" last\n\n[Assistant]"));
            assert!(Tokens::estimate(&retold.text) <= Tokens(10_000));
        }
    }
}
