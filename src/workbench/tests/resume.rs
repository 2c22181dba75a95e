//! Directives with their inputs, items, names behind `@`, and the queue.

use super::*;
use crate::domain::{ContextEvent, ControlEvent, RequestEvent, SettingsEvent, ThreadEvent};
use crate::domain::{Input, LimitSources, Lineage, Money, Problem, Severity, ToAttach};
use crate::workbench::completion::Completed;
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::Picker;

fn deploy() -> DirectiveChoice {
    let input = |name: &str, required, default: Option<&str>| Input {
        name: name.into(),
        kind: "string".into(),
        required,
        default: default.map(str::to_owned),
        description: format!("what {name} is"),
        choices: Vec::new(),
        lines: (1, 1),
    };
    DirectiveChoice {
        id: "team/deploy".into(),
        space: "project".into(),
        description: "Ship it".into(),
        inputs: vec![input("target", true, None), input("tag", false, Some("latest")), input("note", false, None)],
        ..DirectiveChoice::default()
    }
}

fn item(kind: &'static str, id: &str, file: Option<&str>) -> ItemRow {
    ItemRow {
        kind,
        id: id.into(),
        space: "project".into(),
        file: file.map(Into::into),
        problems: vec![Problem::at("a.md".as_ref(), 3, Severity::Warning, "is odd", "mend it")],
        directive: (kind == "directive").then(deploy),
        ..ItemRow::default()
    }
}

fn row(number: u64, title: &str) -> ThreadRow {
    ThreadRow {
        waiting: None,
        thread_id: ThreadId::new("chat", number),
        directive: "levain/chat".into(),
        status: Status::Completed,
        title: title.into(),
        model: ModelRef::new("a", "one").into(),
        waits_for: None,
        outputs: crate::domain::Outputs::default(),
        risk: None,
        commands: crate::domain::background::RunningCommands::default(),
        turns: 1,
        tokens: Tokens(1_200),
        spend: Money(0),
        elapsed_ms: 0,
        updated_at: Timestamp(1),
        runs: false,
        elsewhere: false,
        parent: None,
        level: 0,
        limits: Limits::default(),
    }
}

impl Session {
    fn form(&self) -> &form::InputForm {
        let Some(Overlay::Form(form)) = &self.model.overlay else { panic!("no form is open") };
        form
    }

    fn picker(&self) -> &Picker {
        let Some(Overlay::Picker(picker)) = &self.model.overlay else { panic!("no list is open") };
        picker
    }

    fn completions(&self) -> Vec<String> {
        self.model.completion.entries.iter().map(Completed::word).collect()
    }

    /// Has chosen `team/deploy` and stands in its form.
    fn asked(&mut self) -> &mut Self {
        self.keys("alt-s").tell(Message::Directives(vec![deploy()])).keys("enter")
    }
}

#[test]
fn a_directive_with_inputs_is_asked_for_them_and_they_go_with_the_first_prompt() {
    let mut session = session();
    session.write("half a thought").asked();
    assert_eq!(session.effects(), [Effect::LoadDirectives]);
    // Required and without a value: refused in the words of the command line, and the field is gone to.
    session.keys("tab enter");
    assert_eq!(session.form().at, 0);
    let wrong = session.form().fields[0].wrong.clone();
    assert_eq!(wrong.as_deref(), Some("it needs a value"));
    session.write("the 漢字 mooo").keys("backspace");
    assert_eq!(session.form().fields[0].wrong, None);
    session.keys("shift-tab").write("by hand").keys("ctrl-a").write("so ").keys("enter");
    assert!(session.model.overlay.is_none());
    assert_eq!(session.model.directive, "team/deploy");
    assert_eq!(session.draft(), "half a thought");
    session.keys("enter");
    let inputs = Values::from([("target".into(), "the 漢字 moo".into()), ("note".into(), "so by hand".into())]);
    let (directive, model) = ("team/deploy".into(), ModelRef::new("a", "one"));
    let first = Command::Submit {
        text: "half a thought".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: client(1),
    };
    let start = Effect::Start { directive, model, inputs: inputs.clone(), id: 1, first };
    assert_eq!(session.effects(), [Effect::Remember("half a thought".into()), start]);
    // The next one of the same directive is told the same.
    session.tell(Message::Opened { thread_id: id(), newest: Vec::new(), older: None, state: None, elsewhere: false });
    session.keys("alt-n").write("again").keys("enter");
    assert!(
        session.effects().iter().any(|effect| matches!(effect, Effect::Start { inputs: same, .. } if *same == inputs))
    );
}

