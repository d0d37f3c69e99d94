//! Removes secrets from texts before they are stored, logged or sent.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

/// Replacement for a secret.
const REMOVED: &str = "[removed]";

/// Shorter secrets are placeholders, and removing them would damage ordinary words.
const SHORTEST: usize = 6;

/// Prefixes of the keys of well-known services.
const KEY_PREFIXES: [&str; 15] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "gsk_",
    "AIza",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "hf_",
    "AKIA",
    "eyJ",
];

/// Suffixes of names whose value is secret: `DB_PASSWORD=…`, `"api_key": "…"`.
const SECRET_NAMES: [&str; 10] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "authorization",
    "credential",
    "credentials",
];

/// Secrets to remove from texts: known ones in all common encodings, and anything that looks like one.
///
/// Errors are cleaned where they are created, because the secret is known there. The journal, the log and
/// readers get only the cleaned text.
///
/// ```
/// use headwater_protocol::Secrets;
///
/// let secrets = Secrets::of(["hunter2-but-longer"]);
/// let text = secrets.remove("refused hunter2-but-longer at https://me:pw@host/v1?key=abc (Bearer sk-live-0123456789)");
/// assert_eq!(text, "refused [removed] at https://host/v1?[removed] (Bearer [removed])");
/// ```
#[derive(Clone, Default)]
pub struct Secrets {
    plain: Vec<String>,
    encoded: Vec<String>,
}

impl Secrets {
    /// Removes these secrets. One of fewer than six characters is ignored.
    pub fn of<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut all = Self::default();
        for secret in secrets {
            all.add(secret.as_ref());
        }
        all
    }

    /// Adds a secret.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST || self.plain.iter().any(|known| known == secret) {
            return;
        }
        let mut encoded = base64_forms(secret);
        encoded.push(percent_encoded(secret));
        let json = serde_json::to_string(secret).unwrap_or_default();
        encoded.push(json.trim_matches('"').to_owned());
        encoded.push(secret.escape_debug().to_string());
        encoded.retain(|form| form != secret && form.len() >= SHORTEST);
        self.encoded.extend(encoded);
        self.plain.push(secret.to_owned());
        // Longest first: a secret that contains another must be removed before it.
        for forms in [&mut self.plain, &mut self.encoded] {
            forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
            forms.dedup();
        }
    }

    /// Whether a value of this name is secret, such as `--api-key` or `DB_PASSWORD`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        SECRET_NAMES.iter().any(|end| lower.ends_with(end))
    }

    /// The text without secrets.
    #[must_use]
    pub fn remove(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for form in self.plain.iter().chain(&self.encoded) {
            if clean.contains(form.as_str()) {
                clean = clean.replace(form.as_str(), REMOVED);
            }
        }
        self.remove_cut(&mut clean);
        remove_lookalikes(&clean)
    }

    /// Removes the beginning of a secret at the end of a truncated text.
    fn remove_cut(&self, text: &mut String) {
        for secret in self.plain.iter().chain(&self.encoded) {
            let lengths = secret.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST).rev();
            let cut = lengths.filter_map(|at| secret.get(..at)).find(|beginning| text.ends_with(beginning));
            if let Some(beginning) = cut {
                text.truncate(text.len() - beginning.len());
                text.push_str(REMOVED);
                return;
            }
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.plain.len())
    }
}

/// The base64 forms of a secret, alone and inside a longer text, where it may begin at three positions of a
/// group. Characters at the edges depend on the neighbours and are excluded.
fn base64_forms(secret: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let padded = [&vec![0; before], secret.as_bytes()].concat();
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = engine.encode(&padded);
            let (first, last) = ((before * 4).div_ceil(3), padded.len() * 4 / 3);
            forms.extend(text.get(first..last).map(str::to_owned));
        }
    }
    forms
}

fn percent_encoded(secret: &str) -> String {
    let mut out = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Removes lookalikes: keys of known services, values of names such as `token`, and credentials in URLs.
fn remove_lookalikes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let at_word = !out.ends_with(is_word);
        let found = match next {
            ':' => address(rest),
            _ if at_word && is_word(next) => {
                key(rest).or_else(|| scheme(rest)).or_else(|| labelled(rest)).or_else(|| word(rest))
            }
            _ => None,
        };
        let (shown, after) = found.unwrap_or_else(|| {
            let (shown, after) = rest.split_at(next.len_utf8());
            (shown.to_owned(), after)
        });
        out.push_str(&shown);
        rest = after;
    }
    out
}

/// The replacement for the beginning of a text, and the rest after it.
type Replacement<'a> = Option<(String, &'a str)>;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn run(text: &str, of: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !of(c)).unwrap_or(text.len()))
}

fn word(text: &str) -> Replacement<'_> {
    let (word, after) = run(text, is_word);
    Some((word.to_owned(), after))
}

/// A key of a well-known service.
fn key(text: &str) -> Replacement<'_> {
    let prefix = KEY_PREFIXES.iter().find(|prefix| text.starts_with(**prefix))?;
    let (key, after) = run(text, |c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (key.len() >= prefix.len() + 8).then(|| (REMOVED.to_owned(), after))
}

/// `Bearer …` and `Basic …`.
fn scheme(text: &str) -> Replacement<'_> {
    let (scheme, after) = run(text, char::is_alphanumeric);
    if !(scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic")) {
        return None;
    }
    let value = after.strip_prefix(' ')?;
    let (value, after) = run(value, |c| c.is_ascii_alphanumeric() || "_-.=+/~".contains(c));
    // Excludes ordinary words, as in "bearer authentication".
    let is_secret = value.len() >= SHORTEST && value.contains(|c: char| !c.is_ascii_lowercase());
    is_secret.then(|| (format!("{scheme} {REMOVED}"), after))
}

/// `name=value` and `"name": "value"` with a name whose value is secret.
fn labelled(text: &str) -> Replacement<'_> {
    let (name, after) = run(text, is_word);
    let lower = name.to_ascii_lowercase();
    if !Secrets::is_name(name) {
        return None;
    }
    let (close, value) = run(after, |c| "\\\"'".contains(c));
    let sign = value.chars().next().filter(|c| "=:".contains(*c))?;
    // "unexpected token: x" is an ordinary sentence.
    if sign == ':' && close.is_empty() && matches!(lower.as_str(), "key" | "token" | "secret") {
        return None;
    }
    let (between, value) = run(value, |c| "=: \\\"'".contains(c));
    if scheme(value).is_some() {
        return Some((format!("{name}{close}{between}"), value));
    }
    let (value, after) = run(value, |c| !c.is_whitespace() && !"\\\"'&,;)}]".contains(c));
    (!value.is_empty()).then(|| (format!("{name}{close}{between}{REMOVED}"), after))
}

/// The rest of a URL after its scheme, without user and query.
fn address(text: &str) -> Replacement<'_> {
    let after = text.strip_prefix("://")?;
    let (address, after) = run(after, |c| !c.is_whitespace() && !"\"'`<>()\\".contains(c));
    let (path, query) = match address.split_once(['?', '#']) {
        Some((path, _)) => (path, format!("?{REMOVED}")),
        None => (address, String::new()),
    };
    let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some((format!("://{host}{path}{query}"), after))
}

#[cfg(test)]
mod tests;
