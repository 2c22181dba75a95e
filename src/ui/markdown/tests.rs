use super::*;
use crate::ui::wrap::columns;
use crate::workbench::code::{CodeKind, Colouring};
use proptest::prelude::*;

fn texts(document: &mut Document, text: &str) -> Vec<String> {
    let rows = document.rows();
    let mut texts = vec![String::new(); rows];
    document.draw(text, 1, 0..rows, &Colours::default(), |row, lines, line| {
        texts[row] = lines.row(line).map(|(text, _)| text).collect();
    });
    texts
}

fn whole(text: &str, width: usize) -> Vec<String> {
    let mut document = Document::new(width, Role::Markdown, false);
    document.grow(text, true);
    texts(&mut document, text)
}

fn check(text: &str, rows: &[&str]) {
    assert_eq!(whole(text, 30), rows, "{text}");
    for step in [1, 2, 3, 7] {
        assert_eq!(in_pieces(text, 30, |_| step), rows, "in pieces of {step}: {text}");
    }
}

fn in_pieces(text: &str, width: usize, mut step: impl FnMut(usize) -> usize) -> Vec<String> {
    let mut document = Document::new(width, Role::Markdown, false);
    let mut end = 0;
    while end < text.len() {
        end = text.ceil_char_boundary((end + step(end).max(1)).min(text.len()));
        document.grow(text.get(..end).unwrap(), false);
    }
    document.grow(text, true);
    texts(&mut document, text)
}

#[test]
fn blocks_stand_apart() {
    check(
        "# Title\nfirst\nline\n\nsecond *one*\n***\nend",
        &["Title", "", "first line", "", "second one", "", "──────────────────────────────", "", "end"],
    );
}

#[test]
fn lists_keep_their_numbers_and_their_spacing() {
    check(
        "Do:\n1. one\n2. two\n   - deep\n   - er\n3. three\n\n4. four\n",
        &["Do:", "", "1. one", "2. two", "   • deep", "   • er", "3. three", "", "4. four"],
    );
    check(
        "- a long item that does not fit in one row\n- [x] done\n",
        &["• a long item that does not", "  fit in one row", "• ☑ done"],
    );
    check("1. one\n1. one again\n\n   with a paragraph\n", &["1. one", "2. one again", "", "   with a paragraph"]);
}

#[test]
fn code_keeps_its_blanks() {
    check(
        "See:\n```rust\nfn main() {\n\n    let x = 1;\n}\n```\nDone.",
        &["See:", "", "  ── rust", "  fn main() {", "  ", "      let x = 1;", "  }", "", "Done."],
    );
    check("a\n\n```\nopen\n", &["a", "", "  open"]);
    check("- item\n  ```sh\n  ls\n  ```\n", &["• item", "    ── sh", "    ls"]);
}

#[test]
fn quotes_and_links() {
    check("> said\n> *he*\n>\n> and more\n", &["│ said he", "│ ", "│ and more"]);
    check("[here](http://x.y) and <http://z>\n", &["here (http://x.y) and http://z"]);
}

#[test]
fn tables_are_aligned() {
    check(
        "| a | value |\n|---|--:|\n| one | 1 |\n| 漢字 | 22 |\n\nend",
        &["a    │ value", "─────┼──────", "one  │     1", "漢字 │    22", "", "end"],
    );
    let narrow = whole("| name | what it does |\n|---|---|\n| alpha | does many things at once |\n", 20);
    assert_eq!(
        narrow,
        ["name  │ what it does", "──────┼─────────────", "alpha │ does many", "      │ things at", "      │ once"]
    );
}

#[test]
fn an_open_table_shows_as_typed() {
    let text = "| a | b |\n|---|---|\n| one | tw";
    let mut document = Document::new(30, Role::Markdown, false);
    document.grow(text, false);
    assert_eq!(texts(&mut document, text), ["| a | b |", "|---|---|", "| one | tw"]);
}

#[test]
fn definitions_show_nothing() {
    check("see [it]\n\n[it]: http://x\n\nend", &["see [it]", "", "end"]);
    check("[it]: http://x\n\n[it] here\n", &["it (http://x) here"]);
}

#[test]
fn what_a_terminal_would_obey_is_shown() {
    check("a\u{1b}[2Jb `\u{7}`", &["a␛[2Jb ␇"]);
}

#[test]
fn a_segment_is_rendered_again_after_it_was_forgotten() {
    let text = "# One\n\npara\n\n- a\n- b\n\n```sh\nls\n```\n\nend";
    let mut document = Document::new(20, Role::Markdown, false);
    document.grow(text, true);
    let before = texts(&mut document, text);
    let held = document.bytes();
    document.forget(9);
    assert!(document.bytes() < held);
    assert_eq!(texts(&mut document, text), before);
}

