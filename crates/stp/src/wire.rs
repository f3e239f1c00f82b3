//! PDUs as bytes, with the layout of [`pdu`](crate::pdu). Payload is zeros.

use ::wire::Addresses;
use ::wire::ip::PROTOCOL_EXPERIMENT;

use crate::pdu::{Flags, Kind, MAX_LIST, MAX_WINDOW, Packet};

/// Number in the header of IP. IANA has given STP none.
pub const PROTOCOL: u8 = PROTOCOL_EXPERIMENT;

/// Place of the checksum.
const CHECKSUM: std::ops::Range<usize> = 6..8;
/// Bytes before the fields of the type.
const COMMON: usize = 8;
/// Bytes of a number.
const NUMBER: usize = 4;

/// A PDU between two ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pdu {
    /// Source and destination.
    pub ports: (u16, u16),
    /// Content of the packet.
    pub packet: Packet,
}

impl Pdu {
    /// Appends header and payload. The payload is zeros.
    pub fn write(&self, addresses: Addresses, out: &mut Vec<u8>) {
        let Self { ports, packet } = self;
        let start = out.len();
        out.extend_from_slice(&ports.0.to_be_bytes());
        out.extend_from_slice(&ports.1.to_be_bytes());
        out.extend_from_slice(&[packet.kind.byte(), packet.flags.byte(), 0, 0]);
        let Packet { number, poll, credit, .. } = *packet;
        let fields: &[u32] = match packet.kind {
            Kind::Begin => &[number, credit],
            Kind::BeginAck => &[number, poll, credit],
            Kind::End | Kind::EndAck => &[number],
            Kind::Data if packet.polls() => &[number, poll],
            Kind::Data => &[number],
            Kind::Poll => &[number, poll],
            Kind::Stat => &[number, poll, credit],
            Kind::Ustat => &[number, credit],
        };
        let listed = packet.list().iter().map(|distance| number.wrapping_add((*distance).into()));
        for field in fields.iter().copied().chain(listed) {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.resize(out.len() + usize::from(packet.payload), 0);
        let checksum = addresses.checksum(PROTOCOL, &out[start..]).to_be_bytes();
        out[start..][CHECKSUM].copy_from_slice(&checksum);
    }

    /// Reads the PDU that `bytes` are. `None` if their checksum is wrong, or if they are no PDU.
    pub fn read(addresses: Addresses, bytes: &[u8]) -> Option<Self> {
        let (common, rest) = bytes.split_first_chunk::<COMMON>()?;
        if addresses.checksum(PROTOCOL, bytes) != 0 {
            return None;
        }
        let port = |at: usize| u16::from_be_bytes([common[at], common[at + 1]]);
        let (kind, flags) = (Kind::of(common[4])?, Flags::of(common[5]));
        let mut packet = Packet { kind, flags, ..Packet::default() };
        let mut numbers = Numbers(rest);
        packet.number = numbers.next()?;
        match kind {
            Kind::Begin => packet.credit = numbers.next()?,
            Kind::BeginAck | Kind::Stat => {
                (packet.poll, packet.credit) = (numbers.next()?, numbers.next()?);
            }
            Kind::End | Kind::EndAck => {}
            Kind::Data if !packet.polls() => {}
            Kind::Data | Kind::Poll => packet.poll = numbers.next()?,
            Kind::Ustat => packet.credit = numbers.next()?,
        }
        match kind {
            Kind::Begin | Kind::Data => packet.payload = u16::try_from(numbers.0.len()).ok()?,
            Kind::Stat | Kind::Ustat => numbers.list(&mut packet)?,
            Kind::BeginAck | Kind::End | Kind::EndAck | Kind::Poll => {}
        }
        let is_whole = bytes.len() == usize::from(packet.bytes());
        is_whole.then_some(Self { ports: (port(0), port(2)), packet })
    }
}

/// Numbers that are left.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<NUMBER>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// All others are the list of `packet`.
    fn list(&mut self, packet: &mut Packet) -> Option<()> {
        while !self.0.is_empty() {
            let distance = self.next()?.wrapping_sub(packet.number);
            let place = packet.list.get_mut(usize::from(packet.listed))?;
            *place = u16::try_from(distance).ok()?;
            packet.listed += 1;
        }
        Some(())
    }
}

