//! A minimal client of the Redis protocol for managing a test server.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

/// A failing test is easier to diagnose than a hanging one.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One connection over the Unix socket in the server's folder.
#[derive(Debug)]
pub(super) struct RespConnection(BufReader<UnixStream>);

impl RespConnection {
    pub(super) fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a command and returns the reply as text; an array has one line per element.
    pub(super) fn command(&mut self, words: &[&str]) -> io::Result<String> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(request.as_bytes())?;
        reply(&mut self.0)
    }
}

fn reply(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let length = || rest.parse::<i64>().map_err(|_| io::Error::other(format!("invalid length in {line:?}")));
    match kind {
        "-" => Err(io::Error::other(rest.to_owned())),
        // A nil string has length -1.
        "$" => {
            let Ok(length) = u64::try_from(length()?) else { return Ok(String::new()) };
            let mut bytes = Vec::new();
            input.by_ref().take(length).read_to_end(&mut bytes)?;
            input.read_line(&mut String::new())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        "*" => {
            let items: io::Result<Vec<_>> = (0..length()?).map(|_| reply(input)).collect();
            Ok(items?.join("\n"))
        }
        _ => Ok(rest.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::reply;

    #[test]
    fn replies_of_every_type_are_read() {
        let read = |text: &str| reply(&mut text.as_bytes());
        assert_eq!(read("+PONG\r\n").unwrap(), "PONG");
        assert_eq!(read(":42\r\n").unwrap(), "42");
        assert_eq!(read("$-1\r\n").unwrap(), "");
        assert_eq!(read("*2\r\n$3\r\na\nb\r\n*1\r\n:7\r\n").unwrap(), "a\nb\n7");
        assert_eq!(read("-NOAUTH required\r\n").unwrap_err().to_string(), "NOAUTH required");
        assert!(read("").is_err() && read("$x\r\n").is_err());
    }
}