#[test]
fn long_blocks_are_cut_at_the_same_places() {
    let paragraph = "word and more words ".repeat(2_000);
    let code = format!("```\n{}```\n", "let x = 1;\n".repeat(3_000));
    let text = format!("{paragraph}\n\n{code}\n{}", "line\n".repeat(4_000));
    let rows = whole(&text, 50);
    assert_eq!(in_pieces(&text, 50, |_| 4_096), rows);
    assert_eq!(in_pieces(&text, 50, |end| 700 + end % 911), rows);
}

#[test]
fn a_long_line_of_code_is_cut_at_the_same_places() {
    let long = "let mut x = 1; ".repeat(900);
    for text in [
        format!("```\nfirst\n{long}\nlast\n```\nend"),
        format!("  ```rs\n  {long}```\n  more\n  ```\nend"),
        format!("```\n{}\nin it\n```\nend", "`".repeat(9_000)),
        format!("```\n{}```\n```\nend", "x".repeat(CODE_SEGMENT)),
        format!("```\n{long}"),
        format!("```\n{}\n```\nend", "漢".repeat(3_000)),
        format!(" ```\nab\n{}\n ```\nend", "e\u{301}".repeat(4_000)),
    ] {
        let rows = whole(&text, 50);
        assert!(rows.iter().all(|row| columns(row) <= 50));
        assert!(rows.len() > 80 && (rows[rows.len() - 1] == "end" || !text.ends_with("end")), "{:?}", rows.last());
        for step in [1_000, 4_095, 4_096, 4_097] {
            assert_eq!(in_pieces(&text, 50, |_| step), rows, "in pieces of {step}");
        }
        assert_eq!(in_pieces(&text, 50, |end| 100 + end % 911), rows);
        let mut document = Document::new(50, Role::Markdown, false);
        document.grow(&text, true);
        let before = texts(&mut document, &text);
        document.forget(9);
        assert_eq!(texts(&mut document, &text), before);
        assert_eq!(document.uncoloured(&text, &(0..9_999), &Colours::default()), None);
    }
}

#[test]
fn a_budget_changes_when_and_not_what() {
    let paragraph = "word and more words ".repeat(2_000);
    let text = format!("{paragraph}\n\n```\n{}```\n\n漢字{}", "let x = 1;\n".repeat(3_000), "字 ".repeat(9_000));
    let mut document = Document::new(50, Role::Markdown, false);
    let mut calls = 0;
    while document.taken_in() < text.len() {
        let mut budget = 7_001;
        document.grow_within(&text, true, &mut budget);
        assert!(budget == 0 || document.taken_in() == text.len());
        calls += 1;
    }
    assert_eq!(calls, text.len().div_ceil(7_001));
    assert_eq!(texts(&mut document, &text), whole(&text, 50));
}

