//! The handlers of a pipeline as rows, and what the chosen one got and made beside or below them.

use super::items::{part_off, put, text};
use crate::domain::command::Breakpoint;
use crate::domain::{Stage, Step, StepOutcome};
use crate::ui::cells::Canvas;
use crate::ui::compose::change_role;
use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::columns;
use crate::workbench::Model;
use crate::workbench::geometry::Area;
use crate::workbench::picker::Entry;
use crate::workbench::pipeline_list::{Counts, PipelineRow, PrintedRow};

/// Columns of the name of a stage; the longest has one less.
const STAGE: u16 = 24;

/// A row has its stage in a column from so many columns on.
const WITH_STAGE: u16 = 60;

/// Columns of how long it took.
const TOOK: u16 = 9;

/// One row. A breakpoint on what it is about has a sign before it.
pub(super) fn row(model: &Model, entry: &Entry, row: &PipelineRow, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let ink = |role| if chosen { Role::ListChosen } else { role };
    let sign = match row {
        PipelineRow::Paused => "○",
        PipelineRow::Printed(_) => " ",
        PipelineRow::Asked(_) | PipelineRow::Known(_) | PipelineRow::Stage(_) | PipelineRow::Breakpoint(_) => {
            if model.pauses_before(row) { "●" } else { " " }
        }
    };
    canvas.put(area.x, area.y, right, sign, ink(Role::StatusWarning));
    let mut x = area.x + 2;
    match row {
        PipelineRow::Asked(asked) => {
            x = stage(asked.step.stage, x, area, chosen, canvas);
            step(&asked.step, Area { x, width: right.saturating_sub(x), ..area }, chosen, canvas);
        }
        PipelineRow::Paused => {
            if let Some(handling) = model.view.handling() {
                x = stage(handling.stage, x, area, chosen, canvas);
            }
            canvas.put_short(x, area.y, right, entry.label(), ink(Role::StatusWarning));
        }
        PipelineRow::Known(known) => {
            x = stage(known.stage, x, area, chosen, canvas);
            let x = canvas.put_short(x, area.y, right, &known.id, ink(Role::List));
            counts(model.browser.pipeline.counts(known.stage, Some(&known.id)), x, area, chosen, canvas);
        }
        PipelineRow::Stage(of) => {
            let x = canvas.put_short(x, area.y, right, of.name(), ink(Role::ListDetail));
            counts(model.browser.pipeline.counts(*of, None), x, area, chosen, canvas);
        }
        PipelineRow::Breakpoint(_) => {
            canvas.put_short(x, area.y, right, entry.label(), ink(Role::List));
        }
        PipelineRow::Printed(printed) => {
            let PrintedRow { at, extension, level, .. } = &**printed;
            let role = if level == "error" { Role::StatusError } else { Role::ListDetail };
            let x = canvas.put_short(x, area.y, right, &format!("{at} {extension} "), ink(Role::ListDetail));
            canvas.put_short(x, area.y, right, entry.label(), ink(role));
        }
    }
}

/// The name of a stage in its column; where what follows begins.
fn stage(stage: Stage, x: u16, area: Area, chosen: bool, canvas: &mut Canvas<'_>) -> u16 {
    let role = if chosen { Role::ListChosen } else { Role::ListDetail };
    let end = canvas.put_short(x, area.y, area.x + area.width, stage.name(), role);
    if area.width >= WITH_STAGE { x + STAGE } else { end + 1 }
}

/// A handler, how it ended and how long that took.
fn step(step: &Step, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let ink = |role| if chosen { Role::ListChosen } else { role };
    let took = format!("{} ms", step.took_ms);
    let wide = u16::try_from(columns(&took)).unwrap_or(TOOK).min(TOOK);
    let asked = step.outcome != StepOutcome::NotAsked;
    if asked && area.width > TOOK {
        canvas.put(right - wide, area.y, right, &took, ink(Role::ListDetail));
    }
    let end = right.saturating_sub(if asked { TOOK } else { 0 });
    let x = canvas.put_short(area.x, area.y, end, &step.handler, ink(Role::List));
    let x = x.max(area.x + (area.width / 3).min(24)) + 1;
    canvas.put_short(x + 1, area.y, end, &step.ending(), ink(outcome(step)));
}

