//! The order in which packets for the terminals go on the carrier.

use std::collections::VecDeque;

use super::{Settings, Terminal};
use crate::packet::{TerminalId, Waiting};

/// Bytes that a terminal may send in its turn, in the measure of [`Share::Bytes`]: a packet of
/// usual length.
const QUANTUM: u32 = 1500;

/// The order of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue for all terminals: packets leave in the order of their arrival.
    Fifo,
    /// Deficit round robin (Shreedhar and Varghese 1995) over the terminals.
    DeficitRoundRobin(Share),
}

/// The good that terminals with packets have in equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Bytes: equal rates. A terminal in rain takes airtime from the others.
    Bytes,
    /// Symbols: equal airtime. A terminal in rain has a lower rate.
    Symbols,
}

/// Packets that wait.
#[derive(Clone, Debug)]
pub(super) enum Queue<P> {
    Fifo { packets: VecDeque<Waiting<P>>, bytes: u64 },
    Turns { active: VecDeque<TerminalId>, bytes: u64, share: Share, quantum: f64, is_new: bool },
}

impl<P> Queue<P> {
    pub fn new(settings: &Settings) -> Self {
        match settings.scheduler {
            Scheduler::Fifo => Self::Fifo { packets: VecDeque::new(), bytes: 0 },
            Scheduler::DeficitRoundRobin(share) => {
                // In symbols: those of the most robust frame, so that each turn has a packet.
                let most = settings.frames.iter().enumerate();
                let most = most.map(|(modcod, _)| super::frame_symbols(settings, modcod, QUANTUM));
                let quantum = match share {
                    Share::Bytes => f64::from(QUANTUM),
                    Share::Symbols => most.fold(0.0, f64::max),
                };
                Self::Turns { active: VecDeque::new(), bytes: 0, share, quantum, is_new: true }
            }
        }
    }

    /// A packet joins. Returns false if there is no room.
    pub fn push(
        &mut self,
        terminals: &mut [Terminal<P>],
        waiting: Waiting<P>,
        buffer: u64,
    ) -> bool {
        let size = u64::from(waiting.bytes);
        match self {
            Self::Fifo { packets, bytes } => {
                if *bytes + size > buffer {
                    return false;
                }
                *bytes += size;
                packets.push_back(waiting);
            }
            Self::Turns { active, bytes, .. } => {
                let terminal = &mut terminals[waiting.terminal as usize];
                if terminal.bytes + size > buffer {
                    return false;
                }
                if terminal.queue.is_empty() {
                    active.push_back(waiting.terminal);
                }
                *bytes += size;
                terminal.bytes += size;
                terminal.queue.push_back(waiting);
            }
        }
        true
    }

    /// The next packet. `symbols` is the cost of a packet of a group of terminals in symbols.
    pub fn pop(
        &mut self,
        terminals: &mut [Terminal<P>],
        mut symbols: impl FnMut(usize, u32) -> f64,
    ) -> Option<Waiting<P>> {
        match self {
            Self::Fifo { packets, bytes } => {
                let waiting = packets.pop_front()?;
                *bytes -= u64::from(waiting.bytes);
                Some(waiting)
            }
            Self::Turns { active, bytes, share, quantum, is_new } => loop {
                let number = *active.front()?;
                let terminal = &mut terminals[number as usize];
                if std::mem::take(is_new) {
                    terminal.deficit += *quantum;
                }
                let length = terminal.queue.front().map_or(0, |waiting| waiting.bytes);
                let cost = match share {
                    Share::Bytes => f64::from(length),
                    Share::Symbols => symbols(terminal.group, length),
                };
                if cost > terminal.deficit {
                    active.rotate_left(1);
                    *is_new = true;
                    continue;
                }
                let waiting = terminal.queue.pop_front()?;
                terminal.deficit -= cost;
                terminal.bytes -= u64::from(waiting.bytes);
                *bytes -= u64::from(waiting.bytes);
                if terminal.queue.is_empty() {
                    terminal.deficit = 0.0;
                    active.pop_front();
                    *is_new = true;
                }
                break Some(waiting);
            },
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Fifo { bytes, .. } | Self::Turns { bytes, .. } => *bytes,
        }
    }
}