#[test]
fn a_directive_that_was_chosen_starts_without_a_prompt() {
    let mut session = session();
    // The usual one is there without being asked for: Enter may be a mistake.
    session.keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().unwrap().text.contains("nothing is written"));
    session.asked().write("moon").keys("enter").effects();
    assert!(session.model.starts_alone());
    session.write("x");
    assert!(!session.model.starts_alone());
    session.keys("backspace enter");
    assert!(session.starts_with(""));
    assert_eq!(session.story(), ["pending "]);
    // What was not there is not found again as an earlier prompt.
    session.keys("up");
    assert_eq!(session.draft(), "");
    session.tell(Message::Opened { thread_id: id(), newest: Vec::new(), older: None, state: None, elsewhere: false });
    assert!(!session.model.starts_alone(), "it has begun");
}

#[test]
fn a_form_that_is_left_keeps_what_was_written() {
    let mut session = session();
    session.asked().write("moon").keys("down").write("v1").keys("esc");
    assert!(session.model.overlay.is_none());
    assert_eq!(session.model.directive, "levain/chat");
    session.asked();
    let texts: Vec<_> = session.form().fields.iter().map(|field| field.text.text()).collect();
    assert_eq!(texts, ["moon", "v1", ""]);
    session.keys("ctrl-c").asked();
    assert_eq!(session.form().fields[1].text.text(), "v1");
    session.keys("shift-enter").tell(Message::Paste("more\nlines".into()));
    assert_eq!(session.form().fields[0].text.text(), "moon\nmore\nlines");
    // Up and down go by rows first.
    session.keys("up up up up");
    assert_eq!((session.form().at, session.form().fields[0].text.caret().0), (0, 0));
    session.keys("down down down");
    assert_eq!(session.form().at, 1);
}

#[test]
fn a_prompt_waits_for_inputs_that_are_missing() {
    let mut session = session();
    session.tell(Message::Directives(Vec::new()));
    session.model.directive = "team/deploy".into();
    session.keys("alt-n");
    assert_eq!(session.effects(), [Effect::LoadDirectives]);
    session.tell(Message::Directives(vec![deploy()])).write("go").keys("enter");
    assert_eq!(session.effects(), []);
    assert_eq!(session.draft(), "go");
    session.write("moon").keys("enter").keys("enter");
    assert!(session.starts_with("go"));
}

#[test]
fn a_directive_brings_its_model_and_the_next_one_the_usual_again() {
    let mut session = session();
    let plain = DirectiveChoice { id: "plain".into(), ..DirectiveChoice::default() };
    let wishes = DirectiveChoice { id: "wishes".into(), model: Some(ModelRef::new("b", "two")), ..plain.clone() };
    let broken = DirectiveChoice { id: "zz".into(), refusal: Some("is not signed".into()), ..plain.clone() };
    session.tell(Message::Directives(vec![plain, wishes, broken]));
    session.write("/directive wishes").keys("enter enter");
    assert_eq!((session.model.directive.as_str(), session.model.model.model.as_str()), ("wishes", "two"));
    session.write("/directive plain").keys("enter enter");
    assert_eq!((session.model.directive.as_str(), session.model.model.model.as_str()), ("plain", "one"));
    session.write("/directive zz").keys("enter enter");
    assert_eq!(session.model.directive, "plain");
    assert_eq!(session.model.notice().unwrap().text, "`zz` cannot be started: is not signed");
}

