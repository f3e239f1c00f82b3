//! Metrics in the text format of Prometheus, on a loopback address.
//!
//! A server of HTTP for one page: it reads a request of at most 4 KiB in at most a second, and
//! answers. Connections are served one after the other, by a thread that no data passes through.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::SideName;
use crate::counters::All;
use crate::local::Server;

const LONGEST_REQUEST: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts the thread.
pub(crate) fn serve(listener: TcpListener, counters: Arc<All>, clock: Clock) -> io::Result<Server> {
    Server::start("metrics", listener, move |stream| {
        // A client that does not read to the end gets nothing more.
        let _ = answer(stream, &counters, clock);
    })
}

fn answer(mut stream: TcpStream, counters: &All, clock: Clock) -> io::Result<()> {
    let deadline = clock.now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 512];
    while !is_complete(&request) && request.len() < LONGEST_REQUEST {
        let left = deadline.saturating_sub(clock.now());
        if left.is_zero() {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            bytes => request.extend_from_slice(&part[..bytes]),
        }
    }
    stream.write_all(&response(&request, counters))
}

fn is_complete(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

/// The answer of a daemon without connections to a request, whatever its bytes are.
pub fn answer_to(request: &[u8]) -> Vec<u8> {
    response(request, &All::default())
}

/// The answer to a request, whatever its bytes are.
pub(crate) fn response(request: &[u8], counters: &All) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (method, target) = (words.next(), words.next());
    let (status, body) = match (method, target) {
        _ if !is_complete(request) => ("400 Bad Request", "incomplete request\n".to_owned()),
        (Some(b"GET" | b"HEAD"), Some(b"/metrics" | b"/")) => ("200 OK", page(counters)),
        (Some(b"GET" | b"HEAD"), Some(_)) => ("404 Not Found", "see /metrics\n".to_owned()),
        (Some(_), Some(_)) => ("405 Method Not Allowed", "only GET\n".to_owned()),
        _ => ("400 Bad Request", "incomplete request\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let body = if method == Some(b"HEAD") { "" } else { &body };
    [head.as_bytes(), body.as_bytes()].concat()
}

/// All metrics.
pub(crate) fn page(counters: &All) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, about: &str, values: &[(&str, u64)]| {
        let _ = writeln!(text, "# HELP bentpipe_proxy_{name} {about}");
        let _ = writeln!(text, "# TYPE bentpipe_proxy_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "bentpipe_proxy_{name}{labels} {value}");
        }
    };
    let now =
        |gauge: &std::sync::atomic::AtomicU64| gauge.load(std::sync::atomic::Ordering::Relaxed);
    metric("open_connections", "gauge", "Connections that are open.", &[("", now(&counters.open))]);
    metric("held_bytes", "gauge", "Bytes that relays hold.", &[("", now(&counters.held))]);
    for (name, about, value) in counters.process.rows() {
        metric(&format!("{name}_total"), "counter", about, &[("", value)]);
    }
    let sides = SideName::ALL.map(|side| (side, counters.side(side).rows()));
    for (number, (name, about, _)) in sides[0].1.iter().enumerate() {
        let labels = sides.each_ref().map(|(side, _)| format!("{{side=\"{}\"}}", side.key()));
        let values: Vec<_> = labels
            .iter()
            .zip(&sides)
            .map(|(label, (_, rows))| (&**label, rows[number].2))
            .collect();
        metric(&format!("{name}_total"), "counter", about, &values);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(request: &[u8]) -> String {
        let answer = answer_to(request);
        String::from_utf8(answer).unwrap().lines().next().unwrap().to_owned()
    }

    #[test]
    fn only_the_page_is_served() {
        assert_eq!(status(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status(b"GET /etc/passwd HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status(b"GET /metrics HTTP/1.1\r\n"), "HTTP/1.1 400 Bad Request");
        assert_eq!(status(b""), "HTTP/1.1 400 Bad Request");
    }

    #[test]
    fn every_metric_has_help_type_and_value() {
        let counters = All::default();
        counters.process.accepted.add(3);
        counters.side(SideName::Satellite).received_bytes.add(7);
        let page = page(&counters);
        assert!(page.contains("\nbentpipe_proxy_accepted_total 3\n"));
        assert!(page.contains("\nbentpipe_proxy_received_bytes_total{side=\"satellite\"} 7\n"));
        let count = |prefix: &str| page.lines().filter(|line| line.starts_with(prefix)).count();
        assert_eq!(count("# HELP "), count("# TYPE "));
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(' ').unwrap();
            assert!(value.parse::<u64>().is_ok(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_request_gets_one_answer(request: Vec<u8>) {
            let answer = answer_to(&request);
            prop_assert!(answer.starts_with(b"HTTP/1.1 "));
        }
    }
}
