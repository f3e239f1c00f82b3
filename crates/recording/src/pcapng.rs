//! Writes captures in pcapng (draft-ietf-opsawg-pcapng), packet by packet, to anything that takes
//! bytes.
//!
//! Why by hand: the released `pcap-file` (2.0.0, of 2022) takes every timestamp for nanoseconds
//! whatever the interface says, and brings an old generation of macro crates; the repaired 3.0
//! exists only as release candidates for a newer compiler than ours. Three kinds of blocks, each a
//! length around a few words, are less than the glue would be. The tests read them back with
//! Wireshark's own parser.
//!
//! Nothing of the machine or the day is written, so that one run always gives one file.

use std::io::{self, Write};

use thiserror::Error;

/// Packets begin with the IP header (LINKTYPE_RAW).
const LINK_TYPE_RAW: u16 = 101;
/// if_tsresol: timestamps count 10^-9 s.
const NANOSECONDS: u8 = 9;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// Why a capture could not be written.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The sink refused the bytes.
    #[error("cannot write the capture: {0}")]
    Write(#[from] io::Error),
    /// A packet named an interface that the capture does not have.
    #[error("the capture has {interfaces} interfaces; there is no number {interface}")]
    NoSuchInterface {
        /// Number that was asked for.
        interface: u32,
        /// How many there are.
        interfaces: usize,
    },
    /// pcapng keeps the length of a name in 16 bits.
    #[error("an interface name of {0} bytes is too long for pcapng")]
    NameTooLong(usize),
}

/// A capture that is being written. Hand in a buffered sink: each packet is a few small writes.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    sink: W,
    interfaces: usize,
    snaplen: u32,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a capture: who wrote it, and one interface for each name. `snaplen` is the largest
    /// number of bytes kept of a packet, 0 for all.
    ///
    /// # Errors
    /// [`CaptureError::Write`] of the sink, and [`CaptureError::NameTooLong`].
    pub fn new(mut sink: W, interfaces: &[String], snaplen: u32) -> Result<Self, CaptureError> {
        let mut body = Vec::new();
        body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes()); // byte order
        body.extend_from_slice(&[1, 0, 0, 0]); // version 1.0
        body.extend_from_slice(&(-1_i64).to_le_bytes()); // a stream: length of the section unknown
        option(&mut body, SHB_USERAPPL, concat!("bentpipe ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(&mut body, OPTION_END, &[]);
        block(&mut sink, SECTION_HEADER, &body)?;

        for name in interfaces {
            if name.len() > usize::from(u16::MAX) {
                return Err(CaptureError::NameTooLong(name.len()));
            }
            body.clear();
            body.extend_from_slice(&LINK_TYPE_RAW.to_le_bytes());
            body.extend_from_slice(&[0, 0]); // reserved
            body.extend_from_slice(&snaplen.to_le_bytes());
            option(&mut body, IF_NAME, name.as_bytes());
            option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
            option(&mut body, OPTION_END, &[]);
            block(&mut sink, INTERFACE_DESCRIPTION, &body)?;
        }
        Ok(Self { sink, interfaces: interfaces.len(), snaplen })
    }

    /// Adds a packet that passed interface number `interface` at `time_ns`. Of `captured` no more
    /// than the capture's snaplen is kept.
    ///
    /// # Errors
    /// [`CaptureError::Write`] of the sink, and [`CaptureError::NoSuchInterface`].
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        captured: &[u8],
        original_len: u32,
    ) -> Result<(), CaptureError> {
        if interface as usize >= self.interfaces {
            return Err(CaptureError::NoSuchInterface { interface, interfaces: self.interfaces });
        }
        let limit = if self.snaplen == 0 { original_len } else { self.snaplen.min(original_len) };
        let captured = &captured[..captured.len().min(limit as usize)];
        let padding = padding(captured.len());
        #[expect(clippy::cast_possible_truncation, reason = "`limit` has 32 bits")]
        let captured_len = captured.len() as u32;
        #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
        let length = (32 + captured.len() + padding) as u32;
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let lower = time_ns as u32;

        let mut head = [0; 28];
        let words = [
            ENHANCED_PACKET,
            length,
            interface,
            (time_ns >> 32) as u32, // the upper half comes first, in either byte order
            lower,
            captured_len,
            original_len,
        ];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.sink.write_all(&head)?;
        self.sink.write_all(captured)?;
        self.sink.write_all(&[0; 3][..padding])?;
        self.sink.write_all(&length.to_le_bytes())?;
        Ok(())
    }

    /// Flushes and gives the sink back. A capture that is never finished is whole up to its last
    /// flushed block.
    ///
    /// # Errors
    /// [`CaptureError::Write`] of the sink.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

