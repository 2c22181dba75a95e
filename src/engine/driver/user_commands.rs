//! What a person adds beside their words: images, files, and commands of their own.

use super::Audience;
use super::prepare_error::Stopped;
use super::run::Driver;
use crate::domain::attachment::MOST_ATTACHMENTS;
use crate::domain::{Assembly, Attachment, CallId, ContentHash, Event, Image, ThreadEvent, ToAttach, ToolEvent};
use crate::engine::thread::Effect;
use crate::ports::store::{Attach, Include};
use std::collections::{BTreeMap, BTreeSet};

/// Takes images into the store, off the loop: all, or none where one is refused.
pub(super) async fn attached(attach: Vec<Attach>) -> Result<Vec<Image>, String> {
    let all = tokio::task::spawn_blocking(|| attach.into_iter().map(|attach| attach()).collect());
    all.await.map_err(|error| format!("the images could not be read: {error}"))?
}

/// Reads what goes along with a prompt by its name, off the loop: all, or nothing where one is refused.
pub(super) async fn included(include: Vec<Include>) -> Result<Vec<Attachment>, String> {
    let all = move || {
        let mut files: Vec<Attachment> = Vec::new();
        for include in include {
            let Some(file) = include()? else { continue };
            if files.len() == MOST_ATTACHMENTS {
                return Err(format!("a message takes {MOST_ATTACHMENTS} files at most"));
            }
            // Two names may mean one file.
            if !files.iter().any(|known| (known.kind, &known.name) == (file.kind, &file.name)) {
                files.push(file);
            }
        }
        Ok(files)
    };
    tokio::task::spawn_blocking(all).await.map_err(|error| format!("the files could not be read: {error}"))?
}

impl<A: Audience> Driver<A> {
    /// How each of `files` is read. One that was read for the same prompt before stays as it was.
    pub(super) fn includes(&self, files: Vec<ToAttach>) -> Vec<Include> {
        let include = |file| -> Include {
            match file {
                ToAttach::Name(name) => self.settings.store.include(&name),
                ToAttach::Kept(kept) => Box::new(move || Ok(Some(kept))),
            }
        };
        files.into_iter().map(include).collect()
    }

    /// The bytes of the images in `assembly`, read off the loop. Of one that is not here the model is told by its
    /// provider, and the person once.
    pub(super) async fn images(&mut self, assembly: &Assembly) -> Result<BTreeMap<ContentHash, Vec<u8>>, Stopped> {
        let sees = self.settings.models.takes_images(&self.thread.model);
        let hashes: BTreeSet<&ContentHash> = assembly
            .messages
            .iter()
            .flat_map(|entry| &entry.message.blocks)
            .flat_map(|block| block.images_to_send(sees))
            .collect();
        if hashes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let fetch: Vec<_> = hashes.iter().map(|hash| ((*hash).clone(), self.settings.store.fetch(hash))).collect();
        let all = move || fetch.into_iter().map(|(hash, fetch)| (hash, fetch())).collect::<Vec<_>>();
        let read = self.unless_stopped(tokio::task::spawn_blocking(all)).await?.unwrap_or_else(|error| {
            tracing::error!(%error, "images");
            hashes.into_iter().map(|hash| (hash.clone(), Ok(None))).collect()
        });
        let mut images = BTreeMap::new();
        for (hash, bytes) in read {
            let why = match bytes {
                Ok(Some(bytes)) => {
                    images.insert(hash, bytes);
                    continue;
                }
                Ok(None) => "its stored file is missing or has changed".to_owned(),
                Err(error) => error.to_string(),
            };
            if self.lost_images.insert(hash) {
                let text = format!("the model is told that an image of this thread is missing: {why}");
                self.todo.push_back(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
            }
        }
        Ok(images)
    }

    pub(super) async fn begin_shell(&mut self, command: String, shared: bool) -> Result<(), String> {
        if command.trim().is_empty() {
            return Err("there is no command after the `!`".into());
        }
        if let Some(running) = &self.thread.shell {
            return Err(format!("`{}` still runs; stop it first", running.command));
        }
        let call_id = CallId(format!("shell-{}", self.thread.shells + 1));
        self.accept(Event::Tool(ToolEvent::ShellStarted { call_id, command, shared })).await
    }
}
