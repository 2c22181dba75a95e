//! The screen as a picture of the model: [`view`] reads it and changes nothing but its own caches.
//!
//! Rendered text is kept as [`lines::Lines`], one text with roles, no style: a theme is looked up when cells are
//! written, so changing it wraps nothing again. [`Painter`] holds those lines for what is near the screen and tells
//! the workbench how high each block is.

mod cells;
mod compose;
mod glyphs;
mod highlight;
mod lines;
mod links;
mod markdown;
mod painter;
mod plain;
mod screens;
pub mod theme;
mod wrap;

pub use highlight::Highlighter;
pub use painter::Painter;
pub use plain::{Narrator, as_lines, rests};
pub use screens::view;
pub use theme::{ColourDepth, Role, Theme};

#[doc(hidden)]
pub mod bench {
    //! What the benches reach.
    pub use super::markdown::Document;
}
