//! What tools say of themselves, in each language.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read(text: &str, file: &str) -> (Tool, Vec<String>) {
    let (tool, problems) = Tool::parse(text, Path::new(file));
    (tool, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn python_is_read_as_far_as_it_is_written_out() {
    let text = r#"# rye:signed:x
"""Tells the time."""
import os
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "team"
__tool_description__ = ("Tells the time, "
    "and the date")
ZONES = ["utc", "local"]
CONFIG_SCHEMA: dict = {
    "type": "object",
    "properties": {
        "zone": {"type": "string", "enum": ZONES, "default": os.environ.get("TZ")},
        "offset": {"type": "number", "minimum": -12.5},
    },
    **{"required": ["zone"]},
}
def execute(params, project_path):
    __version__ = "not this one"
"#;
    let (tool, problems) = read(text, "now.py");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!((tool.version.as_deref(), tool.docstring.as_deref()), (Some("1.0.0"), Some("Tells the time.")));
    assert_eq!(tool.description.as_deref(), Some("Tells the time, and the date"));
    assert_eq!(tool.executor_id, Some(Some("rye/core/runtimes/python/function".into())));
    let schema = json!({"type": "object", "required": ["zone"], "properties": {
        "zone": {"type": "string", "enum": ["utc", "local"]}, "offset": {"type": "number", "minimum": -12.5}}});
    assert_eq!(tool.config_schema, Some(schema));
    assert_eq!(tool.partial, ["CONFIG_SCHEMA"]);
    let said = tool.compare(&ItemId::parse("team/now").unwrap(), Path::new("now.py"));
    assert_eq!(said[0].message, "`CONFIG_SCHEMA` is partly computed; levain sees only literal values");
}

#[test]
fn python_texts_and_numbers_are_what_python_makes_of_them() {
    let text = r#"A = 'it''s' "\x41\u00e9\101\
\q\n" ; HEX = 0xFF + 1
CONFIG = {"a": r"\d", "b": """two
lines""", "c": u'\U0001F600', "d": -0x1_0, "e": 1e3, "f": None, "g": (True, {1, 2,}), 3: not_there,
    "h": f"{a}", "i": b"bytes", "j": "\N{BULLET}", "k": 1j, "l": 18446744073709551615, "m": [*a], "n": ("x"), # why
}
X = CONFIG_RESOLVE = {"a": A}
Y = ENV_CONFIG = [call()]
A.b = 2
"#;
    let (tool, problems) = read(text, "a.py");
    assert_eq!(problems, Vec::<String>::new());
    let made = json!({"a": "\\d", "b": "two\nlines", "c": "\u{1F600}", "d": -16, "e": 1000.0, "f": null,
        "g": [true, [1, 2]], "l": 18_446_744_073_709_551_615_u64, "m": [], "n": "x"});
    assert_eq!(tool.config, Some(made));
    assert_eq!(tool.config_resolve, Some(json!({"a": "itsAéA\\q\n"})));
    assert_eq!(tool.partial, ["HEX", "CONFIG", "ENV_CONFIG", "Y"]);
}

#[test]
fn half_a_python_file_yields_its_half() {
    let (tool, problems) = read("__version__ = '1.0.0'\n__tool_type__ = 'python'\ndef broken(:\n  pass\n", "a.py");
    assert_eq!((tool.version.as_deref(), tool.tool_type.as_deref()), (Some("1.0.0"), Some("python")));
    assert!(problems[0].starts_with("a.py:3: is not valid Python"), "{problems:?}");
}

#[test]
fn data_files_are_read() {
    let expected = json!({"type": "object"});
    for (text, file) in [
        ("version: 1.0.0\ntool_type: http\nexecutor_id: null\nconfig_schema: {type: object}\n", "a.yaml"),
        (
            "{\"version\": \"1.0.0\", \"tool_type\": \"http\", \"executor_id\": null, \"config_schema\": {\"type\": \"object\"}}",
            "a.json",
        ),
    ] {
        let (tool, problems) = read(text, file);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            (tool.version.as_deref(), tool.executor_id, tool.config_schema),
            (Some("1.0.0"), Some(None), Some(expected.clone()))
        );
    }
    let (tool, _) = read("version = \"1.0.0\"\n[config_schema]\ntype = \"object\"\n", "a.toml");
    assert_eq!(tool.config_schema, Some(expected));
    assert_eq!(read("version = \n", "a.toml").1.len(), 1);
    assert_eq!(read("[1]", "a.json").1.len(), 1);
}