#[test]
fn a_name_goes_before_what_is_said_of_another() {
    let mut session = session();
    let directive = |id: &str, description: &str| DirectiveChoice {
        id: id.into(),
        description: description.into(),
        ..DirectiveChoice::default()
    };
    session.tell(Message::Directives(vec![
        directive("team/notes", "ship it, ship it, ship ships"),
        directive("team/fleet/warship-builder", "Builds"),
        directive("ship", "Deploys"),
    ]));
    session.keys("alt-s").write("ship");
    let listed = session.picker();
    let shown: Vec<&str> = listed.shown.iter().map(|place| listed.entries[*place].label.as_str()).collect();
    assert_eq!(shown, ["ship", "team/fleet/warship-builder", "team/notes"]);
}

#[test]
fn a_thread_that_is_opened_has_its_own_inputs() {
    let mut session = session();
    session.asked().write("moon").keys("enter");
    let inputs = Values::from([("who".into(), "Ada".into())]);
    session.keys("ctrl-t").tell(Message::threads(vec![row(7, "greeting")])).keys("enter");
    assert_eq!(session.model.inputs, Values::new());
    let event = Event::Thread(ThreadEvent::ThreadStarted {
        directive: "greet".into(),
        kind: ThreadKind::Interactive,
        model: ModelRef::new("a", "one"),
        lineage: Lineage::default(),
        limits: Limits::default(),
        limits_by: LimitSources::default(),
        project: "/p".into(),
        inputs: inputs.clone(),
        ceilings: Vec::new(),
    });
    let thread_id = ThreadId::new("chat", 7);
    let newest = vec![Record { timestamp: Timestamp(1), thread_id: thread_id.clone(), event }];
    session.tell(Message::Opened { thread_id, newest, older: None, state: None, elsewhere: false });
    assert_eq!((session.model.directive.as_str(), &session.model.inputs), ("greet", &inputs));
}

#[test]
fn s16_an_input_with_choices_is_chosen_and_not_written() {
    let mut session = session();
    let input = |name: &str, kind: &str, required, choices: &[&str]| Input {
        name: name.into(),
        kind: kind.into(),
        required,
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        ..Input::default()
    };
    let inputs = vec![
        input("target", "string", true, &["staging", "production"]),
        input("dry", "boolean", false, &[]),
        input("note", "string", false, &[]),
    ];
    let directive = DirectiveChoice { inputs, ..deploy() };
    session.keys("alt-s").tell(Message::Directives(vec![directive])).keys("enter");
    let given = |session: &Session| session.form().fields.iter().map(|field| field.text.text()).collect::<Vec<_>>();
    session.keys("right");
    assert_eq!(given(&session), ["staging", "", ""]);
    session.keys("right right");
    assert_eq!(given(&session), ["production", "", ""]);
    session.keys("left left left");
    assert_eq!(given(&session), ["staging", "", ""], "what is required is not left out");
    session.write("p").write("x");
    assert_eq!(given(&session), ["production", "", ""], "a letter takes the choice that begins with it");
    session.keys("down right right left left left");
    assert_eq!(given(&session), ["production", "", ""], "what may be left out is");
    session.keys("right backspace right down").write("a b").keys("left");
    assert_eq!(given(&session), ["production", "true", "a b"]);
}

