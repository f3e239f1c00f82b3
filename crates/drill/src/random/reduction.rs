//! Makes a stimulus smaller while both hosts still differ.

use super::stimulus::{AMPLE, Controller, Stimulus};

/// Trials after which a reduction ends.
const TRIALS: usize = 80;

/// The smallest stimulus that was found for which `differs` returns something, with that; `found`
/// is that of `stimulus` itself.
pub fn reduce<T>(
    stimulus: Stimulus,
    found: T,
    mut differs: impl FnMut(&Stimulus) -> Option<T>,
) -> (Stimulus, T) {
    let (mut best, mut found) = (stimulus, found);
    let mut trials = 0;
    loop {
        let mut smaller = false;
        let mut number = 0;
        while let Some(candidate) = candidate(&best, number) {
            number += 1;
            if candidate == best {
                continue;
            }
            trials += 1;
            if trials > TRIALS {
                return (best, found);
            }
            if let Some(other) = differs(&candidate) {
                (best, found) = (candidate, other);
                smaller = true;
                // The same number is the next part of what is left.
                number -= 1;
            }
        }
        if !smaller {
            return (best, found);
        }
    }
}

/// Candidate `number` for something smaller than `stimulus`; may be the same.
fn candidate(stimulus: &Stimulus, number: usize) -> Option<Stimulus> {
    let mut smaller = stimulus.clone();
    let (writes, faults) = (stimulus.writes.len(), stimulus.faults.len());
    // Segments that are not full have rules of their own.
    if number == 0 {
        let payload = smaller.payload();
        for write in &mut smaller.writes {
            write.bytes = write.bytes.div_ceil(payload) * payload;
        }
        return Some(smaller);
    }
    let number = number - 1;
    // The last writes first: they most often come behind the difference.
    if number < writes {
        if writes > 1 {
            smaller.writes.remove(writes - 1 - number);
        }
        return Some(smaller);
    }
    let number = number - writes;
    if number < faults {
        smaller.faults.remove(faults - 1 - number);
        return Some(smaller);
    }
    let number = number - faults;
    if number < writes {
        let payload = smaller.payload();
        let write = &mut smaller.writes[number];
        write.bytes = match write.bytes / payload {
            0 | 1 => write.bytes,
            segments => segments / 2 * payload,
        };
        return Some(smaller);
    }
    match number - writes {
        0 => smaller.spacing = 0,
        1 => smaller.every = 1,
        2 => smaller.ecn = false,
        3 => smaller.controller = Controller::Reno,
        4 => smaller.buffer = smaller.buffer.max(AMPLE),
        5 => smaller.timestamps = false,
        6 => smaller.nagle = false,
        7 => smaller.idle_restart = false,
        8 => smaller.mss = 1000,
        _ => return None,
    }
    Some(smaller)
}
