//! A piece of markdown becomes rows.

use super::{OPTIONS, blank_before, fence, table};
use crate::ui::lines::{Ink, Lines};
use crate::ui::links;
use crate::ui::theme::{Emphasis, Role};
use crate::ui::wrap::{Breaks, Inline, columns};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Parser, Tag, TagEnd};

/// How text is rendered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) width: usize,
    pub(super) base: Role,
    /// Whether the terminal knows links; without, addresses are written behind their labels.
    pub(super) links: bool,
}

/// Renders one piece of text.
pub(super) struct Renderer<'source> {
    source: &'source str,
    look: Look,
    /// The link at hand.
    link: u16,
    /// The end is still being written.
    open: bool,
    /// The number of the first list item, which an earlier piece may have counted.
    number: Option<Counting>,
    lines: Lines,
    inline: Inline,
    emphasis: Emphasis,
    roles: Vec<Role>,
    within: Vec<Within>,
    /// Where the links at hand lead, and where their labels begin.
    links: Vec<(String, usize)>,
    /// Something stands in the container at hand, so that what follows is set apart.
    filled: bool,
    table: Option<table::Table>,
    code: Option<String>,
}

/// The number with which a list goes on, if it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting(pub(super) Option<u64>);

/// What the text at hand stands in.
enum Within {
    Quote,
    List {
        number: Option<u64>,
    },
    /// An item; its marker is written once.
    Item {
        marker: String,
        written: bool,
    },
}

impl<'source> Renderer<'source> {
    pub(super) fn new(source: &'source str, look: Look) -> Self {
        Self {
            source,
            look,
            link: 0,
            open: false,
            number: None,
            lines: Lines::default(),
            inline: Inline::default(),
            emphasis: Emphasis::default(),
            roles: Vec::new(),
            within: Vec::new(),
            links: Vec::new(),
            filled: false,
            table: None,
            code: None,
        }
    }

    /// The end of the text is still being written: a table there shows as it was typed.
    pub(super) fn open(mut self) -> Self {
        self.open = true;
        self
    }

    pub(super) fn number(mut self, number: Option<Counting>) -> Self {
        self.number = number;
        self
    }

