//! A conversation as a tree: what was said in a first thread, and in every thread that goes on with it from some place.
//!
//! A thread is a line of things that were said. One that was forked begins with copies of what was said before its place, so
//! those are drawn once, in the thread where they were said first, and the fork below the last of them.

use super::event::Timestamp;
use super::id::ThreadId;
use std::collections::HashMap;

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaidKind {
    Prompt,
    /// An answer with words.
    Answer,
    /// An answer that only calls tools.
    Calls,
    /// What a call gave.
    Result,
    /// A command of the person's own.
    Shell,
    /// A message of a handler or an extension.
    Message,
    /// What was said in a thread that this one continues, in short.
    Inherited,
    /// What was said in a branch that was left, in short.
    BranchSummary,
}

impl SaidKind {
    /// The word in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Calls => "calls",
            Self::Result => "result",
            Self::Shell => "command",
            Self::Message => "message",
            Self::Inherited => "inherited",
            Self::BranchSummary => "branch_summary",
        }
    }
}

/// One thing that was said: an entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The byte of its thread's log at which its line begins.
    pub at: u64,
    pub when: Timestamp,
    pub kind: SaidKind,
    /// How it begins, in one line.
    pub text: String,
    /// What a person or an extension calls it.
    pub label: Option<String>,
}

impl Said {
    /// Its id within its thread, as extensions and the command line know it.
    #[must_use]
    pub fn id(&self) -> String {
        entry_id(self.at)
    }
}

/// The id of what the line at this byte of a log says.
#[must_use]
pub fn entry_id(at: u64) -> String {
    format!("{at:08x}")
}

/// The byte that an id names; some of what one line says have more behind a `-`.
#[must_use]
pub fn entry_at(id: &str) -> Option<u64> {
    let place = id.split('-').next().unwrap_or_default();
    u64::from_str_radix(place, 16).ok().filter(|_| place.len() >= 8)
}

/// Where a thread goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchedFrom {
    pub thread: ThreadId,
    /// With what its log says before this byte.
    pub until: u64,
    /// Whether it was handed off, so that this one is its end.
    pub handed_off: bool,
}

/// One thread of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub thread: ThreadId,
    pub title: String,
    pub from: Option<BranchedFrom>,
    /// So many of what it says first were said in the thread it goes on from.
    pub copied: usize,
    pub said: Vec<Said>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    branches: Vec<Branch>,
}

/// Which entries are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listed {
    /// Without calls of tools and what they gave, unless they have a label.
    #[default]
    Words,
    /// Prompts alone.
    Prompts,
    /// What has a label.
    Labelled,
    All,
}

impl Listed {
    /// Each with its word on the command line.
    pub const ALL: [(&'static str, Self); 4] =
        [("words", Self::Words), ("prompts", Self::Prompts), ("labelled", Self::Labelled), ("all", Self::All)];

    /// The next one, round and round.
    #[must_use]
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|(_, listed)| *listed == self).unwrap_or(0);
        Self::ALL.get((place + 1) % Self::ALL.len()).map_or(Self::Words, |(_, listed)| *listed)
    }

    fn has(self, said: &Said) -> bool {
        match self {
            Self::All => true,
            Self::Labelled => said.label.is_some(),
            Self::Prompts => said.kind == SaidKind::Prompt,
            Self::Words => said.label.is_some() || !matches!(said.kind, SaidKind::Calls | SaidKind::Result),
        }
    }
}

/// A line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The place of its thread among the branches.
    pub branch: usize,
    /// The place of what was said in that; without one it is where the thread begins.
    pub entry: Option<usize>,
    /// So many branches are around it.
    pub level: usize,
    /// Whether the thread that is asked for has it.
    pub here: bool,
}

/// What a thread says between two bytes of its log; without an end to where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub thread: ThreadId,
    pub from: u64,
    pub until: Option<u64>,
}

