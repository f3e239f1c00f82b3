//! Messages between a program and the Linux kernel (netlink(7), linux/netlink.h): requests, and the
//! items of answers. Sockets are those of the callers.
//!
//! Numbers are in the order of bytes of the machine, but where an attribute says otherwise.

pub mod diag;

/// Flags of requests.
pub const REQUEST: u16 = 1;
/// The kernel answers with [`Item::Answer`].
pub const ACK: u16 = 4;
/// The answer is a list.
pub const DUMP: u16 = 0x300;
/// Not if there is one.
pub const EXCLUSIVE: u16 = 0x200;
/// A new object.
pub const CREATE: u16 = 0x400;

/// Bytes of the header of a message, and of an attribute.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// `NLMSG_ERROR`, `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The upper bits of the kind of an attribute are flags.
const KIND: u16 = 0x3fff;

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Request(Vec<u8>);

impl Request {
    /// A request of a kind; `body` stands before the attributes.
    pub fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut message = vec![0; 4]; // the length
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(REQUEST | flags).to_ne_bytes());
        message.extend_from_slice(&[0; 8]); // sequence number and sender: none
        message.extend_from_slice(body);
        Self(message)
    }

    /// Appends an attribute.
    #[must_use]
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        attribute(&mut self.0, kind, value);
        self
    }

    /// The bytes of the request.
    ///
    /// # Panics
    /// It is longer than 4 GB.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).expect("a request is some hundred bytes long");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// Appends an attribute to bytes, as to the value of another one: length and kind, then the value,
/// padded to four bytes.
///
/// # Panics
/// The value is longer than 65,531 bytes.
pub fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(ATTRIBUTE + value.len()).expect("a value is some bytes long");
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// An item of what the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A message of a kind, with its body.
    Message(u16, &'a [u8]),
    /// The end of a list.
    Done,
    /// The answer to a request: an error number, zero if the kernel has done it.
    Answer(i32),
    /// A message whose length cannot be. It is the last item.
    Damaged,
}

/// The items in a buffer.
pub fn items(mut rest: &[u8]) -> impl Iterator<Item = Item<'_>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = word(rest, 0).map_or(0, |length| length as usize);
        let (Some(kind), Some(body)) = (half(rest, 4), rest.get(HEADER..length)) else {
            rest = &[];
            return Some(Item::Damaged);
        };
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(match kind {
            DONE => Item::Done,
            ERROR => match word(body, 0) {
                Some(code) => Item::Answer(-code.cast_signed()),
                None => Item::Damaged,
            },
            _ => Item::Message(kind, body),
        })
    })
}

/// Kinds and values of the attributes in a buffer, up to one whose length cannot be.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(half(rest, 0)?), half(rest, 2)? & KIND);
        let value = rest.get(ATTRIBUTE..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_made() {
        let bytes = Request::new(77, ACK, &[1, 2, 3, 4]).attribute(5, &[9]).attribute(6, b"ab");
        let bytes = bytes.into_bytes();
        assert_eq!(half(&bytes, 6), Some(REQUEST | ACK));
        let found: Vec<_> = items(&bytes).collect();
        let [Item::Message(77, body)] = found[..] else { panic!("{found:?}") };
        assert_eq!(body[..4], [1, 2, 3, 4]);
        let found: Vec<_> = attributes(&body[4..]).collect();
        assert_eq!(found, [(5, &[9][..]), (6, &b"ab"[..])]);
    }

    #[test]
    fn answers_are_error_numbers() {
        let answer = |code: i32| Request::new(ERROR, 0, &(-code).to_ne_bytes()).into_bytes();
        let all = [answer(0), answer(2), Request::new(DONE, 0, &[]).into_bytes()].concat();
        let found: Vec<_> = items(&all).collect();
        assert_eq!(found, [Item::Answer(0), Item::Answer(2), Item::Done]);
        let cut = &all[..all.len() - 1];
        assert_eq!(items(cut).last(), Some(Item::Damaged));
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_twice(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let length = |item| if let Item::Message(_, body) = item { HEADER + body.len() } else { 0 };
            prop_assert!(items(&bytes).map(length).sum::<usize>() <= bytes.len());
            let read: usize = attributes(&bytes).map(|(_, value)| ATTRIBUTE + value.len()).sum();
            prop_assert!(read <= bytes.len());
        }
    }
}
