//! A voice call: packets of a codec in both directions, jitter buffers, and the E-model.

pub mod emodel;
mod settings;

use units::{Span, Time};

use crate::Delays;
pub use settings::{Codec, JitterBuffer, RTP_HEADER, Settings};

/// Time after the last packet for which a call waits for packets.
const LINGER: Span = Span::from_secs(5);

/// A call. Both ends send a packet at the same times.
#[derive(Clone, Debug)]
pub struct Call {
    settings: Settings,
    start: Time,
    /// Packets of each end, in the order of the ends.
    ends: [Delays; 2],
    /// No packet is sent any more.
    stopped: bool,
}

/// The next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Both ends send the packet with this number.
    Send(u64),
    /// Nothing before this time.
    Wait(Time),
    /// The call is over.
    Over,
}

impl Call {
    /// A call that starts at `start`.
    pub fn new(settings: Settings, start: Time) -> Self {
        Self { settings, start, ends: Default::default(), stopped: false }
    }

    /// The next step at `now`. A call whose clock is late sends the packets that are due.
    pub fn step(&mut self, now: Time) -> Step {
        let number = self.ends[0].sent();
        if self.has_sent_all() {
            return self.after_the_last(now);
        }
        let due = self.next();
        if due > now {
            return Step::Wait(due);
        }
        for end in &mut self.ends {
            end.send(due);
        }
        Step::Send(number)
    }

    /// Sends nothing more.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// A packet of end number `end` has arrived at the other one.
    pub fn on_arrival(&mut self, now: Time, end: usize, number: u64) {
        self.ends[end].arrive(number, now);
    }

    /// Returns true if it is over at `now`.
    pub fn is_over(&self, now: Time) -> bool {
        self.has_sent_all() && self.after_the_last(now) == Step::Over
    }

    fn has_sent_all(&self) -> bool {
        let end = self.settings.duration.map_or(Time::NEVER, |duration| self.start + duration);
        self.stopped || self.next() >= end
    }

    /// When the next packet is due.
    fn next(&self) -> Time {
        self.start + self.settings.frame.times(self.ends[0].sent())
    }

    fn has_everything(&self) -> bool {
        self.ends.iter().all(|end| end.arrived() == end.sent())
    }

    fn after_the_last(&self, now: Time) -> Step {
        let last = self.ends[0].sent().saturating_sub(1);
        let until = self.start + self.settings.frame.times(last) + LINGER;
        if now >= until || self.has_everything() { Step::Over } else { Step::Wait(until) }
    }

    /// Figures of the packets that end number `end` has sent, for a run that ends at `now`.
    pub fn figures(&self, end: usize, now: Time) -> Figures {
        Figures::of(&self.settings, &self.ends[end], now)
    }

    /// Figures of both ends if they are those of all later times: nothing arrives any more, and no
    /// missing packet could still be heard in time.
    pub fn settled(&self, now: Time) -> Option<[Figures; 2]> {
        let is_settled = |packets: &Delays| {
            latest(&self.settings, packets).is_none_or(|latest| packets.is_settled(latest, now))
        };
        self.ends.iter().all(is_settled).then(|| [0, 1].map(|end| self.figures(end, now)))
    }
}

/// Figures of one direction of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Packets sent.
    pub sent: u64,
    /// Packets that have arrived.
    pub arrived: u64,
    /// Packets that arrived after their time in the jitter buffer.
    pub late: u64,
    /// Share of the packets that were lost or late, from 0 to 1.
    pub loss: f64,
    /// Mean length of bursts of lost and late packets, in units of that of independent losses; 1
    /// without losses.
    pub burst_ratio: f64,
    /// Smallest one-way delay of the network in milliseconds.
    pub min_delay_ms: f64,
    /// Mean one-way delay of the network in milliseconds.
    pub mean_delay_ms: f64,
    /// Interarrival jitter in milliseconds (RFC 3550, section 6.4.1).
    pub jitter_ms: f64,
    /// Delay from mouth to ear in milliseconds: network, jitter buffer, packet and codec.
    pub mouth_to_ear_ms: f64,
    /// Rating factor and MOS with the default echo of G.107; not a number without values of the
    /// codec.
    pub with_echo: Opinion,
    /// The same without echo.
    pub without_echo: Opinion,
}

