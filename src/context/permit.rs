//! What a plan's thread may do: the grants of its directive, expanded, and the risk that they are.
//!
//! The one place where grants are made of what a directive says: sending, previews, palettes and checks all have them from a
//! plan.

use super::chain::Link;
use crate::domain::{Grant, Problem, Risk, RiskPolicy, Risks, Severity, nearest};
use crate::items::Capabilities;
use crate::items::directive::{Acknowledged, Permissions};
use std::fmt;
use std::path::Path;

/// What decides what grants mean, beside the directive.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    pub capabilities: Capabilities,
    pub risks: Risks,
}

/// The riskiest of what a thread may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Riskiest {
    pub capability: String,
    pub risk: Risk,
}

impl fmt::Display for Riskiest {
    /// `elevated: rye.execute.tool.rye.bash (acknowledged)`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = if self.risk.acknowledged { " (acknowledged)" } else { "" };
        write!(formatter, "{}: {}{known}", self.risk.level, self.capability)
    }
}

/// What is granted, and what there is to say of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Permitted {
    pub grants: Vec<Grant>,
    /// Whether any of the chain says anything of permissions.
    pub is_declared: bool,
    pub riskiest: Option<Riskiest>,
    pub problems: Vec<Problem>,
}

/// What the chain may do: as the leaf says, else the nearest that says anything.
///
/// # Errors
/// The [`Problem`] for which the thread does not start: a grant that cannot be expanded, or a risk that has to be
/// acknowledged and is not.
pub(super) fn permitted(chain: &[Link], meaning: &Meaning) -> Result<Permitted, Problem> {
    let Some(said) = chain.iter().rev().find(|link| link.loaded.value.permissions.declared) else {
        return Ok(Permitted::default());
    };
    let file = Path::new(&said.loaded.file);
    let (grants, riskiest, problems) = judged(&said.loaded.value.permissions, file, meaning)?;
    if let Some(problem) = Problem::refusal(&problems) {
        return Err(problem.clone());
    }
    Ok(Permitted { grants, is_declared: true, riskiest, problems })
}

/// What is wrong with what the directive in `file` grants, expanded and judged.
#[must_use]
pub fn permission_problems(said: &Permissions, file: &Path, meaning: &Meaning) -> Vec<Problem> {
    judged(said, file, meaning).map_or_else(|problem| vec![problem], |(_, _, problems)| problems)
}

type Judged = (Vec<Grant>, Option<Riskiest>, Vec<Problem>);

fn judged(said: &Permissions, file: &Path, meaning: &Meaning) -> Result<Judged, Problem> {
    let expanded = meaning.capabilities.expand(&said.capabilities, file)?;
    let (mut grants, lines): (Vec<Grant>, Vec<u32>) = expanded.into_iter().map(|one| (one.value, one.lines.0)).unzip();
    let known: Vec<&str> = said.acknowledged.iter().map(|one| one.risk.as_str()).collect();
    let judged = meaning.risks.judge(&mut grants, &known);
    let risks: Vec<(Riskiest, u32)> = grants
        .iter()
        .zip(judged)
        .zip(lines)
        .filter_map(|((grant, risk), line)| {
            Some((Riskiest { capability: grant.capability.clone(), risk: risk? }, line))
        })
        .collect();
    let mut problems = unknown_levels(&said.acknowledged, file, &meaning.risks);
    for calls_for in [RiskPolicy::Block, RiskPolicy::Acknowledge] {
        let open: Vec<&(Riskiest, u32)> = risks.iter().filter(|(one, _)| one.risk.calls_for() == calls_for).collect();
        problems.extend(unacknowledged(&open, file));
    }
    let riskiest = risks.into_iter().map(|(one, _)| one).rev();
    let riskiest = riskiest.max_by_key(|one| (one.risk.calls_for(), one.risk.policy));
    Ok((grants, riskiest.filter(|one| one.risk.policy > RiskPolicy::Allow), problems))
}

/// What is told of grants that call for the same.
fn unacknowledged(open: &[&(Riskiest, u32)], file: &Path) -> Option<Problem> {
    let (Riskiest { capability, risk: Risk { level, policy, .. } }, line) = open.first()?;
    let more = if open.len() > 1 { format!(" and {} more", open.len() - 1) } else { String::new() };
    let tag = format!("<acknowledge risk=\"{level}\">why</acknowledge>");
    Some(if *policy == RiskPolicy::Block {
        let message = format!("grants `{capability}`{more}, whose risk is {level}, and does not acknowledge it");
        let remedy = format!("grant less, or write {tag} in <permissions>");
        Problem::at(file, *line, Severity::Fatal, message, remedy)
    } else {
        let message = format!("grants `{capability}`{more}, whose risk is {level}");
        Problem::at(file, *line, Severity::Warning, message, format!("write {tag} in <permissions>, or grant less"))
    })
}

fn unknown_levels(acknowledged: &[Acknowledged], file: &Path, risks: &Risks) -> Vec<Problem> {
    let levels = risks.levels();
    let unknown =
        acknowledged.iter().filter(|one| levels.clone().count() > 0 && !levels.clone().any(|level| level == one.risk));
    let told = unknown.map(|Acknowledged { risk, line, .. }| {
        let remedy = match nearest(risk, levels.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a level of capability_risk.yaml, such as elevated".to_owned(),
        };
        Problem::at(file, *line, Severity::Warning, format!("acknowledges `{risk}`, which is no level of risk"), remedy)
    });
    told.collect()
}
