//! TLS secrets in a file, with which Wireshark decrypts a capture (`tls.keylog_file`).
//!
//! The format is that of SSLKEYLOGFILE (draft-ietf-tls-keylogfile section 2): a line for each
//! secret, with its label, the random number of the client, and the secret. The secrets of a run
//! are random and protect nothing.

use std::fmt::{self, Debug, Write as _};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

use crate::logs::LogError;

/// A key log that is being written. Clients write into it, because they know all secrets.
pub struct KeyLogWriter<W>(Mutex<State<W>>);

struct State<W> {
    sink: W,
    failed: Option<io::Error>,
}

impl<W: Write> KeyLogWriter<W> {
    /// An empty log.
    pub fn new(sink: W) -> Self {
        Self(Mutex::new(State { sink, failed: None }))
    }

    /// Hands the last bytes to the sink.
    ///
    /// # Errors
    /// The first thing that went wrong since the log began.
    pub fn finish(&self) -> Result<(), LogError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = state.failed.take();
        failed.map_or_else(|| state.sink.flush(), Err).map_err(LogError::Keys)
    }
}

impl<W: Write + Send> KeyLog for KeyLogWriter<W> {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_none() {
            let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
            state.failed = state.sink.write_all(line.as_bytes()).err();
        }
    }
}

impl<W> Debug for KeyLogWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLogWriter").finish_non_exhaustive()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_line_of_three_words() {
        let mut bytes = Vec::new();
        let log = KeyLogWriter::new(&mut bytes);
        log.log("CLIENT_TRAFFIC_SECRET_0", &[0, 0xab], &[0x10, 0xff]);
        log.finish().unwrap();
        drop(log);
        assert_eq!(bytes, b"CLIENT_TRAFFIC_SECRET_0 00ab 10ff\n");
    }

    #[test]
    fn the_first_error_is_that_of_the_log() {
        let full: &mut [u8] = &mut [0; 20];
        let log = KeyLogWriter::new(full);
        log.log("CLIENT_TRAFFIC_SECRET_0", &[1; 32], &[2; 32]);
        log.log("SERVER_TRAFFIC_SECRET_0", &[1; 32], &[2; 32]);
        let LogError::Keys(error) = log.finish().unwrap_err() else { panic!("of the key log") };
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
