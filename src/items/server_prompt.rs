//! Prompts of MCP servers as templates: what `prompts/mcp/SERVER/PROMPT.yaml` says of one, and what a person's words give it.
//!
//! Nothing here asks a server: who expands a prompt does.

use crate::domain::nearest;
use serde_json::{Map, Value};

/// A prompt that a server is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The item of the server: `mcp/servers/NAME`.
    pub server: String,
    /// What the server calls the prompt.
    pub name: String,
    /// In the order in which the server lists them.
    pub arguments: Vec<PromptArgument>,
}

/// What a prompt takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

impl ServerPrompt {
    /// Reads a file of a prompt: its description, and what is asked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<(String, Self), String> {
        let file: Value = serde_yaml::from_str(text).map_err(|error| format!("is no YAML: {error}"))?;
        let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(|word| word.trim().to_owned());
        let asked = file.get("prompt").filter(|asked| asked.is_object()).ok_or("names no `prompt`")?;
        let missing = "its `prompt` names no server, or no name: write prompt: {server: NAME, name: PROMPT}";
        let given = |key: &str| word(asked, key).filter(|word| !word.is_empty()).ok_or(missing);
        let (server, name) = (given("server")?, given("name")?);
        let server = if server.contains('/') { server } else { format!("mcp/servers/{server}") };
        let all = match file.get("arguments") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(all)) => all.as_slice(),
            Some(_) => return Err("its `arguments` are no list".to_owned()),
        };
        let argument = |one: &Value| {
            let name = word(one, "name").filter(|name| !name.is_empty()).ok_or("one of its `arguments` has no name")?;
            let required = one.get("required").and_then(Value::as_bool).unwrap_or_default();
            Ok(PromptArgument { name, description: word(one, "description").unwrap_or_default(), required })
        };
        let arguments = all.iter().map(argument).collect::<Result<_, String>>()?;
        Ok((word(&file, "description").unwrap_or_default(), Self { server, name, arguments }))
    }

    /// The name of the server that people know it by.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.server.rsplit('/').next().unwrap_or(&self.server)
    }

    /// What a person may write behind its name: `CITY [STATE]`; none where it takes nothing.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let one = |argument: &PromptArgument| {
            let name = argument.name.to_uppercase();
            if argument.required { name } else { format!("[{name}]") }
        };
        let all: Vec<String> = self.arguments.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// The arguments that these words give: those with the name of an argument before a `=` by that name, the others in the
    /// order of those that are not named.
    ///
    /// # Errors
    /// Which is missing, given twice or too many, in words for the person who wrote `typed`.
    pub fn values(&self, typed: &str, words: &[String]) -> Result<Map<String, Value>, String> {
        let mut values = Map::new();
        let mut others = Vec::new();
        let names = || self.arguments.iter().map(|argument| argument.name.as_str());
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                others.push(word);
                continue;
            };
            if !names().any(|known| known == name) {
                if let Some(near) = nearest(name, names()) {
                    return Err(format!("{} has no argument `{name}` (did you mean `{near}`?)", self.told()));
                }
                others.push(word);
            } else if values.insert(name.to_owned(), value.into()).is_some() {
                return Err(format!("`{name}` is given twice"));
            }
        }
        let free: Vec<&str> = names().filter(|name| !values.contains_key(*name)).collect();
        if others.len() > free.len() {
            let takes =
                self.hint().map_or("nothing".to_owned(), |hint| format!("{hint}, with quotes around several words"));
            return Err(format!("{} takes {takes}", self.told()));
        }
        for (name, word) in free.into_iter().zip(others) {
            values.insert(name.to_owned(), word.as_str().into());
        }
        let missing = |argument: &&PromptArgument| argument.required && !values.contains_key(&argument.name);
        let missing: Vec<String> = self.arguments.iter().filter(missing).map(PromptArgument::told).collect();
        if !missing.is_empty() {
            let form = self.hint().unwrap_or_default();
            return Err(format!("{} needs {}: write {typed} {form}", self.told(), missing.join(" and ")));
        }
        Ok(values)
    }

    /// What people are told of it.
    fn told(&self) -> String {
        format!("the prompt `{}` of the MCP server {}", self.name, self.server_name())
    }
}

impl PromptArgument {
    fn told(&self) -> String {
        let about = if self.description.is_empty() { String::new() } else { format!(" ({})", self.description) };
        format!("`{}`{about}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> ServerPrompt {
        let text = "description: Weather\nprompt: {server: mcp/servers/sky, name: forecast}\narguments:\n\
                    - {name: city, description: Where, required: true}\n- {name: state}\n- {name: days}\n";
        ServerPrompt::read(text).unwrap().1
    }

    fn given(words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        prompt().values("/mcp/sky/forecast", &words).map(Value::Object)
    }

    #[test]
    fn words_are_arguments_by_place_and_by_name() {
        assert_eq!(prompt().hint().as_deref(), Some("CITY [STATE] [DAYS]"));
        for (words, expected) in [
            (&["Bonn"][..], serde_json::json!({ "city": "Bonn" })),
            (&["New York", "NY", "3"], serde_json::json!({ "city": "New York", "state": "NY", "days": "3" })),
            (&["days=3", "Bonn"], serde_json::json!({ "city": "Bonn", "days": "3" })),
            (&["city=a=b", "x=y"], serde_json::json!({ "city": "a=b", "state": "x=y" })),
        ] {
            assert_eq!(given(words).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_does() {
        for (words, why) in [
            (&[][..], "the prompt `forecast` of the MCP server sky needs `city` (Where): write /mcp/sky/forecast CITY"),
            (&["a", "b", "c", "d"], "takes CITY [STATE] [DAYS], with quotes around several words"),
            (&["citi=Bonn"], "has no argument `citi` (did you mean `city`?)"),
            (&["city=a", "city=b"], "`city` is given twice"),
        ] {
            let told = given(words).unwrap_err();
            assert!(told.contains(why), "{words:?}: {told}");
        }
    }

    #[test]
    fn a_file_that_names_no_prompt_is_refused() {
        for (text, why) in [
            ("description: x", "names no `prompt`"),
            ("prompt: {server: x}", "names no server, or no name"),
            ("prompt: {server: x, name: y}\narguments: 3", "are no list"),
            ("prompt: {server: x, name: y}\narguments: [{}]", "has no name"),
            ("prompt: [", "is no YAML"),
        ] {
            assert!(ServerPrompt::read(text).unwrap_err().contains(why), "{text}");
        }
        assert_eq!(ServerPrompt::read("prompt: {server: x, name: y}").unwrap().1.server, "mcp/servers/x");
    }
}
