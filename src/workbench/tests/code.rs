//! When the colours of code are asked for.

use super::*;

fn asked(effects: &[Effect]) -> Vec<CodeId> {
    let colour = |effect: &Effect| if let Effect::Colour(code) = effect { Some(code.id) } else { None };
    effects.iter().filter_map(colour).collect()
}

fn colours_of(code: CodeId) -> Message {
    let mut colouring = Colouring::default();
    colouring.put(1, Some(CodeKind::Keyword));
    Message::Coloured { id: code, colouring }
}

#[test]
fn colours_wait_until_a_fast_answer_has_ended() {
    let mut session = connected();
    for _ in 0..200 {
        session.stream(1, "let x = 1;\n");
    }
    session.stream(1, "```");
    session.tell(Message::Second).stream(1, "");
    assert_eq!(asked(&session.effects()), [], "it came too fast to be read");
    session.answer(1, "fn\n```", StopReason::EndTurn);
    let code = CodeId::of("x", "fn");
    assert_eq!(asked(&session.effects()), [code]);
    session.keys("a b c");
    assert_eq!(asked(&session.effects()), [], "it is asked for once");
    session.tell(colours_of(code));
    assert!(session.model.take_changed());
    assert!(session.model.colours.of(code).is_some());
    session.keys("a");
    assert_eq!(asked(&session.effects()), []);
}

#[test]
fn code_in_a_slow_answer_has_colours_when_it_is_whole() {
    let mut session = connected();
    session.stream(1, "fn\n```");
    assert_eq!(asked(&session.effects()), [], "nobody knows yet how fast it comes");
    session.tell(Message::Second);
    assert_eq!(asked(&session.effects()), [CodeId::of("x", "fn")]);
}

#[test]
fn one_piece_is_asked_for_after_the_other() {
    let mut session = connected();
    session.answer(1, "one\n```", StopReason::EndTurn).answer(2, "two\n```", StopReason::EndTurn);
    let (one, two) = (CodeId::of("x", "one"), CodeId::of("x", "two"));
    assert_eq!(asked(&session.effects()), [one]);
    session.tell(colours_of(one));
    assert_eq!(asked(&session.effects()), [two]);
}
