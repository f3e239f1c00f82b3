//! The sending side of a stream.

use quinn_proto::{Connection, StreamId};

use crate::content;

/// Data of a stream, and the amount of it that quinn has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes of the application.
    pub(crate) written: u64,
    /// Those of them that quinn has.
    pub(crate) handed_over: u64,
    /// The application will write no more.
    pub(crate) closed: bool,
    /// quinn knows.
    finished: bool,
}

impl Outgoing {
    /// All `bytes` of a stream.
    pub(crate) fn message(bytes: u64) -> Self {
        Self { written: bytes, closed: true, ..Self::default() }
    }

    /// Hands quinn what it takes, in writes of at most `write_size` bytes. Returns true if it has
    /// all, and the end.
    pub(crate) fn hand_over(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        write_size: u64,
    ) -> bool {
        let mut stream = connection.send_stream(id);
        while self.handed_over < self.written {
            let wanted = (self.written - self.handed_over).min(write_size);
            let mut piece = [content::piece(self.handed_over, wanted)];
            let Ok(taken) = stream.write_chunks(&mut piece) else { return false };
            self.handed_over += taken.bytes as u64;
        }
        if self.closed && !self.finished {
            self.finished = stream.finish().is_ok();
        }
        self.finished
    }
}
