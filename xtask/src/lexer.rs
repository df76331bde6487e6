//! Just enough of Rust's lexical rules to tell code, text literals and comments apart.

/// A text literal of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The line it begins in, from 1.
    pub(crate) line: usize,
    /// What stands between the quotes, escapes as written.
    pub(crate) text: String,
}

/// A source file taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lexed {
    /// The code: comments are gone, literals are empty, lines are where they were.
    pub(crate) code: String,
    /// The text literals, in order.
    pub(crate) literals: Vec<Literal>,
}

/// Takes a source file apart.
pub(crate) fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer { rest: source, line: 1, lexed: Lexed::default() };
    while lexer.step() {}
    lexer.lexed
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    lexed: Lexed,
}

impl<'a> Lexer<'a> {
    /// Takes one piece off the rest; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some((hashes, prefix)) = raw_start(self.rest, &self.lexed.code) {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = &self.rest[prefix..];
            let length = body.find(&end).unwrap_or(body.len());
            self.literal(prefix, length, (prefix + length + end.len()).min(self.rest.len()));
        } else if first == '"' {
            let length = quoted(&self.rest[1..]);
            self.literal(1, length, (length + 2).min(self.rest.len()));
        } else if first == '\'' {
            // A character has its closing quote at once, a lifetime has none.
            self.skip(character(self.rest).unwrap_or(1));
        } else {
            self.lexed.code.push(first);
            self.advance(first.len_utf8());
        }
        true
    }

    fn literal(&mut self, start: usize, length: usize, end: usize) {
        let text = self.rest[start..start + length].to_owned();
        self.lexed.literals.push(Literal { line: self.line, text });
        self.lexed.code.push_str("\"\"");
        self.skip(end);
    }

    /// Leaves `length` bytes out of the code, but for their line ends.
    fn skip(&mut self, length: usize) {
        let newlines = self.rest[..length].matches('\n').count();
        self.lexed.code.extend(std::iter::repeat_n('\n', newlines));
        self.advance(length);
    }

    fn advance(&mut self, length: usize) {
        let (taken, rest): (&'a str, &'a str) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
    }
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Hashes and length of the opening of a raw literal (`r"`, `br##"`), unless the letter ends a name.
fn raw_start(text: &str, before: &str) -> Option<(usize, usize)> {
    let in_a_name = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
    let after =
        ["br", "cr", "r"].iter().find_map(|prefix| text.strip_prefix(prefix)).filter(|_| !in_a_name)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then(|| (hashes, text.len() - after.len() + hashes + 1))
}

/// Length of a literal up to its closing quote.
fn quoted(body: &str) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    body.len()
}

/// Length of a character literal with its quotes, or nothing for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        // The escaped character itself may be a quote.
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, String)> {
        lex(source).literals.into_iter().map(|literal| (literal.line, literal.text)).collect()
    }

    #[test]
    fn finds_literals_of_every_form() {
        let source = "let a = \"one \\\" quote\";\nlet b = r#\"raw \"two\"\"#;\nlet c = br\"three\";\nlet d = b\"four\";";
        let expected = [(1, "one \\\" quote"), (2, "raw \"two\""), (3, "three"), (4, "four")];
        assert_eq!(texts(source), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn comments_characters_and_lifetimes_are_no_literals() {
        let source = "// \"a\"\n/* \"b\" /* \"c\" */ \"d\" */ let x: &'static str = \"e\"; let q = '\"'; let r = '\\''; \"f\"";
        assert_eq!(texts(source), [(2, "e".to_owned()), (2, "f".to_owned())]);
    }

    #[test]
    fn code_keeps_its_lines_and_loses_the_rest() {
        let lexed = lex("a(\"x\ny\"); // why\nb()");
        assert_eq!(lexed.code, "a(\"\"\n); \nb()");
    }

    #[test]
    fn names_that_end_in_r_begin_no_raw_literal() {
        assert_eq!(texts("for\"x\""), [(1, "x".to_owned())]);
    }

    #[test]
    fn what_never_ends_is_taken_to_the_end() {
        assert_eq!(texts("\"open"), [(1, "open".to_owned())]);
        assert_eq!(texts("r#\"open\""), [(1, "open\"".to_owned())]);
        assert_eq!(lex("/* open").code, "");
    }
}