const _: () = assert!(MAX_WINDOW <= u16::MAX as u64 && MAX_LIST <= u8::MAX as usize);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses() -> Addresses {
        Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
    }

    fn written(pdu: &Pdu) -> Vec<u8> {
        let mut bytes = Vec::new();
        pdu.write(addresses(), &mut bytes);
        bytes
    }

    /// A PDU whose fields are those that its type has.
    fn pdus() -> impl Strategy<Value = Pdu> {
        let numbers = any::<(u32, u32, u32)>();
        let list = prop::collection::vec(any::<u16>(), 0..=MAX_LIST);
        let rest = (any::<(u16, u16)>(), 0..Kind::ALL.len(), 0_u8..8, 0_u16..2000);
        (numbers, list, rest).prop_map(|((number, poll, credit), listed, rest)| {
            let (ports, kind, flags, payload) = rest;
            let (kind, flags) = (Kind::ALL[kind], Flags::of(flags));
            let has_payload = matches!(kind, Kind::Begin | Kind::Data);
            let listed = match kind {
                Kind::Stat => &listed[..],
                Kind::Ustat => &[3, 9],
                _ => &[],
            };
            let mut packet = Packet { number, kind, flags, ..Packet::default() };
            packet.list[..listed.len()].copy_from_slice(listed);
            packet.listed = listed.len() as u8;
            packet.payload = if has_payload { payload } else { 0 };
            if matches!(kind, Kind::BeginAck | Kind::Poll | Kind::Stat)
                || kind == Kind::Data && packet.polls()
            {
                packet.poll = poll;
            }
            if matches!(kind, Kind::Begin | Kind::BeginAck | Kind::Stat | Kind::Ustat) {
                packet.credit = credit;
            }
            Pdu { ports, packet }
        })
    }

    proptest! {
        #[test]
        fn a_pdu_is_read_as_it_was_written(pdu in pdus()) {
            let bytes = written(&pdu);
            prop_assert_eq!(bytes.len(), usize::from(pdu.packet.bytes()));
            prop_assert_eq!(Pdu::read(addresses(), &bytes), Some(pdu));
        }

        #[test]
        fn a_pdu_that_was_changed_or_cut_is_none(pdu in pdus(), at in 0_usize..3000, bit in 0..8) {
            let whole = written(&pdu);
            let mut bytes = whole.clone();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(Pdu::read(addresses(), &bytes), None);
            // A zero that is missing at the end changes only the length, which the pseudo header
            // has.
            prop_assert_eq!(Pdu::read(addresses(), &whole[..whole.len() - 1]), None);
        }

        #[test]
        fn any_bytes_with_a_valid_checksum_are_a_pdu_or_none(
            mut bytes in prop::collection::vec(any::<u8>(), COMMON..200), kind in 0_u8..10,
        ) {
            bytes[4] = kind;
            bytes[CHECKSUM].fill(0);
            let checksum = addresses().checksum(PROTOCOL, &bytes);
            bytes[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
            if let Some(pdu) = Pdu::read(addresses(), &bytes) {
                prop_assert_eq!(bytes.len(), usize::from(pdu.packet.bytes()));
            }
        }
    }

    #[test]
    fn fields_are_where_the_layout_has_them() {
        let mut packet = Packet { number: 0x0102_0304, kind: Kind::Ustat, ..Packet::default() };
        packet.credit = 0x0a0b_0c0d;
        (packet.list[0], packet.list[1], packet.listed) = (1, 0x100, 2);
        let bytes = written(&Pdu { ports: (5001, 0xc000), packet });
        assert_eq!(bytes[..6], [0x13, 0x89, 0xc0, 0, 8, 0]);
        assert_eq!(bytes[8..16], [1, 2, 3, 4, 10, 11, 12, 13]);
        assert_eq!(bytes[16..], [1, 2, 3, 5, 1, 2, 4, 4]);
    }
}
