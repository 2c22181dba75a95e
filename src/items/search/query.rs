//! A query: words, phrases in quotes, `AND`, `OR`, `NOT` and parentheses, read into a tree.
//!
//! Words side by side must all be found; `OR` binds loosest, `NOT` closest. Operators are written in capitals, so that
//! the small words can be looked for. A `*` in a word stands for any letters of that word.

/// As deep as `NOT` and parentheses may lie in one another: nobody writes more, and reading one in another takes stack.
const DEEPEST: usize = 64;

/// A query that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Term(Term),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// Words that stand behind one another, in small letters. Usually one; more for a phrase, and for a word such as
/// `file-system` or `team/deploy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term(pub(super) Vec<String>);

/// Why a text is no query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the query is not valid at character {letter}: {why}")]
pub struct BadQuery {
    /// Where, counted from 1.
    pub letter: usize,
    why: &'static str,
}

/// A piece of the text, with where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    letter: usize,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Term(Term),
    And,
    Or,
    Not,
    Open,
    Close,
}

impl Query {
    /// # Errors
    /// [`BadQuery`] for a text that holds no word to look for, leaves a quote or a parenthesis open, or has an operator
    /// without what it stands between.
    pub fn parse(text: &str) -> Result<Self, BadQuery> {
        let tokens = tokens(text)?;
        let mut reading = Reading { end: text.chars().count() + 1, tokens: tokens.into_iter().peekable(), depth: 0 };
        if reading.tokens.peek().is_none() {
            return Err(BadQuery { letter: 1, why: "it has no search word" });
        }
        let root = reading.any()?;
        match reading.tokens.next() {
            None => Ok(Self { root }),
            Some(token) => Err(BadQuery { letter: token.letter, why: "this parenthesis has no opening one" }),
        }
    }

    /// The terms an item is wanted for: those that no `NOT` stands before.
    pub(super) fn wanted(&self) -> Vec<&Term> {
        let mut wanted = Vec::new();
        let mut nodes = vec![&self.root];
        while let Some(node) = nodes.pop() {
            match node {
                Node::Term(term) => wanted.push(term),
                Node::All(parts) | Node::Any(parts) => nodes.extend(parts),
                Node::Not(_) => {}
            }
        }
        wanted
    }
}

impl Node {
    /// Whether it holds where `found` says which terms are there.
    pub(super) fn holds(&self, found: &dyn Fn(&Term) -> bool) -> bool {
        match self {
            Self::Term(term) => found(term),
            Self::Not(inner) => !inner.holds(found),
            Self::All(parts) => parts.iter().all(|part| part.holds(found)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(found)),
        }
    }
}

