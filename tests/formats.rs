//! The rules of the file formats that have no test beside their parser: what a whole file means, seen from outside.

use levain::domain::{Grant, Space};
use levain::items::directive::Values;
use levain::items::hook::Action;
use levain::items::signature::{SignatureLayout, TrustStore, Verdict, sign, verify};
use levain::items::{Directive, Hooks, ItemId, Items, Kind, Knowledge, Spaces, Tool};
use serde_json::json;
use std::fs;
use std::path::Path;

fn directive(inside: &str) -> (Directive, Vec<String>) {
    let text = format!("Never sent.\n\n```xml\n<directive name=\"a\">{inside}</directive>\n```\nBody.\n");
    let (directive, problems) = Directive::parse(&text, Path::new("a.md"));
    (directive, problems.into_iter().map(|problem| problem.message).collect())
}

fn metadata(inside: &str) -> (Directive, Vec<String>) {
    directive(&format!("<metadata>{inside}</metadata>"))
}

fn granted(directive: &Directive) -> Vec<&str> {
    directive.permissions.capabilities.iter().map(|one| one.value.capability.as_str()).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

// ------------------------------------------------------------------------------------------------ ids

#[test]
fn of_two_endings_the_earlier_wins_and_others_are_no_items() {
    let folder = tempfile::tempdir().unwrap();
    let endings = Kind::Tool.endings();
    assert_eq!(endings, ["py", "yaml", "yml", "json", "js", "ts", "mjs", "cjs", "sh", "toml"]);
    for (number, ending) in endings.iter().enumerate() {
        // Each name has this ending and all that come after it.
        for later in &endings[number..] {
            write(folder.path(), &format!(".ai/tools/t{number}.{later}"), "");
        }
        assert_eq!(Kind::Tool.rank(ending), Some(number));
    }
    for other in ["txt", "PY", "md", "rs", "exe"] {
        write(folder.path(), &format!(".ai/tools/other.{other}"), "");
    }
    write(folder.path(), ".ai/tools/agent.config-schema.yaml", "");
    let items = Items::list(&Spaces::new(folder.path(), Path::new("/nowhere"), []));
    for (number, ending) in endings.iter().enumerate() {
        let found = items.find(Kind::Tool, &format!("t{number}")).unwrap();
        assert!(found.item.path.ends_with(&format!("t{number}.{ending}")), "{}", found.item.path);
        assert_eq!(found.shadows.len(), endings.len() - number - 1);
    }
    assert!(items.find(Kind::Tool, "other").is_err());
    assert!(items.find(Kind::Tool, "agent.config-schema").is_ok(), "only the last ending is dropped");
}

#[test]
fn kinds_have_folders_and_endings_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        write(folder.path(), &format!(".ai/{}/team/a.md", kind.folder()), "");
        write(folder.path(), &format!(".ai/{}/team/b.yml", kind.folder()), "");
    }
    let items = Items::list(&Spaces::new(folder.path(), Path::new("/nowhere"), []));
    let has = |kind, id: &str| items.find(kind, id).is_ok();
    assert!(has(Kind::Directive, "team/a") && !has(Kind::Directive, "team/b"));
    assert!(has(Kind::Knowledge, "team/a") && has(Kind::Knowledge, "team/b"));
    assert!(!has(Kind::Tool, "team/a") && has(Kind::Tool, "team/b"));
}

#[test]
fn hooks_files_are_kept_apart_and_shared_ones_merged_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let (project, user) = (folder.path().join("p"), folder.path().join("u"));
    let hook = |id: &str, item: &str| {
        format!("- {{id: {id}, event: thread_started, action: {{primary: fetch, item_id: {item}}}}}\n")
    };
    write(&user, ".ai/config/agent/hooks.yaml", &format!("hooks:\n{}", hook("same", "mine")));
    write(&project, ".ai/config/agent/hooks.yaml", &format!("hooks:\n{}", hook("same", "theirs")));
    let shared = format!("context_hooks:\n{}{}", hook("ctx_environment", "ours"), hook("more", "new"));
    write(&project, ".ai/config/agent/hook_conditions.yaml", &shared);
    let hooks = Hooks::read(&Items::list(&Spaces::new(&project, &user, []))).hooks;
    let items = |id: &str| -> Vec<String> {
        let hooks = hooks.iter().filter(|hook| hook.id == id);
        hooks.map(|hook| hook.names().last().unwrap().to_owned()).collect()
    };
    assert_eq!(items("same"), ["mine", "theirs"]);
    assert_eq!((items("ctx_environment"), items("more")), (vec!["ours".to_owned()], vec!["new".to_owned()]));
    assert_eq!(items("default_retry_transient").len(), 1, "what is not named stays");
}

