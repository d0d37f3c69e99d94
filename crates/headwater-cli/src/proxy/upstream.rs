//! The server behind: where it is, and a conversation with it.

use std::collections::BTreeMap;

use headwater_client::{Client, DialectChat, Options, ToolSet};
use headwater_dialects::{ClientRequest, InterruptAnswer, Reader};
use headwater_protocol::{Message, Part};
use headwater_runtime::{Cx, Error, Result};
use serde::Deserialize;

use super::{ProxySettings, failure::failed};
use crate::failure::CommandFailure;

/// The most bytes of one event of the server behind.
const EVENT_BYTES: usize = 8 << 20;

/// How long a cut response is reconnected.
const GIVE_UP_AFTER: std::time::Duration = std::time::Duration::from_secs(30);

/// The server behind.
pub(super) struct Upstream {
    client: Client,
    dialect: &'static dyn Reader,
    /// Its host, for errors and as the name of what answers.
    pub(super) name: String,
    pub(super) repeat: bool,
    /// Whether there are several principals, whose sessions may have the same names.
    has_principals: bool,
}

/// The part of a run's context that the proxy reads.
#[derive(Debug, Default, Deserialize)]
struct PassedContext {
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Upstream {
    pub(super) fn new(settings: &ProxySettings, has_principals: bool) -> Result<Self, CommandFailure> {
        let name = host_of(&settings.url)?.to_owned();
        let dialect = settings.from;
        if let Err(error) = dialect.client_request(&ClientRequest::default()) {
            return Err(CommandFailure::new(format!("--from {}: {error}", dialect.name())));
        }
        let options = Options {
            stall_timeout: settings.stall,
            give_up_after: GIVE_UP_AFTER,
            max_event_bytes: EVENT_BYTES,
            ..Options::default()
        };
        let client = Client::new(&settings.url).options(options);
        let headers = settings.headers.iter();
        let client = headers.fold(client, |client, (name, value)| client.header(name.as_str(), value));
        Ok(Self { client, dialect, name, repeat: settings.repeat, has_principals })
    }

    /// A conversation with it for the run, without messages.
    pub(super) fn chat(&self, cx: &Cx) -> Result<DialectChat> {
        let passed: Option<PassedContext> = cx.runtime_context()?;
        let headers = passed.unwrap_or_default().headers.into_iter();
        let client = headers.fold(self.client.clone(), |client, (name, value)| client.header(name, value));
        let chat = client
            .dialect(self.dialect.name())
            .map_err(|error| failed(&self.name, "upstream.request", &error.to_string()))?;
        let chat = chat.id(self.conversation(cx)).tools(ToolSet::new(), cx.client_tools().to_vec());
        Ok(match cx.client_context().get("state") {
            Some(state) => chat.shared_state(state.clone()),
            None => chat,
        })
    }

    /// The name of the conversation. A session belongs to its principal here, so another principal's session of the same
    /// name must have another name there.
    fn conversation(&self, cx: &Cx) -> String {
        let session = cx.session().map_or(cx.run().as_str(), |session| session.as_str());
        match cx.owner().filter(|_| self.has_principals) {
            Some(owner) => format!("{}:{session}", owner.replace('%', "%25").replace(':', "%3A")),
            None => session.to_owned(),
        }
    }

    /// Fails if the dialect has no way to send the files of a message.
    pub(super) fn check_takes_files(&self, message: &Message) -> Result<()> {
        let has_files = message.parts.iter().any(|part| matches!(part, Part::File(_)));
        match self.dialect.sends_only_text() && has_files {
            true => Err(self.inexpressible("files")),
            false => Ok(()),
        }
    }

    /// Fails if the dialect has no way to send decisions about calls and their outputs.
    pub(super) fn check_takes_calls(&self) -> Result<()> {
        if self.dialect.sends_only_text() { Err(self.inexpressible("tool calls")) } else { Ok(()) }
    }

    fn inexpressible(&self, what: &str) -> Error {
        let text = format!("requests of the {} dialect cannot have {what}", self.dialect.name());
        failed(&self.name, "upstream.request", &text)
    }

    /// Fails if the dialect has no way to answer questions.
    pub(super) fn check_takes_answers(&self) -> Result<()> {
        let answer =
            InterruptAnswer { request: "request".into(), token: None, answer: None, cancelled: true };
        let request = ClientRequest { answers: &[answer], ..ClientRequest::default() };
        match self.dialect.client_request(&request) {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(failed(&self.name, "upstream.request", &format!("it asks a question: {error}")))
            }
        }
    }
}

/// The host of the URL, if it is one that can be asked.
fn host_of(url: &str) -> Result<&str, CommandFailure> {
    let invalid = |why: &str| CommandFailure::new(format!("--upstream: {why}"));
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else {
        return Err(invalid("expected a URL that begins with http:// or https://"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(invalid("the URL must not have a password: set a header with --upstream-header-env"));
    }
    if authority.is_empty() || authority.contains(char::is_whitespace) {
        return Err(invalid("the URL has no host"));
    }
    Ok(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_of_an_upstream_is_checked() {
        assert_eq!(host_of("http://127.0.0.1:3000/api/chat?x=1").unwrap(), "127.0.0.1:3000");
        for wrong in ["ftp://a", "http://", "http:///x", "http://me:secret@host/", "host:80", ""] {
            let error = host_of(wrong).unwrap_err().to_string();
            assert!(error.starts_with("--upstream: ") && !error.contains("secret"), "{error}");
        }
    }
}
