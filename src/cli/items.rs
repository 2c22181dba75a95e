//! `levain items`: every item that can be named, where it lies and what it hides; with a query, those that fit it.

use super::Common;
use super::check::ProblemLine;
use super::failure::{Failure, written};
use crate::domain::letters::visible;
use crate::domain::{KnownTool, Problem, Severity};
use crate::items::search::{Card, Hit, Query, Scope, search};
use crate::items::signature::Verdict;
use crate::items::{Found, Item, Items, Kind, check};
use crate::session::people::{err, json_line, out};
use crate::session::{Setup, built_in};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// As many letters of a title or description are printed.
const SHOWN: usize = 100;

#[derive(Debug, Args)]
#[command(
    after_help = "A query is words that must all be found, with OR, NOT and (…) between them, \"words in quotes\" that \
stand behind one another, and * for any letters of a word: levain items 'deploy* NOT (staging OR \"dry run\")'. Title and \
name count most, then description, category and how the text begins. Shadowed items are found too."
)]
pub(super) struct ItemsArguments {
    /// Find items by words, the best first, instead of listing all
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Search one kind of item, or a folder of it: knowledge, or knowledge.team.*
    #[arg(long, value_name = "SCOPE", requires = "query")]
    scope: Option<Scope>,
    /// Show at most this many results
    #[arg(long, value_name = "N", default_value_t = 20, requires = "query")]
    limit: usize,
    /// Skip this many results
    #[arg(long, value_name = "N", default_value_t = 0, requires = "query")]
    offset: usize,
    /// One JSON object a line; with a query one object with all results
    #[arg(long)]
    json: bool,
}

/// What `--json` says of a search.
#[derive(Serialize)]
struct Search<'a> {
    schema: &'static str,
    query: &'a str,
    /// Null where all kinds are searched.
    scope: Option<String>,
    /// How many fit, those that are left out included.
    total: usize,
    limit: usize,
    offset: usize,
    results: Vec<ResultLine<'a>>,
}

/// One result: what is said of every item, and what the search saw of it.
#[derive(Serialize)]
struct ResultLine<'a> {
    #[serde(flatten)]
    item: ItemLine<'a>,
    score: f64,
    name: &'a str,
    title: &'a str,
    description: &'a str,
    category: &'a str,
    preview: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<Where<'a>>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct ItemLine<'a> {
    schema: &'static str,
    kind: Kind,
    id: &'a str,
    #[serde(flatten)]
    place: Where<'a>,
    /// Files of the same id that come later.
    shadows: Vec<Where<'a>>,
    /// Null where signatures are not looked at: in the program itself, and where the settings say `off`.
    signature: Option<Signed>,
    problems: Vec<ProblemLine>,
}

/// What an item's signature is worth.
#[derive(Serialize)]
struct Signed {
    verdict: &'static str,
    /// Whose key.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl From<Verdict> for Signed {
    fn from(verdict: Verdict) -> Self {
        let word = verdict.word();
        let (fingerprint, owner) = match verdict {
            Verdict::Unsigned | Verdict::Malformed { .. } => (None, None),
            Verdict::Valid { fingerprint, owner, .. } => (Some(fingerprint), Some(owner)),
            Verdict::Changed { fingerprint } | Verdict::Untrusted { fingerprint } | Verdict::Forged { fingerprint } => {
                (Some(fingerprint), None)
            }
        };
        Self { verdict: word, fingerprint, owner }
    }
}

/// What an item's signature is worth, and all that is wrong with it.
fn look(items: &Items, item: &Item) -> (Option<Verdict>, Vec<Problem>) {
    match items.look(item) {
        Ok(text) => (items.signature(item, &text), check::looked(items, item, &text)),
        Err(problem) => (None, vec![problem]),
    }
}

/// Where a tool lies that is no file.
const BUILT_IN: &str = "built in";

/// Where a file lies.
#[derive(Serialize)]
struct Where<'a> {
    space: String,
    /// Null for what is no file.
    path: Option<&'a str>,
}

fn place<'a>(items: &Items, item: &'a Item) -> Where<'a> {
    Where { space: items.root(item).map(ToString::to_string).unwrap_or_default(), path: Some(&item.path) }
}

pub(super) fn run(common: &Common, arguments: &ItemsArguments) -> Result<ExitCode, Failure> {
    let asked = arguments.query.join(" ");
    let query = if arguments.query.is_empty() { None } else { Some(read(&asked)?) };
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let items = setup.items();
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        match &query {
            Some(query) => write_results(&mut output, &items, &asked, query, arguments)?,
            None => write_all(&mut output, &items, arguments.json)?,
        }
        output.flush()
    };
    written(write())?;
    for problem in items.problems() {
        let _closed = writeln!(err(), "{}: {problem}", problem.severity.word());
    }
    Ok(ExitCode::SUCCESS)
}

fn read(query: &str) -> Result<Query, Failure> {
    Query::parse(query).map_err(|bad| {
        let arrow = " ".repeat(bad.letter.saturating_sub(1));
        // A line of its own, so that the place can be seen.
        let place = format!("{}\n      {arrow}^", visible(query).replace(char::is_whitespace, " "));
        Failure::usage(bad.to_string()).hint(place)
    })
}

