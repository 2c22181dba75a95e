//! The MCP servers of the project and the person: a page with how each stands, asking them, and keeping what they offer now.

use super::message::{Effect, Level, ServerRow, ServersAsked};
use super::model::Model;
use super::overlay::{Pager, PagerLine};

impl Model {
    /// `/mcp`, `/mcp test`, `/mcp test NAME`, `/mcp refresh NAME`.
    ///
    /// # Errors
    /// What is wrong with the words.
    pub(super) fn ask_servers(&mut self, words: &str) -> Result<Vec<Effect>, String> {
        let asked = match words.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => ServersAsked::Known,
            ["test"] => ServersAsked::Test(None),
            ["test", name] => ServersAsked::Test(Some((*name).to_owned())),
            ["refresh", name] => ServersAsked::Refresh((*name).to_owned()),
            _ => {
                return Err(
                    "/mcp lists servers; /mcp test asks them, /mcp refresh NAME keeps what one offers".to_owned()
                );
            }
        };
        if asked != ServersAsked::Known {
            self.say(Level::Info, "asking…");
        }
        Ok(vec![Effect::AskServers(asked)])
    }

    pub(super) fn show_servers(&mut self, rows: Result<Vec<ServerRow>, String>) {
        let rows = match rows {
            Ok(rows) if rows.is_empty() => {
                return self.say(Level::Info, "there are no MCP servers; `levain mcp add` adds one");
            }
            Ok(rows) => rows,
            Err(why) => return self.say(Level::Error, why),
        };
        let mut lines = Vec::new();
        for ServerRow { heading, about, .. } in rows {
            if !lines.is_empty() {
                lines.push(PagerLine::Blank);
            }
            lines.push(PagerLine::Heading(heading));
            lines.extend(about.into_iter().map(|(left, text)| PagerLine::Row { left: left.to_owned(), text }));
        }
        lines.push(PagerLine::Blank);
        lines.push(PagerLine::Whole(
            "/mcp test [NAME] asks now; /mcp refresh NAME keeps what one offers now".to_owned(),
        ));
        self.lay_over(Pager::new("MCP servers", lines));
    }
}
