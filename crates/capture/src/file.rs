//! Packets of a capture in pcapng (draft-ietf-opsawg-pcapng), in pcap (draft-ietf-opsawg-pcap), or
//! in one of both compressed with gzip, one after the other and in constant memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use crate::error::{CaptureError, Damage};

/// Bytes of the read buffer.
const BUFFER: usize = 1 << 20;
/// Bytes up to which the buffer grows for a single block. Longer blocks are invalid.
const LONGEST_BLOCK: usize = 1 << 26;

/// A packet as it was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    /// Its number in the file, from 1, as Wireshark counts.
    pub number: u64,
    /// Time since 1970 in ns.
    pub at_ns: u64,
    /// Number of the interface.
    pub interface: u32,
    /// Link type of the interface.
    pub link: i32,
    /// Length on the link, of which the capture may have less.
    pub length: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// Parts of the file that are known while others own the reader.
#[derive(Debug, Default)]
struct Shared {
    read: AtomicU64,
    failed: Mutex<Option<io::Error>>,
}

/// Counts bytes, and keeps the error that the parser drops.
struct Counted {
    file: File,
    shared: Arc<Shared>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.shared.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Reads on after the first bytes, and keeps errors.
struct Whole<R> {
    head: io::Cursor<Vec<u8>>,
    rest: R,
    shared: Arc<Shared>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.head.read(buffer)?;
        if bytes > 0 || buffer.is_empty() {
            return Ok(bytes);
        }
        loop {
            match self.rest.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A compressed file that is cut ends where it is cut.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => {
                    let kind = error.kind();
                    *self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(error);
                    return Err(kind.into());
                }
                Ok(bytes) => return Ok(bytes),
            }
        }
    }
}

/// An interface of the file.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: i32,
    ticks_per_s: u64,
    offset_s: i64,
}

impl Interface {
    /// Time since 1970 in ns. Times before 1970 are 0.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        let whole = i128::from(ticks / self.ticks_per_s) + i128::from(self.offset_s);
        let part =
            u128::from(ticks % self.ticks_per_s) * 1_000_000_000 / u128::from(self.ticks_per_s);
        let sum = whole * 1_000_000_000 + i128::try_from(part).unwrap_or_default();
        u64::try_from(sum.max(0)).unwrap_or(u64::MAX)
    }
}

/// A section of the file: pcap has one, pcapng any number.
#[derive(Debug, Default)]
struct Section {
    interfaces: Vec<Interface>,
    big_endian: bool,
    /// Packets of all sections until now.
    number: u64,
}

/// A capture that is being read.
pub(crate) struct Reader {
    parser: Box<dyn PcapReaderIterator + Send>,
    shared: Arc<Shared>,
    section: Section,
    buffer: usize,
    /// Packets without time or of an unknown interface.
    pub without_time: u64,
}

impl Reader {
    /// Opens a file and recognises its format.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let shared = Arc::new(Shared::default());
        let file = Counted { file: File::open(path)?, shared: Arc::clone(&shared) };
        let (head, rest) = beginning(file)?;
        let compressed = Whole { head, rest, shared: Arc::clone(&shared) };
        if compressed.head.get_ref().starts_with(&[0x1f, 0x8b]) {
            let gzip = MultiGzDecoder::new(compressed);
            let mut plain =
                Whole { head: io::Cursor::default(), rest: gzip, shared: Arc::clone(&shared) };
            let mut head = vec![0; 4];
            let length = fill(&mut plain, &mut head)?;
            head.truncate(length);
            recognise(&head)?;
            plain.head = io::Cursor::new(head);
            return Self::new(plain, shared);
        }
        recognise(compressed.head.get_ref())?;
        Self::new(compressed, shared)
    }

    fn new(source: impl Read + Send + 'static, shared: Arc<Shared>) -> Result<Self, CaptureError> {
        let mut source = source;
        // The parser decides by its first read, which must have the whole header.
        let mut head = vec![0; BUFFER];
        let length = fill(&mut source, &mut head)?;
        head.truncate(length);
        let whole =
            Whole { head: io::Cursor::new(head), rest: source, shared: Arc::clone(&shared) };
        let parser = create_reader(BUFFER, whole).map_err(|error| match error {
            PcapError::Eof => CaptureError::Empty,
            PcapError::Incomplete(_) | PcapError::UnexpectedEof => {
                CaptureError::NoPacket(Damage::Cut)
            }
            _ => CaptureError::NoPacket(Damage::Invalid),
        })?;
        Ok(Self { parser, shared, section: Section::default(), buffer: BUFFER, without_time: 0 })
    }

    /// Bytes of the file that were read.
    pub fn read_bytes(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }

    /// Number of packets until now.
    pub fn packets(&self) -> u64 {
        self.section.number
    }

    /// Passes each packet to `take` until it returns false. Returns where the file is damaged, if
    /// it is.
    pub fn each(
        &mut self,
        mut take: impl FnMut(&Packet<'_>, u64) -> bool,
    ) -> Result<Option<Damage>, CaptureError> {
        loop {
            let read = self.read_bytes();
            match self.parser.next() {
                Ok((bytes, block)) => {
                    let next = packet_of(&block, &mut self.section);
                    let goes_on = match next {
                        Content::Packet(packet) => take(&packet, read),
                        Content::WithoutTime => {
                            self.without_time += 1;
                            true
                        }
                        Content::Other => true,
                    };
                    self.parser.consume(bytes);
                    if !goes_on {
                        return Ok(None);
                    }
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::UnexpectedEof) => return Ok(Some(Damage::Cut)),
                Err(PcapError::Incomplete(_)) => {
                    if self.parser.refill().is_err() {
                        return Err(self.failure());
                    }
                }
                Err(PcapError::BufferTooSmall) => {
                    self.buffer *= 2;
                    if self.buffer > LONGEST_BLOCK || !self.parser.grow(self.buffer) {
                        return Ok(Some(Damage::Invalid));
                    }
                    if self.parser.refill().is_err() {
                        return Err(self.failure());
                    }
                }
                Err(PcapError::ReadError) => return Err(self.failure()),
                Err(_) => return Ok(Some(Damage::Invalid)),
            }
        }
    }

    fn failure(&self) -> CaptureError {
        let mut failed = self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let error = failed.take();
        error.unwrap_or_else(|| io::ErrorKind::Other.into()).into()
    }
}