// ------------------------------------------------------------------------------------------------ directives

#[test]
fn what_stands_before_the_fence_is_never_sent() {
    let (found, problems) = directive("");
    assert_eq!(problems, Vec::<String>::new());
    let prompt = found.prompt(&Values::new());
    assert_eq!(
        (found.preamble.as_str(), prompt.as_str()),
        ("Never sent.", "<directive name=\"a\">\nBody.\n</directive>")
    );
}

#[test]
fn masked_elements_hold_any_letters() {
    for tag in ["template", "example", "raw"] {
        let inside = format!("<description>a <{tag}>x < y && </nobody> <b></{tag}> z</description><author>me</author>");
        let (found, problems) = metadata(&inside);
        assert_eq!(problems, Vec::<String>::new(), "{tag}");
        assert_eq!(found.description.unwrap().value, format!("a <{tag}>x < y && </nobody> <b></{tag}> z"), "{tag}");
        assert_eq!(found.author.unwrap().value, "me", "{tag}");
    }
}

#[test]
fn a_body_is_text_whatever_it_looks_like() {
    let body =
        "<process><step name=a>if (a < b)</process>\n```xml\n<directive name=\"other\"/>\n```\n${HOME} {output:x}";
    let text = format!("```xml\n<directive name=\"a\"/>\n```\n{body}\n");
    let (found, problems) = Directive::parse(&text, Path::new("a.md"));
    assert_eq!((problems.len(), found.body.as_str()), (0, body));
    assert_eq!(found.name.as_ref().unwrap().value, "a");
    assert!(found.prompt(&Values::new()).contains(body));
}

#[test]
fn a_description_below_the_root_goes_before_the_one_in_metadata() {
    for inside in [
        "<metadata><description>inner</description></metadata><description>outer</description>",
        "<description>outer</description><metadata><description>inner</description></metadata>",
    ] {
        assert_eq!(directive(inside).0.description.unwrap().value, "outer", "{inside}");
    }
}

#[test]
fn metadata_keeps_what_it_does_not_know() {
    let (found, problems) =
        metadata("<category></category><continuation_directive>team/on</continuation_directive><stage>beta</stage>");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(found.category.as_ref().unwrap().value, "");
    let other: Vec<_> = found.other.iter().map(|(tag, text)| (tag.as_str(), text.value.as_str())).collect();
    assert_eq!(other, [("continuation_directive", "team/on"), ("stage", "beta")]);
    assert_eq!(
        found.compare(&ItemId::parse("a").unwrap(), Path::new("a.md")).len(),
        1,
        "only the description is missing"
    );
}

#[test]
fn a_model_is_wished_for_in_both_spellings() {
    for tag in ["model", "model_class"] {
        let (found, problems) = metadata(&format!(
            "<{tag} tier=\"high\" id=\"gpt-4o\" provider=\"openai\" fallback=\"fast\" fallback_id=\"x\" parallel=\"true\"/>"
        ));
        assert_eq!(problems, Vec::<String>::new());
        let wish = found.model.unwrap();
        let told = [wish.tier, wish.id, wish.provider, wish.fallback].map(Option::unwrap);
        assert_eq!(told, ["high", "gpt-4o", "openai", "fast"]);
    }
}

#[test]
fn limits_are_numbers_and_a_strange_one_costs_only_itself() {
    let (found, problems) = metadata(
        "<limits turns=\"3\" tokens=\"4000\" spend=\"0.5\" spend_currency=\"USD\" spawns=\"2\" depth=\"1\" duration_seconds=\"60\" speed=\"9\"/>",
    );
    assert_eq!(problems, ["unknown limit `speed`"]);
    let limits = found.limits.limits;
    assert_eq!((limits.turns, limits.tokens.unwrap().0, limits.duration_seconds), (Some(3), 4_000, Some(60)));
    assert_eq!((limits.spend.unwrap().dollars(), limits.spawns, limits.depth), (0.5, Some(2), Some(1)));
}

