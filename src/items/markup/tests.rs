//! What is read of markup, and what is said of mistakes in it.

use super::*;
use proptest::prelude::*;
use quick_xml::escape::escape;
use std::collections::BTreeMap;

fn scanned(text: &str) -> (Element, Vec<String>) {
    let mut problems = Vec::new();
    let root = scan(text, 1, Path::new("a.md"), &mut problems);
    (root, problems.iter().map(ToString::to_string).collect())
}

/// Problems and the metadata element of `<directive><metadata>…`.
fn metadata(inside: &str) -> (Element, Vec<String>) {
    let (root, problems) = scanned(&format!("<directive>\n<metadata>\n{inside}\n</metadata>\n</directive>"));
    (root.child("directive").unwrap().child("metadata").unwrap().clone(), problems)
}

#[test]
fn code_survives() {
    let (found, problems) = metadata("<description>Run <code>if (a < b && c > d)</code> now</description>");
    assert_eq!(found.child("description").unwrap().text, "Run <code>if (a < b && c > d)</code> now");
    let (found, more) = metadata("<note>if (a < b) { c<d>(); }</note><author>me</author>");
    assert_eq!(found.child("note").unwrap().text, "if (a < b) { c<d>(); }");
    assert_eq!(found.child("author").unwrap().text, "me");
    assert_eq!((problems, more), (vec![], vec![]));
}