/// How a step ended, as a colour; the word beside it says the same.
fn outcome(step: &Step) -> Role {
    match step.outcome {
        StepOutcome::Changed | StepOutcome::Handled => Role::StatusInfo,
        StepOutcome::Blocked { .. } | StepOutcome::Skipped => Role::StatusWarning,
        StepOutcome::Failed { .. } | StepOutcome::TimedOut | StepOutcome::Refused { .. } => Role::StatusError,
        StepOutcome::Unchanged | StepOutcome::NotAsked => Role::ListDetail,
    }
}

fn counts(counts: Counts, x: u16, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    if counts.asked == 0 {
        return;
    }
    let right = area.x + area.width;
    let told = told(counts);
    let wide = u16::try_from(columns(&told)).unwrap_or(u16::MAX);
    let x = right.saturating_sub(wide).max(x + 2);
    canvas.put_short(x, area.y, right, &told, if chosen { Role::ListChosen } else { Role::ListDetail });
}

fn told(Counts { asked, changed, failed, took_ms }: Counts) -> String {
    let mean = took_ms.checked_div(u64::try_from(asked).unwrap_or(1)).unwrap_or_default();
    let failed = if failed > 0 { format!(", failed {failed}") } else { String::new() };
    format!("asked {asked}, changed {changed}{failed}, {mean} ms each")
}

/// What the chosen row is about, in words, and its text.
pub(super) fn preview(model: &Model, area: Area, beside: bool, canvas: &mut Canvas<'_>) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    part_off(area, beside, canvas);
    let width = usize::from(area.width.saturating_sub(2)).max(1);
    let mut rows = Lines::default();
    let height = usize::from(area.height);
    let shown = model.browser.preview.as_ref();
    match model.chosen_step() {
        None => {}
        Some(PipelineRow::Paused) => {
            if let Some(handling) = model.view.handling() {
                put(
                    &mut rows,
                    width,
                    &format!("what {} is about to get ({})", handling.handler, handling.stage),
                    Role::Title,
                );
            }
            rows.end_row();
            text(shown, width, height, |_| Role::Text, &mut rows);
        }
        Some(PipelineRow::Asked(asked)) => {
            let step = &asked.step;
            put(&mut rows, width, &format!("{} · {}", step.handler, step.stage), Role::Title);
            put(&mut rows, width, &asked.of, Role::TextMuted);
            if let Some(place) = &step.place {
                put(&mut rows, width, &format!("from {place}"), Role::TextMuted);
            }
            put(&mut rows, width, &format!("{} · {} ms", step.ending(), step.took_ms), outcome(step));
            for line in step.said.lines().take(height / 4) {
                put(&mut rows, width, &format!("│ {line}"), Role::TextMuted);
            }
            let (told, differs) = model.step_shows();
            put(&mut rows, width, told, Role::TextMuted);
            rows.end_row();
            text(shown, width, height, if differs { change_role } else { |_| Role::Text }, &mut rows);
        }
        Some(PipelineRow::Printed(printed)) => {
            let PrintedRow { at, extension, level, .. } = &**printed;
            put(&mut rows, width, &format!("{extension} · {level} · {at}"), Role::Title);
            rows.end_row();
            text(shown, width, height, |_| Role::Text, &mut rows);
        }
        Some(PipelineRow::Known(known)) => {
            put(&mut rows, width, &format!("{} · {}", known.id, known.stage), Role::Title);
            if let Some(place) = &known.place {
                put(&mut rows, width, &format!("from {place}"), Role::TextMuted);
            }
            put(&mut rows, width, &told(model.browser.pipeline.counts(known.stage, Some(&known.id))), Role::TextMuted);
        }
        Some(PipelineRow::Stage(stage)) => {
            put(&mut rows, width, stage.name(), Role::Title);
            put(&mut rows, width, stage.about(), Role::Text);
        }
        Some(PipelineRow::Breakpoint(Breakpoint { stage, .. })) => {
            put(&mut rows, width, &format!("the thread pauses before it, at {stage}"), Role::Text);
        }
    }
    for (y, row) in (area.y..area.y + area.height).zip(0..rows.len()) {
        canvas.put_row(area.x + 1, y, area.x + area.width, &rows, row);
    }
}