#[test]
fn what_a_directive_says_is_held_against_its_place() {
    let text = "```xml\n<directive name=\"other\" version=\"1.0\"><metadata><category>wrong</category></metadata></directive>\n```\nBody.";
    let (found, _) = Directive::parse(text, Path::new("a.md"));
    let said: Vec<String> = found
        .compare(&ItemId::parse("team/ship").unwrap(), Path::new("a.md"))
        .into_iter()
        .map(|problem| problem.message)
        .collect();
    assert_eq!(
        said,
        [
            "is named `other`, its file `ship`",
            "says category `wrong`, its folder is `team`",
            "version `1.0` is not three numbers",
            "has no description",
        ]
    );
}

#[test]
fn every_written_form_of_a_permission_is_a_capability() {
    let (found, problems) = metadata(
        "<permissions>\
           <execute><tool>a/b.*</tool><tool>c</tool><directive>p/q</directive></execute>\
           <execute><knowledge>team/*</knowledge></execute>\
           <fetch><knowledge>*</knowledge></fetch>\
           <sign>*</sign>\
           <acknowledge risk=\"elevated\">why</acknowledge>\
         </permissions>",
    );
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(
        granted(&found),
        [
            "rye.execute.tool.a.b.*",
            "rye.execute.tool.c",
            "rye.execute.directive.p.q",
            "rye.execute.knowledge.team.*",
            "rye.fetch.knowledge.*",
            "rye.sign.*",
        ]
    );
    let told = &found.permissions.acknowledged[0];
    assert_eq!((told.risk.as_str(), told.reason.as_str()), ("elevated", "why"));
    assert_eq!(granted(&metadata("").0), Vec::<&str>::new());
}

#[test]
fn context_keeps_its_order_and_repeats() {
    let (found, problems) = metadata(
        "<context><before>b/1</before><system>s/1</system><before>b/2</before><after>a/1</after><system>s/2</system>\
         <suppress>x</suppress><suppress>y/z</suppress></context>",
    );
    assert_eq!(problems, Vec::<String>::new());
    let ids = |list: &[levain::items::directive::Mention]| -> Vec<String> {
        list.iter().map(|mention| mention.id.clone()).collect()
    };
    let context = &found.context;
    assert_eq!(
        (ids(&context.system), ids(&context.before)),
        (vec!["s/1".into(), "s/2".into()], vec!["b/1".into(), "b/2".into()])
    );
    assert_eq!((ids(&context.after), ids(&context.suppress)), (vec!["a/1".into()], vec!["x".into(), "y/z".into()]));
}

#[test]
fn hooks_in_markup_have_typed_values_and_several_actions() {
    let (found, problems) = metadata(
        "<hooks><hook id=\"h\" event=\"thread_started\" wrap=\"false\" position=\"after\">\
           <condition><all><condition path=\"a\" value=\"true\"/><condition path=\"b\" op=\"lt\" value=\"2.5\"/>\
             <condition path=\"c\" value=\"7\"/><condition path=\"d\" value=\"text\"/></all></condition>\
           <action><fetch item_type=\"knowledge\" item_id=\"team/a\"><param name=\"x\">1</param></fetch>\
             <execute item_type=\"knowledge\" item_id=\"team/b\"/></action>\
         </hook></hooks>",
    );
    assert_eq!(problems, Vec::<String>::new());
    let hook = &found.hooks[0];
    assert!(!hook.wrap);
    let fields = json!({"a": true, "b": 2, "c": 7, "d": "text"});
    let saw = levain::context::condition::judge(&hook.condition, &fields).saw;
    assert_eq!(
        saw.iter().map(|saw| saw.wanted.clone()).collect::<Vec<_>>(),
        [json!(true), json!(2.5), json!(7), json!("text")]
    );
    let Action::Calls(calls) = &hook.action else { panic!("{:?}", hook.action) };
    let told: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.params.clone())).collect();
    assert_eq!(told[0], ("team/a", json!({"x": "1"}).as_object().unwrap().clone()));
    assert_eq!((told[1].0, told[1].1.len()), ("team/b", 0));
    // Without an <action> around them they are a list too.
    let short = "<fetch item_id=\"team/a\"/><fetch item_id=\"team/b\"/>";
    let (found, _) = metadata(&format!("<hooks><hook event=\"thread_started\">{short}</hook></hooks>"));
    let Action::Calls(calls) = &found.hooks[0].action else { panic!("{:?}", found.hooks[0].action) };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["team/a", "team/b"]);
    // A number among the layers is not the directive's to choose.
    let (found, problems) =
        metadata("<hooks><hook event=\"error\" layer=\"0\"><action primary=\"fetch\" item_id=\"a\"/></hook></hooks>");
    assert_eq!((found.hooks[0].layer.number(), problems.len()), (1.0, 1));
}