/// Result of the E-model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// Rating factor R.
    pub rating: f64,
    /// Mean opinion score, from 1 to 4.5.
    pub mos: f64,
}

impl Figures {
    fn of(settings: &Settings, packets: &Delays, now: Time) -> Self {
        let min = packets.min();
        let delays = packets.iter().filter_map(|(_, delay)| delay).map(Span::as_millis_f64);
        let (count, sum) = delays.fold((0_u32, 0.0), |(count, sum), one| (count + 1, sum + one));
        let mean_delay_ms = if count == 0 { f64::NAN } else { sum / f64::from(count) };
        let jitter_ms = jitter(packets);
        let min_delay_ms = min.map_or(f64::NAN, Span::as_millis_f64);
        let deadline = deadline(settings, packets);
        let through = match settings.jitter_buffer {
            JitterBuffer::Fixed(depth) => min_delay_ms + depth.as_millis_f64(),
            JitterBuffer::TwiceJitter(_) => mean_delay_ms + 2.0 * jitter_ms,
        };
        let is_late = |delay: Span| deadline.is_some_and(|deadline| delay > deadline);
        let late = packets.iter().filter_map(|(_, delay)| delay).filter(|one| is_late(*one));
        let late = late.count() as u64;
        let latest = latest(settings, packets);
        let is_due = |sent: Time| latest.is_none_or(|latest| sent + latest <= now);
        let heard = packets.iter().filter(|(sent, delay)| delay.is_some() || is_due(*sent));
        let missing = heard.map(|(_, delay)| delay.is_none_or(is_late));
        let (loss, burst_ratio) = losses(missing);
        let mouth_to_ear_ms = through + settings.delay().as_millis_f64();
        let opinion = |has_echo: bool| {
            let known = settings.impairment();
            let rating = known.map_or(f64::NAN, |(equipment, robustness)| {
                emodel::rating(&emodel::Conditions {
                    delay_ms: mouth_to_ear_ms,
                    loss_percent: 100.0 * loss,
                    burst_ratio,
                    equipment,
                    robustness,
                    has_echo,
                })
            });
            let mos = if rating.is_nan() { f64::NAN } else { emodel::mos(rating) };
            Opinion { rating, mos }
        };
        Self {
            sent: packets.sent(),
            arrived: packets.arrived(),
            late,
            loss,
            burst_ratio,
            min_delay_ms,
            mean_delay_ms,
            jitter_ms,
            mouth_to_ear_ms,
            with_echo: opinion(true),
            without_echo: opinion(false),
        }
    }
}

/// Delay after which a packet is too late for the jitter buffer. One that follows the jitter drops
/// nothing.
fn deadline(settings: &Settings, packets: &Delays) -> Option<Span> {
    match settings.jitter_buffer {
        JitterBuffer::Fixed(depth) => packets.min().map(|min| min + depth),
        JitterBuffer::TwiceJitter(_) => None,
    }
}

/// Delay after which a packet that has not arrived counts as missing; `None` if nothing has
/// arrived.
fn latest(settings: &Settings, packets: &Delays) -> Option<Span> {
    let largest = || packets.iter().filter_map(|(_, delay)| delay).max();
    deadline(settings, packets).or_else(largest)
}

/// Interarrival jitter in milliseconds, of the packets in the order of sending.
fn jitter(packets: &Delays) -> f64 {
    let mut last: Option<f64> = None;
    let mut jitter = 0.0;
    for delay in packets.iter().filter_map(|(_, delay)| delay).map(Span::as_millis_f64) {
        if let Some(last) = last {
            jitter += ((delay - last).abs() - jitter) / 16.0;
        }
        last = Some(delay);
    }
    jitter
}

/// Share of the packets that are missing, and their burst ratio (G.107, equation 7-30).
fn losses(missing: impl Iterator<Item = bool>) -> (f64, f64) {
    let (mut all, mut lost, mut bursts, mut before) = (0_u64, 0_u64, 0_u64, false);
    for one in missing {
        all += 1;
        lost += u64::from(one);
        bursts += u64::from(one && !before);
        before = one;
    }
    let share = if all == 0 { f64::NAN } else { lost as f64 / all as f64 };
    if bursts == 0 || lost == all {
        return (share, 1.0);
    }
    (share, lost as f64 / bursts as f64 * (1.0 - share))
}

#[cfg(test)]
mod tests;