impl Conversation {
    /// Of these threads. One whose thread before is not among them says all of what it says itself.
    #[must_use]
    pub fn new(branches: Vec<Branch>) -> Self {
        let mut conversation = Self { branches };
        for branch in 0..conversation.branches.len() {
            let from = conversation.branches.get(branch).and_then(|one| one.from.as_ref());
            if from.is_some_and(|from| !conversation.leads_up(branch, &from.thread))
                && let Some(one) = conversation.branches.get_mut(branch)
            {
                (one.from, one.copied) = (None, 0);
            }
        }
        conversation
    }

    /// Whether a first thread is reached from `branch`, which goes on from `up`: logs from elsewhere may go round in a circle.
    fn leads_up(&self, branch: usize, up: &ThreadId) -> bool {
        let mut up = self.place(up);
        for _ in 0..self.branches.len() {
            match up.and_then(|up| self.branches.get(up)) {
                None => return false,
                Some(Branch { from: None, .. }) => return up != Some(branch),
                Some(Branch { from: Some(from), .. }) => match self.place(&from.thread) {
                    None => return up != Some(branch),
                    next => up = next,
                },
            }
        }
        false
    }

    /// Its threads.
    #[must_use]
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    fn place(&self, thread: &ThreadId) -> Option<usize> {
        self.branches.iter().position(|branch| branch.thread == *thread)
    }

    /// Behind which entry of which branch it was said first: what a branch copied was said further up.
    fn origin(&self, mut branch: usize, count: usize) -> (usize, usize) {
        while let Some(one) = self.branches.get(branch).filter(|one| count <= one.copied)
            && let Some(up) =
                one.from.as_ref().filter(|from| !from.handed_off).and_then(|from| self.place(&from.thread))
        {
            branch = up;
        }
        (branch, count)
    }

    /// The branch that `branch` goes on from, and behind how many of its entries.
    fn attached(&self, branch: usize) -> Option<(usize, usize)> {
        let from = self.branches.get(branch)?.from.as_ref()?;
        let up = self.place(&from.thread)?;
        let said = &self.branches.get(up)?.said;
        if from.handed_off {
            return Some((up, said.len()));
        }
        Some(self.origin(up, said.iter().take_while(|said| said.at < from.until).count()))
    }

    /// Where what the line at byte `at` of `branch` says was said first: in which branch, at which byte of its log.
    #[must_use]
    pub fn said_first(&self, branch: usize, at: u64) -> Option<(usize, u64)> {
        let place = self.branches.get(branch)?.said.iter().position(|said| said.at == at)?;
        let (first, count) = self.origin(branch, place + 1);
        Some((first, self.branches.get(first)?.said.get(count.checked_sub(1)?)?.at))
    }

    /// The thread that `branch` goes on from, and the byte of its log at which the first thing is said that `branch` does without;
    /// none where it has all.
    #[must_use]
    pub fn parts(&self, branch: usize) -> Option<(usize, Option<u64>)> {
        let (up, count) = self.attached(branch)?;
        Some((up, self.branches.get(up)?.said.get(count).map(|said| said.at)))
    }

    /// What the thread says from the beginning on, as branches and entries: its path through the tree. With `count`, only so
    /// many of its own log's.
    fn path(&self, thread: &ThreadId, count: Option<usize>) -> Vec<(usize, usize)> {
        let Some(own) = self.place(thread) else { return Vec::new() };
        let all = self.branches.get(own).map_or(0, |branch| branch.said.len());
        let (mut branch, mut count) = self.origin(own, count.unwrap_or(all));
        let mut path = Vec::new();
        loop {
            let copied = self.branches.get(branch).map_or(0, |one| one.copied);
            path.extend((copied..count).rev().map(|entry| (branch, entry)));
            let Some(up) = self.attached(branch) else { break };
            (branch, count) = up;
        }
        path.reverse();
        path
    }