#[test]
fn javascript_constants_are_read() {
    let text = "// rye:signed:x\nexport const __version__ = \"1.0.0\";\nexport const __tool_description__ =\n  'It\\'s \"quoted\"';\n\
                export const CONFIG_SCHEMA: Schema = {\n  type: \"object\", // a comment\n  'properties': { a: { type: `string`, default: pick(1, [2]), }, \
                b: { max: 1_000 } },\n  ...more,\n  required: [\"a\", NAME, \"b\"],\n} as const;\nconst other = 3;\n";
    let (tool, problems) = read(text, "a.ts");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(tool.description.as_deref(), Some("It's \"quoted\""));
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"max": 1000}}, "required": ["a", "b"]});
    assert_eq!(tool.config_schema, Some(schema));
    assert_eq!(tool.partial, ["CONFIG_SCHEMA"]);
}

#[test]
fn quotes_in_a_description_and_exports_in_every_form_are_read() {
    let text = "const ZONES = ['utc', \"local\"];\nconst zone = { type: 'string', enum: [...ZONES, pick()] };\n\
                exports.__version__ = '1.0.0';\nmodule.exports = {\n  __tool_description__: 'says \"it\\'s {late}\"; then \\u{e9} \\x41' + ' and more',\n  \
                CONFIG_SCHEMA: { type: 'object', properties: { zone, offset: { minimum: -12.5 } }, ...{ required: ['zone'] } },\n};\n";
    let (tool, problems) = read(text, "a.cjs");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(tool.version.as_deref(), Some("1.0.0"));
    assert_eq!(tool.description.as_deref(), Some("says \"it's {late}\"; then é A and more"));
    let schema = json!({"type": "object", "required": ["zone"], "properties": {
        "zone": {"type": "string", "enum": ["utc", "local"]}, "offset": {"minimum": -12.5}}});
    assert_eq!(tool.config_schema, Some(schema));
    let (tool, _) =
        read("export default { __version__: `2.0.0`, CONFIG_SCHEMA: <const>{ type: 1 } } satisfies Tool;", "a.ts");
    assert_eq!(tool.version.as_deref(), Some("2.0.0"));
}

#[test]
fn half_a_javascript_file_yields_its_half() {
    let (tool, problems) = read("export const __version__ = '1.0.0';\nexport function f( {\n  return 1 +;\n", "a.js");
    assert_eq!(tool.version.as_deref(), Some("1.0.0"));
    assert!(problems[0].contains("cannot be parsed here"), "{problems:?}");
}

/// Whether a text is well-formed or not, reading it takes a time in proportion to its length.
#[test]
fn tangled_javascript_is_given_up() {
    for part in ["[", "{a:", "(", "`${", "<a", "a?b:", "=>{", "/*", "'", "a<b>(", "async ("] {
        let (_, _) = read(&part.repeat(100_000 / part.len()), "a.ts");
    }
}

/// Each name stands for two of the one before it: a few lines would be more than there is memory.
#[test]
fn names_that_double_are_given_up() {
    let doubling = |first: &str, join: &str, begin: &str, end: &str| {
        let lines = (1..60).map(|number| {
            let before = format!("a{}", number - 1);
            format!("{begin}a{number} = [{before}{join}{before}]{end}\n")
        });
        format!("{begin}a0 = {first}{end}\n{}", lines.collect::<String>())
    };
    let text = doubling("['x']", ", ", "const ", ";");
    let (tool, _) =
        read(&format!("{text}export const CONFIG = {{ a59 }};\nexport const __version__ = '1.0.0';\n"), "a.js");
    assert_eq!((tool.version.as_deref(), tool.partial.as_slice()), (Some("1.0.0"), &["CONFIG".to_owned()][..]));
    let text = doubling("['x']", ", ", "", "");
    let (tool, _) = read(&format!("{text}CONFIG = {{'a': a59}}\n__version__ = '1.0.0'\n"), "a.py");
    assert_eq!((tool.version.as_deref(), tool.partial.as_slice()), (Some("1.0.0"), &["CONFIG".to_owned()][..]));
    for ending in ["js", "py"] {
        read(
            &doubling(&format!("'{}'", "x".repeat(1_000)), " + ", "", "").replace(['[', ']'], ""),
            &format!("a.{ending}"),
        );
    }
}