#[test]
fn inputs_are_texts_that_fit_their_type() {
    let (found, problems) = directive(
        "<inputs><input name=\"n\" type=\"integer\" required=\"true\">How many</input>\
         <input name=\"on\" type=\"boolean\" default=\"true\"/><input name=\"list\" type=\"array\"/></inputs>",
    );
    assert_eq!(problems, Vec::<String>::new());
    let accept = |number: &str| found.accept(Values::from([("n".to_owned(), number.to_owned())]));
    let taken = accept("3").unwrap();
    assert_eq!(taken, Values::from([("n".into(), "3".into()), ("on".into(), "true".into())]));
    // A number that is none would only be found out by whoever works with it.
    assert_eq!(accept("three").unwrap_err().len(), 1);
    let prompt = "{input:n} {input:on} {input:list?} {input:list}";
    assert_eq!(levain::items::directive::interpolate(prompt, &taken), "3 true  {input:list}");
}

#[test]
fn outputs_are_output_elements_and_nothing_else() {
    let (found, problems) = directive("<outputs><success>x</success><output name=\"url\">Where</output></outputs>");
    assert_eq!(found.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>(), ["url"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let prompt = found.prompt(&Values::new());
    assert!(prompt.contains("directive_return") && prompt.contains("\"url\": \"<Where (string)>\""), "{prompt}");
    assert!(!metadata("").0.prompt(&Values::new()).contains("directive_return"));
}

// ------------------------------------------------------------------------------------------------ knowledge

#[test]
fn knowledge_says_the_same_in_all_its_forms() {
    let said = "name: Rules\ntitle: Our rules\nentry_type: context\ncategory: team\nversion: \"1.0.0\"\ntags: [a, b]\nused_by: [x]\n";
    for (text, file, body) in [
        (format!("<!-- rye:signed:x -->\n```yaml\n{said}```\n\nText.\n"), "a.md", "Text."),
        (format!("---\n{said}---\nText.\n"), "a.md", "Text."),
        (said.to_owned(), "a.yaml", ""),
        (said.to_owned(), "a.yml", ""),
    ] {
        let (found, problems) = Knowledge::parse(&text, Path::new(file));
        assert_eq!(problems, [], "{file}");
        let told = [&found.name, &found.title, &found.entry_type, &found.category, &found.version].map(Clone::clone);
        let told: Vec<String> = told.into_iter().map(Option::unwrap).collect();
        assert_eq!(told, ["Rules", "Our rules", "context", "team", "1.0.0"], "{file}");
        assert_eq!((found.tags.join(" "), found.body.as_str()), ("a b".to_owned(), body), "{file}");
        assert_eq!(found.metadata["used_by"], json!(["x"]), "what is not known is kept");
    }
    let example = "````\n```yaml\nname: no\n```\n````\n```yaml\nname: yes\n```\nText.";
    assert_eq!(Knowledge::parse(example, Path::new("a.md")).0.name.as_deref(), Some("yes"));
}

#[test]
fn the_shipped_bases_grant_and_bring_what_they_promise() {
    let items = Items::list(&Spaces::embedded());
    let read = |id: &str| {
        let item = items.find(Kind::Directive, id).unwrap().item;
        assert_eq!(items.space(item), Space::System);
        Directive::parse(&items.read(item).unwrap(), &items.file(item)).0
    };
    let base = read("levain/core/base");
    assert_eq!(granted(&base), ["rye.execute.*", "rye.fetch.*", "rye.sign.*"]);
    assert_eq!(granted(&read("levain/core/base_execute_only")), ["rye.execute.*"]);
    let review = read("levain/core/base_review");
    assert!(
        granted(&review).contains(&"rye.fetch.*")
            && granted(&review).contains(&"rye.execute.tool.rye.file-system.read")
    );
    assert!(!granted(&review).iter().any(|capability| capability.contains("write") || capability.contains("bash")));
    for found in [&base, &review] {
        for mention in found.context.wanted() {
            assert!(items.find(Kind::Knowledge, &mention.id).is_ok(), "{}", mention.id);
        }
    }
    assert_eq!(base.permissions.capabilities[0].value, Grant::new("rye.execute.*", false));
}

// ------------------------------------------------------------------------------------------------ tools

#[test]
fn tools_say_the_same_in_every_language() {
    let python = "\"\"\"Docs.\"\"\"\n__version__ = '1.0.0'\n__tool_type__ = 'python'\n__executor_id__ = None\n__category__ = 'team'\n\
                  __tool_description__ = 'Counts'\n__tool_id__ = 'other/id'\nCONFIG_SCHEMA = {'type': 'object'}\nENV_CONFIG = {'a': 1}\n\
                  CONFIG = {'b': 2}\nCONFIG_RESOLVE = {'c': 3}\n";
    let yaml = "version: 1.0.0\ntool_type: python\nexecutor_id: null\ncategory: team\ndescription: Counts\nconfig_schema: {type: object}\n\
                env_config: {a: 1}\nconfig: {b: 2}\nconfig_resolve: {c: 3}\n";
    let script = "export const __version__ = '1.0.0';\nexport const __tool_type__ = 'python';\nexport const __executor_id__ = null;\n\
                  export const __category__ = 'team';\nexport const __tool_description__ = 'Counts';\n\
                  export const CONFIG_SCHEMA = {type: 'object'};\nexport const ENV_CONFIG = {a: 1};\nexport const CONFIG = {b: 2};\n\
                  export const CONFIG_RESOLVE = {c: 3};\n";
    for (text, file) in [(python, "a.py"), (yaml, "a.yaml"), (script, "a.ts")] {
        let (tool, problems) = Tool::parse(text, Path::new(file));
        assert_eq!(problems, [], "{file}");
        assert_eq!(
            (tool.version.as_deref(), tool.tool_type.as_deref(), tool.category.as_deref(), tool.description.as_deref()),
            (Some("1.0.0"), Some("python"), Some("team"), Some("Counts")),
            "{file}"
        );
        assert_eq!(tool.executor_id, Some(None), "{file}");
        assert_eq!(tool.config_schema, Some(json!({"type": "object"})), "{file}");
        let more = [tool.env_config, tool.config, tool.config_resolve].map(Option::unwrap);
        assert_eq!(more, [json!({"a": 1}), json!({"b": 2}), json!({"c": 3})], "{file}");
    }
    let listed =
        "parameters:\n- {name: path, type: string, required: true, description: Where}\ninput_schema: {type: object}\n";
    let (tool, _) = Tool::parse(listed, Path::new("a.yaml"));
    assert_eq!(tool.parameters.unwrap()[0]["name"], "path");
    assert_eq!(tool.input_schema, Some(json!({"type": "object"})));
}

// ------------------------------------------------------------------------------------------------ signatures

#[test]
fn signatures_stand_where_their_language_has_comments() {
    let space = tempfile::tempdir().unwrap();
    let key = levain::items::signature::SigningKey::generate(space.path()).unwrap();
    for (path, begins) in [
        ("directives/a.md", "<!-- levain:signed:"),
        ("knowledge/a.md", "<!-- levain:signed:"),
        ("tools/a.py", "#!/bin/x\n# levain:signed:"),
        ("tools/a.yaml", "#!/bin/x\n# levain:signed:"),
        ("config/a.toml", "#!/bin/x\n# levain:signed:"),
        ("tools/a.sh", "#!/bin/x\n# levain:signed:"),
        ("tools/a.mjs", "#!/bin/x\n// levain:signed:"),
        ("tools/a.cjs", "#!/bin/x\n// levain:signed:"),
    ] {
        let path = Path::new(path);
        let text = if path.extension().unwrap() == "md" { "text\n" } else { "#!/bin/x\ntext\n" };
        let (signed, signature) = sign(text, path, &key, "2026-11-21T10:00:00Z").unwrap();
        assert!(signed.starts_with(begins), "{signed}");
        assert_eq!((signature.hash.len(), signature.fingerprint.len()), (64, 16));
        let layout = SignatureLayout::of(path).unwrap();
        // A key that nobody trusts is told apart from a text that was changed.
        let trust = TrustStore::default();
        assert!(matches!(verify(&signed, layout, &trust), Verdict::Untrusted { .. }));
        assert!(matches!(verify(&signed.replace("text", "test"), layout, &trust), Verdict::Changed { .. }));
        // A remark that is no signature is text.
        assert_eq!(verify("<!-- rye:unsigned -->\ntext", layout, &trust), Verdict::Unsigned);
    }
}