    /// The tree, for somebody in `thread`.
    #[must_use]
    pub fn rows(&self, thread: &ThreadId, listed: Listed) -> Vec<Row> {
        let mut below: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        let mut roots = Vec::new();
        for branch in 0..self.branches.len() {
            match self.attached(branch) {
                Some(place) => below.entry(place).or_default().push(branch),
                None => roots.push(branch),
            }
        }
        let path: std::collections::HashSet<(usize, usize)> = self.path(thread, None).into_iter().collect();
        let own = self.place(thread);
        let mut rows = Vec::new();
        // What is still to be drawn: a branch from an entry on.
        let mut open: Vec<(usize, usize, usize)> = roots.into_iter().rev().map(|root| (root, 0, 0)).collect();
        let mut begun = vec![false; self.branches.len()];
        while let Some((branch, entry, level)) = open.pop() {
            let Some(one) = self.branches.get(branch) else { continue };
            let first = begun.get_mut(branch).is_some_and(|begun| !std::mem::replace(begun, true));
            let entry = entry.max(one.copied);
            if first && one.from.is_some() {
                rows.push(Row { branch, entry: None, level, here: own == Some(branch) });
            }
            // Those that branch off before the first entry come before it, all others behind theirs.
            let below_here = below.remove(&(branch, entry)).unwrap_or_default();
            if let Some(said) = one.said.get(entry) {
                open.push((branch, entry + 1, level));
                if below_here.is_empty() {
                    if listed.has(said) {
                        rows.push(Row { branch, entry: Some(entry), level, here: path.contains(&(branch, entry)) });
                    }
                    continue;
                }
                open.pop();
                open.push((branch, entry, level));
            }
            for child in below_here.into_iter().rev() {
                let handed_off = self.branches.get(child).is_some_and(Branch::is_handed_off);
                open.push((child, 0, if handed_off { level } else { level + 1 }));
            }
        }
        rows
    }

    /// What somebody in `thread` leaves behind who goes on from the entry at byte `at` of `target`: not with it where it is a
    /// prompt, which is said again.
    #[must_use]
    pub fn left_behind(&self, thread: &ThreadId, target: &ThreadId, at: u64) -> Vec<Span> {
        let said = self.place(target).and_then(|place| self.branches.get(place)).map_or(&[][..], |one| &one.said);
        let before = said.iter().take_while(|said| said.at < at).count();
        let is_prompt = said.get(before).is_some_and(|said| said.kind == SaidKind::Prompt);
        let stays = self.path(target, Some(before + usize::from(!is_prompt)));
        let path = self.path(thread, None);
        let shared = path.iter().zip(&stays).take_while(|(one, other)| one == other).count();
        let mut left: Vec<Span> = Vec::new();
        for (branch, entry) in path.into_iter().skip(shared) {
            let Some(one) = self.branches.get(branch) else { continue };
            let Some(said) = one.said.get(entry) else { continue };
            let until = one.said.get(entry + 1).map(|next| next.at);
            match left.last_mut().filter(|span| span.thread == one.thread) {
                Some(span) => span.until = until,
                None => left.push(Span { thread: one.thread.clone(), from: said.at, until }),
            }
        }
        left
    }
}