fn write_all(output: &mut impl Write, items: &Items, json: bool) -> io::Result<()> {
    for found in items.iter() {
        if json {
            json_line(output, &line(items, found))?;
        } else {
            write_row(output, items, found, None)?;
        }
    }
    for tool in built_in(items) {
        if json {
            json_line(output, &built_in_line(&tool))?;
        } else {
            let (kind, space) = (Kind::Tool.word(), "system".to_owned());
            writeln!(output, "{kind:<9}  {:<36}  {space:<8}  {BUILT_IN}", tool.item)?;
        }
    }
    Ok(())
}

fn write_results(
    output: &mut impl Write,
    items: &Items,
    asked: &str,
    query: &Query,
    arguments: &ItemsArguments,
) -> io::Result<()> {
    let scope = arguments.scope.clone().unwrap_or_default();
    let hits = search(items, query, &scope);
    let shown = hits.iter().skip(arguments.offset).take(arguments.limit);
    if arguments.json {
        let results = shown.map(|hit| result(items, hit)).collect();
        let scope = arguments.scope.as_ref().map(ToString::to_string);
        let (limit, offset) = (arguments.limit, arguments.offset);
        return json_line(
            output,
            &Search { schema: "levain.search/1", query: asked, scope, total: hits.len(), limit, offset, results },
        );
    }
    let mut end = arguments.offset;
    for hit in shown {
        end += 1;
        write_row(output, items, Found { item: hit.item, shadows: hit.shadows }, hit.shadowed_by)?;
        let said = [&hit.card.title, &hit.card.description].into_iter().find(|text| !text.trim().is_empty());
        if let Some(said) = said {
            let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut: String = words.chars().take(SHOWN).collect();
            let more = if cut.len() < words.len() { "…" } else { "" };
            writeln!(output, "           {}{more}", &cut)?;
        }
    }
    output.flush()?;
    let fits = |tool: &KnownTool| scope.holds(Kind::Tool, &tool.item) && query.score(&card(tool)).is_some();
    let tools: Vec<String> = built_in(items).into_iter().filter(fits).map(|tool| tool.item).collect();
    let mut note = err();
    if end < hits.len() {
        let _closed = writeln!(note, "{} items fit; --offset {end} shows the next", hits.len());
    }
    if !tools.is_empty() {
        let _closed = writeln!(note, "built-in tools that fit: {}", tools.join(", "));
    } else if hits.is_empty() {
        let _closed = writeln!(note, "no item fits `{}`", visible(asked));
    }
    Ok(())
}

fn card(tool: &KnownTool) -> Card {
    let (category, name) = tool.item.rsplit_once('/').unwrap_or(("", &tool.item));
    Card {
        id: tool.item.clone(),
        name: name.to_owned(),
        title: String::new(),
        description: tool.spec.description.clone(),
        category: category.to_owned(),
        preview: String::new(),
    }
}

fn built_in_line(tool: &KnownTool) -> ItemLine<'_> {
    ItemLine {
        schema: "levain.item/1",
        kind: Kind::Tool,
        id: &tool.item,
        place: Where { space: "system".to_owned(), path: None },
        shadows: Vec::new(),
        signature: None,
        problems: Vec::new(),
    }
}

fn result<'a>(items: &Items, hit: &'a Hit<'_>) -> ResultLine<'a> {
    let Card { title, name, description, category, preview, id: _ } = &hit.card;
    ResultLine {
        item: line(items, Found { item: hit.item, shadows: hit.shadows }),
        score: hit.score,
        name,
        title,
        description,
        category,
        preview,
        shadowed_by: hit.shadowed_by.map(|item| place(items, item)),
    }
}

fn line<'a>(items: &Items, found: Found<'a>) -> ItemLine<'a> {
    let (verdict, problems) = look(items, found.item);
    ItemLine {
        schema: "levain.item/1",
        kind: found.item.kind,
        id: found.item.id.as_str(),
        place: place(items, found.item),
        shadows: found.shadows.iter().map(|item| place(items, item)).collect(),
        signature: verdict.map(Signed::from),
        problems: problems.into_iter().map(ProblemLine::from).collect(),
    }
}

fn write_row(output: &mut impl Write, items: &Items, found: Found<'_>, shadowed_by: Option<&Item>) -> io::Result<()> {
    let Where { space, path } = place(items, found.item);
    let path = path.unwrap_or(BUILT_IN);
    let (kind, id) = (found.item.kind.word(), found.item.id.as_str());
    write!(output, "{kind:<9}  {id:<36}  {space:<8}  {path}")?;
    let shadows: Vec<String> = found.shadows.iter().map(|item| place(items, item).space).collect();
    if !shadows.is_empty() {
        write!(output, "  (hides {})", shadows.join(", "))?;
    }
    if let Some(first) = shadowed_by {
        write!(output, "  (hidden by {})", place(items, first).space)?;
    }
    let (verdict, problems) = look(items, found.item);
    // Most items are not signed, and need not be.
    if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Unsigned) {
        write!(output, "  ({})", verdict.word())?;
    }
    match problems.iter().map(|problem| problem.severity).max() {
        Some(Severity::Error | Severity::Fatal) => write!(output, "  ✗ levain check")?,
        Some(Severity::Warning) => write!(output, "  ! levain check")?,
        None => {}
    }
    writeln!(output)
}
