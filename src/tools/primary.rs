//! The primaries: finding, reading, running and signing items by their id.
//!
//! Running a tool never comes here: such a call is taken for a call of that tool from the beginning. Items are listed
//! afresh for each call, since a thread outlives many changes of them.

use super::{Answer, Failed};
use crate::domain::attachment::transcript_of;
use crate::domain::{Space, ThreadId, ToolCall};
use crate::items::directive::interpolate;
use crate::items::search::{Query, Scope, search};
use crate::items::signature::{self, SigningKey};
use crate::items::{Directive, Found, Item, Items, Kind, Knowledge};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::path::Path;

/// As many results of a search are told where nothing else is asked for, and at most.
const RESULTS: usize = 10;
const MOST_RESULTS: usize = 100;

/// As many letters of a title or description are told.
const ABOUT: usize = 100;

/// As many bytes of a text are told.
const LONGEST: usize = 50 << 10;

#[derive(Deserialize)]
pub(super) struct Fetch {
    item_type: Option<Kind>,
    item_id: Option<String>,
    query: Option<String>,
    scope: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    item_type: Kind,
    item_id: String,
    parameters: Option<Value>,
    /// Only says what would be done.
    #[serde(default)]
    dry_run: bool,
}

impl From<crate::domain::Problem> for Failed {
    fn from(problem: crate::domain::Problem) -> Self {
        Self(problem.to_string())
    }
}

/// An item as its file tells it, or what a query finds.
pub(super) fn fetch(items: &Items, fetch: &Fetch) -> Answer {
    match (fetch.item_id.as_deref().filter(|id| !id.is_empty()), fetch.query.as_deref()) {
        (Some(id), _) => read(items, fetch.item_type, id),
        (None, Some(query)) => find(items, fetch, query),
        (None, None) => Err(Failed("Give `item_id` to read an item, or `query` to find some.".to_owned())),
    }
}

fn read(items: &Items, kind: Option<Kind>, id: &str) -> Answer {
    let kinds = kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    let mut found: Vec<Found<'_>> = kinds.iter().filter_map(|kind| items.get(*kind, id)).collect();
    let Some(one) = found.pop() else {
        let why = kinds.into_iter().filter_map(|kind| items.find(kind, id).err());
        return Err(Failed(why.map(|missing| format!("{missing}.")).collect::<Vec<_>>().join("\n")));
    };
    if let Some(other) = found.pop() {
        let (one, other) = (one.item.kind.word(), other.item.kind.word());
        return Err(Failed(format!("`{id}` is a {one} and a {other}: say which by `item_type`.")));
    }
    let text = items.read(one.item)?;
    let mut answer = format!("{} `{id}`, {}, {}", one.item.kind.word(), place(items, one.item), one.item.path);
    for hidden in one.shadows {
        // Writing to a text cannot fail.
        let _ok = write!(answer, "; it hides {} of the {} space", hidden.path, place(items, hidden));
    }
    Ok(format!("{answer}\n\n{}", cut(&text, &one.item.path)))
}

/// The space an item lies in: `project`, `system:team`.
fn place(items: &Items, item: &Item) -> String {
    items.root(item).map(ToString::to_string).unwrap_or_default()
}

