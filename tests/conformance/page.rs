//! The page of rules and the tests that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

fn texts(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    files(&root().join(folder), ending, &mut found);
    found.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The names of the tests in a source.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    let of_tests =
        source.split("#[").skip(1).filter(|rest| rest.starts_with("test]") || rest.starts_with("tokio::test"));
    of_tests.filter_map(|rest| rest.split_once("fn ")?.1.split_once('(')).map(|(name, _)| name)
}

/// The rows of the page: a rule, what is done, and the names of tests.
fn rows() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("docs/pipeline-conformance.md")).unwrap();
    let rows =
        page.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---") && !line.starts_with("| rule"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rule, done, tests] = cells.as_slice() else { panic!("not three cells: {row}") };
        assert!(!rule.is_empty() && !done.is_empty(), "{row}");
        ((*rule).to_owned(), tests.split('`').skip(1).step_by(2).map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn every_rule_of_the_page_has_a_test_that_there_is() {
    let sources: Vec<String> = ["tests", "src"].into_iter().flat_map(|folder| texts(folder, "rs")).collect();
    let known: BTreeSet<&str> = sources.iter().flat_map(|source| tests_in(source)).collect();
    let scripts = texts("tests/extensions-js", "mjs");
    let is_there =
        |name: &str| known.contains(name) || scripts.iter().any(|text| text.contains(&format!("(\"{name}\"")));
    let rows = rows();
    assert!(rows.len() > 60, "{}", rows.len());
    for (rule, tests) in &rows {
        assert!(!tests.is_empty(), "no test: {rule}");
        for test in tests {
            assert!(is_there(test), "`{test}` is no test: {rule}");
        }
    }
}

#[test]
fn every_test_of_rules_is_on_the_page() {
    let rows = rows();
    let listed: BTreeSet<&str> = rows.iter().flat_map(|(_, tests)| tests.iter().map(String::as_str)).collect();
    let sources = texts("tests/conformance", "rs");
    // Those here are about the page itself.
    let of_page: Vec<_> = tests_in(include_str!("page.rs")).collect();
    let own = sources.iter().flat_map(|source| tests_in(source)).filter(|name| !of_page.contains(name));
    let own: Vec<_> = own.collect();
    assert!(own.len() > 50, "{own:?}");
    let missing: Vec<_> = own.iter().filter(|name| !listed.contains(**name)).collect();
    assert!(missing.is_empty(), "without a rule on the page: {missing:?}");
}
