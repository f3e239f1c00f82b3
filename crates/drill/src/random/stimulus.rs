//! The stimulus of a random script: settings, writes of the application, a path and its faults.

use std::fmt;

use super::dice::Dice;

/// A congestion controller that the kernel always has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Reno of Linux.
    Reno,
    /// CUBIC of Linux.
    Cubic,
}

impl Controller {
    /// Its name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
        }
    }
}

/// A write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Time since the write before, or since the connection was accepted, in microseconds.
    pub after: i64,
    /// Its bytes.
    pub bytes: u32,
}

/// A fault of the path or an act of the receiver. Data segments count in the order in which the
/// host sends them, retransmissions included, and ACKs in the order in which the receiver sends
/// them; both from 0. Times are microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A data segment is lost.
    Lost(u32),
    /// A data segment takes longer, and others may overtake it.
    Late(u32, i64),
    /// A data segment arrives a second time.
    Doubled(u32),
    /// A data segment gets the ECN mark.
    Marked(u32),
    /// An ACK is lost.
    AckLost(u32),
    /// An ACK takes longer, and others may overtake it.
    AckLate(u32, i64),
    /// From this ACK on the receiver reads nothing for this time.
    Unread(u32, i64),
}

/// All that a script does to a host, before it is known what the host answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stimulus {
    /// The seed that drew it.
    pub seed: u64,
    /// The congestion controller.
    pub controller: Controller,
    /// The receiver offers timestamps.
    pub timestamps: bool,
    /// Both ends use ECN.
    pub ecn: bool,
    /// `tcp_slow_start_after_idle`.
    pub idle_restart: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Maximum segment size that the receiver announces, in bytes.
    pub mss: u32,
    /// Time of the path in each direction, in microseconds.
    pub delay: i64,
    /// Time that the bottleneck needs for a data segment, in microseconds.
    pub spacing: i64,
    /// The receiver acknowledges this number of segments at once.
    pub every: u32,
    /// Longest delay of an ACK, in microseconds.
    pub ack_delay: i64,
    /// Receive buffer in bytes.
    pub buffer: u32,
    /// The writes of the application.
    pub writes: Vec<Write>,
    /// The faults, in any order.
    pub faults: Vec<Fault>,
}

/// A receive window that is never full.
pub(super) const AMPLE: u32 = 2 << 20;
/// The largest window without scaling. Receivers that stop reading have at most this one.
pub(super) const UNSCALED: u32 = 65_535;