/// Each joined line has all that follow looked at once more: of a file of 120 kB it took half a minute.
#[test]
fn python_lines_that_are_joined_are_bounded() {
    for part in ["\\\n", "a\\\n", "\\\r\na"] {
        let (tool, problems) = read(&format!("__version__ = '1'\n{}", part.repeat(30_000)), "a.py");
        assert_eq!(tool.version, None);
        assert!(problems[0].contains("is too complex to parse"), "{problems:?}");
    }
    let (tool, _) = read("__version__ = \\\n  '1.0.0'\n", "a.py");
    assert_eq!(tool.version.as_deref(), Some("1.0.0"));
}

/// The same of comments in JavaScript.
#[test]
fn javascript_comments_are_bounded() {
    for part in ["a/**/", "/**/a a ", "//\n<"] {
        let (tool, problems) = read(&format!("export const __version__ = '1';\n{}", part.repeat(16_000)), "a.ts");
        assert_eq!(tool.version, None);
        assert!(problems[0].contains("is too complex to parse"), "{problems:?}");
    }
    let said = format!("{}export const __version__ = '1.0.0'; /* it */\n", "// why\n".repeat(2_500));
    assert_eq!(read(&said, "a.ts").0.version.as_deref(), Some("1.0.0"));
}

#[test]
fn a_long_list_is_read() {
    let text = format!("CONFIG = [{}]\n", "1,".repeat(50_000));
    let (tool, problems) = read(&text, "a.py");
    assert_eq!((tool.config.unwrap().as_array().unwrap().len(), problems), (50_000, Vec::new()));
}

#[test]
fn shell_comments_are_read() {
    let text = "#!/bin/bash\n# rye:signed:x\n# version: 1.0.0\n# __tool_description__ = \"Counts lines\"\n# executor_id: null\n\
                # config_schema: {\"type\": \"object\"}\nset -e\n# category: not here\n";
    let (tool, _) = read(text, "a.sh");
    assert_eq!((tool.version.as_deref(), tool.description.as_deref()), (Some("1.0.0"), Some("Counts lines")));
    assert_eq!(
        (tool.executor_id, tool.category, tool.config_schema),
        (Some(None), None, Some(json!({"type": "object"})))
    );
}

#[test]
fn deep_nesting_is_survived() {
    for ending in ["py", "js", "json", "yaml", "toml"] {
        for open in ["[", "{a:", "(", "-", "not ", "lambda:"] {
            read(&format!("export const CONFIG = {}", open.repeat(20_000)), &format!("a.{ending}"));
            read(&format!("CONFIG = {}", open.repeat(20_000)), &format!("a.{ending}"));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_tool(
        text in "(export const |CONFIG|CONFIG_SCHEMA|__version__|:| = |\\{|\\}|\\[|\\]|\\(|\\)|\"|'|`|\\$\\{|,|a|1|-|\n|\\\\|é|//|/\\*|# |null|def |\\*\\*){0,40}",
        ending in prop::sample::select(vec!["py", "js", "sh", "yaml", "json", "toml"]),
    ) {
        read(&text, &format!("a.{ending}"));
    }
}

/// Found by fuzzing: each of these was read for ever.
#[test]
fn brackets_that_close_another_end_the_reading() {
    for text in ["[}", "{]", "{\"a\": [}, ]", "[{]}", "[1, }", "[[[}}}"] {
        let (_tool, _problems) = Tool::parse(&format!("export const CONFIG_SCHEMA = {text};\n"), Path::new("a.ts"));
    }
}