#[test]
fn items_are_looked_at_opened_and_started() {
    let mut session = session();
    let rows = vec![
        item("directive", "team/deploy", Some("/p/.ai/d.md")),
        item("knowledge", "rules", Some("/p/.ai/r.md")),
        item("tool", "t", None),
    ];
    session.write("/items").keys("enter").tell(Message::Items(rows));
    let read = |kind, id: &str| Effect::ReadItem { kind, id: id.into() };
    assert_eq!(session.effects(), [Effect::LoadItems, read("directive", "team/deploy")]);
    let text = |kind, id: &str, text: &str| Message::ItemText { kind, id: id.into(), text: Ok(text.into()) };
    session.keys("j").tell(text("directive", "team/deploy", "too late"));
    assert_eq!(session.model.browser.preview.as_ref().unwrap().text, None);
    session.tell(text("knowledge", "rules", &"line\n".repeat(5))).keys("o J J J");
    assert_eq!(session.model.browser.preview.as_ref().unwrap().top, 4);
    assert_eq!(
        session.effects(),
        [read("knowledge", "rules"), Effect::OpenFile(Source { file: "/p/.ai/r.md".into(), line: None })]
    );
    // One that was saved is read again where it stands.
    session.tell(Message::Saved);
    assert_eq!(session.effects(), [Effect::LoadItems, read("knowledge", "rules")]);
    // What is in the program has no file: a copy is shown.
    session.keys("G").tell(text("tool", "t", "in here")).keys("enter");
    assert_eq!(session.effects(), [read("tool", "t"), Effect::ShowText("in here".into())]);
    session.keys("/").write("depl").keys("enter");
    assert_eq!(session.form().directive.id, "team/deploy");
}

#[test]
fn names_behind_an_at_are_completed_where_the_cursor_is() {
    let mut session = session();
    session.write("see @");
    assert_eq!(session.effects(), [Effect::LoadFiles, Effect::LoadThreads]);
    let files = ["docs/a.md", "src/main.rs", "src/漢字 im.rs"].map(str::to_owned).to_vec();
    session.tell(Message::Files(files)).tell(Message::threads(vec![row(7, "about the main loop")]));
    assert_eq!(session.completions(), ["@docs/a.md", "@src/main.rs", "@\"src/漢字 im.rs\"", "@thread:chat-7"]);
    session.write("main");
    assert_eq!(session.completions(), ["@src/main.rs", "@thread:chat-7"]);
    session.keys("enter").write("and @漢").keys("tab");
    assert_eq!(session.draft(), "see @src/main.rs and @\"src/漢字 im.rs\" ");
    // Asked again for the second word, and moving away closes the list.
    assert_eq!(session.effects(), [Effect::LoadFiles]);
    session.write("@do");
    assert_eq!(session.completions(), ["@docs/a.md"]);
    session.keys("left");
    assert_eq!(session.completions(), ["@docs/a.md", "@src/main.rs"][..1]);
    session.keys("ctrl-a");
    assert_eq!(session.completions(), Vec::<String>::new());
    // A whole name needs no help: Enter sends.
    session.keys("ctrl-e ctrl-u").write("@src/main.rs").keys("enter");
    assert_eq!(session.draft(), "");
    assert_eq!(session.story(), ["pending @src/main.rs"]);
}

#[test]
fn esc_closes_completions_until_the_word_changes() {
    let mut session = session();
    session.tell(Message::Files(vec!["a.rs".into(), "ab.rs".into()])).write("@a");
    session.keys("esc");
    assert_eq!(session.completions(), Vec::<String>::new());
    session.keys("enter");
    assert_eq!(session.draft(), "", "it was sent");
    session.write("@a").keys("esc").write("b");
    assert_eq!(session.completions(), ["@ab.rs"]);
}

