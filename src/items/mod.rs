//! Items under `.ai/`: directives, knowledge and tools, in the spaces project, user and system.
//!
//! [`find`] says which file an id means and which files it shadows. Parsers of what people write are tolerant: they
//! return a value and a list of problems, and one mistake costs one entry.

mod brackets;
pub mod capability;
pub mod cascade;
pub mod check;
pub mod directive;
mod fence;
pub mod find;
pub mod handler;
pub mod hook;
pub mod id;
pub mod knowledge;
pub mod markup;
pub mod pi_settings;
pub mod prompt_file;
pub mod provider_query;
pub mod regular;
pub mod resource_files;
pub mod search;
pub mod server_prompt;
pub mod signature;
pub mod space;
pub mod tool;
mod walk;

pub use capability::Capabilities;
pub use cascade::Cascade;
pub use directive::Directive;
pub use find::{Found, Item, Items, NotFound};
pub use handler::Handlers;
pub use hook::{Hook, Hooks};
pub use id::{ItemId, Kind, is_same};
pub use knowledge::Knowledge;
pub use space::{Place, Root, Spaces};
pub use tool::Tool;
