//! Searching items by words: a [`Query`], what of an item is looked at, and how well it fits.
//!
//! An item is told by its [`Card`]. A query holds for a card as a whole, so that one word may stand in the title and
//! another in the description; where each word was found decides about the order.

mod query;

pub use query::{BadQuery, Query};

use super::find::{Item, Items};
use super::id::Kind;
use super::{Directive, Knowledge, Tool};
use query::{Term, words};
use std::fmt;
use std::path::Path;

/// As many letters of an item's text are looked at, and shown.
const PREVIEW: usize = 200;

/// What a word is worth by where it was found. Where an item lies is worth nothing by itself: name and category say
/// the same, and it is looked at so that a whole id finds its item.
const WEIGHTS: [f64; FIELDS] = [3.0, 3.0, 2.0, 1.5, 1.0, 0.0];
const FIELDS: usize = 6;

/// What a search looks at, and what it tells of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    pub title: String,
    pub name: String,
    pub description: String,
    pub category: String,
    /// How its text begins.
    pub preview: String,
    pub id: String,
}

/// An item a query holds for.
#[derive(Clone, Debug)]
pub struct Hit<'a> {
    pub item: &'a Item,
    /// The file that is meant by its id, where that is another one.
    pub shadowed_by: Option<&'a Item>,
    /// Files of the same id that come later.
    pub shadows: &'a [Item],
    pub card: Card,
    /// From 0 to 1: how much of what is wanted was found, weighed by where.
    pub score: f64,
}

/// Which items are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// All kinds where none is named.
    pub kind: Option<Kind>,
    /// The folder they lie in, or one around it; empty for all.
    pub category: String,
}

/// A text that names no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope; write directive, knowledge or tool, then folders, as in knowledge.team.*")]
pub struct BadScope(String);

impl std::str::FromStr for Scope {
    type Err = BadScope;

    /// `knowledge`, `knowledge.team.deploy.*`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut names = text.split('.');
        let kind = names.next().and_then(|word| Kind::ALL.into_iter().find(|kind| kind.word() == word));
        let kind = kind.ok_or_else(|| BadScope(text.to_owned()))?;
        let mut folders: Vec<&str> = names.collect();
        folders.pop_if(|last| *last == "*");
        if folders.iter().any(|name| name.is_empty() || *name == "*") {
            return Err(BadScope(text.to_owned()));
        }
        Ok(Self { kind: Some(kind), category: folders.join("/") })
    }
}

impl fmt::Display for Scope {
    /// As it is written.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.map_or("", Kind::word))?;
        if self.category.is_empty() { Ok(()) } else { write!(formatter, ".{}.*", self.category.replace('/', ".")) }
    }
}

impl Scope {
    /// Whether an item of that kind and id is in it.
    #[must_use]
    pub fn holds(&self, of: Kind, id: &str) -> bool {
        let below = id.strip_prefix(&self.category);
        self.kind.is_none_or(|kind| kind == of)
            && (self.category.is_empty() || below.is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Every item of `scope` that the query holds for, the best first; of equals the nearest space, then by id. Shadowed
/// files are searched too. Reads each file of the scope; one that does not read is known by its id alone.
#[must_use]
pub fn search<'a>(items: &'a Items, query: &Query, scope: &Scope) -> Vec<Hit<'a>> {
    let mut hits = Vec::new();
    for found in items.iter().filter(|found| scope.holds(found.item.kind, found.item.id.as_str())) {
        let mut rest = Some((found.item, found.shadows));
        while let Some((item, shadows)) = rest {
            let text = items.look(item).unwrap_or_default();
            let card = Card::of(item, &text, &items.file(item));
            if let Some(score) = query.score(&card) {
                let shadowed_by = Some(found.item).filter(|first| *first != item);
                hits.push(Hit { item, shadowed_by, shadows, card, score });
            }
            rest = shadows.split_first();
        }
    }
    hits.sort_by(|one, other| {
        let place = |hit: &Hit<'a>| (items.space(hit.item) as u8, &hit.item.id, hit.item.kind);
        other.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(other)))
    });
    hits
}

