//! The transcript as a document for people: Markdown, or one HTML page that needs nothing else.

use super::transcript::{Block, Kind, Tool, ToolState, Transcript};
use crate::domain::ModelRef;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html as to_html};
use std::fmt::Write as _;

/// What a block says, as it was written.
#[must_use]
pub fn plain(block: &Block) -> String {
    match &block.kind {
        Kind::Prompt(prompt) => prompt.text.clone(),
        Kind::Answer(answer) => answer.text.clone(),
        Kind::Thinking(thinking) => thinking.text.clone(),
        Kind::Tool(tool) => tool_text(tool),
        Kind::Marker(marker) => marker.text.clone(),
    }
}

fn tool_text(tool: &Tool) -> String {
    let mut text = format!("{} {}\n", tool.name, tool.main);
    if !tool.input.is_empty() {
        let _ = writeln!(text, "{}", tool.input);
    }
    if !tool.output.is_empty() {
        let _ = writeln!(text, "{}", tool.output.trim_end());
    }
    text
}

/// Blocks as Markdown: prompts as headings with their text, calls and their results as code, the rest as it is.
#[must_use]
pub fn markdown<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        match &block.kind {
            Kind::Prompt(prompt) => {
                let (said, role) = (prompt.stands_in().unwrap_or(&prompt.text), &prompt.role);
                let _ = write!(text, "## {}\n\n{}\n", if role == "user" { "You" } else { role }, said.trim_end());
            }
            Kind::Answer(answer) => {
                let _ = writeln!(text, "{}", answer.text.trim_end());
            }
            Kind::Thinking(thinking) => {
                for line in thinking.text.trim_end().lines() {
                    let _ = writeln!(text, "> {line}");
                }
            }
            Kind::Tool(tool) => {
                let failed = matches!(tool.state, ToolState::Failed(_)).then_some("failed");
                let how = tool.denied_by().or(failed).map(|how| format!(" — {how}")).unwrap_or_default();
                let _ = writeln!(text, "**{}** {}{how}\n", tool.name, code(&tool.main));
                if !tool.input.is_empty() {
                    text.push_str(&fenced("", &tool.input));
                }
                let output = if let ToolState::Failed(why) = &tool.state { why } else { &tool.output };
                if !output.is_empty() {
                    text.push('\n');
                    text.push_str(&fenced("", output));
                }
            }
            Kind::Marker(_) if block.entry.is_some() => {}
            Kind::Marker(marker) => {
                let _ = writeln!(text, "*{}*", marker.text.replace('*', "\\*"));
            }
        }
    }
    text
}

/// Text in backticks, more of them than it holds itself.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(text) + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// What stands above a transcript, as Markdown: what ran, who answered, and what it might do, a line for each of
/// `capabilities`.
#[must_use]
pub fn about(directive: &str, model: &ModelRef, capabilities: &[String]) -> String {
    let mut text = format!("{} · {}\n\n", code(directive), code(&model.to_string()));
    if !capabilities.is_empty() {
        let _ = write!(text, "Capabilities:\n\n{}\n", fenced("", &capabilities.join("\n")));
    }
    text
}

/// A transcript as one page, what is `about` it above. Text of the model is shown as text: no markup of its own passes.
#[must_use]
pub fn html(transcript: &Transcript, title: &str, about: &str) -> String {
    let source = format!("{about}{}", markdown(transcript.iter()));
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(&source, options).map(without_markup);
    let mut body = String::new();
    to_html::push_html(&mut body, events);
    let mut heading = String::new();
    to_html::push_html(&mut heading, std::iter::once(Event::Text(title.into())));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{heading}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{heading}</h1>\n{body}</body>\n</html>\n"
    )
}

/// What the model wrote as HTML becomes text, what would be fetched or run becomes harmless.
#[expect(clippy::wildcard_enum_match_arm, reason = "everything else is made by the writer of HTML itself")]
fn without_markup(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) if !is_harmless(&dest_url) => {
            Event::Start(Tag::Link { link_type, dest_url: "#".into(), title, id })
        }
        // A picture would be fetched as soon as the page is opened.
        Event::Start(Tag::Image { dest_url, .. }) => Event::Text(format!("[picture {dest_url}: ").into()),
        Event::End(TagEnd::Image) => Event::Text("]".into()),
        other => other,
    }
}

/// Whether a link may be followed from a page on this machine.
fn is_harmless(address: &str) -> bool {
    ["https://", "http://", "mailto:", "#"].iter().any(|scheme| address.to_ascii_lowercase().starts_with(scheme))
}

const STYLE: &str = "\
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre { padding: .75rem; overflow-x: auto; background: #8881; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: .2rem solid #8888; color: #666; }
h2 { border-top: 1px solid #8884; padding-top: 1rem; }
table { border-collapse: collapse; } td, th { border: 1px solid #8886; padding: .2rem .6rem; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } blockquote { color: #aaa; } a { color: #8cf; } }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CallId;
    use crate::domain::NoteKind;
    use crate::workbench::transcript::{Answer, Marker, Prompt};

    fn transcript() -> Transcript {
        let mut transcript = Transcript::default();
        transcript.push(Kind::Prompt(Prompt {
            text: "ship *it*".into(),
            sent: None,
            role: "user".into(),
            pending: false,
            number: None,
            images: Vec::new(),
            files: Vec::new(),
        }));
        let answer = "Well <script>alert(1)</script>\n\n[go](javascript:alert(1)) ![p](http://x/y.png) `code`";
        transcript.push(Kind::Answer(Answer { text: answer.into(), request: 1, ended: None, summary: None }));
        transcript.push(Kind::Tool(Tool {
            call_id: CallId("c".into()),
            name: "bash".into(),
            main: "echo `a`".into(),
            input: "{\n  \"command\": \"echo `a`\"\n}".into(),
            change: None,
            output: "```\nx\n```".into(),
            state: ToolState::Done,
            denied: None,
            child: None,
        }));
        transcript.push(Kind::Marker(Marker { sort: NoteKind::Info, text: "done".into() }));
        transcript
    }

    #[test]
    fn markdown_keeps_every_text_apart() {
        let text = markdown(transcript().iter());
        assert!(text.starts_with("## You\n\nship *it*\n\nWell <script>"), "{text}");
        assert!(text.contains("**bash** `` echo `a` ``\n\n```\n{"), "{text}");
        assert!(text.contains("\n````\n```\nx\n```\n````\n"), "{text}");
        assert!(text.ends_with("*done*\n"));
    }

    #[test]
    fn a_page_holds_no_markup_of_the_model() {
        let about = about("team/`x`", &ModelRef::new("a", "b"), &["rye.*".into(), "  <b>".into()]);
        let page = html(&transcript(), "a & <b>", &about);
        assert!(page.contains("<title>a &amp; &lt;b&gt;</title>"), "{page}");
        assert!(page.contains("<pre><code>rye.*\n  &lt;b&gt;\n</code></pre>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("javascript:") && !page.contains("<img"), "{page}");
    }
}
