//! The texts of a file that people read: comments, strings, names of functions, and the text of pages and documents.

use std::path::Path;

/// What a text is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Comment,
    /// Most are messages.
    Literal,
    FunctionName,
    /// A line of a document, of settings or of a page.
    Line,
}

/// A text of a file. It may take several lines.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) kind: TextKind,
    /// The line on which it begins.
    pub(super) line: usize,
    pub(super) text: String,
}

/// Whether a file has texts that people read.
pub(super) fn is_read(path: &Path) -> bool {
    texts_of(path, "").is_some()
}

/// The texts of a file. `None` if files of its kind are not read.
pub(super) fn texts_of(path: &Path, text: &str) -> Option<Vec<SourceText>> {
    Some(match path.extension()?.to_str()? {
        "md" => document(text),
        "toml" | "yaml" | "yml" | "html" => settings(text),
        "rs" => Scanner::new(text, SourceLanguage::Rust).scan(),
        "ts" | "js" | "mjs" | "cjs" => Scanner::new(text, SourceLanguage::Script).scan(),
        "tsx" | "jsx" | "svelte" | "vue" => {
            let mut scanner = Scanner::new(text, SourceLanguage::Markup);
            scanner.run();
            let code = settings(&scanner.code);
            scanner.texts.extend(code);
            scanner.texts
        }
        _ => return None,
    })
}

/// The lines of a file of settings or of a page, without tags.
fn settings(text: &str) -> Vec<SourceText> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut plain = String::new();
        for (at, piece) in line.split('<').enumerate() {
            plain.push_str(if at == 0 {
                piece
            } else {
                piece.split_once('>').map_or(piece, |(_, rest)| rest)
            });
            plain.push(' ');
        }
        found.push(SourceText { kind: TextKind::Line, line: index + 1, text: plain });
    }
    found
}

/// The lines of a document that are not code.
fn document(text: &str) -> Vec<SourceText> {
    let mut code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            lines.push(SourceText { kind: TextKind::Line, line: index + 1, text: line.to_owned() });
        }
    }
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceLanguage {
    Rust,
    /// JavaScript and TypeScript.
    Script,
    /// A script with tags and text between them.
    Markup,
}

