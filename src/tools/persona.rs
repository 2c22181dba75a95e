//! Whom a thread speaks as: the personas that a project's threads keep together.

use super::shared_file::{MOST, change, checked, read};
use super::{Answer, Failed};
use crate::domain::Persona;
use crate::ports::Beneath;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
struct Personas {
    personas: Vec<Persona>,
}

#[derive(Deserialize)]
pub(super) struct Create {
    name: String,
    text: String,
}

#[derive(Deserialize)]
pub(super) struct Switch {
    name: String,
}

pub(super) fn create(path: &Beneath, Create { name, text }: Create) -> Answer {
    let (name, text) = (named(&name)?, checked(&text)?);
    change(path, |kept: &mut Personas| {
        kept.personas.retain(|persona| persona.name != name);
        if kept.personas.len() >= MOST {
            return Err(Failed(format!("There are {MOST} personas already.")));
        }
        let answer = format!("The persona `{name}` is saved. Switch to it to use it.");
        kept.personas.push(Persona { name, text });
        Ok(answer)
    })
}

/// The persona of this name; none for `none`.
pub(super) fn persona(path: &Beneath, Switch { name }: &Switch) -> Result<Option<Persona>, Failed> {
    if name.trim() == "none" {
        return Ok(None);
    }
    let personas = read::<Personas>(path)?.personas;
    let names: Vec<String> = personas.iter().map(|persona| persona.name.clone()).collect();
    let found = personas.into_iter().find(|persona| persona.name == name.trim());
    found.map(Some).ok_or_else(|| {
        let there = if names.is_empty() { "none yet; create one first".to_owned() } else { names.join(", ") };
        Failed(format!("There is no persona `{}`. There are: {there}.", name.trim()))
    })
}

fn named(name: &str) -> Result<String, Failed> {
    let name = name.trim();
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' ');
    if name.is_empty() || name == "none" || name.chars().count() > 64 || !name.chars().all(plain) {
        let why = "A persona's name is made of letters, digits, `_`, `-` and blanks, 64 at most, and is not `none`.";
        return Err(Failed(why.to_owned()));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(answer: Answer) -> String {
        match answer {
            Ok(text) | Err(Failed(text)) => text,
        }
    }

    #[test]
    fn a_persona_is_made_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "personas.json");
        let switch = |name: &str| persona(&path, &Switch { name: name.to_owned() });
        let Err(Failed(message)) = switch("cook") else { panic!("nobody made it") };
        assert!(message.contains("none yet"), "{message}");
        said(create(&path, Create { name: "cook".into(), text: "Speaks of soup.".into() }));
        said(create(&path, Create { name: "cook".into(), text: "Speaks of stew.".into() }));
        let found = switch(" cook ").ok().flatten().unwrap();
        assert_eq!((found.name.as_str(), found.text.as_str()), ("cook", "Speaks of stew."));
        assert!(matches!(switch("none"), Ok(None)));
        assert!(said(create(&path, Create { name: "none".into(), text: "x".into() })).contains("name"));
    }
}
