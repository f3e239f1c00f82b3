//! The player: buffer, requests, stalls, and what was played.

use std::collections::VecDeque;

use super::estimate::Estimate;
use super::rules::{Choice, Rule, View};
use super::settings::{Movie, RuleName};

/// Cost of a second of stalls in the reward of robust MPC, in Mbit/s.
pub(super) const STALL_COST: f64 = 4.3;
/// Stalls below this are rounding, in milliseconds.
const LEAST_STALL: f64 = 1e-3;

/// The next step of a player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Nothing for this time in milliseconds.
    Wait(f64),
    /// Fetch a segment.
    Fetch(Fetch),
    /// All is fetched.
    PlayOut,
}

/// A segment to fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fetch {
    /// Its number.
    pub segment: usize,
    /// Its place in the ladder.
    pub quality: usize,
    /// Its size in bits.
    pub bits: f64,
}

/// A download, so far or at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// Time since the request in milliseconds.
    pub time: f64,
    /// Time from the request to the first byte in milliseconds.
    pub first_byte: f64,
    /// Bits that have arrived.
    pub bits: f64,
    /// It was given up, for a segment of this quality.
    pub gave_up: Option<usize>,
}

/// A segment that was fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its number.
    pub number: usize,
    /// Its place in the ladder.
    pub quality: usize,
    /// Its size in bits.
    pub bits: f64,
    /// Time from the request to the last byte in milliseconds.
    pub time: f64,
    /// Time from the request to the first byte in milliseconds.
    pub first_byte: f64,
    /// Video in the buffer after it in milliseconds.
    pub level: f64,
}

/// Figures of what was played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Time from the first request to the first picture in milliseconds; `None` before that.
    pub start_up: Option<f64>,
    /// Time that the player played or stalled, with the start, in milliseconds.
    pub time: f64,
    /// Stalls: begin, in milliseconds of played video, and duration.
    pub stalls: Vec<(f64, f64)>,
    /// Sum of the bit rates of segments whose play has begun, in kbit/s.
    bitrates: f64,
    /// Sum of the changes of bit rate in kbit/s.
    pub change: f64,
    /// Changes of bit rate.
    pub switches: u64,
    /// Segments whose play has begun.
    pub segments: u64,
    /// Downloads that were given up.
    pub given_up: u64,
    /// Time of a segment in milliseconds.
    segment_ms: f64,
}

impl Played {
    /// Duration of all stalls in milliseconds.
    pub fn stalled(&self) -> f64 {
        // The sum of none is -0.
        self.stalls.iter().fold(0.0, |sum, (_, time)| sum + time)
    }

    /// Mean bit rate over the whole time, in kbit/s.
    pub fn bitrate(&self) -> f64 {
        self.bitrates * self.per_segment()
    }

    /// Mean change of the bit rate for each segment's time, in kbit/s.
    pub fn mean_change(&self) -> f64 {
        self.change * self.per_segment()
    }

    /// Mean bit rate of the segments whose play has begun, in kbit/s; not a number before the
    /// first.
    pub fn mean_bitrate(&self) -> f64 {
        self.bitrates / self.segments as f64
    }

    /// Reward of robust MPC for each segment: Mbit/s, less 4.3 for each second of stalls, less
    /// changes in Mbit/s.
    pub fn reward(&self) -> f64 {
        let sum = self.bitrates - self.change - STALL_COST * self.stalled();
        sum / 1e3 / self.segments as f64
    }

    /// Video played so far in milliseconds.
    pub fn video(&self) -> f64 {
        self.time - self.stalled() - self.start_up.unwrap_or(self.time)
    }

    fn per_segment(&self) -> f64 {
        1.0 / (self.time / self.segment_ms)
    }
}

/// Where it is between two segments.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The buffer may be full.
    Fill,
    /// A rule chooses.
    Choose,
    /// A rule has chosen, and waits.
    Chosen(usize),
    /// A segment is on its way.
    Fetching(Fetch, f64),
}

/// The view of a rule.
fn view<'a>(movie: &'a Movie, estimate: &Estimate, level: f64, segment: usize) -> View<'a> {
    let (throughput, latency) = estimate.current().unwrap_or((0.0, 0.0));
    View { movie, level, throughput, latency, segment }
}

/// A player of one movie.
#[derive(Clone, Debug)]
pub struct Player {
    movie: Movie,
    buffer_ms: f64,
    rule: Rule,
    estimate: Estimate,
    /// Qualities of the segments in the buffer.
    contents: VecDeque<usize>,
    /// Milliseconds of the first of them that were played.
    consumed: f64,
    phase: Phase,
    next: usize,
    last_quality: Option<usize>,
    /// It stalls now.
    is_stalled: bool,
    played: Played,
}

impl Player {
    /// A player that has nothing.
    pub fn new(movie: Movie, buffer_ms: f64, rule: RuleName) -> Self {
        Self {
            rule: Rule::new(rule, &movie, buffer_ms),
            estimate: Estimate::new(movie.segment_ms),
            buffer_ms,
            contents: VecDeque::new(),
            consumed: 0.0,
            phase: Phase::Fill,
            next: 0,
            last_quality: None,
            is_stalled: false,
            played: Played { segment_ms: movie.segment_ms, ..Played::default() },
            movie,
        }
    }