#[test]
fn the_queue_is_seen_moved_withdrawn_and_taken_back() {
    let mut session = connected();
    let queued = |prompt, text: &str| QueuedPrompt {
        prompt,
        text: text.into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    session.state(Status::Running, vec![queued(2, "one"), queued(3, "two"), queued(4, "three")]);
    session.write("mine").keys("alt-q j K");
    let labels =
        |session: &Session| session.picker().entries.iter().map(|entry| entry.label.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&session), ["two", "one", "three"]);
    assert_eq!(session.picker().chosen, 0, "the choice goes along");
    assert_eq!(session.effects(), [send(2, Command::Arrange { prompts: vec![3, 2, 4] })]);
    session.keys("K");
    assert_eq!(session.effects(), []);
    session.keys("G d");
    assert_eq!(labels(&session), ["two", "one"]);
    assert_eq!(session.effects(), [send(3, Command::Withdraw { prompt: 4 })]);
    // The thread takes one meanwhile: the list follows, once it is certain that the worker knows what was changed.
    session.state(Status::Running, vec![queued(2, "one"), queued(3, "two"), queued(4, "three")]);
    session.tell(Message::Worker(id(), FromWorker::Ack { id: 2 }));
    session.state(Status::Running, vec![queued(2, "one")]);
    assert_eq!(labels(&session), ["two", "one"]);
    session.tell(Message::Worker(id(), FromWorker::Ack { id: 3 }));
    assert_eq!(labels(&session), ["one"]);
    session.keys("enter");
    assert_eq!(session.draft(), "one\nmine");
    assert_eq!(session.effects(), [send(4, Command::Withdraw { prompt: 2 })]);
    session.keys("alt-q d");
    assert_eq!((session.effects(), labels(&session)), (Vec::new(), Vec::new()));
}

#[test]
fn earlier_prompts_leave_the_draft_alone_until_one_is_chosen() {
    let mut session = session();
    session.tell(Message::History(vec!["old one".into(), "old two".into()]));
    session.write("draft").keys("left ctrl-r").write("one").keys("esc");
    assert_eq!((session.draft(), session.model.composer.cursor()), ("draft".into(), (0, 4)));
    session.keys("ctrl-r").write("one").keys("enter");
    assert_eq!(session.draft(), "old one");
    // What stood there can be had again, also after an editor.
    session.keys("ctrl-_ ctrl-_");
    assert_eq!(session.draft(), "draft");
    session.tell(Message::Edited("from elsewhere\n".into()));
    assert_eq!(session.draft(), "from elsewhere");
    session.keys("ctrl-_ ctrl-_");
    assert_eq!(session.draft(), "draft");
}

#[test]
fn a_draft_that_an_earlier_prompt_stood_in_for_is_found_again() {
    let mut session = connected();
    // The prompt that stands there is changed: the draft is the newest one then.
    session.write("precious").keys("up");
    assert_eq!(session.draft(), "hello");
    session.keys("backspace up");
    assert_eq!(session.draft(), "precious");
    // It is sent as it is.
    session.keys("ctrl-u").write("dear").keys("up enter");
    session.effects();
    session.keys("up up");
    assert_eq!(session.draft(), "dear");
}

#[test]
fn a_model_that_there_is_not_leaves_the_old_one_on_the_screen() {
    let mut session = connected();
    let before = session.model.model.clone();
    session.write("/model nope/zzz").keys("enter");
    assert!(matches!(&session.effects()[..], [Effect::Send { command: Command::SetModel { .. }, .. }]));
    assert_eq!(session.model.model, before);
    let model: ModelRef = "a/two".parse().unwrap();
    session.event(Event::Settings(SettingsEvent::ModelChanged { model: model.clone() }));
    assert_eq!(session.model.model, model);
}

