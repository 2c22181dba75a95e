//! A conversation as a session of pi: one file with the entries of all its threads, each behind the one it goes on from. The
//! path of the thread that is asked for comes last, since the last line is where pi goes on.

use super::entries::Entries;
use crate::domain::conversation::{Conversation, entry_at};
use crate::domain::{ContentHash, ThreadId, Timestamp};
use crate::ports::StoreError;
use crate::providers::signature;
use crate::store::Layout;
use crate::store::content::ContentStore;
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// The lines of the file for the conversation of the thread `id`.
///
/// # Errors
/// [`StoreError`].
pub fn lines(layout: &Layout, id: &ThreadId, now: Timestamp) -> Result<Vec<Value>, StoreError> {
    let conversation = super::conversation::read(layout, id, now)?;
    let content = ContentStore::new(layout.objects());
    let mut session = Session { content, ids: HashMap::new(), heads: HashMap::new() };
    let mut lines = Vec::new();
    let mut header = Value::Null;
    for branch in order(&conversation, id) {
        let Some(thread) = conversation.branches().get(branch).map(|branch| &branch.thread) else { continue };
        let mut entries = Entries::new(layout.clone(), thread.clone());
        entries.follow()?;
        if thread == id {
            header = entries.header().clone();
        }
        session.branch(&conversation, branch, &entries, &mut lines);
    }
    if let Value::Object(fields) = &mut header {
        fields.remove("parentSession");
    }
    lines.iter_mut().for_each(bare_signatures);
    Ok(std::iter::once(header).chain(lines).collect())
}

/// Thoughts as their maker signed them: who that was is a mark of ours.
fn bare_signatures(line: &mut Value) {
    let blocks = line.pointer_mut("/message/content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        if let Some(Value::String(signature)) = block.get_mut("thinkingSignature") {
            *signature = signature::bare(signature).to_owned();
        }
    }
}

/// The branches, each behind the one it goes on from; those that lead to `id` as late as that allows.
fn order(conversation: &Conversation, id: &ThreadId) -> Vec<usize> {
    let count = conversation.branches().len();
    let own = conversation.branches().iter().position(|branch| branch.thread == *id);
    let way = |branch: usize| std::iter::successors(Some(branch), |branch| Some(conversation.parts(*branch)?.0));
    let mut order: Vec<usize> = Vec::with_capacity(count);
    let mut seen = HashSet::new();
    for branch in (0..count).filter(|branch| Some(*branch) != own).chain(own) {
        let mut up: Vec<usize> = way(branch).take_while(|branch| !seen.contains(branch)).collect();
        up.reverse();
        seen.extend(up.iter().copied());
        order.extend(up);
    }
    order
}

struct Session {
    content: ContentStore,
    /// The id in the file of what is at this byte of a branch's log.
    ids: HashMap<(usize, u64), String>,
    /// For each branch what each of its entries is: the byte and the id.
    heads: HashMap<usize, Vec<(u64, String)>>,
}

impl Session {
    fn branch(&mut self, conversation: &Conversation, branch: usize, entries: &Entries, lines: &mut Vec<Value>) {
        let Some(one) = conversation.branches().get(branch) else { return };
        // What it copied is said further up.
        let begin = one.said.get(one.copied).map(|said| said.at);
        let end_of_copies = one.copied.checked_sub(1).and_then(|last| one.said.get(last)).map(|said| said.at);
        let mut parent: Option<String> = conversation.parts(branch).and_then(|(up, until)| {
            let heads = self.heads.get(&up)?;
            heads.iter().rev().find(|(at, _)| until.is_none_or(|until| *at < until)).map(|(_, id)| id.clone())
        });
        let mut heads = Vec::new();
        for (at, entry) in entries.with_places() {
            if end_of_copies.is_some_and(|end| at <= end) && begin.is_none_or(|begin| at < begin) {
                continue;
            }
            let mut entry = entry.clone();
            let local = entry["id"].as_str().unwrap_or_default().to_owned();
            let id = short(&format!("{}#{local}", one.thread));
            let named = |field: &str| {
                let at = entry[field].as_str().and_then(entry_at)?;
                self.ids.get(&conversation.said_first(branch, at).unwrap_or((branch, at))).cloned()
            };
            if entry["type"] == "label" {
                let Some(target) = named("targetId") else { continue };
                entry["targetId"] = json!(target);
            } else if entry["type"] == "compaction" {
                entry["firstKeptEntryId"] = json!(named("firstKeptEntryId").or_else(|| parent.clone()));
            } else if entry["type"] == "branch_summary" {
                entry["fromId"] = parent.as_ref().map_or_else(|| json!("root"), |parent| json!(parent));
            }
            entry["id"] = json!(id);
            entry["parentId"] = json!(parent);
            self.show_images(&mut entry);
            self.ids.entry((branch, at)).or_insert_with(|| id.clone());
            heads.push((at, id.clone()));
            parent = Some(id);
            lines.push(entry);
        }
        self.heads.insert(branch, heads);
    }

    /// Puts the images that a message names into it: a file of pi holds them itself.
    fn show_images(&self, entry: &mut Value) {
        let Some(blocks) = entry.pointer_mut("/message/content").and_then(Value::as_array_mut) else { return };
        for block in blocks.iter_mut().filter(|block| block["type"] == "image" && block["data"].is_null()) {
            let hash = block["hash"].as_str().and_then(|hash| serde_json::from_value::<ContentHash>(hash.into()).ok());
            let bytes = hash.and_then(|hash| self.content.image(&hash).ok().flatten());
            if let (Some(bytes), Value::Object(fields)) = (bytes, block) {
                fields.remove("hash");
                fields.insert("data".to_owned(), base64::engine::general_purpose::STANDARD.encode(bytes).into());
            }
        }
    }
}

/// Eight digits, as ids of pi are.
fn short(name: &str) -> String {
    ContentHash::of(name.as_bytes()).as_str().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_written_as_their_makers_made_them() {
        let thinking = |signature: &str| json!({"type": "thinking", "thinking": "hm", "thinkingSignature": signature});
        let mut line = json!({"type": "message", "message": {"role": "assistant", "content": [
            thinking("by:claude-opus-5 c2ln"), thinking("by:x chat:reasoning_content"), thinking("responses:{}"),
            thinking("c2ln"), {"type": "text", "text": "by:x y"},
        ]}});
        bare_signatures(&mut line);
        let signatures: Vec<&Value> =
            line["message"]["content"].as_array().unwrap().iter().map(|block| &block["thinkingSignature"]).collect();
        assert_eq!(
            signatures,
            [&json!("c2ln"), &json!("reasoning_content"), &json!("{}"), &json!("c2ln"), &Value::Null]
        );
        let mut other = json!({"type": "label", "message": "text"});
        bare_signatures(&mut other);
        assert_eq!(other, json!({"type": "label", "message": "text"}));
    }
}
