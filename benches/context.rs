//! What planning and assembling a request costs. `cargo bench --bench context`.

#![allow(clippy::expect_used, reason = "a bench that cannot go on fails")]

use divan::{Bencher, black_box};
use levain::context::diff::{Side, difference};
use levain::context::{Ask, Library, Loaded, Lost, Meaning, Parts, Plan, Start, assemble, plan};
use levain::domain::{Entry, Limits, Message, ModelRef, Space, ThreadKind};
use levain::items::directive::Values;
use levain::items::{Directive, Hooks, Items, Knowledge, Spaces};
use std::path::Path;

fn main() {
    divan::main();
}

/// Items that are read as often as they are asked for, as from a disk that costs nothing.
struct Shelf {
    directive: String,
    knowledge: String,
}

impl Shelf {
    /// A directive with `count` items of `size` bytes around it.
    fn new(count: usize, size: usize) -> Self {
        let items: Vec<String> = (0..count).map(|number| format!("<before>team/item{number}</before>")).collect();
        let context = items.concat();
        let metadata = format!("<metadata><context>{context}</context></metadata>");
        let line = "A rule of a few words.\n";
        Self {
            directive: format!("```xml\n<directive name=\"a\">{metadata}</directive>\n```\nDo it."),
            knowledge: format!("```yaml\nname: item\n```\n\n{}", line.repeat(size / line.len())),
        }
    }
}

fn loaded<T>(value: T) -> Loaded<T> {
    let (path, file) = ("a.md".to_owned(), "a.md".to_owned());
    Loaded { value, space: Space::Project, bundle: None, path, file, signature: None, shadows: Vec::new() }
}

impl Library for Shelf {
    fn directive(&self, _id: &str) -> Result<Loaded<Directive>, Lost> {
        Ok(loaded(Directive::parse(&self.directive, Path::new("a.md")).0))
    }

    fn knowledge(&self, _id: &str) -> Result<Loaded<Knowledge>, Lost> {
        Ok(loaded(Knowledge::parse(&self.knowledge, Path::new("a.md")).0))
    }
}

fn hooks() -> Hooks {
    Hooks::read(&Items::list(&Spaces::embedded()))
}

fn planned(shelf: &Shelf, hooks: &Hooks) -> Plan {
    let start = Start::new(ModelRef::new("scripted", "demo"), Limits::default(), ThreadKind::OneShot);
    let inputs = Values::new();
    let meaning = Meaning::default();
    let ask = Ask { directive: "a", inputs: &inputs, project: "/project", start: &start, hooks, meaning: &meaning };
    plan(&ask, shelf).expect("a plan")
}

fn history() -> Vec<Entry> {
    (0..200).map(|number| Entry::new(Message::user(format!("message {number}")))).collect()
}

fn assembled(plan: &Plan, history: &[Entry]) -> levain::domain::Assembly {
    assemble(&Parts { system: &plan.system, opening: &plan.opening, state: &[], history, inherited: 0, edits: None })
}

/// Target: 2 ms.
#[divan::bench]
fn assemble_100_layers(bencher: Bencher<'_, '_>) {
    let plan = planned(&Shelf::new(100, 400), &hooks());
    let history = history();
    bencher.bench(|| assembled(black_box(&plan), black_box(&history)));
}

/// Reading the items included, files left out.
#[divan::bench]
fn plan_100_layers(bencher: Bencher<'_, '_>) {
    let (shelf, hooks) = (Shelf::new(100, 400), hooks());
    bencher.bench(|| planned(black_box(&shelf), &hooks));
}

#[divan::bench]
fn assemble_an_item_of_a_megabyte(bencher: Bencher<'_, '_>) {
    let plan = planned(&Shelf::new(1, 1_000_000), &hooks());
    let history = history();
    bencher.bench(|| assembled(black_box(&plan), black_box(&history)));
}

#[divan::bench]
fn compare_100_layers(bencher: Bencher<'_, '_>) {
    let side = |size| Side::from(&assembled(&planned(&Shelf::new(100, size), &hooks()), &history()));
    let (one, two) = (side(400), side(430));
    bencher.bench(|| difference(black_box(&one), black_box(&two)));
}
