//! The log. A thread of its own writes, so that a slow or full disk delays no connection. Lines
//! that cannot be queued or written are counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::clock::{time_of_day, utc};
use crate::config::LogFormat;
use crate::counters::All;

/// Time that the end of the process waits for the disk.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Lines that may wait for the disk.
const WAITING: usize = 4096;

/// Time, message and values of a line.
type Line = (f64, String, Map<String, Value>);

/// An entry of the queue of the thread.
enum Entry {
    Line(Line),
    /// All entries before it are written once it is dropped.
    End(SyncSender<()>),
}

/// Where lines go.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    entries: SyncSender<Entry>,
    counters: Arc<All>,
}

impl Log {
    /// Opens the file, and starts the thread that writes.
    pub(crate) fn start(
        file: Option<&Path>,
        format: LogFormat,
        counters: Arc<All>,
    ) -> io::Result<Self> {
        let mut output = match file {
            Some(path) => Output::File(OpenOptions::new().append(true).create(true).open(path)?),
            None => Output::Stderr,
        };
        let (entries, queue): (_, Receiver<Entry>) = sync_channel(WAITING);
        let counted = Arc::clone(&counters);
        thread::Builder::new().name("log".into()).spawn(move || {
            for entry in queue {
                match entry {
                    Entry::Line((time, message, values)) => {
                        if output.write(&line(format, time, message, values)).is_err() {
                            counted.process.lost_log_lines.one();
                        }
                    }
                    Entry::End(end) => drop(end),
                }
            }
        })?;
        Ok(Self { entries, counters })
    }

    /// Writes a line with values.
    pub(crate) fn write(&self, message: &str, values: &[(&str, Value)]) {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let line = Entry::Line((time_of_day(), message.to_owned(), values));
        if self.entries.try_send(line).is_err() {
            self.counters.process.lost_log_lines.one();
        }
    }

    /// Waits until the lines so far are written, unless the disk takes too long.
    pub(crate) fn finish(&self) {
        let (end, ended) = sync_channel(0);
        if self.entries.try_send(Entry::End(end)).is_ok() {
            let _ = ended.recv_timeout(LONGEST_WAIT); // the end is dropped, and nothing is sent
        }
    }
}

enum Output {
    File(File),
    Stderr,
}

impl Output {
    /// One call for each line, so that lines of several processes do not mix.
    fn write(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(line.as_bytes()),
            Self::Stderr => io::stderr().write_all(line.as_bytes()),
        }
    }
}

fn line(format: LogFormat, time: f64, message: String, mut values: Map<String, Value>) -> String {
    match format {
        LogFormat::Text => {
            let mut line = format!("{} {message}", utc(time));
            for (key, value) in &values {
                line += &match value {
                    Value::String(text) => format!(" {key}={text}"),
                    other => format!(" {key}={other}"),
                };
            }
            line.replace('\n', " ") + "\n"
        }
        LogFormat::Json => {
            values.insert("time".into(), time.into());
            values.insert("message".into(), message.into());
            Value::Object(values).to_string() + "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        let values = || Map::from_iter([("name".to_owned(), Value::from("a\nb"))]);
        let text = line(LogFormat::Text, 1.5, "hello".into(), values());
        assert_eq!(text, "1970-01-01T00:00:01.500Z hello name=a b\n");
        let json = line(LogFormat::Json, 1.5, "hello".into(), values());
        assert_eq!(json.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["name"], "a\nb");
    }
}