    pub(super) fn run(mut self) -> Lines {
        let source = self.source;
        for (event, range) in Parser::new_ext(source, OPTIONS).into_offset_iter() {
            match event {
                Event::Start(tag) => self.start(tag, range.start, range.end),
                Event::End(end) => self.end(end),
                Event::Text(text) | Event::FootnoteReference(text) => self.text(&text),
                Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                    self.styled(&text, Role::MarkdownCode);
                }
                Event::Html(text) | Event::InlineHtml(text) => self.html(&text),
                Event::SoftBreak => self.text(" "),
                Event::HardBreak => self.inline.end_line(),
                Event::Rule => {
                    self.block(range.start);
                    let rule = "─".repeat(self.room().min(40));
                    self.inline.put(&rule, Role::MarkdownMark);
                    self.flush(Breaks::Letters);
                }
                Event::TaskListMarker(done) => self.styled(if done { "☑ " } else { "☐ " }, Role::MarkdownMark),
            }
        }
        self.flush(Breaks::Words);
        self.lines
    }

    fn start(&mut self, tag: Tag<'_>, at: usize, end: usize) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(at),
            Tag::Heading { level, .. } => {
                self.block(at);
                self.roles.push(Role::MarkdownHeading);
                self.emphasis = self.emphasis.with(Emphasis::BOLD);
                if level == HeadingLevel::H1 {
                    self.emphasis = self.emphasis.with(Emphasis::UNDERLINED);
                }
            }
            Tag::BlockQuote(_) => {
                self.block(at);
                self.within.push(Within::Quote);
                self.roles.push(Role::MarkdownQuote);
                self.filled = false;
            }
            Tag::CodeBlock(kind) => {
                self.block(at);
                if let CodeBlockKind::Fenced(info) = kind
                    && let Some(language) = info.split_whitespace().next()
                {
                    let (width, full) = (self.room(), self.look.width);
                    let prefix = &mut self.within;
                    fence::language_row(language, width, &mut self.lines, |lines| write_prefix(prefix, full, lines));
                }
                self.code = Some(String::new());
            }
            Tag::List(number) => {
                self.flush(Breaks::Words);
                let number = self.number.take().map_or(number, |counting| counting.0);
                self.within.push(Within::List { number });
            }
            Tag::Item => self.item(at),
            Tag::Table(alignments) => self.table(at, end, &alignments),
            Tag::TableCell => self.inline.clear(),
            Tag::Emphasis => self.emphasis = self.emphasis.with(Emphasis::ITALIC),
            Tag::Strong => self.emphasis = self.emphasis.with(Emphasis::BOLD),
            Tag::Strikethrough => self.emphasis = self.emphasis.with(Emphasis::STRUCK),
            Tag::Link { link_type, dest_url, .. } => {
                let scheme = if link_type == LinkType::Email { "mailto:" } else { "" };
                self.begin_link(format!("{scheme}{dest_url}"));
            }
            Tag::Image { dest_url, .. } => {
                self.styled("image: ", Role::MarkdownUrl);
                self.begin_link(dest_url.into_string());
            }
            Tag::TableHead
            | Tag::TableRow
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(Breaks::Words),
            TagEnd::Heading(_) => {
                self.flush(Breaks::Words);
                self.roles.pop();
                self.emphasis = Emphasis::default();
            }
            TagEnd::BlockQuote(_) => {
                self.flush(Breaks::Words);
                self.within.pop();
                self.roles.pop();
                self.filled = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let (width, full) = (self.room(), self.look.width);
                let within = &mut self.within;
                fence::write_code(&code, 0, width, None, &mut self.lines, |lines| write_prefix(within, full, lines));
                self.filled = true;
            }
            TagEnd::List(_) => {
                self.within.pop();
                self.filled = true;
            }
            TagEnd::Item => {
                self.flush(Breaks::Words);
                if let Some(Within::Item { written: false, .. }) = self.within.last() {
                    write_prefix(&mut self.within, self.look.width, &mut self.lines);
                    self.lines.end_row();
                }
                self.within.pop();
                self.filled = true;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let (width, full) = (self.room(), self.look.width);
                    let within = &mut self.within;
                    table.write(width, &mut self.lines, |lines| write_prefix(within, full, lines));
                }
                self.inline.clear();
                self.filled = true;
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis => self.emphasis = self.emphasis.without(Emphasis::ITALIC),
            TagEnd::Strong if self.roles.last() != Some(&Role::MarkdownHeading) => {
                self.emphasis = self.emphasis.without(Emphasis::BOLD);
            }
            TagEnd::Strikethrough => self.emphasis = self.emphasis.without(Emphasis::STRUCK),
            TagEnd::Link | TagEnd::Image => {
                self.roles.pop();
                let offered = std::mem::take(&mut self.link) > 0;
                if let Some((url, from)) = self.links.pop() {
                    let label = self.inline.since(from);
                    let told = label == url || url.strip_prefix("mailto:") == Some(label);
                    if !url.is_empty() && !told && (!offered || links::misleads(label, &url)) {
                        self.styled(&format!(" ({url})"), Role::MarkdownUrl);
                    }
                }
            }
            TagEnd::Strong
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// A block begins at byte `at`: what came before is written, and set apart with a blank row where it should be.
    fn block(&mut self, at: usize) {
        self.flush(Breaks::Words);
        let in_item = matches!(self.within.last(), Some(Within::Item { .. }));
        if self.filled && (!in_item || self.blank_before(at)) {
            self.blank_row();
        }
        self.filled = false;
    }

    fn item(&mut self, at: usize) {
        self.flush(Breaks::Words);
        if self.filled && self.blank_before(at) {
            self.blank_row();
        }
        self.filled = false;
        let Some(Within::List { number }) = self.within.last_mut() else { return };
        let marker = match number {
            Some(counted) => {
                let marker = format!("{counted}. ");
                *counted = counted.saturating_add(1);
                marker
            }
            None => "• ".to_owned(),
        };
        self.within.push(Within::Item { marker, written: false });
    }

    fn blank_before(&self, at: usize) -> bool {
        blank_before(self.source.get(..at).unwrap_or_default())
    }

    /// A row with nothing but the marks of quotes.
    fn blank_row(&mut self) {
        if fits(&self.within, self.look.width) {
            let last_quote = self.within.iter().rposition(|within| matches!(within, Within::Quote));
            for within in self.within.iter().take(last_quote.map_or(0, |last| last + 1)) {
                match within {
                    Within::Quote => self.lines.put("│ ", Role::MarkdownMark.into()),
                    Within::Item { marker, .. } => {
                        self.lines.put(&" ".repeat(columns(marker)), Role::Text.into());
                    }
                    Within::List { .. } => {}
                }
            }
        }
        self.lines.end_row();
    }

    fn table(&mut self, at: usize, end: usize, alignments: &[Alignment]) {
        self.block(at);
        // While its end is being written its columns are not known: it shows as it was typed.
        if self.open && self.source.get(end..).is_none_or(|rest| rest.trim().is_empty()) {
            let source = self.source.get(at..end).unwrap_or_default();
            let mut raw = Inline::default();
            raw.put_lines(source.trim_end(), self.look.base);
            let (width, full) = (self.room(), self.look.width);
            let within = &mut self.within;
            raw.wrap(width, Breaks::Words, &mut self.lines, |lines| write_prefix(within, full, lines));
        } else {
            self.table = Some(table::Table::new(alignments));
        }
    }

    fn begin_link(&mut self, url: String) {
        let target = links::target(&url).filter(|_| self.look.links);
        self.link = target.map_or(0, |target| self.inline.link(&target));
        self.links.push((url, self.inline.len()));
        self.roles.push(Role::MarkdownLink);
    }

    fn ink(&self) -> Ink {
        let role = self.roles.last().copied().unwrap_or(self.look.base);
        Ink { role, emphasis: self.emphasis, link: self.link }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
        } else {
            let ink = self.ink();
            self.inline.put(text, ink);
        }
    }

    fn styled(&mut self, text: &str, role: Role) {
        let ink = Ink { role, emphasis: self.emphasis, link: self.link };
        self.inline.put(text, ink);
    }

    fn html(&mut self, text: &str) {
        match text.strip_suffix('\n') {
            Some(line) => {
                self.styled(line, Role::MarkdownUrl);
                self.inline.end_line();
            }
            None => self.styled(text, Role::MarkdownUrl),
        }
    }

    /// Columns left for text.
    fn room(&self) -> usize {
        if fits(&self.within, self.look.width) {
            self.look.width - prefix_columns(&self.within)
        } else {
            self.look.width
        }
    }

    /// Writes the running text.
    fn flush(&mut self, breaks: Breaks) {
        if self.table.is_some() || self.inline.is_empty() {
            return;
        }
        self.inline.trim_end();
        let (width, full) = (self.room(), self.look.width);
        let within = &mut self.within;
        self.inline.wrap(width, breaks, &mut self.lines, |lines| write_prefix(within, full, lines));
        self.inline.clear();
        self.filled = true;
    }
}

fn prefix_columns(within: &[Within]) -> usize {
    let of = |within: &Within| match within {
        Within::Quote => 2,
        Within::List { .. } => 0,
        Within::Item { marker, .. } => columns(marker),
    };
    within.iter().map(of).sum()
}

/// Whether marks and indents leave room for text.
fn fits(within: &[Within], width: usize) -> bool {
    prefix_columns(within) + 4 <= width
}

/// Writes what stands before a row: quote marks, and the marker of an item or the blanks below it. Without room for
/// text behind it, nothing.
fn write_prefix(within: &mut [Within], width: usize, lines: &mut Lines) {
    if !fits(within, width) {
        return;
    }
    for within in within {
        match within {
            Within::Quote => lines.put("│ ", Role::MarkdownMark.into()),
            Within::Item { marker, written } => {
                if *written {
                    lines.put(&" ".repeat(columns(marker)), Role::Text.into());
                } else {
                    lines.put(marker, Role::MarkdownMark.into());
                    *written = true;
                }
            }
            Within::List { .. } => {}
        }
    }
}
