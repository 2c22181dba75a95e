//! Calls of one answer that run side by side.

use super::*;
use crate::domain::{ApprovalEvent, ContentHash, ControlEvent, Image, ThreadEvent};

/// An answer that calls these tools, as (tool, id).
fn mixed(all: &[(&str, &str)]) -> Message {
    let blocks = all.iter().flat_map(|(tool, id)| calls_of(tool, &[id]).blocks);
    Message { role: Role::Assistant, blocks: blocks.collect() }
}

fn begun(effects: &[Effect]) -> Vec<&str> {
    let mut ids = Vec::new();
    for effect in effects {
        if let Effect::RunTool { call, .. } = effect {
            ids.push(call.call_id.0.as_str());
        }
    }
    ids
}

fn with(all: &[(&str, &str)]) -> (Bench, Vec<Effect>) {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let effects = bench.answer(mixed(all), StopReason::ToolUse);
    (bench, effects)
}

fn replayed(bench: &Bench) -> Thread {
    let mut again = Bench::new(ThreadKind::Interactive).thread;
    for record in &bench.log {
        let _done_then = apply(&mut again, record);
    }
    again
}

/// The ids of the results in the newest message, in order.
fn answered(bench: &Bench) -> Vec<String> {
    let id = |block: &Block| if let Block::ToolResult { call_id, .. } = block { Some(call_id.0.clone()) } else { None };
    bench.thread.history.last().unwrap().message.blocks.iter().filter_map(id).collect()
}

#[test]
fn parallel_calls_begin_together_and_their_results_keep_the_answers_order() {
    let (mut bench, effects) = with(&[("look", "a"), ("look", "b"), ("look", "c")]);
    assert_eq!(begun(&effects), ["a", "b", "c"]);
    for id in ["c", "a"] {
        assert_eq!(bench.feed(result(id)), []);
    }
    assert_eq!(replayed(&bench), bench.thread);
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    assert_eq!(answered(&bench), ["a", "b", "c"]);
    assert_eq!(replayed(&bench), bench.thread);
}

#[test]
fn a_call_that_changes_something_waits_for_those_before_it_and_holds_back_those_behind() {
    let (mut bench, effects) = with(&[("look", "a"), ("look", "b"), ("ls", "c"), ("look", "d")]);
    assert_eq!(begun(&effects), ["a", "b"]);
    assert_eq!(bench.feed(result("b")), []);
    assert_eq!(begun(&bench.feed(result("a"))), ["c"]);
    assert_eq!(begun(&bench.feed(result("c"))), ["d"]);
    let effects = bench.feed(result("d"));
    bench.send(&effects);
    assert_eq!(answered(&bench), ["a", "b", "c", "d"]);
}

#[test]
fn nobody_is_asked_about_a_call_while_others_run() {
    let (mut bench, effects) = with(&[("look", "a"), ("peek", "b"), ("look", "c")]);
    assert_eq!((begun(&effects), bench.thread.approval()), (vec!["a"], None));
    assert_eq!(bench.feed(result("a")), []);
    assert_eq!(bench.thread.approval().unwrap().call_id.0, "b");
    assert_eq!(
        begun(&bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven {
            id: 1,
            decision: Approve::Once,
            said: None
        }))),
        ["b"]
    );
    assert_eq!(begun(&bench.feed(result("b"))), ["c"]);
}

#[test]
fn a_denied_call_holds_nobody_up() {
    let (mut bench, effects) = with(&[("look", "a"), ("format_disk", "b"), ("look", "c")]);
    assert_eq!(begun(&effects), ["a"], "what is not known to be parallel is decided about alone");
    assert_eq!(begun(&bench.feed(result("a"))), ["c"]);
    let effects = bench.feed(result("c"));
    bench.send(&effects);
    assert_eq!(answered(&bench), ["a", "b", "c"]);
}

#[test]
fn a_cancel_answers_all_that_run_and_all_that_wait() {
    let (mut bench, _) = with(&[("look", "a"), ("look", "b"), ("ls", "c")]);
    bench.feed(result("b"));
    let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    assert_eq!(effects, [Effect::StopTools]);
    assert_eq!((answered(&bench), bench.thread.phase.clone()), (vec!["a".into(), "b".into(), "c".into()], Phase::Idle));
    let failed: Vec<bool> = results(&bench).into_iter().map(|(_, failed)| failed).collect();
    assert_eq!(failed, [true, false, true]);
}

#[test]
fn steering_lets_those_that_run_end_and_skips_the_rest() {
    let (mut bench, effects) = with(&[("look", "a"), ("look", "b"), ("ls", "c"), ("look", "d")]);
    assert_eq!(begun(&effects), ["a", "b"]);
    bench.steering(Steering::SkipRemaining);
    bench.prompt("rather this", PromptMode::Steer);
    assert_eq!(bench.feed(result("a")), []);
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    let failed: Vec<bool> = results(&bench).into_iter().map(|(_, failed)| failed).collect();
    assert_eq!(failed, [false, false, true, true]);
}

#[test]
fn a_process_that_died_beside_several_calls_left_them_interrupted() {
    let (bench, _) = with(&[("look", "a"), ("look", "b"), ("ls", "c")]);
    let mut bench = Bench { thread: replayed(&bench), ..bench };
    bench.feed(result("b"));
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
    assert_eq!(answered(&bench), ["a", "b", "c"]);
    let failed: Vec<bool> = results(&bench).into_iter().map(|(_, failed)| failed).collect();
    assert_eq!(failed, [true, false, true]);
}

#[test]
fn what_a_result_shows_goes_back_with_it() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
    let image = |name: &str| Image {
        name: name.into(),
        media_type: "image/png".into(),
        hash: ContentHash::of(name.as_bytes()),
        bytes: 3,
    };
    for name in ["one", "two"] {
        let shown = ToolEvent::ResultImage { call_id: CallId("a".into()), image: image(name) };
        assert_eq!(bench.feed(Event::Tool(shown)), []);
    }
    bench.feed(result("a"));
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    let message = &bench.thread.history.last().unwrap().message;
    let shown: Vec<usize> = message.blocks.iter().map(|block| block.images().count()).collect();
    assert_eq!(shown, [2, 0]);
    assert!(message.tokens() > Tokens(2 * 1_600) && !message.is_prompt());
}
