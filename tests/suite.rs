//! The tests of the whole program, one module a file. They are one program: each would take as long to link as all of them.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks what it wants to see")]
#![allow(unreachable_pub, reason = "a test's module has no outside")]

mod support;

mod architecture;
mod attachments;
mod bounds;
mod budgets;
mod bundles;
mod capabilities;
mod children;
mod command_line;
mod configs;
mod conformance;
mod context;
mod day;
mod directive_handlers;
mod docs;
mod drafts;
mod driver;
mod executor;
mod extension_components;
mod extension_drawing;
mod extension_examples;
mod extension_hostile;
mod extension_network;
mod extension_programs;
mod extension_providers;
mod extension_threads;
mod extensions;
mod faults;
mod foreign;
mod forks;
mod formats;
mod git;
mod handoff;
mod harness;
mod headless;
mod hooked;
mod hostile;
mod interleavings;
mod items;
mod keys;
mod ledger;
mod mcp;
mod mcp_changes;
mod mcp_login;
mod mcp_prompts;
mod one_truth;
mod pages;
mod pi_sessions;
mod pipeline;
mod pipeline_screen;
mod primaries;
mod project;
mod promises;
mod providers;
mod refusals;
mod reload;
mod resume;
mod sandbox;
mod screen;
mod steering;
mod supervisor;
mod system_text;
mod terminal;
mod thread_list;
mod tools;
mod tree_run;
mod undo;
mod user_commands;
mod wire_bodies;
mod work;
mod worker;