/// Content of a block.
enum Content<'a> {
    Packet(Packet<'a>),
    WithoutTime,
    Other,
}

fn packet_of<'a>(block: &'a PcapBlockOwned<'_>, section: &mut Section) -> Content<'a> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let ticks_per_s =
                if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            // The upper bits have the length of the frame check sequence.
            let link = header.network.0 & 0xffff;
            section.interfaces.push(Interface { link, ticks_per_s, offset_s: 0 });
            Content::Other
        }
        PcapBlockOwned::Legacy(packet) => {
            section.number += 1;
            let Some(interface) = section.interfaces.first() else { return Content::WithoutTime };
            let part = u64::from(packet.ts_usec) * (1_000_000_000 / interface.ticks_per_s);
            let at_ns = u64::from(packet.ts_sec) * 1_000_000_000 + part;
            let bytes = &packet.data[..packet.data.len().min(packet.caplen as usize)];
            let (link, length) = (interface.link, packet.origlen);
            Content::Packet(Packet {
                number: section.number,
                at_ns,
                interface: 0,
                link,
                length,
                bytes,
            })
        }
        PcapBlockOwned::NG(Block::SectionHeader(header)) => {
            *section = Section {
                number: section.number,
                big_endian: header.big_endian(),
                ..Section::default()
            };
            Content::Other
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
            // pcap-parser 0.17 reads the offset as little-endian in any section.
            let offset = described.if_tsoffset;
            section.interfaces.push(Interface {
                link: described.linktype.0,
                ticks_per_s: resolution(described.if_tsresol),
                offset_s: if section.big_endian { offset.swap_bytes() } else { offset },
            });
            Content::Other
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            section.number += 1;
            let interface = section.interfaces.get(packet.if_id as usize);
            let Some(interface) = interface else { return Content::WithoutTime };
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            Content::Packet(Packet {
                number: section.number,
                at_ns: interface.nanoseconds(ticks),
                interface: packet.if_id,
                link: interface.link,
                length: packet.origlen,
                bytes: &packet.data[..packet.data.len().min(packet.caplen as usize)],
            })
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            section.number += 1;
            Content::WithoutTime
        }
        PcapBlockOwned::NG(_) => Content::Other,
    }
}

/// Ticks in a second, by the option `if_tsresol`: a power of 10, or of 2 with the upper bit.
/// Exponents that are too large count as the default of 6. (`ts_resolution` of pcap-parser 0.17
/// knows no powers of 2.)
fn resolution(option: u8) -> u64 {
    let (base, exponent) = if option & 0x80 == 0 { (10_u64, option) } else { (2, option & 0x7f) };
    base.checked_pow(exponent.into()).unwrap_or(1_000_000)
}

/// The first four bytes of a file.
fn beginning(mut file: Counted) -> Result<(io::Cursor<Vec<u8>>, Counted), CaptureError> {
    let mut head = vec![0; 4];
    let length = fill(&mut file, &mut head)?;
    head.truncate(length);
    Ok((io::Cursor::new(head), file))
}

/// Reads until the buffer is full or the source ends. Returns the number of bytes.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(bytes) => length += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// An error that names the format of a file, unless it is a capture.
fn recognise(head: &[u8]) -> Result<(), CaptureError> {
    let compressed = |name, command| Err(CaptureError::Compressed { name, command });
    match head {
        [] => Err(CaptureError::Empty),
        // pcapng, and pcap in both byte orders with µs, ns, and the extended header of old libpcap
        [0x0a, 0x0d, 0x0d, 0x0a]
        | [0xa1, 0xb2, 0xc3 | 0xcd, 0xd4 | 0x34]
        | [0xd4 | 0x34, 0xc3 | 0xcd, 0xb2, 0xa1]
        | [0xa1, 0xb2, 0x3c, 0x4d]
        | [0x4d, 0x3c, 0xb2, 0xa1] => Ok(()),
        [0x28, 0xb5, 0x2f, 0xfd] => compressed("zstd", "zstd -d"),
        [0xfd, b'7', b'z', b'X'] => compressed("xz", "xz -d"),
        [b'B', b'Z', b'h', _] => compressed("bzip2", "bzip2 -d"),
        [0x04, 0x22, 0x4d, 0x18] => compressed("lz4", "lz4 -d"),
        [b'P', b'K', 3, 4] => compressed("zip", "unzip"),
        [b's', b'n', b'o', b'o'] => {
            let other = "a capture in the format snoop; convert it with `editcap -F pcapng`";
            Err(CaptureError::OtherFormat(other.into()))
        }
        _ if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
            let text = String::from_utf8_lossy(head);
            Err(CaptureError::OtherFormat(format!("a text that begins with {text:?}")))
        }
        _ => {
            let digits: Vec<String> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            let shown = format!("a file that begins with the bytes {}", digits.join(" "));
            Err(CaptureError::OtherFormat(shown))
        }
    }
}
