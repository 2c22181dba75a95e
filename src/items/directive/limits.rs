//! What `<limits>` says, under the names of today and those of older files.

use super::Reading;
use crate::domain::{Limits, Money, Tokens, meant};
use crate::items::markup::{Attribute, Element, Lines};

/// What a thread of this directive may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectiveLimits {
    pub limits: Limits,
    /// As written; amounts are taken for dollars.
    pub spend_currency: Option<String>,
    pub lines: Option<Lines>,
    /// The names of today of those that were given.
    given: Vec<String>,
}

const KNOWN: [&str; 7] = ["turns", "tokens", "spend", "spend_currency", "spawns", "depth", "duration_seconds"];

/// The name of today for a name of older files.
fn today(name: &str) -> Option<&'static str> {
    Some(match name {
        "max_turns" => "turns",
        "max_tokens" => "tokens",
        "max_spend" | "max_cost" => "spend",
        "max_spawns" => "spawns",
        "max_depth" => "depth",
        "max_duration" | "max_duration_seconds" | "duration" | "timeout" => "duration_seconds",
        _ => return None,
    })
}

impl DirectiveLimits {
    pub(super) fn read(&mut self, element: &Element, reading: &mut Reading<'_>) {
        self.lines = Some(element.lines);
        reading.stray(element);
        let children = element.children.iter().map(|child| Attribute {
            name: child.tag.clone(),
            value: child.text.clone(),
            line: child.lines.0,
        });
        for attribute in element.attributes.iter().cloned().chain(children) {
            let Attribute { name, value, line } = &attribute;
            let known = today(name).unwrap_or(name);
            if self.given.iter().any(|given| given == known) {
                reading.fatal(*line, format!("the limit `{known}` is given twice"), "remove one of them");
                continue;
            }
            self.given.push(known.to_owned());
            if KNOWN.contains(&name.as_str()) {
                self.set(name, value, *line, reading);
            } else if let Some(known) = today(name) {
                reading.warn(
                    *line,
                    format!("the limit `{name}` is called `{known}` now"),
                    format!("write {known}=\"{value}\""),
                );
                self.set(known, value, *line, reading);
            } else {
                reading.fatal(*line, format!("unknown limit `{name}`"), meant(name, KNOWN));
            }
        }
    }

    fn set(&mut self, name: &str, value: &str, line: u32, reading: &mut Reading<'_>) {
        let value = value.trim();
        let digits = value.replace('_', "");
        let whole = || digits.parse::<u64>().ok();
        let small = || digits.parse::<u32>().ok();
        let read = match name {
            "turns" => small().map(|count| self.limits.turns = Some(count)),
            "tokens" => whole().map(|count| self.limits.tokens = Some(Tokens(count))),
            "duration_seconds" => whole().map(|count| self.limits.duration_seconds = Some(count)),
            "spawns" => small().map(|count| self.limits.spawns = Some(count)),
            "depth" => small().map(|count| self.limits.depth = Some(count)),
            "spend" => {
                let dollars = digits.trim_start_matches('$').parse::<f64>().ok();
                let dollars = dollars.filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
                dollars.map(|dollars| self.limits.spend = Some(Money::from_dollars(dollars)))
            }
            _ => {
                self.spend_currency = Some(value.to_owned());
                if !value.eq_ignore_ascii_case("usd") {
                    reading.fatal(
                        line,
                        format!("amounts in `{value}` are taken for US dollars"),
                        "write them in US dollars",
                    );
                }
                Some(())
            }
        };
        if read.is_none() {
            let expects = if name == "spend" { "an amount in dollars, such as 0.50" } else { "a whole number" };
            reading.fatal(line, format!("the limit `{name}` cannot be `{value}`"), format!("write {expects}"));
        }
    }
}