/// Writes type, length, body and length again: a reader can walk the file both ways.
fn block(sink: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    #[expect(clippy::cast_possible_truncation, reason = "the names in it are short")]
    let length = (12 + body.len()) as u32;
    sink.write_all(&kind.to_le_bytes())?;
    sink.write_all(&length.to_le_bytes())?;
    sink.write_all(body)?;
    sink.write_all(&length.to_le_bytes())
}

/// Appends an option, its value padded to a word; the length does not count the padding.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    #[expect(clippy::cast_possible_truncation, reason = "names of nodes are short")]
    let length = value.len() as u16;
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(value);
    body.extend_from_slice(&[0; 3][..padding(value.len())]);
}

/// Bytes that are missing to a whole word.
fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    }

    fn capture(snaplen: u32) -> CaptureWriter<Vec<u8>> {
        CaptureWriter::new(Vec::new(), &["server".to_owned(), "client".to_owned()], snaplen)
            .unwrap()
    }

    /// Type and length of every block, found by walking from length to length.
    fn blocks(bytes: &[u8]) -> Vec<(u32, u32)> {
        let words = words(bytes);
        let (mut at, mut found) = (0, Vec::new());
        while at < words.len() {
            let length = words[at + 1];
            assert_eq!(
                words[at + length as usize / 4 - 1],
                length,
                "the length at the end differs"
            );
            found.push((words[at], length));
            at += length as usize / 4;
        }
        found
    }

    #[test]
    fn a_capture_is_a_section_then_the_interfaces_then_the_packets() {
        let mut capture = capture(0);
        capture.packet(1, 5, &[1, 2, 3, 4, 5], 5).unwrap();
        let bytes = capture.finish().unwrap();
        let kinds: Vec<u32> = blocks(&bytes).iter().map(|block| block.0).collect();
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE_DESCRIPTION, INTERFACE_DESCRIPTION, 6]);
    }

    #[test]
    fn a_packet_keeps_its_nanoseconds_and_both_its_lengths() {
        let mut capture = capture(6);
        let start = capture.sink.len();
        let time = 1_200_000_000_007_u64;
        capture.packet(1, time, &[9; 8], 1500).unwrap();
        let bytes = capture.finish().unwrap();
        let words = words(&bytes[start..]);
        assert_eq!(words[2], 1);
        assert_eq!(u64::from(words[3]) << 32 | u64::from(words[4]), time);
        assert_eq!((words[5], words[6]), (6, 1500));
        assert_eq!(bytes[start + 28..start + 36], [9, 9, 9, 9, 9, 9, 0, 0]);
    }

    #[test]
    fn an_interface_that_was_not_named_is_an_error() {
        let error = capture(0).packet(2, 0, &[], 0).unwrap_err();
        assert_eq!(error.to_string(), "the capture has 2 interfaces; there is no number 2");
    }

    #[test]
    fn a_sink_that_fails_is_reported() {
        let full: &mut [u8] = &mut [0; 20];
        let error = CaptureWriter::new(full, &["server".to_owned()], 0).unwrap_err();
        assert!(matches!(error, CaptureError::Write(_)), "{error}");
    }
}
