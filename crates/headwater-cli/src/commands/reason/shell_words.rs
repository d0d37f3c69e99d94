//! Splits a command line into words as a shell does: quotes and backslashes only.

pub(super) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("a quote is not closed"),
                        Some(end) if end == char => break,
                        Some('\\') if char == '"' => word.extend(chars.next()),
                        Some(inside) => word.push(inside),
                    }
                }
            }
            '\\' => match chars.next() {
                None => return Err("it ends with a backslash"),
                Some(next) => word.get_or_insert_default().push(next),
            },
            char if char.is_whitespace() => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_split_like_a_shell() {
        for (line, words) in [
            ("", vec![]),
            ("  npx -y  server ", vec!["npx", "-y", "server"]),
            (r#"node 'my server.mjs' "a \"b\" c" d\ e"#, vec!["node", "my server.mjs", "a \"b\" c", "d e"]),
            (r#"a''b "" c"#, vec!["ab", "", "c"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(split("a 'b"), Err("a quote is not closed"));
        assert_eq!(split("a \\"), Err("it ends with a backslash"));
    }
}
