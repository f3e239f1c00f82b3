//! A segment as scripts write it.

use std::fmt;

/// Control bits, in the order of the TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The letter of each bit.
    const LETTERS: [(char, u8); 8] = [
        ('F', 0x01),
        ('S', 0x02),
        ('R', 0x04),
        ('P', 0x08),
        ('.', 0x10),
        ('U', 0x20),
        ('E', 0x40),
        ('W', 0x80),
    ];
    /// No more data.
    pub const FIN: u8 = 0x01;
    /// Synchronise.
    pub const SYN: u8 = 0x02;
    /// Reset.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;

    /// The flags that letters stand for.
    pub(crate) fn read(letters: &str) -> Option<Self> {
        let mut bits = 0;
        for letter in letters.chars() {
            let (_, bit) = Self::LETTERS.iter().find(|(known, _)| *known == letter)?;
            if bits & bit != 0 {
                return None;
            }
            bits |= bit;
        }
        (!letters.is_empty()).then_some(Self(bits))
    }

    /// Returns true if one of `bits` is set.
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, bit) in Self::LETTERS {
            if self.has(bit) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not capable.
    None,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// ECT(0) or ECT(1); only in scripts.
    Ect01,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The word of scripts.
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("noecn", Self::None),
        ("ect0", Self::Ect0),
        ("ect1", Self::Ect1),
        ("ect01", Self::Ect01),
        ("ce", Self::Ce),
    ];

    fn allows(self, live: Self) -> bool {
        match self {
            Self::Ect01 => matches!(live, Self::Ect0 | Self::Ect1),
            _ => self == live,
        }
    }
}

/// TCP options, without their order and padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub window_scale: Option<u8>,
    /// SACK-permitted.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamp: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Vec<(u32, u32)>,
}

/// A segment. Sequence numbers count from the SYN of their end, which is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The ECN field; in an expected segment `None` if it does not matter.
    pub ecn: Option<Ecn>,
    /// Control bits.
    pub flags: Flags,
    /// First sequence number.
    pub start: u32,
    /// Bytes of payload.
    pub length: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// The window field, not scaled; in an expected segment `None` if it does not matter.
    pub window: Option<u16>,
    /// Options; in an expected segment `None` if they do not matter.
    pub options: Option<Options>,
}

impl Packet {
    /// Number behind the last byte.
    pub fn end(&self) -> u32 {
        self.start.wrapping_add(self.length)
    }

    /// The first thing in which `live` is not as expected. TSval is not compared; `echo` is the
    /// expected TSecr as the host writes it.
    pub(crate) fn difference(&self, live: &Self) -> Option<String> {
        let same_place = self.start == live.start && self.length == live.length;
        if self.flags != live.flags {
            return Some(format!("flags {}, found {}", self.flags, live.flags));
        }
        if !same_place {
            return Some(format!(
                "{}:{}({}), found {}:{}({})",
                self.start,
                self.end(),
                self.length,
                live.start,
                live.end(),
                live.length
            ));
        }
        self.difference_of_the_rest(live)
    }

    /// As [`difference`](Self::difference), without flags, place and length.
    pub(crate) fn difference_of_the_rest(&self, live: &Self) -> Option<String> {
        if self.ack != live.ack && (self.flags.has(Flags::ACK) || live.flags.has(Flags::ACK)) {
            return Some(format!("ack {:?}, found {:?}", self.ack, live.ack));
        }
        if let Some(window) = self.window
            && live.window != Some(window)
        {
            let found = live.window.unwrap_or(0);
            return Some(format!("win {window}, found {found}"));
        }
        if let (Some(expected), Some(found)) = (self.ecn, live.ecn)
            && !expected.allows(found)
        {
            return Some(format!("ECN field {expected:?}, found {found:?}"));
        }
        let (expected, found) = (self.options.as_ref()?, live.options.as_ref()?);
        let without_clock = |options: &Options| Options {
            timestamp: options.timestamp.map(|(_, echo)| (0, echo)),
            ..options.clone()
        };
        (without_clock(expected) != without_clock(found))
            .then(|| format!("<{expected}>, found <{found}>"))
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.mss.map(|mss| format!("mss {mss}")));
        words.extend(self.sack_permitted.then(|| "sackOK".to_owned()));
        words.extend(self.timestamp.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
        words.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        if !self.sack.is_empty() {
            let blocks: Vec<_> = self.sack.iter().map(|(a, b)| format!("{a}:{b}")).collect();
            words.push(format!("sack {}", blocks.join(" ")));
        }
        write!(f, "{}", words.join(","))
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end, length) = (self.start, self.end(), self.length);
        write!(f, "{} {start}:{end}({length})", self.flags)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => write!(f, " <...>"),
            Some(options) if *options == Options::default() => Ok(()),
            Some(options) => write!(f, " <{options}>"),
        }
    }
}
