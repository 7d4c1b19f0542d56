//! A small HTTP client for tests of services. It opens one connection per request and has no dependencies.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait for data from a working server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    addr: SocketAddr,
    token: Option<String>,
}

/// The answer of a server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    ///
    /// # Panics
    /// If the body is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }

    /// The value of a header, or an empty string if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Client {
    /// A client without a token.
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, token: None }
    }

    /// The server's address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A copy of this client that sends `token`.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// If the connection fails or the server closes it early.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> std::io::Result<Answer> {
        let length = body.len().to_string();
        let headers = [headers, &[("content-length", &length)]].concat();
        let mut reader = self.open(method, path, &headers, body)?;
        let (status, headers) = head(&mut reader)?;
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok(Answer { status, headers, body })
    }

    /// Sends a GET request.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").unwrap_or_else(|e| panic!("GET {path}: {e}"))
    }

    /// Sends a POST request.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[], body.as_bytes()).unwrap_or_else(|e| panic!("POST {path}: {e}"))
    }

    /// Opens a stream of server-sent events.
    ///
    /// # Panics
    /// If the connection fails, or the answer is not a stream of events.
    pub fn events(&self, path: &str) -> Events {
        let mut reader = self.open("GET", path, &[], b"").expect("a connection");
        let (status, headers) = head(&mut reader).expect("an answer");
        assert_eq!((status, headers["content-type"].as_str()), (200, "text/event-stream"), "GET {path}");
        Events { reader }
    }

    /// Sends a request with exactly these headers, and only the part of the body in `body`.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(self.addr)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // HTTP/1.0: the answer ends with the connection and is not chunked.
        let mut request = format!("{method} {path} HTTP/1.0\r\nhost: {}\r\n", self.addr);
        if let Some(token) = &self.token {
            request.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes())?;
        // A server may answer before it has read the whole body, and then stop reading.
        let _ = stream.write_all(body);
        Ok(BufReader::new(stream))
    }
}

/// Reads the status code and the headers.
///
/// # Errors
/// If the connection fails, or the bytes are not an HTTP answer.
pub fn head(reader: &mut impl BufRead) -> std::io::Result<(u16, HashMap<String, String>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let status = lines.first().and_then(|l| l.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or(std::io::ErrorKind::InvalidData)?;
    let pairs = lines[1..].iter().filter_map(|l| l.split_once(": "));
    Ok((status, pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()))
}

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Events {
    reader: BufReader<TcpStream>,
}

impl Iterator for Events {
    /// The event's name and data.
    type Item = (String, String);

    fn next(&mut self) -> Option<(String, String)> {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("events within the client's patience") == 0 {
                return None;
            }
            match line.trim_end() {
                "" if !name.is_empty() => return Some((name, data)),
                line => match line.split_once(": ") {
                    Some(("event", value)) => name = value.into(),
                    Some(("data", value)) => data.push_str(value),
                    _ => {}
                },
            }
        }
    }
}
