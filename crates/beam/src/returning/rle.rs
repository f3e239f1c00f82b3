//! Return link encapsulation (RLE, ETSI TS 103 179): packets are cut into fragments that fill
//! bursts, and packets share a burst. Sizes as those of SNS3 (sns3/sns3-satellite).

/// Bytes of each burst.
pub const BURST: u32 = 1;
/// Header of a whole packet.
pub const WHOLE: u32 = 2;
/// Header of the first fragment.
pub const FIRST: u32 = 4;
/// Header of a fragment between the first and the last.
pub const MIDDLE: u32 = 2;
/// Header of the last fragment.
pub const LAST: u32 = 2;

/// A part of a packet in a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of the packet.
    pub bytes: u32,
    /// These bytes with their header.
    pub used: u32,
    /// The packet ends with it.
    pub is_last: bool,
}

/// The next piece of a packet; `None` if there is no room for one.
pub fn piece(bytes: u32, sent: u32, room: u32) -> Option<Piece> {
    let left = bytes - sent;
    let end = if sent == 0 { WHOLE } else { LAST };
    if left + end <= room {
        return Some(Piece { bytes: left, used: left + end, is_last: true });
    }
    let header = if sent == 0 { FIRST } else { MIDDLE };
    // The last fragment has at least a byte.
    let bytes = room.saturating_sub(header).min(left - 1);
    (bytes > 0).then_some(Piece { bytes, used: bytes + header, is_last: false })
}

/// Bursts with a payload of `payload` bytes that packets of these lengths take together, if `sent`
/// bytes of the first are sent.
pub fn bursts(payload: u32, packets: impl IntoIterator<Item = u32>, sent: u32) -> u32 {
    let (mut bursts, mut room, mut sent) = (0, 0, sent);
    for bytes in packets {
        loop {
            match piece(bytes, sent, room) {
                Some(piece) => {
                    room -= piece.used;
                    sent += piece.bytes;
                    if piece.is_last {
                        break;
                    }
                }
                None => {
                    bursts += 1;
                    room = payload - BURST;
                }
            }
        }
        sent = 0;
    }
    bursts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::returning::waveforms::BurstLength;

    /// An ACK of 40 bytes, one of 52 with timestamps, and a full packet, each sent alone.
    #[test]
    fn packets_alone_take_the_bursts_of_their_waveform() {
        let expected = [
            (BurstLength::Short, 3, [2, 2, 43]),
            (BurstLength::Short, 4, [1, 1, 27]),
            (BurstLength::Short, 5, [1, 1, 19]),
            (BurstLength::Short, 12, [1, 1, 8]),
            (BurstLength::Long, 13, [1, 1, 13]),
            (BurstLength::Long, 14, [1, 1, 9]),
            (BurstLength::Long, 22, [1, 1, 3]),
        ];
        for (length, id, expected) in expected {
            let waveform = length.waveforms().iter().find(|one| one.id == id).unwrap();
            let found = [40, 52, 1500].map(|bytes| bursts(waveform.payload, [bytes], 0));
            assert_eq!(found, expected, "waveform {id}");
        }
    }

    /// TN9 of SNS3: 1280 bytes of data with headers of UDP and IP take 38 bursts of waveform 3.
    #[test]
    fn packets_of_tn9_take_38_bursts() {
        assert_eq!(bursts(38, [1308], 0), 38);
    }

    /// Four ACKs in a burst of 188 bytes: each takes 42 of the 187.
    #[test]
    fn acks_share_a_burst() {
        assert_eq!(bursts(188, [40; 4], 0), 1);
        assert_eq!(bursts(188, [40; 5], 0), 2);
    }
}
