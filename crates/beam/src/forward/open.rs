//! An open frame of a modulation and code, which packets fill.

use std::collections::VecDeque;

use units::Time;

use super::Settings;
use crate::packet::Waiting;

/// A frame that can be sent.
#[derive(Clone, Debug)]
pub(super) struct Full<P> {
    pub modcod: usize,
    /// Bytes of its data field that are in use.
    pub used: u32,
    /// Packets that end in it.
    pub packets: Vec<Waiting<P>>,
}

/// The frame of a modulation and code that is filled.
#[derive(Clone, Debug)]
pub(super) struct Open<P> {
    /// When its first packet came.
    pub since: Time,
    used: u32,
    packets: Vec<Waiting<P>>,
}

impl<P> Open<P> {
    pub fn new() -> Self {
        Self { since: Time::ZERO, used: 0, packets: Vec::new() }
    }

    /// Returns true if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Puts a packet into the open frame, and what does not fit into the next ones. Full frames go
    /// to `full`.
    pub fn put(
        &mut self,
        waiting: Waiting<P>,
        (modcod, settings): (usize, &Settings),
        spare: &mut Vec<Vec<Waiting<P>>>,
        full: &mut VecDeque<Full<P>>,
    ) {
        let (gse, field) = (settings.gse, settings.frames[modcod].bytes);
        let all = waiting.with_headers(gse.whole());
        let mut left = all;
        loop {
            let room = field - self.used;
            let is_whole = left == all;
            let end = if is_whole { gse.whole() } else { gse.last() };
            if left + end <= room {
                self.used += left + end;
                self.packets.push(waiting);
                break;
            }
            // A packet that is longer than a frame is cut in any case.
            let may_cut = settings.fragmentation || !is_whole || self.used == 0;
            let header = if is_whole { gse.first() } else { gse.middle() };
            // The last fragment has at least a byte.
            let piece = room.saturating_sub(header).min(left - 1);
            if may_cut && piece > 0 {
                left -= piece;
                self.used += header + piece;
            }
            full.extend(self.take(modcod, spare));
        }
        if field - self.used <= gse.first() {
            full.extend(self.take(modcod, spare));
        }
    }

    /// Takes the frame as it is; `None` if nothing is in it.
    pub fn take(&mut self, modcod: usize, spare: &mut Vec<Vec<Waiting<P>>>) -> Option<Full<P>> {
        if self.used == 0 {
            return None;
        }
        let packets = std::mem::replace(&mut self.packets, spare.pop().unwrap_or_default());
        Some(Full { modcod, used: std::mem::take(&mut self.used), packets })
    }
}