/// Reads source code once, from its beginning to its end.
struct Scanner<'t> {
    language: SourceLanguage,
    rest: &'t str,
    line: usize,
    /// The last letter of code that is not a space.
    previous: char,
    /// The last word of code.
    word: &'t str,
    /// Nothing but spaces came before on this line.
    line_is_blank: bool,
    /// The lines of the comment that is read are an example.
    in_example: bool,
    /// The line on which the last comment that had its lines for itself ended.
    comment_end: usize,
    texts: Vec<SourceText>,
    /// The code, with its line ends.
    code: String,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, language: SourceLanguage) -> Self {
        Self {
            language,
            rest: text,
            line: 1,
            previous: '\n',
            word: "",
            line_is_blank: true,
            in_example: false,
            comment_end: 0,
            texts: Vec::new(),
            code: String::new(),
        }
    }

    fn scan(mut self) -> Vec<SourceText> {
        self.run();
        self.texts
    }

    fn run(&mut self) {
        while !self.rest.is_empty() {
            self.step(0);
        }
    }

    /// Reads a comment, a string, a word or a letter. `depth` counts the templates around.
    fn step(&mut self, depth: usize) {
        let is_rust = self.language == SourceLanguage::Rust;
        let Some(letter) = self.rest.chars().next() else { return };
        let is_address = self.language == SourceLanguage::Markup && self.code.ends_with(':');
        if self.rest.starts_with("//") && !is_address {
            let comment = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            self.comment(comment.trim_start_matches(['/', '!']));
        } else if self.rest.starts_with("/*") {
            self.block_comment("*/");
        } else if self.language == SourceLanguage::Markup && self.rest.starts_with("<!--") {
            self.block_comment("-->");
        } else if letter == '"' || (!is_rust && letter == '\'') {
            self.quoted(letter);
        } else if is_rust && letter == '\'' {
            self.character();
        } else if !is_rust && letter == '`' {
            self.template(depth);
        } else if !is_rust && letter == '/' && self.is_pattern() {
            self.pattern();
        } else if letter.is_alphanumeric() || letter == '_' {
            self.word(is_rust);
        } else {
            self.take_code(letter.len_utf8());
        }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        let ends = taken.matches('\n').count();
        self.rest = rest;
        self.line += ends;
        self.code.push_str(&"\n".repeat(ends));
        taken
    }

    fn take_code(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.code.push_str(taken);
        for letter in taken.chars() {
            self.line += usize::from(letter == '\n');
            self.line_is_blank = letter == '\n' || (self.line_is_blank && letter.is_whitespace());
            self.previous = if letter.is_whitespace() { self.previous } else { letter };
        }
        taken
    }

    fn word(&mut self, is_rust: bool) {
        let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let line = self.line;
        let word = self.take_code(end);
        if is_rust && self.word == "fn" {
            self.texts.push(SourceText { kind: TextKind::FunctionName, line, text: word.replace('_', " ") });
        }
        self.word = word;
        let is_raw = is_rust && matches!(word, "r" | "br" | "cr");
        if is_raw && self.rest.trim_start_matches('#').starts_with('"') {
            let marks = self.rest.len() - self.rest.trim_start_matches('#').len();
            self.take(marks + 1);
            let end = format!("\"{}", "#".repeat(marks));
            let line = self.line;
            let text = self.take(self.rest.find(&end).unwrap_or(self.rest.len()));
            self.take(end.len());
            self.literal(line, text.to_owned());
        }
    }

    /// A comment on one line. One that continues the comment on the line before belongs to it.
    fn comment(&mut self, text: &str) {
        let continues = self.line_is_blank && self.comment_end + 1 == self.line;
        if !continues {
            self.in_example = false;
        }
        self.comment_line(self.line, text, continues);
        self.comment_end = if self.line_is_blank { self.line } else { 0 };
    }

    fn comment_line(&mut self, line: usize, text: &str, continues: bool) {
        let is_fence = text.trim_start().starts_with("```");
        if is_fence {
            self.in_example = !self.in_example;
        }
        let shown = if is_fence || self.in_example { "" } else { text };
        match self.texts.last_mut() {
            Some(last) if continues && last.kind == TextKind::Comment => {
                last.text.push('\n');
                last.text.push_str(shown);
            }
            _ => self.texts.push(SourceText { kind: TextKind::Comment, line, text: shown.to_owned() }),
        }
    }

    fn block_comment(&mut self, end: &str) {
        let line = self.line;
        let length = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        let comment = self.take(length);
        let comment = comment.strip_suffix(end).unwrap_or(comment);
        self.in_example = false;
        for (index, text) in comment.lines().enumerate() {
            let text = text.trim_start().trim_start_matches(['/', '*', '!', '<', '-']);
            self.comment_line(line + index, text, index > 0);
        }
    }

    fn literal(&mut self, line: usize, text: String) {
        self.previous = '"';
        self.line_is_blank = false;
        self.code.push(' ');
        if text.contains(' ') {
            self.texts.push(SourceText { kind: TextKind::Literal, line, text });
        }
    }

    /// A string in quotes. In a script it ends on its line; a quote that does not is an apostrophe.
    fn quoted(&mut self, quote: char) {
        let is_rust = self.language == SourceLanguage::Rust;
        let (mut text, mut length, mut is_escape, mut closed) = (String::new(), 1, false, false);
        for letter in self.rest.chars().skip(1) {
            if letter == '\n' && !is_rust && !is_escape {
                break;
            }
            length += letter.len_utf8();
            if is_escape {
                text.push(if matches!(letter, 'n' | 't' | 'r') { ' ' } else { letter });
                is_escape = false;
            } else if letter == quote {
                closed = true;
                break;
            } else if letter == '\\' {
                is_escape = true;
            } else {
                text.push(letter);
            }
        }
        if !closed && !is_rust {
            self.take_code(1);
            return;
        }
        let line = self.line;
        self.take(length);
        self.literal(line, text);
    }

    /// A character of Rust, or a lifetime.
    fn character(&mut self) {
        let mut letters = self.rest.char_indices().skip(1);
        let length = match (letters.next(), letters.next()) {
            (Some((_, '\\')), Some((at, escaped))) => {
                let after = at + escaped.len_utf8();
                self.rest.get(after..).and_then(|rest| rest.find('\'')).map_or(1, |end| after + end + 1)
            }
            (Some(_), Some((end, '\''))) => end + 1,
            _ => 1,
        };
        self.take_code(length);
    }

    /// A template string. Code in it is read as code.
    fn template(&mut self, depth: usize) {
        self.take(1);
        let (line, mut text) = (self.line, String::new());
        while let Some(letter) = self.rest.chars().next() {
            if letter == '`' {
                self.take(1);
                break;
            }
            if self.rest.starts_with("${") && depth < 8 {
                self.take(2);
                text.push_str("{}");
                let before = self.line;
                let mut open = 1;
                while let Some(letter) = self.rest.chars().next() {
                    open += i32::from(letter == '{') - i32::from(letter == '}');
                    if open == 0 {
                        self.take(1);
                        break;
                    }
                    self.step(depth + 1);
                }
                text.push_str(&"\n".repeat(self.line - before));
            } else if letter == '\\' {
                self.take(1);
                let escaped = self.take(self.rest.chars().next().map_or(0, char::len_utf8));
                text.push_str(if matches!(escaped, "n" | "t" | "r") { " " } else { escaped });
            } else {
                text.push_str(self.take(letter.len_utf8()));
            }
        }
        self.literal(line, text);
    }

    /// Whether a slash begins a regular expression and does not divide.
    fn is_pattern(&self) -> bool {
        let begins =
            matches!(self.previous, '(' | ',' | '=' | ':' | '[' | '!' | '&' | '|' | '?' | '{' | ';' | '\n');
        let is_tag = self.rest.starts_with("/>");
        !is_tag && (begins || (self.previous.is_alphabetic() && self.word == "return"))
    }

    fn pattern(&mut self) {
        let (mut length, mut is_escape, mut in_class) = (1, false, false);
        for letter in self.rest.chars().skip(1) {
            length += letter.len_utf8();
            match letter {
                '\n' => {
                    self.take_code(1);
                    return;
                }
                _ if is_escape => is_escape = false,
                '\\' => is_escape = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                _ => {}
            }
        }
        self.take(length);
        self.previous = '/';
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{TextKind, texts_of};

    fn texts(file: &str, text: &str) -> Vec<(usize, String)> {
        let texts = texts_of(Path::new(file), text).unwrap().into_iter();
        texts.map(|one| (one.line, one.text.trim().to_owned())).collect()
    }

    #[track_caller]
    fn assert_texts(file: &str, text: &str, expected: &[(usize, &str)]) {
        let found = texts(file, text);
        let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn settings_and_pages_are_read_without_tags() {
        assert_texts("a.html", "a: <b class=\"nobody\">one</b>", &[(1, "a:  one")]);
    }

    #[test]
    fn code_in_documents_is_not_read() {
        assert_texts("a.md", "one\n```\nwhoever\n```\ntwo", &[(1, "one"), (5, "two")]);
    }

    #[test]
    fn comments_strings_and_function_names_of_rust_are_read() {
        let text = "/// A comment\n/// of two lines.\npub(crate) async fn nobody_waits<'a>() {\n    let x = \"two words\"; // Why.\n}";
        let expected = [(1, "A comment\n of two lines."), (3, "nobody waits"), (4, "two words"), (4, "Why.")];
        assert_texts("a.rs", text, &expected);
    }

    #[test]
    fn strings_over_several_lines_are_one_text() {
        let text = "x(\"one \\\n   two\", '\"', r#\"a \"b\" c\"#)";
        assert_texts("a.rs", text, &[(1, "one \n   two"), (2, "a \"b\" c")]);
    }

    #[test]
    fn examples_in_comments_are_not_read() {
        assert_texts("a.rs", "/// One.\n/// ```\n/// told();\n/// ```\nfn x() {}", &[(1, "One."), (5, "x")]);
    }

    #[test]
    fn comments_and_strings_of_scripts_are_read() {
        let text = "/** One line. */\ntest('it\\'s one', () => `a ${b(\"c d\")} e`); // f\nlet x = /['\"]/;\n/**\n * Two\n * lines.\n */";
        let expected =
            [(1, "One line."), (2, "it's one"), (2, "c d"), (2, "a {} e"), (2, "f"), (4, "Two\n lines.")];
        assert_texts("a.ts", text, &expected);
    }

    #[test]
    fn text_between_tags_is_read() {
        let found = texts("a.tsx", "return <p title='a b'>It isn't here</p>;");
        assert!(found.contains(&(1, "return  It isn't here ;".to_owned())), "{found:?}");
        assert!(found.contains(&(1, "a b".to_owned())), "{found:?}");
    }

    #[test]
    fn files_of_other_kinds_are_not_read() {
        assert!(texts_of(Path::new("a.png"), "").is_none());
        assert_eq!(texts_of(Path::new("a.rs"), "fn a() {}").unwrap()[0].kind, TextKind::FunctionName);
    }
}
