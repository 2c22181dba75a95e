//! The workbench as linear text: what is told when.

use super::*;

#[test]
fn t26_an_answer_is_told_line_by_line_and_nothing_twice() {
    let mut session = Session::started(100, 40);
    let mut narrator = Narrator::default();
    let begun = narrator.tell(&session.model);
    assert!(begun.starts_with("levain: a thread with levain/chat") && begun.contains("# You\n\nship it"), "{begun}");
    assert_eq!(narrator.tell(&session.model), "");
    session.stream(1, "One line.\nHalf");
    assert_eq!(narrator.tell(&session.model), "# Answer\n\nOne line.\n");
    session.stream(1, " of another \x1b[2Jone");
    assert_eq!(narrator.tell(&session.model), "");
    session.answered(1, "One line.\nHalf of another \x1b[2Jone", StopReason::EndTurn);
    session.state(Status::Waiting, 1, Vec::new());
    assert_eq!(narrator.tell(&session.model), "Half of another ␛[2Jone\n\nReady.\n");
    assert_eq!(narrator.tell(&session.model), "");
}

#[test]
fn t26_what_goes_away_is_announced() {
    let mut session = Session::started(100, 40);
    let mut narrator = Narrator::default();
    session.stream(1, "It begins.\n");
    narrator.tell(&session.model);
    let queued = QueuedPrompt {
        prompt: 2,
        text: "then this".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    session.state(Status::Running, 1, vec![queued]);
    assert_eq!(narrator.tell(&session.model), "Queued: then this\n\n");
    session.state(Status::Running, 1, Vec::new());
    assert_eq!(narrator.tell(&session.model), "No longer queued: then this\n\n");
    // Another attempt answers from the beginning.
    session.stream(2, "It begins again.\n");
    let told = narrator.tell(&session.model);
    assert!(told.contains("The last part above is withdrawn.") && told.contains("It begins again."), "{told}");
    session.keys("f1");
    assert!(narrator.tell(&session.model).contains("# Page: help"));
    session.tell(Message::Line(String::new()));
    assert_eq!(narrator.tell(&session.model), "Closed.\n\n");
}