/// The words of a text in small letters; `kept` is a further letter that belongs to words.
pub(super) fn words(text: &str, kept: Option<char>) -> impl Iterator<Item = String> {
    text.split(move |letter: char| !letter.is_alphanumeric() && Some(letter) != kept)
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn term(text: &str, letter: usize) -> Result<What, BadQuery> {
    let words: Vec<String> = words(text, Some('*')).collect();
    if words.is_empty() {
        return Err(BadQuery { letter, why: "this word has no letter or digit" });
    }
    Ok(What::Term(Term(words)))
}

fn tokens(text: &str) -> Result<Vec<Token>, BadQuery> {
    let mut tokens = Vec::new();
    let mut letters = (1..).zip(text.chars()).peekable();
    while let Some((letter, first)) = letters.next() {
        let what = match first {
            _ if first.is_whitespace() => continue,
            '(' => What::Open,
            ')' => What::Close,
            '"' => {
                let mut phrase = String::new();
                loop {
                    match letters.next() {
                        Some((_, '"')) => break,
                        Some((_, inner)) => phrase.push(inner),
                        None => return Err(BadQuery { letter, why: "this quote is never closed" }),
                    }
                }
                term(&phrase, letter)?
            }
            _ => {
                let mut word = String::from(first);
                let inside = |letter: char| !letter.is_whitespace() && !matches!(letter, '(' | ')' | '"');
                while let Some((_, next)) = letters.next_if(|(_, next)| inside(*next)) {
                    word.push(next);
                }
                match word.as_str() {
                    "AND" => What::And,
                    "OR" => What::Or,
                    "NOT" => What::Not,
                    _ => term(&word, letter)?,
                }
            }
        };
        tokens.push(Token { letter, what });
    }
    Ok(tokens)
}

struct Reading {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// The letter behind the last.
    end: usize,
    depth: usize,
}

impl Reading {
    fn next_if(&mut self, what: &What) -> Option<Token> {
        self.tokens.next_if(|token| token.what == *what)
    }

    fn any(&mut self) -> Result<Node, BadQuery> {
        let mut parts = vec![self.all()?];
        while self.next_if(&What::Or).is_some() {
            parts.push(self.all()?);
        }
        Ok(one_of(parts, Node::Any))
    }

    fn all(&mut self) -> Result<Node, BadQuery> {
        let mut parts = vec![self.part()?];
        while let Some(token) = self.tokens.peek() {
            match token.what {
                What::Or | What::Close => break,
                What::And => drop(self.tokens.next()),
                What::Term(_) | What::Not | What::Open => {}
            }
            parts.push(self.part()?);
        }
        Ok(one_of(parts, Node::All))
    }

    fn part(&mut self) -> Result<Node, BadQuery> {
        let Some(Token { letter, what }) = self.tokens.next() else {
            return Err(BadQuery { letter: self.end, why: "a word is missing at the end" });
        };
        match what {
            What::Term(term) => Ok(Node::Term(term)),
            What::Not => Ok(Node::Not(Box::new(self.deeper(letter, Self::part)?))),
            What::Open => {
                let inner = self.deeper(letter, Self::any)?;
                match self.next_if(&What::Close) {
                    Some(_) => Ok(inner),
                    None => Err(BadQuery { letter, why: "this parenthesis is never closed" }),
                }
            }
            What::And | What::Or => Err(BadQuery { letter, why: "a word should stand before this operator" }),
            What::Close => Err(BadQuery { letter, why: "a word should stand before this parenthesis" }),
        }
    }

    fn deeper(&mut self, letter: usize, read: fn(&mut Self) -> Result<Node, BadQuery>) -> Result<Node, BadQuery> {
        if self.depth == DEEPEST {
            return Err(BadQuery { letter, why: "this is nested too deeply" });
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }
}

fn one_of(mut parts: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            several(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tree in one line.
    fn shape(node: &Node) -> String {
        let list = |parts: &[Node]| parts.iter().map(shape).collect::<Vec<_>>().join(" ");
        match node {
            Node::Term(Term(words)) => words.join("+"),
            Node::Not(inner) => format!("!{}", shape(inner)),
            Node::All(parts) => format!("({})", list(parts)),
            Node::Any(parts) => format!("[{}]", list(parts)),
        }
    }

    fn read(text: &str) -> String {
        match Query::parse(text) {
            Ok(query) => shape(&query.root),
            Err(BadQuery { letter, why }) => format!("{letter}: {why}"),
        }
    }

    #[test]
    fn words_phrases_and_operators() {
        for (text, expected) in [
            ("deploy", "deploy"),
            ("Deploy STAGING", "(deploy staging)"),
            ("a AND b AND c", "(a b c)"),
            ("a b OR c d", "[(a b) (c d)]"),
            ("a OR b OR c", "[a b c]"),
            ("a (b OR c)", "(a [b c])"),
            ("NOT a b", "(!a b)"),
            ("NOT (a b)", "!(a b)"),
            ("NOT NOT a", "!!a"),
            ("a AND NOT b", "(a !b)"),
            ("\"two words\" three", "(two+words three)"),
            ("\"a OR b\"", "a+or+b"),
            ("and or not", "(and or not)"),
            ("team/deploy file-system", "(team+deploy file+system)"),
            ("dep* *oy", "(dep* *oy)"),
            ("((é))", "é"),
            ("a(b)\"c\"", "(a b c)"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_broken_query_is_told_with_its_place() {
        for (text, expected) in [
            ("", "1: it has no search word"),
            ("  ", "1: it has no search word"),
            ("a OR", "5: a word is missing at the end"),
            ("OR a", "1: a word should stand before this operator"),
            ("a AND OR b", "7: a word should stand before this operator"),
            ("é (a OR b", "3: this parenthesis is never closed"),
            ("a) b", "2: this parenthesis has no opening one"),
            ("()", "2: a word should stand before this parenthesis"),
            ("a \"b c", "3: this quote is never closed"),
            ("a \"\"", "3: this word has no letter or digit"),
            ("a ,", "3: this word has no letter or digit"),
            ("NOT", "4: a word is missing at the end"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let error = Query::parse("a OR").unwrap_err().to_string();
        assert_eq!(error, "the query is not valid at character 5: a word is missing at the end");
    }

    #[test]
    fn nesting_has_an_end() {
        for part in ["(", "NOT "] {
            assert_eq!(read(&part.repeat(100_000)), format!("{}: this is nested too deeply", DEEPEST * part.len() + 1));
        }
        let deep = format!("{}a{}", "(".repeat(DEEPEST), ")".repeat(DEEPEST));
        assert_eq!(read(&deep), "a");
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_a_place_in_it(text in "(a|é|\\*|AND |OR |NOT |\\(|\\)|\"| |/|.){0,40}") {
            if let Err(bad) = Query::parse(&text) {
                prop_assert!((1..=text.chars().count() + 1).contains(&bad.letter), "{bad}");
            }
        }

        /// What is printed with every parenthesis reads as the same tree.
        #[test]
        fn parentheses_change_nothing_where_they_say_what_holds(words in prop::collection::vec("[a-z*]{1,4}", 1..6), any in any::<bool>()) {
            let operator = if any { " OR " } else { " AND " };
            let bare = words.join(operator);
            let wrapped = words.iter().map(|word| format!("({word})")).collect::<Vec<_>>().join(operator);
            prop_assert_eq!(read(&bare), read(&format!("({wrapped})")));
        }
    }
}
