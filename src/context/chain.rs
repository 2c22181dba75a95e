//! What a directive extends, and what extends that: the chain, from the leaf that runs to the root.

use super::library::{Library, Loaded, Lost};
use super::route::Route;
use crate::items::Directive;

/// Longest chain.
pub const LONGEST: usize = 64;

/// A directive of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    pub id: String,
    pub loaded: Loaded<Directive>,
}

/// Why a chain cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("`extends` forms a cycle: {}; remove it from one of them", .chain.join(" → "))]
    Circle { chain: Vec<String> },
    #[error("the hook `{}` chose `{}` for `{directive}` to extend, but {why}; fix {}", .route.hook, .route.target, place(&.route.file, .route.line))]
    Routed { route: Box<Route>, directive: String, why: String },
    #[error("`{by}` extends `{id}`, but {why}; fix extends in {}", place(.file, *.line))]
    Lost { id: String, by: String, why: Lost, file: String, line: u32 },
    #[error("the chain of `extends` is longer than {LONGEST} directives: {} …; shorten it", .first.join(" → "))]
    TooLong { first: Vec<String> },
}

fn place(file: &str, line: u32) -> String {
    format!("{file}:{line}")
}

/// Follows `extends` from `leaf`, whose own is `extends` unless a hook chose another, and returns the chain root first,
/// leaf last. What is wrong with a choice is the hook's fault.
///
/// # Errors
/// [`ChainError`]; a chain is whole or it is not used.
pub fn follow(
    leaf: Link,
    extends: Option<&str>,
    routed: Option<&Route>,
    library: &dyn Library,
) -> Result<Vec<Link>, ChainError> {
    let blamed = |route: &Route, directive: &str, why: String| ChainError::Routed {
        route: Box::new(route.clone()),
        directive: directive.to_owned(),
        why,
    };
    let directive = leaf.id.clone();
    let mut chain = vec![leaf];
    let mut next = routed.map(|route| route.target.clone()).or_else(|| extends.map(str::to_owned));
    while let Some(id) = next {
        let names = || chain.iter().map(|link| link.id.clone());
        if chain.iter().any(|link| link.id == id) {
            if let Some(route) = routed.filter(|_| id == directive) {
                let names = names().skip(1).collect::<Vec<_>>().join(" → ");
                return Err(blamed(route, &directive, format!("that leads back to it by {names}")));
            }
            return Err(ChainError::Circle { chain: names().chain([id]).collect() });
        }
        if chain.len() >= LONGEST {
            return Err(ChainError::TooLong { first: names().take(4).collect() });
        }
        let loaded = library.directive(&id).map_err(|why| {
            if let (Some(route), 1) = (routed, chain.len()) {
                return blamed(route, &directive, why.to_string());
            }
            let by = chain.last();
            let line = by.and_then(|link| link.loaded.value.extends.as_ref()).map_or(1, |extends| extends.lines.0);
            ChainError::Lost {
                id: id.clone(),
                by: by.map(|link| link.id.clone()).unwrap_or_default(),
                why,
                file: by.map(|link| link.loaded.file.clone()).unwrap_or_default(),
                line,
            }
        })?;
        next = loaded.value.extends.as_ref().map(|extends| extends.value.clone());
        chain.push(Link { id, loaded });
    }
    chain.reverse();
    Ok(chain)
}