impl Branch {
    fn is_handed_off(&self) -> bool {
        self.from.as_ref().is_some_and(|from| from.handed_off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SaidKind::{Answer, Prompt};

    fn id(text: &str) -> ThreadId {
        text.parse().unwrap()
    }

    fn said(entries: &[(u64, SaidKind, &str)]) -> Vec<Said> {
        let one = |(at, kind, text): &(u64, SaidKind, &str)| Said {
            at: *at,
            when: Timestamp(*at),
            kind: *kind,
            text: (*text).to_owned(),
            label: None,
        };
        entries.iter().map(one).collect()
    }

    fn branch(thread: &str, from: Option<(&str, u64)>, copied: usize, entries: &[(u64, SaidKind, &str)]) -> Branch {
        let from =
            from.map(|(thread, until)| BranchedFrom { thread: id(thread), until, handed_off: until == u64::MAX });
        Branch { thread: id(thread), title: String::new(), from, copied, said: said(entries) }
    }

    /// `a-1` with two prompts; `b-2` forks it before the second, `c-3` forks `b-2` inside what that copied, `d-4` goes on with
    /// `a-1` where its window was full.
    fn conversation() -> Conversation {
        Conversation::new(vec![
            branch("a-1", None, 0, &[(10, Prompt, "one"), (20, Answer, "1"), (30, Prompt, "two"), (40, Answer, "2")]),
            branch(
                "b-2",
                Some(("a-1", 30)),
                2,
                &[(11, Prompt, "one"), (21, Answer, "1"), (31, Prompt, "other"), (41, Answer, "3")],
            ),
            branch("c-3", Some(("b-2", 21)), 1, &[(12, Prompt, "one"), (22, Answer, "4")]),
            branch("d-4", Some(("a-1", u64::MAX)), 0, &[(13, SaidKind::Inherited, "so far")]),
        ])
    }

    fn drawn(conversation: &Conversation, thread: &str, listed: Listed) -> Vec<String> {
        let line = |row: Row| {
            let branch = &conversation.branches()[row.branch];
            let text = row.entry.map_or(branch.thread.to_string(), |entry| branch.said[entry].text.clone());
            format!("{}{}{text}", if row.here { "*" } else { " " }, "  ".repeat(row.level))
        };
        conversation.rows(&id(thread), listed).into_iter().map(line).collect()
    }

    #[test]
    fn what_was_copied_is_drawn_once_where_it_was_said() {
        let conversation = conversation();
        let lines =
            [" one", "   c-3", "     4", " 1", "   b-2", "     other", "     3", " two", " 2", " d-4", " so far"];
        let bare = |lines: Vec<String>| lines.into_iter().map(|line| line.replacen('*', " ", 1)).collect::<Vec<_>>();
        let lines: Vec<String> = lines.iter().map(|line| line.replace("     ", "   ")).collect();
        assert_eq!(bare(drawn(&conversation, "a-1", Listed::All)), lines);
        assert_eq!(
            drawn(&conversation, "b-2", Listed::Prompts),
            ["*one", "   c-3", "*  b-2", "*  other", " two", " d-4"]
        );
        assert_eq!(drawn(&conversation, "c-3", Listed::Prompts)[..2], ["*one", "*  c-3"]);
    }

    #[test]
    fn what_is_left_behind_is_the_path_down_from_where_the_two_part() {
        let conversation = conversation();
        let span = |thread: &str, from, until| Span { thread: id(thread), from, until };
        let left = |thread: &str, target: &str, at| conversation.left_behind(&id(thread), &id(target), at);
        assert_eq!(left("a-1", "a-1", 20), [span("a-1", 30, None)]);
        assert_eq!(left("a-1", "a-1", 30), [span("a-1", 30, None)], "a prompt is said again");
        assert_eq!(left("a-1", "b-2", 41), [span("a-1", 30, None)]);
        assert_eq!(left("b-2", "a-1", 40), [span("b-2", 31, None)]);
        assert_eq!(left("d-4", "b-2", 11), [span("a-1", 10, None), span("d-4", 13, None)]);
        assert_eq!(left("c-3", "c-3", 22), []);
    }

    #[test]
    fn threads_that_are_missing_or_go_round_in_a_circle_are_drawn_as_they_are() {
        let lost =
            Conversation::new(vec![branch("b-2", Some(("a-1", 30)), 1, &[(1, Prompt, "one"), (2, Answer, "1")])]);
        assert_eq!(drawn(&lost, "b-2", Listed::All), ["*one", "*1"]);
        let circle = Conversation::new(vec![
            branch("a-1", Some(("b-2", 1)), 0, &[(1, Prompt, "one")]),
            branch("b-2", Some(("a-1", 1)), 0, &[(1, Prompt, "two")]),
        ]);
        assert_eq!(drawn(&circle, "a-1", Listed::All).len(), 3);
        let own = Conversation::new(vec![branch("a-1", Some(("a-1", 1)), 0, &[(1, Prompt, "one")])]);
        assert_eq!(drawn(&own, "a-1", Listed::All), ["*one"]);
    }

    #[test]
    fn ids_are_bytes_in_eight_digits() {
        assert_eq!(entry_at(&entry_id(0x1234)), Some(0x1234));
        assert_eq!(entry_at("00000010-3"), Some(16));
        assert!(entry_at("12").is_none() && entry_at("zzzzzzzz").is_none());
    }
}