#[test]
fn what_stands_for_itself_is_passed_over() {
    let inside = "<description>a<!-- </description> -->b <![CDATA[</description> &lt;]]> \
                  <template></description></template> &lt;&#65;&#x42;&nope;</description>";
    let (found, problems) = metadata(inside);
    let expected = "ab </description> &lt; <template></description></template> <AB&nope;";
    assert_eq!(found.child("description").unwrap().text, expected);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn an_element_without_an_end_costs_itself() {
    let (found, problems) = metadata("<description>Does things\n<category>tools</category>");
    assert_eq!(found.child("description").unwrap().text, "Does things");
    assert_eq!(found.child("category").unwrap().text, "tools");
    assert_eq!(problems, ["a.md:3: `<description>` is never closed; write `</description>` where it ends"]);
    let (root, problems) = scanned("<directive><metadata><author>a</author></directive>");
    assert_eq!(root.child("directive").unwrap().child("metadata").unwrap().child("author").unwrap().text, "a");
    assert_eq!(problems, ["a.md:1: `<metadata>` is never closed; write `</metadata>` where it ends"]);
}

#[test]
fn attributes_are_read_as_they_are_written() {
    let (found, problems) = metadata("<model tier='fast' id=gpt provider=\"a &amp; b\" tier=\"x\" spare/>");
    let model = found.child("model").unwrap();
    let values: Vec<_> = model.attributes.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(values, [("tier", "fast"), ("id", "gpt"), ("provider", "a & b")]);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(model.lines, (3, 3));
}

#[test]
fn lines_are_those_of_the_file() {
    let (root, _) = scanned("<directive>\n<inputs>\n\n<input name=\"a\">\ntext\n</input>\n</inputs>\n</directive>");
    let inputs = root.child("directive").unwrap().child("inputs").unwrap();
    assert_eq!((inputs.lines, inputs.child("input").unwrap().lines), ((2, 7), (4, 6)));
}

#[test]
fn a_comment_or_declaration_without_an_end_is_fatal() {
    for (begin, inside) in [
        ("<!--", "<!-- <author>me</author>"),
        ("<![CDATA[", "<![CDATA[ <author>me</author>"),
        ("<?", "<?xml version=\"1.0\"> <author>me</author>"),
        ("<?", "<?old <author>me</author> ?>"),
        ("<!", "<!ELEMENT a> <author>me</author>"),
        ("<!", "<!DOCTYPE a <author>me</author>"),
    ] {
        let (found, problems) = metadata(inside);
        let message = format!("a.md:3: `{begin}` is not ended correctly; ");
        assert!(problems[0].starts_with(&message) && problems.len() == 1, "{inside}: {problems:?}");
        assert_eq!(found.child("author").map(|author| author.text.as_str()), Some("me"), "{inside}");
    }
    let whole = "<!DOCTYPE a><!DOCTYPE a [<!ENTITY b \"c\">]><?xml version=\"1.0\"?><?a > b?><!-- <author> --><![CDATA[<b> &lt;]]>";
    let (found, problems) = metadata(whole);
    assert_eq!((found.text.as_str(), problems), ("<b> &lt;", vec![]));
}

#[test]
fn a_missing_quote_costs_what_is_behind_it_in_the_tag() {
    let quote = "a.md:3: the value of `tier` in `<model>` has no closing quote; write \" behind it, on the same line";
    for (inside, more) in [
        ("<model id=\"a\" tier=\"fast />\n<author>me</author>", None),
        ("<model id=\"a\" tier=\"fast\n provider=\"b\"/><author>me</author>", None),
        ("<model id=\"a\" tier=\"fast></model><author>me</author>", None),
        ("<model id=\"a\" tier=\"fast <author>me</author>", Some("the tag `<model` is not finished")),
    ] {
        let (found, problems) = metadata(inside);
        assert_eq!(problems[0], quote, "{inside}");
        assert!(more.is_none_or(|more| problems[1].contains(more)), "{problems:?}");
        let model = found.child("model").unwrap();
        assert_eq!((model.attribute("id"), model.attribute("tier")), (Some("a"), None), "{inside}");
        assert_eq!(found.child("author").map(|author| author.text.as_str()), Some("me"), "{inside}");
    }
}

#[test]
fn a_word_that_is_no_attribute_is_told_once_on_its_line() {
    let (found, problems) = metadata("<model tier\"fast\",\n 1a,id=\"b\" = \n\"c\" >\n</model>");
    let told: Vec<_> = problems.iter().map(|problem| problem.split(';').next().unwrap()).collect();
    assert_eq!(
        told,
        [
            "a.md:3: `tier\"fast\",` in `<model>` is not an attribute",
            "a.md:4: `1a,` in `<model>` is not an attribute",
            "a.md:4: `=` in `<model>` is not an attribute",
            "a.md:5: `\"c\"` in `<model>` is not an attribute",
        ]
    );
    assert_eq!(found.child("model").unwrap().attribute("id"), Some("b"));
}

#[test]
fn an_end_tag_that_is_not_finished_is_told() {
    let (_, problems) = scanned("<directive><metadata></metadata\n</directive>");
    let told: Vec<_> = problems.iter().map(|problem| problem.split(';').next().unwrap()).collect();
    assert_eq!(told, ["a.md:1: the tag `</metadata` is not finished", "a.md:1: `<metadata>` is never closed"]);
}

#[test]
fn references_are_those_of_xml() {
    let (found, problems) =
        metadata("<author>&#0;&#+65;&#0000000065;&#x1F680;&#xD800; & &a &quot;&nbsp;&copy;</author>");
    assert_eq!(found.child("author").unwrap().text, "&#0;&#+65;A🚀&#xD800; & &a \"\u{a0}&copy;");
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_deepest_nesting_is_passed_over() {
    let nested = |ends: &str| {
        let (begin, inside) = ("<hooks><hook><condition>", "<not>".repeat(100_000) + &ends.repeat(100_000));
        metadata(&format!("{begin}{inside}</condition></hook></hooks><author>me</author>"))
    };
    let (found, problems) = nested("</not>");
    assert_eq!(problems, ["a.md:3: `<not>` lies more than 48 elements deep; nest less"]);
    assert_eq!(found.child("author").unwrap().text, "me");
    assert!(nested("").1.iter().any(|problem| problem.contains("`<not>` is never closed")));
}

/// Directives, without what reading does not keep: line ends in values, blanks around texts.
fn elements() -> impl Strategy<Value = Element> {
    let attributes = || prop::collection::btree_map("[a-z_][a-z0-9_.:-]{0,6}", "[^\n]{0,12}", 0..4);
    let element = |tag: &str, attributes: BTreeMap<String, String>, children: Vec<Element>, text: &str| Element {
        tag: tag.to_owned(),
        attributes: attributes.into_iter().map(|(name, value)| Attribute { name, value, line: 1 }).collect(),
        children,
        text: text.trim().to_owned(),
        lines: (1, 1),
    };
    let leaf = ("description|author|limits2|x-y", attributes(), "[^\n]{0,20}");
    let leaf = leaf.prop_map(move |(tag, attributes, text)| element(&tag, attributes, Vec::new(), &text));
    let test = attributes().prop_map(move |attributes| element("condition", attributes, Vec::new(), ""));
    let conditions = test.prop_recursive(6, 24, 4, move |inner| {
        let parts = prop::collection::vec(inner, 0..4);
        ("condition|any|all|not", attributes(), parts)
            .prop_map(move |(tag, attributes, parts)| element(&tag, attributes, parts, ""))
    });
    let hook = (attributes(), conditions).prop_map(move |(attributes, condition)| {
        element("hook", attributes, vec![Element { tag: "condition".into(), ..condition }], "")
    });
    let hooks = prop::collection::vec(hook, 0..3).prop_map(move |hooks| element("hooks", BTreeMap::new(), hooks, ""));
    (attributes(), prop::collection::vec(leaf, 0..4), hooks).prop_map(move |(attributes, mut children, hooks)| {
        children.push(hooks);
        let metadata = element("metadata", BTreeMap::new(), children, "");
        element("directive", attributes, vec![metadata], "")
    })
}

fn written(element: &Element) -> String {
    let (tag, text) = (&element.tag, escape(element.text.as_str()));
    let attributes = element.attributes.iter().map(|one| format!(" {}=\"{}\"", one.name, escape(one.value.as_str())));
    let (attributes, children): (Vec<_>, Vec<_>) =
        (attributes.collect(), element.children.iter().map(written).collect());
    format!("<{tag}{}>{text}{}</{tag}>", attributes.concat(), children.concat())
}

proptest! {
    #[test]
    fn any_text_is_scanned(text in "(<|>|/|</|directive|metadata|inputs|input|description|hooks|hook| |=|\"|'|&|;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|template|é|\n|a){0,60}") {
        scanned(&text);
    }

    #[test]
    fn any_text_at_all_is_scanned(text in ".*") {
        scanned(&text);
    }

    #[test]
    fn what_is_well_formed_is_read_as_it_was_meant(directive in elements()) {
        let (root, problems) = scanned(&written(&directive));
        prop_assert_eq!(&problems, &Vec::<String>::new());
        prop_assert_eq!(&root.children, &[directive]);
    }
}
