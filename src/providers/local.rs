//! Model servers on this machine, found by asking.
//!
//! All known places are asked at once for their models. One that does not answer within [`ALL`] is not there.

use super::known::{KNOWN, Place};
use super::resolver::Providers;
use crate::domain::ModelRef;
use crate::ports::tls;
use futures_util::future::join_all;
use reqwest::{Client, Url};
use serde::Deserialize;
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_millis(150);

/// How long everything may take.
const ALL: Duration = Duration::from_millis(400);

/// Most bytes of a list of models.
const LARGEST: usize = 4 << 20;

/// A running server and what it can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub provider: &'static str,
    /// At least one; the order is the server's.
    pub models: Vec<ModelRef>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: String,
}

impl Providers {
    /// The model servers that run on this machine, in the order of [`KNOWN`]. Takes 0.4 s at most; nothing of it
    /// blocks.
    pub async fn probe(&self) -> Vec<Found> {
        let client = tokio::task::spawn_blocking(|| {
            tls::prepare();
            Client::builder().connect_timeout(CONNECT).timeout(ALL).redirect(reqwest::redirect::Policy::none()).build()
        });
        let Ok(Ok(client)) = client.await else { return Vec::new() };
        let places = KNOWN.iter().filter(|known| known.place == Place::Local);
        let asked = places.filter_map(|known| {
            let site = self.site(known).ok()?;
            Some(ask(client.clone(), known.name, site.url("", "/models")))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// As [`Providers::default_model`], and where that would be the demo, the first model of a server that runs here.
    pub async fn default_model_found(&self) -> ModelRef {
        let model = self.default_model();
        if !super::is_scripted(&model) {
            return model;
        }
        let found = self.probe().await;
        found.into_iter().find_map(|found| found.models.into_iter().next()).unwrap_or(model)
    }
}

async fn ask(client: Client, provider: &'static str, url: Url) -> Option<Found> {
    let mut response = client.get(url).send().await.ok().filter(|response| response.status().is_success())?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST {
            return None;
        }
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    let talks = |id: &str| !id.is_empty() && !id.contains("embed");
    let ids = list.data.into_iter().map(|entry| entry.id).filter(|id| talks(id));
    let models: Vec<ModelRef> = ids.map(|id| ModelRef::new(provider, &id)).collect();
    (!models.is_empty()).then_some(Found { provider, models })
}
