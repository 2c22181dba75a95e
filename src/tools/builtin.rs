//! The table of built-in tools: id, further ids, what a model is told, parameters.

use super::Claim;
use crate::domain::capability::{COMMANDS, RESULT, flattened};
use crate::domain::thread_result::ORCHESTRATOR;
use crate::domain::{Absence, KnownTool, Operation, Origin, Space, ToolSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One built-in tool.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) which: Which,
    pub(super) item: &'static str,
    pub(super) aliases: &'static [&'static str],
    description: &'static str,
    schema: fn() -> Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Read,
    Write,
    EditLines,
    Ls,
    Glob,
    Grep,
    Bash,
    Fetch,
    MemoryAdd,
    MemorySearch,
    MemoryUpdate,
    MemoryRemove,
    PersonaCreate,
    PersonaSwitch,
    State,
    Todo,
    Commands,
    Result,
    ExecuteItem,
    FetchItem,
    SignItem,
    ThreadDirective,
    Orchestrator,
}

impl Which {
    /// Whether it may run beside others: it only reads, or works in a thread of its own.
    fn is_parallel(self) -> bool {
        match self {
            Self::Read
            | Self::Ls
            | Self::Glob
            | Self::Grep
            | Self::Fetch
            | Self::MemorySearch
            | Self::FetchItem
            | Self::Result
            | Self::ThreadDirective => true,
            Self::Write
            | Self::EditLines
            | Self::Bash
            | Self::MemoryAdd
            | Self::MemoryUpdate
            | Self::MemoryRemove
            | Self::PersonaCreate
            | Self::PersonaSwitch
            | Self::State
            | Self::Todo
            | Self::Commands
            | Self::ExecuteItem
            | Self::Orchestrator
            | Self::SignItem => false,
        }
    }
}

impl Builtin {
    /// The file that has taken the tool's place, if there is one of its ids.
    pub(super) fn taken_by<'a>(&self, claims: &'a BTreeMap<String, Claim>) -> Option<&'a String> {
        self.claims(claims).find_map(|claim| if let Claim::Taken(file) = claim { Some(file) } else { None })
    }

    /// The file that describes the tool to people, if there is one of its ids.
    fn described_by<'a>(&self, claims: &'a BTreeMap<String, Claim>) -> Option<&'a String> {
        self.claims(claims).find_map(|claim| if let Claim::Described(file) = claim { Some(file) } else { None })
    }

    fn claims<'a>(&self, claims: &'a BTreeMap<String, Claim>) -> impl Iterator<Item = &'a Claim> {
        std::iter::once(&self.item).chain(self.aliases).filter_map(|id| claims.get(*id))
    }

    pub(super) fn known(&self, claims: &BTreeMap<String, Claim>) -> KnownTool {
        let described = self.described_by(claims).map(|file| format!(", described by {file}"));
        KnownTool {
            item: self.item.to_owned(),
            aliases: self.aliases.iter().map(|id| (*id).to_owned()).collect(),
            origin: Origin::Item {
                space: Space::System,
                bundle: None,
                id: self.item.to_owned(),
                path: format!("{}{}", KnownTool::BUILT_IN, described.unwrap_or_default()),
                lines: None,
                signature: None,
                via: None,
            },
            absent: self.taken_by(claims).map(|file| Absence::Shadowed { by: file.clone() }),
            parallel: self.which.is_parallel(),
            confinable: self.which == Which::Bash,
            spec: ToolSpec {
                name: flattened(self.item),
                description: self.description.to_owned(),
                schema: (self.schema)(),
            },
        }
    }
}

/// The schema of an object with these properties.
fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "integer", "description": description })
}

/// Reads back results that were cut. Told of in threads that have some.
pub(super) const READER: Builtin = Builtin {
    which: Which::Result,
    item: RESULT,
    aliases: &[],
    description: "Reads a page of a result that was cut, by the name that the result says.",
    schema: || {
        object(&json!({ "result": text("Its name"), "offset": number("First byte to read (default 0)") }), &["result"])
    },
};

/// Looks after commands beside the conversation. Told of in threads that have some.
pub(super) const COMMAND_TOOL: Builtin = Builtin {
    which: Which::Commands,
    item: COMMANDS,
    aliases: &[],
    description: "Looks after the commands that you started in the background: what one printed, waiting for its end, stopping it.",
    schema: || {
        object(
            &json!({
                "operation": { "type": "string", "enum": ["list", "output", "wait", "stop"] },
                "command": text("Its name, such as command-1"),
                "offset": number("First byte of its output to read (default: its end)"),
                "timeout": number("Seconds to wait for its end (default 60, at most 600)"),
            }),
            &["operation"],
        )
    },
};