impl Card {
    fn of(item: &Item, text: &str, file: &Path) -> Self {
        let mut card = Self {
            name: item.id.stem().to_owned(),
            category: item.id.category().to_owned(),
            id: item.id.to_string(),
            ..Self::default()
        };
        let body = match item.kind {
            Kind::Directive => {
                let (directive, _told_by_check) = Directive::parse(text, file);
                card.title.extend(directive.preamble.lines().find_map(heading));
                card.description = directive.description.map(|description| description.value).unwrap_or_default();
                directive.body
            }
            Kind::Knowledge => {
                let (knowledge, _told_by_check) = Knowledge::parse(text, file);
                card.title = knowledge.title.unwrap_or_default();
                card.description = knowledge.description.unwrap_or_default();
                if knowledge.body.is_empty() { text.to_owned() } else { knowledge.body }
            }
            Kind::Tool => {
                let (tool, _told_by_check) = Tool::parse(text, file);
                card.description = tool.description.or(tool.docstring).unwrap_or_default();
                text.to_owned()
            }
        };
        card.preview = body.trim_start().chars().take(PREVIEW).collect();
        card
    }

    /// Its fields in the order of [`WEIGHTS`].
    fn fields(&self) -> [&str; FIELDS] {
        [&self.title, &self.name, &self.description, &self.category, &self.preview, &self.id]
    }
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()).filter(|title| !title.is_empty())
}

impl Query {
    /// How well the card fits: of each wanted word the weight of the fields that hold it, over what all fields weigh.
    /// `None` where the query does not hold.
    #[must_use]
    pub fn score(&self, card: &Card) -> Option<f64> {
        let fields = card.fields().map(|field| words(field, None).collect::<Vec<_>>());
        let worth = |term: &Term| -> Option<f64> {
            let mut held = WEIGHTS.iter().zip(&fields).filter(|(_, words)| term.is_in(words)).map(|(weight, _)| weight);
            let first = *held.next()?;
            Some(first + held.sum::<f64>())
        };
        if !self.root.holds(&|term| worth(term).is_some()) {
            return None;
        }
        let wanted = self.wanted();
        let most: f64 = WEIGHTS.iter().sum::<f64>() * wanted.iter().map(|_| 1.0).sum::<f64>();
        let found: f64 = wanted.into_iter().filter_map(worth).sum();
        // What only leaves out finds everything equally well.
        Some(if most > 0.0 { (found / most).min(1.0) } else { 0.0 })
    }
}

impl Term {
    /// Whether its words stand behind one another in `words`.
    fn is_in(&self, words: &[String]) -> bool {
        words.windows(self.0.len()).any(|run| run.iter().zip(&self.0).all(|(word, pattern)| fits(pattern, word)))
    }
}

