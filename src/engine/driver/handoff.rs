//! Making the thread that goes on with this one, and telling of it.

use super::Audience;
use super::compaction::summary;
use super::run::Driver;
use crate::domain::command::QueuedPrompt;
use crate::domain::event::PromptMode;
use crate::domain::{ContextEvent, Event, Limits, Message, Money, Successor, ThreadEvent, Tokens, Usage};
use crate::engine::thread::{CompactionCause, Effect, Phase, staying};

/// What a thread that goes on with work is told where its project has no item for that.
const GO_ON: &str = "Go on with the task where it was left.";

impl<A: Audience> Driver<A> {
    /// Somebody wants another thread to go on.
    pub(super) async fn ask_for_handoff(&mut self) -> Result<(), String> {
        if self.thread.has_ended() {
            return Err("only a thread that works or waits for a message can be handed off".into());
        }
        if self.thread.history.is_empty() {
            return Err("there are no messages to hand off".into());
        }
        self.accept(Event::Context(ContextEvent::HandoffRequested {})).await
    }

    /// Makes the thread that goes on, with what `room` says of the messages; where that fails, this one goes on with it.
    pub(super) async fn hand_off(&mut self, room: ContextEvent) {
        let ContextEvent::ContextCompacted {
            summary: text,
            kept,
            summarised,
            dropped,
            tokens_before,
            request,
            usage,
            spend,
            reason,
            ..
        } = &room
        else {
            return;
        };
        let messages = self.taken_along(text, *kept);
        let tokens_after = messages.iter().map(Message::tokens).sum();
        // The first says where it comes from.
        let staying = messages.len() - 1;
        let successor = self.successor(messages, *summarised, *dropped).await;
        // The thread counts what the summary cost once it has handed off.
        let successor = successor.map(|made| Successor { limits: without(made.limits, *spend, usage), ..made });
        let queued = self.thread.queue.len();
        let made = match successor {
            Ok(successor) => {
                let (job, now) = (self.settings.store.hand_off(successor), self.settings.clock.now());
                match self.wait_for(tokio::task::spawn_blocking(move || job(now))).await {
                    Ok(made) => made.map_err(|error| error.to_string()),
                    Err(failed) => Err(failed.to_string()),
                }
            }
            Err(why) => Err(why),
        };
        match made {
            Ok(new_thread_id) => {
                let handoff = ThreadEvent::ThreadHandoff {
                    new_thread_id,
                    directive: self.thread.directive.clone(),
                    kept: staying,
                    summarised: *summarised,
                    dropped: *dropped,
                    tokens_before: *tokens_before,
                    tokens_after,
                    queued,
                    request: *request,
                    usage: *usage,
                    spend: *spend,
                    reason: reason.clone(),
                };
                self.todo.push_front(Effect::Emit(Event::Thread(handoff)));
            }
            Err(why) => {
                let text = format!("could not hand off, so this thread goes on: {why}");
                self.todo.push_front(Effect::Emit(Event::Context(room)));
                self.todo.push_front(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
            }
        }
    }

    /// The messages that the other thread begins with: where it comes from with the summary, then what stays.
    fn taken_along(&self, text: &str, kept: usize) -> Vec<Message> {
        let mut told = format!("This conversation began in the thread {}.", self.thread.id);
        let earlier = self.thread.opening.as_deref().and_then(|opening| summary(opening));
        // A newer summary has the older one in it.
        if let Some(text) = Some(text).filter(|text| !text.is_empty()).or(earlier.as_deref()) {
            told = format!("{told}\n\n{text}");
        }
        let stays = staying(&self.thread.history, kept).into_iter().map(|entry| Message::clone(&entry.message));
        std::iter::once(Message::user(told)).chain(stays).chain(self.thread.notes().cloned()).collect()
    }

    async fn successor(
        &mut self,
        messages: Vec<Message>,
        summarised: usize,
        dropped: usize,
    ) -> Result<Successor, String> {
        // Who asked for it in an idle thread says what comes next.
        let works = matches!(self.thread.phase, Phase::Compacting { room: CompactionCause::ForRequest { .. }, .. });
        let mut prompts = self.thread.queue.clone();
        if works {
            let plan = self.planned().await.map_err(|_unplanned| "its context could not be planned".to_owned())?;
            let text = plan.continuation.as_ref().map_or_else(|| GO_ON.to_owned(), |piece| piece.text.to_string());
            // Before whatever waits.
            let (mode, client) = (PromptMode::FollowUp, None);
            let goes_on = QueuedPrompt { prompt: 0, text, mode, images: Vec::new(), files: Vec::new(), client };
            prompts.insert(0, goes_on);
        }
        let inherited = ContextEvent::ContextInherited { from: self.thread.id.clone(), messages, summarised, dropped };
        self.look_at_account().await;
        let limits = self.limits_left();
        Ok(Successor {
            model: self.thread.model.clone(),
            limits,
            changes: self.thread.changes.clone(),
            inherited,
            prompts,
            title: self.thread.filing.title.clone(),
            state: self.thread.kept.clone(),
        })
    }

    /// What is left of the thread's limits: the one that goes on has no more than this one had.
    fn limits_left(&self) -> Limits {
        let (limits, cost) = (self.thread.limits, &self.thread.cost);
        let (mut spent, mut used) = self.spent_with_children();
        // What children that run may still spend is taken from this thread's limit: two threads cannot both have it.
        if let Some(report) = &self.account.report {
            spent += report.spend.reserved_by_children;
            used += report.tokens.limit.map_or(Tokens(0), |_| report.tokens.reserved_by_children);
        }
        Limits {
            turns: limits.turns.map(|turns| turns.saturating_sub(cost.turns)),
            tokens: limits.tokens.map(|tokens| Tokens(tokens.0.saturating_sub(used.0))),
            spend: limits.spend.map(|spend| Money(spend.0.saturating_sub(spent.0).max(0))),
            duration_seconds: limits.duration_seconds.map(|seconds| seconds.saturating_sub(cost.elapsed_ms / 1_000)),
            spawns: limits.spawns.map(|spawns| spawns.saturating_sub(cost.spawns)),
            depth: limits.depth,
        }
    }
}

/// What is left of limits after a call.
fn without(limits: Limits, spend: Option<Money>, usage: &Usage) -> Limits {
    Limits {
        tokens: limits.tokens.map(|tokens| Tokens(tokens.0.saturating_sub(usage.total().0))),
        spend: limits.spend.map(|left| Money(left.0.saturating_sub(spend.unwrap_or_default().0).max(0))),
        ..limits
    }
}