    /// Video in the buffer in milliseconds.
    pub fn level(&self) -> f64 {
        self.movie.segment_ms * self.contents.len() as f64 - self.consumed
    }

    /// Number of segments in the ladder's movie.
    pub fn segments(&self) -> usize {
        self.movie.sizes.len()
    }

    /// Figures so far.
    pub fn played(&self) -> Played {
        self.played.clone()
    }

    /// Bit rate of a place in the ladder, in kbit/s.
    pub fn bitrate(&self, quality: usize) -> f64 {
        self.movie.bitrates[quality]
    }

    /// The next step. After `Wait(time)`, call [`advance`](Self::advance) with this time.
    pub fn step(&mut self) -> Next {
        if self.phase == Phase::Fill {
            if self.next == self.movie.sizes.len() {
                return Next::PlayOut;
            }
            self.phase = Phase::Choose;
            let full = self.level() + self.movie.segment_ms - self.buffer_ms;
            if full > 0.0 {
                self.rule.on_wait(full);
                return Next::Wait(full);
            }
        }
        if self.phase == Phase::Choose {
            let Choice { quality, delay } = self.choose();
            self.phase = Phase::Chosen(quality);
            if delay > 0.0 {
                return Next::Wait(delay);
            }
        }
        if let Phase::Chosen(quality) = self.phase {
            let bits = self.movie.sizes[self.next][quality];
            let fetch = Fetch { segment: self.next, quality, bits };
            self.phase = Phase::Fetching(fetch, self.level());
        }
        let Phase::Fetching(fetch, _) = self.phase else { return Next::PlayOut };
        Next::Fetch(fetch)
    }

    /// The first segment has the lowest bit rate.
    fn choose(&mut self) -> Choice {
        if self.next == 0 {
            return Choice::now(0);
        }
        let level = self.level();
        self.rule.choose(&view(&self.movie, &self.estimate, level, self.next))
    }

    /// The quality for which a rule would give up the download that goes on, if it would.
    pub fn would_give_up(&mut self, download: &Download) -> Option<usize> {
        let Phase::Fetching(fetch, level) = self.phase else { return None };
        if fetch.segment == 0 {
            return None;
        }
        let level = (level - download.time).max(0.0);
        let view = view(&self.movie, &self.estimate, level, self.next);
        self.rule.would_give_up(&view, &fetch, download)
    }

    /// The download of a segment has ended, after [`advance`](Self::advance) up to its end. Returns
    /// the segment unless it was given up.
    pub fn finish(&mut self, download: Download) -> Option<Segment> {
        let Phase::Fetching(fetch, _) = self.phase else { return None };
        self.phase = Phase::Fill;
        let is_first = self.next == 0;
        if download.gave_up.is_none() {
            self.contents.push_back(fetch.quality);
            self.is_stalled = false;
            self.next += 1;
        } else {
            self.played.given_up += 1;
        }
        if is_first {
            self.played.start_up = Some(self.played.time);
        }
        let level = self.level();
        let view = view(&self.movie, &self.estimate, level, self.next);
        self.rule.on_download(&view, &fetch, &download);
        let after_first = download.time - download.first_byte;
        if download.gave_up.is_none() {
            let throughput = download.bits / after_first.max(f64::MIN_POSITIVE);
            self.estimate.push(after_first, throughput, download.first_byte);
        }
        download.gave_up.is_none().then(|| Segment {
            number: fetch.segment,
            quality: fetch.quality,
            bits: fetch.bits,
            time: download.time,
            first_byte: download.first_byte,
            level: self.level(),
        })
    }

    /// Time passes, in milliseconds: the player plays what it has.
    pub fn advance(&mut self, time: f64) {
        let mut time = time;
        if self.played.start_up.is_none() {
            self.played.time += time;
            return;
        }
        while time > 0.0 && !self.contents.is_empty() {
            if self.consumed == 0.0 {
                self.begin_segment(self.contents[0]);
            }
            let left = self.movie.segment_ms - self.consumed;
            if time < left {
                self.consumed += time;
                self.played.time += time;
                return;
            }
            time -= left;
            self.played.time += left;
            self.contents.pop_front();
            self.consumed = 0.0;
        }
        if time > LEAST_STALL {
            self.stall(time);
        } else {
            self.played.time += time;
        }
    }

    fn begin_segment(&mut self, quality: usize) {
        let rate = self.movie.bitrates[quality];
        self.played.bitrates += rate;
        self.played.segments += 1;
        if let Some(last) = self.last_quality.filter(|last| *last != quality) {
            self.played.change += (rate - self.movie.bitrates[last]).abs();
            self.played.switches += 1;
        }
        self.last_quality = Some(quality);
    }

    fn stall(&mut self, time: f64) {
        // After the last segment the movie is over.
        if self.next == self.movie.sizes.len() {
            return;
        }
        let at = self.played.video();
        self.played.time += time;
        match self.played.stalls.last_mut().filter(|_| self.is_stalled) {
            Some((_, duration)) => *duration += time,
            None => self.played.stalls.push((at, time)),
        }
        self.is_stalled = true;
    }

    /// Plays what is in the buffer.
    pub fn play_out(&mut self) {
        self.advance(self.level());
        // Rounding may leave a part of a segment.
        self.contents.clear();
        self.consumed = 0.0;
    }
}
