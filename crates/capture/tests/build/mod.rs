//! Captures of connections that are made for a test.

#![allow(clippy::unwrap_used, dead_code, reason = "tests; each file uses a part")]

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use capture::{CaptureError, CaptureRecord};
use wire::tcp::flags::{ACK, FIN, SYN};
use wire::{Addresses, TcpPacket};

pub const ETHERNET: u32 = 1;
pub const RAW: u32 = 101;
pub const MSS: u32 = 1460;

/// A file that is removed at the end of the test.
pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(content: &[u8]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bentpipe-capture-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads the capture with this content.
pub fn read(content: &[u8]) -> Result<CaptureRecord, CaptureError> {
    capture::read(&Temporary::new(content).0, |_| true)
}

/// A capture in pcap with times in ns.
pub struct Pcap(pub Vec<u8>);

impl Pcap {
    pub fn new(link: u32) -> Self {
        let mut bytes = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        for word in [0, 0, 0x4_0000, link] {
            bytes.extend(word.to_le_bytes());
        }
        Self(bytes)
    }

    /// Adds a packet of which `kept` is in the capture.
    pub fn packet(&mut self, at_ns: u64, kept: &[u8], length: u32) {
        let second = 1_000_000_000;
        let words = [at_ns / second, at_ns % second, kept.len() as u64, length.into()];
        for word in words {
            self.0.extend(u32::try_from(word).unwrap().to_le_bytes());
        }
        self.0.extend(kept);
    }
}

/// A segment of a [`Talk`]. Positions count from the SYN of each end.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub at_ms: f64,
    pub from_client: bool,
    pub flags: u8,
    pub start: u32,
    pub ack: u32,
    pub length: u32,
    pub window: u16,
    pub sack: Option<(u32, u32)>,
    pub timestamps: Option<(u32, u32)>,
}

impl Step {
    pub fn new(at_ms: f64, from_client: bool) -> Self {
        Self {
            at_ms,
            from_client,
            flags: ACK,
            start: 1,
            ack: 1,
            length: 0,
            window: 60_000,
            sack: None,
            timestamps: None,
        }
    }

    /// Data of the client.
    pub fn data(at_ms: f64, start: u32, length: u32) -> Self {
        Self { start, length, ..Self::new(at_ms, true) }
    }

    /// An ACK of the server.
    pub fn ack(at_ms: f64, ack: u32) -> Self {
        Self { ack, ..Self::new(at_ms, false) }
    }
}

/// A connection as a capture of raw IP.
pub struct Talk {
    pub pcap: Pcap,
    pub first: [u32; 2],
    pub ports: [u16; 2],
    pub identification: u16,
    pub shift: Option<u8>,
}

impl Talk {
    pub fn new() -> Self {
        let (first, ports) = ([1000, 700_000], [40_000, 80]);
        Self { pcap: Pcap::new(RAW), first, ports, identification: 1, shift: Some(2) }
    }

    /// A connection after its handshake, 20 ms to the server and 1 ms to the client.
    pub fn open() -> Self {
        let mut talk = Self::new();
        talk.handshake(0.0);
        talk
    }

    pub fn handshake(&mut self, at_ms: f64) {
        let syn = Step { flags: SYN, start: 0, ack: 0, ..Step::new(at_ms, true) };
        self.take(syn);
        let answer = Step { flags: SYN | ACK, start: 0, ..Step::new(at_ms + 20.0, false) };
        self.take(answer);
        self.take(Step::new(at_ms + 21.0, true));
    }

    /// The IP packet of a step, and its length.
    pub fn bytes(&mut self, step: Step) -> (Vec<u8>, u32) {
        self.identification = self.identification.wrapping_add(1).max(1);
        let own = usize::from(!step.from_client);
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let is_syn = step.flags & SYN != 0;
        let blocks = step.sack.map(|(from, to)| {
            let place = |number: u32| self.first[1 - own].wrapping_add(number);
            [(place(from), place(to))]
        });
        let packet = TcpPacket {
            addresses: Addresses::V4(hosts[own], hosts[1 - own]),
            source_port: self.ports[own],
            destination_port: self.ports[1 - own],
            identification: self.identification,
            ttl: 64,
            sequence: self.first[own].wrapping_add(step.start),
            acknowledgement: if step.flags & ACK == 0 {
                0
            } else {
                self.first[1 - own].wrapping_add(step.ack)
            },
            flags: step.flags,
            window: step.window,
            mss: is_syn.then_some(1460),
            window_scale: self.shift.filter(|_| is_syn),
            sack_permitted: is_syn,
            timestamps: step.timestamps,
            sack: blocks.as_ref().map_or(&[], |blocks| &blocks[..]),
            payload_len: step.length,
            ..TcpPacket::default()
        };
        let mut bytes = Vec::new();
        let length = packet.write(100, &mut bytes);
        (bytes, length)
    }

    pub fn take(&mut self, step: Step) {
        let (bytes, length) = self.bytes(step);
        self.pcap.packet(time(step.at_ms), &bytes, length);
    }

    pub fn all(&mut self, steps: impl IntoIterator<Item = Step>) {
        steps.into_iter().for_each(|step| self.take(step));
    }

    /// Both FINs.
    pub fn close(&mut self, at_ms: f64, start: u32) {
        self.take(Step { flags: FIN | ACK, start, ..Step::new(at_ms, true) });
        self.take(Step { flags: FIN | ACK, ack: start + 1, ..Step::new(at_ms + 20.0, false) });
        self.take(Step { start: start + 1, ack: 2, ..Step::new(at_ms + 21.0, true) });
    }

    pub fn read(&self) -> CaptureRecord {
        read(&self.pcap.0).unwrap()
    }
}

/// Times of tests begin in 2020.
pub fn time(at_ms: f64) -> u64 {
    1_577_836_800_000_000_000 + (at_ms * 1e6) as u64
}