fn markdownish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("# ".to_owned()),
        Just("#".to_owned()),
        Just("- ".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n* ".to_owned()),
        Just("\n  - ".to_owned()),
        Just("\n1. ".to_owned()),
        Just("\n7) ".to_owned()),
        Just("> ".to_owned()),
        Just("\n> ".to_owned()),
        Just("```".to_owned()),
        Just("\n```\n".to_owned()),
        Just("\n~~~ x\n".to_owned()),
        Just("`".to_owned()),
        Just("**".to_owned()),
        Just("_".to_owned()),
        Just("~~".to_owned()),
        Just("---".to_owned()),
        Just("\n---\n".to_owned()),
        Just("===\n".to_owned()),
        Just("\n| a | b |\n".to_owned()),
        Just("|---|:-:|\n".to_owned()),
        Just("|".to_owned()),
        Just("[l](u)".to_owned()),
        Just("[l]".to_owned()),
        Just("<b>".to_owned()),
        Just("\n<div>\n".to_owned()),
        Just("\n<!-- ".to_owned()),
        Just(" -->".to_owned()),
        Just("    ".to_owned()),
        Just("\t".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{1b}[1m".to_owned()),
        Just("\u{202e}".to_owned()),
        Just("漢字👩\u{200d}👧e\u{301}".to_owned()),
        "[a-z]{1,9} ?".prop_map(|word| word),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_chunking_gives_the_same_rows(text in markdownish(), width in 2usize..40, step in 1usize..9, other in 1usize..30) {
        let rows = whole(&text, width);
        prop_assert_eq!(&in_pieces(&text, width, |_| step), &rows, "{:?}", text);
        prop_assert_eq!(&in_pieces(&text, width, |end| 1 + (end * other) % 13), &rows, "{:?}", text);
    }

    #[test]
    fn no_row_is_too_wide(text in markdownish(), width in 2usize..40) {
        for row in whole(&text, width) {
            prop_assert!(columns(&row) <= width, "{:?} of {:?}", row, text);
            prop_assert!(!row.chars().any(char::is_control));
        }
    }
}

/// The texts of the rows, each piece behind the last word of its role where that is not plain code.
fn inked(document: &mut Document, text: &str, colours: &Colours) -> Vec<String> {
    let rows = document.rows();
    let mut inked = vec![String::new(); rows];
    document.draw(text, 1, 0..rows, colours, |row, lines, line| {
        for (piece, ink) in lines.row(line) {
            match ink.role.name().strip_prefix("markdown.code.block.") {
                Some(word) => inked[row].extend(["<", word, " ", piece, ">"]),
                None => inked[row] += piece,
            }
        }
    });
    inked
}

#[test]
fn code_is_coloured_once_its_colours_are_known() {
    let text =
        " ```rust,ignore\n  fn a() {}\n // as long as two rows are, and more\n ```\nand\n~~~\nplain\n~~~\n```py\nx\n";
    let mut document = Document::new(30, Role::Markdown, false);
    let mut colours = Colours::default();
    document.grow(text.get(..40).unwrap(), false);
    assert_eq!(document.uncoloured(text, &(0..99), &colours), None, "it is not whole");
    document.grow(text, false);
    let code = document.uncoloured(text, &(0..99), &colours).unwrap();
    assert_eq!(
        (code.language.as_str(), code.text.as_str()),
        ("rust", " fn a() {}\n// as long as two rows are, and more\n")
    );
    assert_eq!(document.uncoloured(text, &(6..99), &colours), None, "it is not on the screen");
    let plain = inked(&mut document, text, &colours);
    let mut known = Colouring::default();
    known.put(1, None);
    known.put(2, Some(CodeKind::Keyword));
    known.end_line();
    known.put(99, Some(CodeKind::Comment));
    known.end_line();
    colours.keep(code.id, known);
    assert_eq!(document.uncoloured(text, &(0..99), &colours), None);
    let coloured = inked(&mut document, text, &colours);
    assert_eq!(
        coloured[1..4],
        ["   <keyword fn> a() {}", "  <comment // as long as two rows are, >", "  <comment and more>"]
    );
    document.forget(2);
    assert_eq!(inked(&mut document, text, &colours), coloured);
    document.forget(3);
    assert_eq!(inked(&mut document, text, &Colours::default()), plain, "colours that are gone leave no trace");
    document.grow(text, true);
    let last = document.uncoloured(text, &(0..99), &colours).unwrap();
    assert_eq!((last.language.as_str(), last.text.as_str()), ("py", "x\n"));
}

#[test]
fn a_link_is_one_over_all_its_rows_and_says_where_it_leads_when_it_must() {
    let rows = |text: &str, links: bool| -> Vec<String> {
        let mut document = Document::new(20, Role::Markdown, links);
        document.grow(text, true);
        let mut rows = vec![String::new(); document.rows()];
        document.draw(text, 1, 0..rows.len(), &Colours::default(), |row, lines, line| {
            for (piece, ink) in lines.row(line) {
                match lines.target(ink.link) {
                    Some(target) => rows[row].extend(["<", target, "|", piece, ">"]),
                    None => rows[row] += piece,
                }
            }
        });
        rows
    };
    let text = "see [a label over rows](https://a.org) now";
    assert_eq!(rows(text, true), ["see <https://a.org|a label over>", "<https://a.org|rows> now"]);
    assert_eq!(rows(text, false), ["see a label over", "rows (https://a.org)", "now"]);
    assert_eq!(rows("<https://a.org> <a@b.org>", true), ["<https://a.org|https://a.org>", "<mailto:a@b.org|a@b.org>"]);
    assert_eq!(rows("[x](javascript:y)", true), ["x (javascript:y)"]);
    assert_eq!(rows("[www.a.org](https://b.org)", true), ["<https://b.org|www.a.org>", "(https://b.org)"]);
    let table = "| a |\n|---|\n| [b](https://a.org) |";
    assert_eq!(rows(table, true), ["a", "─", "<https://a.org|b>"]);
    assert_eq!(
        rows("- [a](https://a.org)\n- [b](https://b.org)", true),
        ["• <https://a.org|a>", "• <https://b.org|b>"]
    );
}