/// Whether `pattern`, where `*` stands for any letters, is the whole of `word`.
fn fits(pattern: &str, word: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == word };
    let Some(mut rest) = word.strip_prefix(head) else { return false };
    // The first place for each part leaves the most to those behind it; the last part must end the word.
    let mut parts = tail.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Spaces;
    use proptest::prelude::*;
    use std::fs;

    fn card() -> Card {
        Card {
            title: "Ship it".into(),
            name: "deploy_staging".into(),
            description: "Brings a build to the staging servers".into(),
            category: "team/ops".into(),
            preview: "Look whether Ops are awake.".into(),
            id: "team/ops/deploy_staging".into(),
        }
    }

    fn score(query: &str) -> Option<f64> {
        Query::parse(query).unwrap().score(&card())
    }

    #[test]
    fn a_word_is_worth_what_its_fields_weigh() {
        for (query, weight, words) in [
            ("ship", 3.0, 1.0),
            ("DEPLOY", 3.0, 1.0),
            ("staging", 5.0, 1.0),
            ("ops", 2.5, 1.0),
            ("awake", 1.0, 1.0),
            ("team/ops", 1.5, 1.0),
            ("team/ops/deploy_staging", 0.0, 1.0),
            ("ship awake", 4.0, 2.0),
            ("ship OR nowhere", 3.0, 2.0),
            ("ship NOT nowhere", 3.0, 1.0),
            ("NOT nowhere", 0.0, 1.0),
        ] {
            assert_eq!(score(query), Some(weight / 10.5 / words), "{query}");
        }
    }

    #[test]
    fn what_does_not_hold_has_no_score() {
        for query in
            ["nowhere", "ship nowhere", "NOT ship", "dep", "\"it ship\"", "ship NOT awake", "x*", "staging/ops"]
        {
            assert_eq!(score(query), None, "{query}");
        }
        for query in ["dep*", "*oy", "d*p*y", "*", "\"ship it\"", "\"staging servers\"", "(nowhere OR ship) awake"] {
            assert!(score(query).is_some(), "{query}");
        }
    }

    #[test]
    fn stars_stand_for_any_letters_of_one_word() {
        for (pattern, word) in
            [("a*", "a"), ("*a", "ba"), ("a*b*c", "axbxbc"), ("*ab*", "xaby"), ("**", ""), ("a*a", "aa")]
        {
            assert!(fits(pattern, word), "{pattern} {word}");
        }
        for (pattern, word) in [("a*", "ba"), ("a*a", "a"), ("a*b*c", "acb"), ("ab*bc", "abc"), ("a", "ab")] {
            assert!(!fits(pattern, word), "{pattern} {word}");
        }
    }

    #[test]
    fn all_spaces_are_searched_and_equals_stand_by_space_and_id() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let knowledge =
            |title: &str, text: &str| format!("```yaml\nname: x\ntitle: {title}\nversion: 1.0.0\n```\n{text}\n");
        write("user/.ai/knowledge/b.md", &knowledge("Zebra crossing", "."));
        write("project/.ai/knowledge/team/c.md", &knowledge("A zebra", "."));
        write("project/.ai/knowledge/a.md", &knowledge("A zebra", "."));
        write("user/.ai/knowledge/a.md", &knowledge("A zebra", "."));
        write(
            "project/.ai/directives/team/d.md",
            "# Zebra\n\n```xml\n<directive name=\"d\" version=\"1.0.0\"><metadata><description>The zebra</description></metadata></directive>\n```\nFeed it.\n",
        );
        write("project/.ai/tools/zebra.py", "__tool_description__ = \"Counts\"\n");
        write("project/.ai/knowledge/bad.md", "zebra");
        fs::write(folder.path().join("project/.ai/knowledge/zebra.md"), [0xff]).unwrap();
        let items = Items::list(&Spaces::new(&folder.path().join("project"), &folder.path().join("user"), []));
        let found = |query: &str, scope: &str| -> Vec<String> {
            let scope: Scope = if scope.is_empty() { Scope::default() } else { scope.parse().unwrap() };
            let hits = search(&items, &Query::parse(query).unwrap(), &scope);
            let told = |hit: &Hit<'_>| {
                let hidden = if hit.shadowed_by.is_some() { " hidden" } else { "" };
                format!("{} {} {}{hidden}", items.root(hit.item).unwrap(), hit.item.kind, hit.item.id)
            };
            hits.iter().map(told).collect()
        };
        assert_eq!(
            found("zebra", ""),
            [
                "project directive team/d",
                "project knowledge a",
                "project knowledge team/c",
                "project knowledge zebra",
                "project tool zebra",
                "user knowledge a hidden",
                "user knowledge b",
                "project knowledge bad",
            ]
        );
        assert_eq!(found("zebra", "knowledge.team.*"), ["project knowledge team/c"]);
        assert_eq!(found("zebra", "tool"), ["project tool zebra"]);
        assert_eq!(found("zebra feed", ""), ["project directive team/d"]);
        assert!(found("chat", "directive.levain").contains(&"system directive levain/chat".to_owned()));
        for bad in ["", "thing", "knowledge..a", "knowledge.*.a"] {
            assert!(bad.parse::<Scope>().is_err(), "{bad}");
        }
        assert_eq!("knowledge.team.ops".parse::<Scope>().unwrap().to_string(), "knowledge.team.ops.*");
    }

    proptest! {
        /// The same as trying every place for every star.
        #[test]
        fn stars_find_what_trying_everything_finds(pattern in "[ab*]{0,8}", word in "[ab]{0,8}") {
            fn tried(pattern: &str, word: &str) -> bool {
                match pattern.split_at_checked(1) {
                    None => word.is_empty(),
                    Some(("*", rest)) => (0..=word.len()).any(|cut| tried(rest, word.get(cut..).unwrap())),
                    Some((letter, rest)) => word.strip_prefix(letter).is_some_and(|word| tried(rest, word)),
                }
            }
            prop_assert_eq!(fits(&pattern, &word), tried(&pattern, &word));
        }

        #[test]
        fn a_score_is_between_none_and_all(query in "(a|b\\*|OR |NOT |\\(|\\)|\"| ){1,12}", text in "[ab \\-é]{0,30}") {
            if let Ok(query) = Query::parse(&query) {
                let card = Card { title: text.clone(), preview: text, ..Card::default() };
                if let Some(score) = query.score(&card) {
                    prop_assert!((0.0..=1.0).contains(&score), "{score}");
                }
            }
        }
    }
}
