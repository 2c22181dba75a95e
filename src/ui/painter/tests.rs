use super::*;
use crate::domain::event::StopReason;
use crate::workbench::transcript::Answer;

const WIDTH: u16 = 62;

fn answer(text: &str) -> Block {
    let answer = Answer { text: text.into(), request: 1, ended: Some(StopReason::EndTurn), summary: None };
    Block {
        id: BlockId(1),
        revision: 0,
        open: false,
        kind: Kind::Answer(answer),
        message: None,
        entry: None,
        drawn: None,
    }
}

fn painter() -> Painter {
    Painter::new(Painter::theme_for_background(false), ColourDepth::True)
}

/// The height once all of it is laid out.
fn laid_out(painter: &mut Painter, block: &Block) -> usize {
    loop {
        painter.begin();
        let height = painter.height(block, WIDTH);
        if !painter.is_behind() {
            return height;
        }
    }
}

#[test]
fn a_long_text_is_laid_out_over_several_frames() {
    let block = answer(&"some words of a line that goes on and on ".repeat(25_000));
    let mut painter = painter();
    let mut heights = Vec::new();
    let mut guessed = Vec::new();
    loop {
        painter.begin();
        heights.push(painter.height(&block, WIDTH));
        assert_eq!(painter.height(&block, WIDTH), heights[heights.len() - 1], "a frame sees one height");
        guessed.push(painter.whole_height(&block, WIDTH));
        if !painter.is_behind() {
            break;
        }
    }
    assert_eq!(heights.len(), (25_000 * 41_usize).div_ceil(LAID_OUT_MOST));
    assert!(heights.is_sorted_by(|before, after| before < after), "{heights:?}");
    let whole = heights[heights.len() - 1];
    assert!(guessed.iter().all(|guess| guess.abs_diff(whole) < whole / 50), "{guessed:?}");
    painter.begin();
    assert_eq!((painter.height(&block, WIDTH), painter.is_behind()), (whole, false));
}

#[test]
fn short_texts_take_one_frame_and_wait_behind_a_long_one() {
    let (long, mut short) = (answer(&"long ".repeat(60_000)), answer("short"));
    short.id = BlockId(2);
    let mut painter = painter();
    painter.begin();
    assert!(painter.height(&short, WIDTH) > 0 && !painter.is_behind());
    painter.begin();
    let Kind::Answer(said) = &mut short.kind else { panic!() };
    said.text.push_str("\n\nand more");
    let before = painter.height(&long, WIDTH);
    assert!(before > 0 && painter.is_behind());
    let waits = painter.height(&short, WIDTH);
    painter.begin();
    assert!(painter.height(&short, WIDTH) > waits, "its turn has come");
}

#[test]
fn less_is_laid_out_where_frames_take_long() {
    let block = answer(&"words ".repeat(40_000));
    let mut painter = painter();
    let height = |painter: &mut Painter| {
        painter.show_links(true);
        painter.show_links(false);
        painter.begin();
        painter.height(&block, WIDTH)
    };
    let whole = height(&mut painter);
    painter.took(Duration::from_millis(60));
    let half = height(&mut painter);
    assert!(half.abs_diff(whole / 2) < 5, "{half} of {whole}");
    (0..20).for_each(|_| painter.took(Duration::from_millis(60)));
    assert!(height(&mut painter) > whole / 10, "something always");
    (0..20).for_each(|_| painter.took(Duration::from_millis(2)));
    assert_eq!(height(&mut painter), whole);
}

#[test]
fn words_are_found_row_by_row_in_both_directions() {
    let paragraphs: Vec<String> = (0..3_000)
        .map(|number| format!("paragraph {number} {}", if number % 700 == 3 { "needle" } else { "hay" }))
        .collect();
    let block = answer(&paragraphs.join("\n\n"));
    let mut painter = painter();
    let height = laid_out(&mut painter, &block);
    let mut search = Search::default();
    search.set("needle".into());
    let walk = |painter: &mut Painter, forward: bool| {
        let (mut rows, mut beyond) = (Vec::new(), None);
        while let Some(row) = painter.find(&block, WIDTH, &search, beyond, forward) {
            rows.push(row);
            beyond = Some(row);
        }
        rows
    };
    let forward = walk(&mut painter, true);
    let expected: Vec<usize> = (0..3_000).filter(|number| number % 700 == 3).map(|number| number * 2 + 1).collect();
    assert_eq!(forward, expected);
    assert!(forward.iter().all(|row| *row < height));
    let mut backward = walk(&mut painter, false);
    backward.reverse();
    assert_eq!(backward, forward);
    assert_eq!(painter.find(&block, WIDTH, &search, Some(forward[0]), false), None);
    search.set("nothing".into());
    assert_eq!(painter.find(&block, WIDTH, &search, None, true), None);
}

#[test]
fn words_are_found_across_marks_and_line_ends() {
    let block = answer("some **foo** bar\n\nfoo\nbar\n\nfoo bar\n\nfoo\n\nbar");
    let mut painter = painter();
    laid_out(&mut painter, &block);
    let mut search = Search::default();
    search.set("foo bar".into());
    let mut rows = Vec::new();
    while let Some(row) = painter.find(&block, WIDTH, &search, rows.last().copied(), true) {
        rows.push(row);
    }
    assert_eq!(rows, [1, 3, 5]);
}

#[test]
fn words_across_the_end_of_a_row_are_found_where_their_piece_begins() {
    let block = answer(&format!("first\n\n{}\n\nlast", "one two three four five six seven ".repeat(4)));
    let mut painter = painter();
    laid_out(&mut painter, &block);
    let mut search = Search::default();
    search.set("one two three four five six seven one two three four five six seven one".into());
    let row = painter.find(&block, WIDTH, &search, None, true);
    assert_eq!(painter.find(&block, WIDTH, &search, row, true), None);
    let Some(row) = row else { panic!("it is there") };
    let text = painter.text(&block, WIDTH, (row, 0), (row + 1, 60));
    assert!(text.trim_start().starts_with("one two three"), "{text:?}");
}

#[test]
fn only_the_marked_rows_of_a_long_text_are_copied() {
    let block = answer(&(0..9_000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n\n"));
    let mut painter = painter();
    let height = laid_out(&mut painter, &block);
    assert_eq!(painter.text(&block, WIDTH, (201, 2), (203, 99)), "line 100\n\nline 101");
    let all = painter.text(&block, WIDTH, (0, 0), (usize::MAX, u16::MAX));
    assert_eq!(all.lines().count(), height);
}
