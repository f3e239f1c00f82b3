//! RTTs from the timestamps option, which needs no data to be acknowledged once.
//!
//! Source: K. Nichols, "Listening to Networks", pping (2017): the time from the first segment with
//! a TSval to the first segment of the other direction that echoes it. RFC 7323 section 3.2: the
//! TSecr of delayed ACKs is that of the earliest segment, so the delay counts.

use std::collections::VecDeque;

/// TSvals that are kept for a direction.
const MOST: usize = 4096;

/// A TSval, the time when it was seen first, and whether its segment had data.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    value: u32,
    at: u64,
    with_data: bool,
}

/// TSvals of one direction that the other one has not echoed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timestamps {
    waiting: VecDeque<Stamped>,
    highest: Option<u32>,
}

impl Timestamps {
    /// Keeps a TSval that is higher than all before.
    pub fn sent(&mut self, value: u32, at: u64, with_data: bool) {
        if self.highest.is_some_and(|highest| !is_after(value, highest)) {
            return;
        }
        self.highest = Some(value);
        if self.waiting.len() == MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Stamped { value, at, with_data });
    }

    /// The time since an echoed TSval was sent, at its first echo, and whether it came with data.
    pub fn echoed(&mut self, value: u32, at: u64) -> Option<(u64, bool)> {
        while let Some(&first) = self.waiting.front() {
            if is_after(first.value, value) {
                return None;
            }
            self.waiting.pop_front();
            if first.value == value {
                return Some((at.saturating_sub(first.at), first.with_data));
            }
        }
        None
    }
}

fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}