#[test]
fn room_and_hooks_are_told_and_a_suspended_thread_says_how_to_go_on() {
    use crate::domain::{Control, Rules};
    let mut session = connected();
    let decided = |action| {
        Event::Control(ControlEvent::HookDecided {
            event: "error".into(),
            hook: Some("mine".into()),
            action: Some(action),
            why: "it has no condition".into(),
        })
    };
    let share = (0.95, Tokens(95), Tokens(100));
    let (usage_ratio, tokens_used, tokens_limit) = share;
    session
        .event(Event::Settings(SettingsEvent::RulesSet { rules: Rules::default() }))
        .event(decided(Control::Retry))
        .event(decided(Control::Skip))
        .event(Event::Context(ContextEvent::ContextWindowPressure { usage_ratio: 0.8, tokens_used, tokens_limit }))
        .event(Event::Context(ContextEvent::ContextLimitReached { usage_ratio, tokens_used, tokens_limit }));
    for (summarised, dropped, reason) in [(4, 0, None), (0, 4, Some("it broke")), (3, 1, None), (0, 0, Some("no"))] {
        session.event(Event::Context(ContextEvent::ContextCompacted {
            summary: "so".into(),
            kept: 2,
            summarised,
            dropped,
            tokens_before: Tokens(90),
            tokens_after: Tokens(20),
            request: None,
            usage: Usage::default(),
            spend: None,
            reason: reason.map(str::to_owned),
            steps: Vec::new(),
            details: None,
        }));
    }
    let reason = "25 of 25 turns are used; send a message to let it go on with as much again";
    session.event(Event::Control(ControlEvent::ThreadSuspended {
        cost: Cost::default(),
        reason: reason.into(),
        limit: None,
    }));
    assert_eq!(
        session.story()[1..],
        [
            "marker the hook mine answers error: skip",
            "marker the context takes 80 % of the window",
            "marker the context takes 95 % of the window: compacting",
            "marker compacted: 4 earlier messages summarised (~90 → ~20 tokens)",
            "marker compacted: 4 earlier messages left out (~90 → ~20 tokens), without a summary: it broke",
            "marker compacted: 3 earlier messages summarised and 1 left out (~90 → ~20 tokens)",
            "marker not compacted: no",
            &format!("marker suspended: {reason}"),
        ]
    );
    session.state(Status::Suspended, Vec::new());
    assert!(!session.model.view.is_working());
}

#[test]
fn room_is_asked_for_by_a_command() {
    let mut session = connected();
    session.state(Status::Waiting, Vec::new());
    session.write("/compact").keys("enter");
    assert!(session.effects().contains(&send(2, Command::Compact { instructions: None })));
    let mut session = super::session();
    session.write("/compact").keys("enter");
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Send { .. } | Effect::Revive { .. })));
}

#[test]
fn a_cut_answer_leaves_the_thread_at_work_until_it_says_that_it_waits() {
    let mut session = connected();
    session.stream(1, "Par");
    session.answer(1, "Par", StopReason::Truncated { detail: "cut".into() });
    assert!(session.model.view.is_working(), "another try may follow");
    session.event(Event::Request(RequestEvent::RetryScheduled { attempt: 2, delay_ms: 2_500, classification: None }));
    assert!(session.model.view.is_working());
    session.state(Status::Waiting, Vec::new());
    assert!(!session.model.view.is_working());
}

#[test]
fn the_answer_to_a_command_that_woke_a_worker_is_not_taken_for_that_to_the_next() {
    for words in ["/compact", "/model a/two"] {
        let mut session = connected();
        session.state(Status::Waiting, Vec::new());
        session.tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
        session.write(words).keys("enter");
        assert!(session.effects().iter().any(|effect| matches!(effect, Effect::Revive { .. })), "{words}");
        session.tell(Message::Connected { thread_id: id() });
        session.write("next").keys("enter");
        session.tell(Message::Worker(id(), FromWorker::Ack { id: 2 }));
        session.tell(Message::Worker(id(), FromWorker::Error { id: 3, message: "no".into() }));
        assert_eq!(session.draft(), "next", "{words}: what was refused comes back");
    }
}

#[test]
fn images_and_files_are_named_by_the_draft_but_not_by_what_was_pasted_into_it() {
    let mut session = connected();
    let long = "@in-a-paste.png @pasted.rs\n".repeat(20);
    session.tell(Message::Paste("file:///tmp/a%20b.png".into())).write("and @c.png @d.rs ").tell(Message::Paste(long));
    session.keys("enter");
    let effects = session.effects();
    let Some(Effect::Send { command: Command::Submit { images, files, text, .. }, .. }) = effects.last() else {
        panic!("{effects:?}")
    };
    assert_eq!(images, &["/tmp/a b.png", "c.png"]);
    assert_eq!(files, &[ToAttach::Name("d.rs".into())]);
    assert!(text.starts_with("@\"/tmp/a b.png\" and @c.png @d.rs @in-a-paste.png @pasted.rs\n"), "{text}");
}
