//! What extensions cost: loading them, asking their handlers, the engine's memory.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use divan::Bencher;
use levain::domain::{Stage, StageValue};
use levain::extensions::{Engine, Limits, Policy, Registration, Settings};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

fn engine(folder: &Path) -> Engine {
    let (cwd, home) = (folder.to_owned(), folder.to_owned());
    let (environment, limits, policy) = (Vec::new(), Limits::default(), Policy::default());
    Engine::start(Settings { cwd, home, environment, limits, policy, outside: None }).unwrap()
}

/// An engine with one extension that has this many handlers of an event.
fn with_handlers(count: usize, event: &str, body: &str) -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "export default (pi) => {\n".to_owned();
    for _ in 0..count {
        let _never_fails = writeln!(text, "pi.on('{event}', (event) => {{ {body} }});");
    }
    let path = folder.path().join("e.ts");
    fs::write(&path, text + "};\n").unwrap();
    let engine = engine(folder.path());
    let runtime = runtime();
    runtime.block_on(engine.load(&path)).unwrap().result.unwrap();
    runtime.block_on(engine.list()).unwrap();
    (folder, engine)
}

/// Asks every handler, as a stage of the pipeline does.
async fn ask(engine: &Engine, event: &Value) {
    let all: Vec<Registration> = engine.listing().handlers.clone();
    for handler in all {
        let (answer, _) = engine.call(handler, event.clone()).await.unwrap();
        assert!(answer.error.is_none());
    }
}

#[divan::bench]
fn an_engine_starts(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    bencher.bench_local(|| engine(folder.path()));
}

#[divan::bench(sample_count = 10)]
fn fifty_extensions_load(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../assets/extensions/template/index.ts");
    let paths: Vec<_> = (0..50).map(|number| folder.path().join(format!("e{number}.ts"))).collect();
    for path in &paths {
        fs::write(path, text).unwrap();
    }
    let runtime = runtime();
    bencher.with_inputs(|| engine(folder.path())).bench_local_values(|engine| {
        for path in &paths {
            runtime.block_on(engine.load(path)).unwrap().result.unwrap();
        }
        engine
    });
}

#[divan::bench]
fn ten_handlers_are_asked(bencher: Bencher<'_, '_>) {
    let (_folder, engine) = with_handlers(10, "tool_call", "if (event.input.command === 'no') return { block: true };");
    let (runtime, event) = (runtime(), json!({"toolName": "bash", "input": {"command": "ls"}}));
    bencher.bench_local(|| runtime.block_on(ask(&engine, &event)));
}

/// 200 kB in as many messages, half of them answers.
fn messages(count: usize) -> Value {
    let text = "word ".repeat(200_000 / 5 / count);
    let content = json!([{"type": "text", "text": text}]);
    let said = json!({"role": "user", "content": content, "timestamp": 1});
    let usage =
        json!({"input": 9, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 18, "cost": {"total": 0.01}});
    let answer = json!({"role": "assistant", "content": content, "timestamp": 1, "api": "anthropic", "provider": "anthropic",
        "model": "m", "usage": usage, "stopReason": "stop"});
    let turn = [said, answer].into_iter().cycle();
    json!({"messages": turn.take(count).collect::<Vec<_>>()})
}

/// Takes a conversation through every handler, as the stage does: each gets what those before it made of it.
async fn pass(engine: &Engine, mut event: StageValue) -> StageValue {
    for handler in engine.listing().handlers.clone() {
        let (answer, _) = engine.call(handler, event.clone()).await.unwrap();
        assert!(answer.error.is_none() && answer.result.is_none() && answer.value.is_none());
        event = answer.messages.map_or(event, StageValue::Messages);
    }
    event
}

fn ten_of_a_context(bencher: Bencher<'_, '_>, count: usize, body: &str) {
    let (_folder, engine) = with_handlers(10, "context", body);
    let (runtime, event) = (runtime(), messages(count));
    // Made anew for each: what was in the engine before is not this one.
    bencher
        .with_inputs(|| StageValue::of(Stage::Context, event.clone()))
        .bench_local_values(|event| runtime.block_on(pass(&engine, event)));
}

#[divan::bench(args = [10, 200])]
fn ten_handlers_look_at_a_context_of_200_kb(bencher: Bencher<'_, '_>, count: usize) {
    ten_of_a_context(bencher, count, "event.messages.find((message) => message.role === 'nobody');");
}

#[divan::bench(args = [10, 200])]
fn ten_handlers_change_a_context_of_200_kb(bencher: Bencher<'_, '_>, count: usize) {
    let body = "return { messages: event.messages.filter((message, index) => index !== 3) };";
    ten_of_a_context(bencher, count, body);
}