pub(super) const BUILTIN: &[Builtin] = &[
    Builtin {
        which: Which::Read,
        item: "rye/file-system/read",
        aliases: &[],
        description: "Reads a text file of the project. Each line comes as `NUMBER:ID│ text`; the ids are what edit_lines \
                      takes.",
        schema: || {
            object(
                &json!({
                    "path": text("The file, relative to the project"),
                    "offset": number("First line to read, counted from 1 (default 1)"),
                    "limit": number("Most lines to read (default and at most 2000)"),
                }),
                &["path"],
            )
        },
    },
    Builtin {
        which: Which::Ls,
        item: "rye/file-system/ls",
        aliases: &[],
        description: "Lists a folder of the project. Folders end with `/`.",
        schema: || object(&json!({ "path": text("The folder, relative to the project (default: the project)") }), &[]),
    },
    Builtin {
        which: Which::Glob,
        item: "rye/file-system/glob",
        aliases: &[],
        description: "Finds files of the project by a pattern such as `src/**/*.rs`; one without `/` fits names at any \
                      depth. What the project ignores is left out.",
        schema: || {
            object(
                &json!({
                    "pattern": text("The pattern"),
                    "path": text("The folder to look in (default: the project)"),
                }),
                &["pattern"],
            )
        },
    },
    Builtin {
        which: Which::Grep,
        item: "rye/file-system/grep",
        aliases: &[],
        description: "Finds lines in files of the project by a regular expression.",
        schema: || {
            object(
                &json!({
                    "pattern": text("The regular expression"),
                    "path": text("A folder or file to look in (default: the project)"),
                    "include": text("Only files that fit this pattern, such as `*.rs`"),
                }),
                &["pattern"],
            )
        },
    },
    Builtin {
        which: Which::Write,
        item: "rye/file-system/write",
        aliases: &[],
        description: "Writes whole files of the project, making folders as needed. What a file held before is replaced. \
                      To change a part of a file use edit_lines.",
        schema: || {
            object(
                &json!({
                    "path": text("The file, relative to the project"),
                    "content": text("Everything the file shall hold"),
                    "files": {
                        "type": "array",
                        "description": "Several files at once, in the place of path and content",
                        "items": object(&json!({ "path": text("The file"), "content": text("Its text") }), &["path", "content"]),
                    },
                }),
                &[],
            )
        },
    },
    Builtin {
        which: Which::EditLines,
        item: "rye/file-system/edit_lines",
        aliases: &[],
        description: "Replaces lines of a file that was read before, by the ids that read shows. All changes are made or \
                      none. Refused when the file is no longer what was read.",
        schema: || {
            object(
                &json!({
                    "path": text("The file, relative to the project"),
                    "changes": {
                        "type": "array",
                        "items": object(
                            &json!({
                                "line_id": text("The line to replace"),
                                "start_line_id": text("Or the first of several lines"),
                                "end_line_id": text("and the last of them"),
                                "new_content": text("What stands there afterwards, any number of lines; empty removes the lines"),
                            }),
                            &["new_content"],
                        ),
                    },
                }),
                &["path", "changes"],
            )
        },
    },
    Builtin {
        which: Which::Bash,
        item: "rye/bash",
        aliases: &["rye/bash/bash"],
        description: "Runs a command with bash in the project's folder. There is no terminal and no input; whatever it \
                      starts ends with it. Long output is cut in the middle, and the answer names the file that has all of it.",
        schema: || {
            object(
                &json!({
                    "command": text("The command"),
                    "timeout": number("Seconds after which it is ended (default 120, at most 600)"),
                    "working_dir": text("A folder of the project to run in (default: the project)"),
                    "background": { "type": "boolean", "description": "Go on beside the conversation" },
                }),
                &["command"],
            )
        },
    },
    Builtin {
        which: Which::Fetch,
        item: "rye/web/fetch/fetch",
        aliases: &["rye/web/fetch"],
        description: "Gets a public page by http or https and answers with its text.",
        schema: || {
            object(
                &json!({
                    "url": text("The address"),
                    "format": { "type": "string", "enum": ["markdown", "text", "html"], "description": "How to give a page (default markdown)" },
                    "timeout": number("Seconds to wait (default 30, at most 120)"),
                }),
                &["url"],
            )
        },
    },
    Builtin {
        which: Which::MemorySearch,
        item: "levain/memory/search",
        aliases: &[],
        description: "Finds what threads of this project remembered, by words.",
        schema: || object(&json!({ "query": text("Words to look for") }), &["query"]),
    },
    Builtin {
        which: Which::MemoryAdd,
        item: "levain/memory/add",
        aliases: &[],
        description: "Remembers something for every later thread of this project: what was decided, how something is \
                      done here, what surprised. Not what the files say anyway, and never a secret.",
        schema: || object(&json!({ "text": text("A few sentences that stand alone") }), &["text"]),
    },
    Builtin {
        which: Which::MemoryUpdate,
        item: "levain/memory/update",
        aliases: &[],
        description: "Replaces something that is remembered and no longer quite holds.",
        schema: || object(&json!({ "id": number("Its number"), "text": text("What holds now") }), &["id", "text"]),
    },
    Builtin {
        which: Which::MemoryRemove,
        item: "levain/memory/remove",
        aliases: &[],
        description: "Forgets something that no longer holds.",
        schema: || object(&json!({ "id": number("Its number") }), &["id"]),
    },
    Builtin {
        which: Which::PersonaCreate,
        item: "levain/persona/create",
        aliases: &[],
        description: "Keeps a persona for the threads of this project: a part to play, and how. One of the same name is replaced.",
        schema: || {
            object(
                &json!({ "name": text("Its name"), "text": text("How it speaks and works, in a few sentences") }),
                &["name", "text"],
            )
        },
    },
    Builtin {
        which: Which::PersonaSwitch,
        item: "levain/persona/switch",
        aliases: &[],
        description: "Takes on a persona that was created before, until another one is taken on.",
        schema: || object(&json!({ "name": text("Its name; `none` to be yourself again") }), &["name"]),
    },
    Builtin {
        which: Which::State,
        item: "levain/state",
        aliases: &[],
        description: "Keeps small values for this thread under names, for its hooks and for later; answers with all of them.",
        schema: || {
            object(
                &json!({ "set": { "type": "object", "description": "Names with their values; null takes one away" } }),
                &[],
            )
        },
    },
    Builtin {
        which: Which::Todo,
        item: "levain/todo",
        aliases: &[],
        description: "Keeps your to-do list. Send all tasks each time.",
        schema: || {
            object(
                &json!({
                    "tasks": {
                        "type": "array",
                        "items": object(
                            &json!({
                                "text": { "type": "string" },
                                "progress": { "type": "string", "enum": ["pending", "active", "done"] },
                            }),
                            &["text", "progress"],
                        ),
                    },
                }),
                &[],
            )
        },
    },
    Builtin {
        which: Which::ExecuteItem,
        item: "rye/execute",
        aliases: &[],
        description: "Runs an item by its id: a tool answers with its result, a knowledge item with its text, a \
                      directive with instructions for you to follow.",
        schema: || {
            object(
                &json!({
                    "item_type": { "type": "string", "enum": ["tool", "directive", "knowledge"] },
                    "item_id": text("Its path below that folder, without the ending, such as team/deploy"),
                    "parameters": { "type": "object", "description": "What the tool or directive takes" },
                    "thread": { "type": "string", "enum": ["inline", "fork"], "description": "For a directive: follow it yourself (default), or have it run in a thread of its own" },
                    "async": { "type": "boolean", "description": "With fork: do not wait for the thread" },
                    "dry_run": { "type": "boolean", "description": "Only say what would be done" },
                }),
                &["item_type", "item_id"],
            )
        },
    },
    Builtin {
        which: Which::FetchItem,
        item: "rye/fetch",
        aliases: &["rye/load", "rye/search"],
        description: "Reads an item as it lies in its file, by `item_type` and `item_id`; or finds items by `query`.",
        schema: || {
            object(
                &json!({
                    "item_type": { "type": "string", "enum": ["directive", "tool", "knowledge"] },
                    "item_id": text("Its path below that folder, without the ending, such as team/rules"),
                    "query": text("Words that must all be found; OR, NOT, \"phrases\", * and (…) work"),
                    "scope": text("Where to find: a kind, or a folder of it as in knowledge.team.*"),
                    "limit": number("Most results (default 10)"),
                }),
                &[],
            )
        },
    },
    Builtin {
        which: Which::SignItem,
        item: "rye/sign",
        aliases: &[],
        description: "Signs an item of the project or the person with the person's key, so that later changes show.",
        schema: || {
            object(
                &json!({
                    "item_type": { "type": "string", "enum": ["directive", "tool", "knowledge"] },
                    "item_id": text("Its path below that folder, without the ending"),
                }),
                &["item_type", "item_id"],
            )
        },
    },
    Builtin {
        which: Which::ThreadDirective,
        item: "rye/agent/threads/thread_directive",
        aliases: &[],
        description: "Runs a directive in a thread of its own, within your limits and permissions, and answers with what \
                      came of it. Several calls in one answer run side by side.",
        schema: || {
            object(
                &json!({
                    "directive_name": text("Its id, such as team/research"),
                    "inputs": { "type": "object", "description": "What the directive wants to be told" },
                    "async": { "type": "boolean", "description": "Do not wait; the answer is its thread_id" },
                    "model": text("A model or tier"),
                    "limit_overrides": {
                        "type": "object",
                        "description": "turns, tokens, spend (dollars), duration_seconds, spawns, depth",
                    },
                }),
                &["directive_name"],
            )
        },
    },
    Builtin {
        which: Which::Orchestrator,
        item: ORCHESTRATOR,
        aliases: &[],
        description: "Looks after threads that were started: waits, tells how they stand, stops and reads them.",
        schema: || {
            object(
                &json!({
                    "operation": { "type": "string", "enum": Operation::NAMES },
                    "thread_id": text("The thread"),
                    "thread_ids": { "type": "array", "items": { "type": "string" }, "description": "To wait for, or to aggregate" },
                    "timeout": number("Seconds to wait (default 600)"),
                    "query": text("What to search for"),
                    "search_type": { "type": "string", "enum": ["text", "regex"] },
                    "max_results": number("Default 50"),
                    "tail_lines": number("Only the last lines"),
                }),
                &["operation"],
            )
        },
    },
];