impl Stimulus {
    /// The stimulus of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let long_path = dice.chance(10);
        let mut stimulus = Self {
            seed,
            controller: dice.pick(&[Controller::Reno, Controller::Cubic]),
            timestamps: dice.chance(50),
            ecn: dice.chance(20),
            idle_restart: dice.chance(50),
            nagle: dice.chance(50),
            mss: dice.pick(&[1000, 1000, 1000, 1000, 536, 1448]),
            delay: if long_path {
                dice.time(150_000, 300_000, 5_000)
            } else {
                dice.time(20_000, 60_000, 1_000)
            },
            // No multiples of a millisecond, which rules of Linux compare with.
            spacing: dice.pick(&[0, 0, 0, 600, 1_500, 2_600, 4_400]),
            every: dice.pick(&[1, 1, 1, 2, 2, 4]),
            ack_delay: 40_000,
            buffer: dice.pick(&[AMPLE, AMPLE, AMPLE, 40_000, 20_000]),
            writes: Vec::new(),
            faults: Vec::new(),
        };
        stimulus.draw_writes(&mut dice);
        stimulus.draw_faults(&mut dice);
        stimulus
    }

    fn draw_writes(&mut self, dice: &mut Dice) {
        let number = dice.between(1, 6);
        for n in 0..number {
            let after = match dice.between(0, 9) {
                _ if n == 0 => 0,
                0..2 => 0,
                2..5 => dice.time(1_000, 100_000, 1_000),
                5..8 => dice.time(100_000, 600_000, 10_000),
                _ => dice.time(600_000, 2_500_000, 100_000),
            };
            let segments = match dice.between(0, 9) {
                0..4 => dice.between(1, 4),
                4..8 => dice.between(5, 15),
                _ => dice.between(16, 40),
            };
            let small = if dice.chance(30) { dice.between(1, self.mss - 1) } else { 0 };
            self.writes.push(Write { after, bytes: segments * self.payload() + small });
        }
    }

    /// Bytes of a full segment.
    pub(super) fn payload(&self) -> u32 {
        self.mss - if self.timestamps { 12 } else { 0 }
    }

    fn draw_faults(&mut self, dice: &mut Dice) {
        let bytes: u32 = self.writes.iter().map(|write| write.bytes).sum();
        let segments = bytes.div_ceil(self.payload()).max(2);
        let last = segments + segments / 8;
        for _ in 0..dice.between(1, 3) {
            let first = dice.between(0, last);
            match dice.between(0, 11) {
                0..2 => self.faults.push(Fault::Lost(first)),
                2..4 => self.lose_row(dice, first),
                4 => self.lose_row(dice, segments.saturating_sub(3)),
                5 => {
                    for _ in 0..dice.between(2, 6) {
                        self.faults.push(Fault::Lost(dice.between(first, first + 30)));
                    }
                }
                6..8 => self.delay_some(dice, first),
                8 => {
                    for n in first..=first + dice.between(0, 2) {
                        self.faults.push(Fault::Doubled(n));
                    }
                }
                9 => {
                    for n in first..=first + dice.between(0, 6) {
                        self.faults.push(Fault::AckLost(n));
                    }
                }
                10 => {
                    let late = 300 + dice.time(1_000, 400_000, 1_000);
                    for n in first..=first + dice.between(0, 4) {
                        self.faults.push(Fault::AckLate(n, late));
                    }
                }
                _ => {
                    self.buffer = self.buffer.min(UNSCALED);
                    self.faults.push(Fault::Unread(first, dice.time(50_000, 1_500_000, 10_000)));
                }
            }
        }
        if self.ecn {
            for _ in 0..dice.between(0, 3) {
                self.faults.push(Fault::Marked(dice.between(0, last)));
            }
        }
    }

    fn lose_row(&mut self, dice: &mut Dice, first: u32) {
        let length = dice.between(2, 12);
        self.faults.extend((first..first + length).map(Fault::Lost));
    }

    fn delay_some(&mut self, dice: &mut Dice, first: u32) {
        let late = 300 + dice.time(1_000, 150_000, 1_000);
        let distance = dice.between(1, 3);
        let number = dice.between(1, 4);
        self.faults.extend((0..number).map(|n| Fault::Late(first + n * distance, late)));
    }
}

impl fmt::Display for Stimulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rtt = 2 * self.delay / 1000;
        write!(f, "{}, RTT {rtt} ms", self.controller.name())?;
        if self.spacing > 0 {
            write!(f, ", {} us a segment", self.spacing)?;
        }
        write!(f, ", an ACK every {}", self.every)?;
        for (holds, name) in [(self.timestamps, "timestamps"), (self.ecn, "ECN")] {
            if holds {
                write!(f, ", {name}")?;
            }
        }
        for fault in &self.faults {
            match fault {
                Fault::Lost(n) => write!(f, ", lost {n}")?,
                Fault::Late(n, late) => write!(f, ", late {n} by {} ms", late / 1000)?,
                Fault::Doubled(n) => write!(f, ", doubled {n}")?,
                Fault::Marked(n) => write!(f, ", marked {n}")?,
                Fault::AckLost(n) => write!(f, ", ACK {n} lost")?,
                Fault::AckLate(n, late) => write!(f, ", ACK {n} late by {} ms", late / 1000)?,
                Fault::Unread(n, time) => {
                    write!(f, ", nothing read for {} ms from ACK {n}", time / 1000)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_each_time_and_all_seeds_together_everything() {
        let all: Vec<_> = (1..=400).map(Stimulus::draw).collect();
        assert_eq!(all[6], Stimulus::draw(7));
        let has = |wanted: fn(&Fault) -> bool| {
            all.iter().filter(|stimulus| stimulus.faults.iter().any(wanted)).count()
        };
        for (count, name) in [
            (has(|fault| matches!(fault, Fault::Lost(_))), "lost"),
            (has(|fault| matches!(fault, Fault::Late(..))), "late"),
            (has(|fault| matches!(fault, Fault::Doubled(_))), "doubled"),
            (has(|fault| matches!(fault, Fault::Marked(_))), "marked"),
            (has(|fault| matches!(fault, Fault::AckLost(_))), "ACK lost"),
            (has(|fault| matches!(fault, Fault::AckLate(..))), "ACK late"),
            (has(|fault| matches!(fault, Fault::Unread(..))), "unread"),
        ] {
            assert!(count >= 20, "{name}: {count} of 400");
        }
    }
}