fn find(items: &Items, fetch: &Fetch, query: &str) -> Answer {
    let parsed = Query::parse(query).map_err(|bad| Failed(format!("`{query}`: {bad}")))?;
    let scope: Scope = match (&fetch.scope, fetch.item_type) {
        (Some(scope), _) => scope.parse().map_err(|bad: crate::items::search::BadScope| Failed(bad.to_string()))?,
        (None, kind) => Scope { kind, ..Scope::default() },
    };
    let hits = search(items, &parsed, &scope);
    let mut answer = match hits.len() {
        0 => return Ok(format!("No item matches `{query}`.")),
        1 => "1 item matches.\n".to_owned(),
        count => format!("{count} items match.\n"),
    };
    for hit in hits.iter().take(fetch.limit.unwrap_or(RESULTS).min(MOST_RESULTS)) {
        let about = [&hit.card.title, &hit.card.description].into_iter().find(|text| !text.trim().is_empty());
        let words = about.map(|about| about.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default();
        let about: String = words.chars().take(ABOUT).collect();
        let (colon, more) =
            (if about.is_empty() { "" } else { ": " }, if about.len() < words.len() { "…" } else { "" });
        let hidden = hit.shadowed_by.map_or("", |_| ", hidden by another of this id");
        let _ok = write!(
            answer,
            "\n- {} `{}` ({}{hidden}){colon}{about}{more}",
            hit.item.kind.word(),
            hit.item.id,
            place(items, hit.item)
        );
    }
    Ok(answer)
}

/// The id of the knowledge item that is the transcript of a thread, and that thread, if `input` asks for one.
pub(super) fn transcript_asked(input: &Value) -> Option<(String, ThreadId)> {
    let word = |name: &str| input.get(name).and_then(Value::as_str);
    let id = word("item_id").filter(|_| word("item_type").is_none_or(|kind| kind == Kind::Knowledge.word()))?;
    transcript_of(id).map(|thread| (id.to_owned(), thread))
}

/// The directive that is to be run in a thread of its own, if `input` asks for one, and whether nobody waits for it.
pub(super) fn thread_asked(input: &Value) -> Result<Option<(String, bool)>, Failed> {
    let word = |name: &str| input.get(name).and_then(Value::as_str);
    match word("thread") {
        None | Some("inline") => Ok(None),
        Some("fork") if word("item_type") == Some("directive") => {
            let background = input.get("async").and_then(Value::as_bool).unwrap_or_default();
            Ok(word("item_id").map(|id| (id.to_owned(), background)))
        }
        Some("fork") => Err(Failed("Only a directive runs in a thread of its own: leave `thread` out.".to_owned())),
        Some(other) => Err(Failed(format!("`thread` is `inline` or `fork`, not `{other}`."))),
    }
}

/// That a call is for this machine: there is no other.
pub(super) fn only_here(input: &Value) -> Result<(), Failed> {
    match input.get("target").and_then(Value::as_str) {
        None | Some("" | "local") => Ok(()),
        Some(other) => {
            Err(Failed(format!("`target` is `local`, not `{other}`: levain runs items on this machine only.")))
        }
    }
}

/// The tool that is only to be looked at, if `input` asks for that.
pub(super) fn dry_run_asked(input: &Value) -> Option<String> {
    let word = |name: &str| input.get(name).and_then(Value::as_str);
    let id = word("item_id").filter(|_| word("item_type") == Some("tool") && ToolCall::is_dry_run(input));
    id.map(ToOwned::to_owned)
}

/// What a knowledge item says, or what a directive wants done.
pub(super) fn execute(items: &Items, named: Named) -> Answer {
    let Named { item_type, item_id: id, parameters, dry_run } = named;
    let found = items.find(item_type, &id).map_err(|missing| Failed(format!("{missing}.")))?;
    let (text, file) = (items.read(found.item)?, items.file(found.item));
    match item_type {
        Kind::Knowledge => Ok(cut(&Knowledge::parse(&text, &file).0.body, &found.item.path)),
        Kind::Directive => {
            let parameters: Map<String, Value> = super::arguments(ToolCall::parameters(parameters.as_ref()))?;
            let directive = Directive::parse(&text, &file).0;
            let inputs = directive
                .accept(parameters.into_iter().map(as_text).collect())
                .map_err(|bad| Failed(bad.iter().map(|bad| format!("{bad}.")).collect::<Vec<_>>().join("\n")))?;
            if dry_run {
                let told = serde_json::json!({
                    "status": "success", "type": "directive", "item_id": id, "dry_run": true,
                    "data": { "description": directive.description.as_ref().map(|text| &text.value), "inputs": inputs },
                });
                return Ok(told.to_string());
            }
            Ok(format!(
                "Follow these directions now:\n\n{}",
                cut(&interpolate(&directive.body, &inputs), &found.item.path)
            ))
        }
        Kind::Tool => Err(Failed(format!("`{id}` cannot be executed from within another call."))),
    }
}

/// The text as far as an answer may hold it, and where the rest is.
fn cut(text: &str, path: &str) -> String {
    let most = text.floor_char_boundary(LONGEST);
    match text.split_at_checked(most) {
        Some((head, rest)) if !rest.is_empty() => {
            format!("{head}\n\n[{} of {} bytes; the rest is in {path}]", head.len(), text.len())
        }
        Some(_) | None => text.to_owned(),
    }
}

/// A parameter as the text that inputs are.
fn as_text((name, value): (String, Value)) -> (String, String) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (name, text)
}

/// Signs an item of the project or the person with the person's key.
pub(super) fn sign(items: &Items, user_space: &Path, named: &Named) -> Answer {
    let found = items.find(named.item_type, &named.item_id).map_err(|missing| Failed(format!("{missing}.")))?;
    if items.space(found.item) == Space::System {
        return Err(Failed("Items that are shipped cannot be signed.".to_owned()));
    }
    // It must still be read from within its space.
    let _text = items.look(found.item)?;
    let key = SigningKey::load(user_space).map_err(|error| Failed(format!("{error}.")))?;
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let signed =
        signature::sign_file(&items.file(found.item), &key, &time).map_err(|error| Failed(format!("{error}.")))?;
    Ok(format!("Signed {} by {}.", found.item.path, signed.fingerprint))
}
