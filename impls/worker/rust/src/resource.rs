//! The guarded resource, which is reached by HTTP without a proxy.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use crate::{locked, Error};

const TIMEOUT: Duration = Duration::from_secs(9);
const MAX_BODY: usize = 1 << 16;

pub struct Resource {
    authority: String, // address as host:port
    path: String,      // contains a secret, so it must not appear in error messages
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

impl Resource {
    pub fn new(url: &str) -> Resource {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let slash = rest.find('/').unwrap_or(rest.len());
        Resource { authority: rest[..slash].into(), path: rest[slash..].into(), idle: Mutex::default() }
    }

    /// Sends an HTTP request and returns the body of the response.
    pub fn send(&self, method: &str, key: &str, fence: i64, body: &str) -> Result<String, Error> {
        let idle = locked(&self.idle).pop();
        let mut stream = match idle {
            Some(stream) => stream,
            None => self.connect()?,
        };
        let request = format!(
            "{method} {}{}?fence={fence} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            escaped(key),
            self.authority,
            body.len()
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let (status, text) = answer(&mut stream)?;
        locked(&self.idle).push(stream);
        match status {
            200 => Ok(text),
            409 => Err(Error::Stale),
            _ => Err(Error::Unknown(format!("the resource answered {status}: {}", text.trim()))),
        }
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(BufReader::new(stream))
    }
}

/// Reads an HTTP response that has a Content-Length, and returns its status and body.
fn answer(stream: &mut BufReader<TcpStream>) -> Result<(u16, String), Error> {
    let invalid = || Error::Unknown("the resource sent an invalid answer".into());
    let first = header(stream)?;
    let status = first.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(invalid)?;
    let mut length = None;
    loop {
        let line = header(stream)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
        }
    }
    let length = length.filter(|n| *n <= MAX_BODY).ok_or_else(invalid)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

fn header(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.take(MAX_BODY as u64).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_string())
}

fn escaped(key: &str) -> String {
    key.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}
