//! The slots of a frame on request, class by class.
//!
//! With strict classes, the rates and then the volumes of a class are served before those of the
//! next one. With weights, all classes share: the weight of a request is that of its group times
//! that of its class. Which packets a terminal sends in its slots is its own choice, by the same
//! order of classes.

use super::active::{Active, Loop};
use super::allocator::max_min;
use super::{Settings, Terminal};
use crate::classes::Classes;
use crate::packet::TerminalId;

/// Slots that a terminal has on request: by rate and by volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Assigned {
    pub rate: u32,
    pub volume: u32,
}

/// Divides `left` slots among the active terminals. The remainder begins at number `turn`.
pub(super) fn assign<P>(
    settings: &Settings,
    terminals: &mut [Terminal<P>],
    active: &[TerminalId],
    (mut left, most): (u32, u32),
    turn: usize,
) -> Vec<Assigned> {
    let mut assigned = vec![Assigned::default(); active.len()];
    let classes = settings.classes.len();
    // Classes that are served together.
    let together = match settings.classes {
        Classes::Strict(_) => 1,
        Classes::Weighted(_) => classes,
    };
    for first in (0..classes).step_by(together) {
        let stage = first..first + together;
        for is_rate in [true, false] {
            let wanted = |one: &Loop| if is_rate { one.rate } else { one.volume };
            let mut demands = Vec::with_capacity(active.len() * stage.len());
            for (number, assigned) in active.iter().zip(&assigned) {
                let terminal = &terminals[*number as usize];
                let mut room = most - assigned.rate - assigned.volume;
                let weight = settings.groups[terminal.group].weight;
                for class in stage.clone() {
                    let loops = terminal.active.as_ref().map(|active| &active.loops[class]);
                    let slots = loops.map_or(0, wanted).min(room);
                    room -= slots;
                    demands.push((slots, weight * settings.classes.weight(class)));
                }
            }
            let shares = max_min(&demands, left, turn * stage.len());
            left -= shares.iter().sum::<u32>();
            for ((number, assigned), shares) in
                active.iter().zip(&mut assigned).zip(shares.chunks(stage.len()))
            {
                let total = shares.iter().sum::<u32>();
                if is_rate {
                    assigned.rate += total;
                } else {
                    assigned.volume += total;
                    take(terminals[*number as usize].active.as_deref_mut(), stage.start, shares);
                }
            }
        }
    }
    assigned
}

/// Volumes that are assigned need no more slots.
fn take(active: Option<&mut Active>, first: usize, shares: &[u32]) {
    let Some(active) = active else { return };
    for (one, share) in active.loops[first..].iter_mut().zip(shares) {
        one.volume -= share;
    }
}
