//! A terminal at random access: its packet, its retries, and when it gives up.

use link::uniform;
use rand_xoshiro::rand_core::Rng;

use super::below;

/// Rules of retries. Times are in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// From a packet's frame to its loss, if no acknowledgement has arrived: more than the round
    /// trip.
    pub timeout: u32,
    /// Window of the first back-off: a retry waits for 1 to this number of frames.
    pub window: u32,
    /// Number of times that the window doubles, once for each retry. Zero: a fixed back-off.
    pub doublings: u32,
    /// Most times that a packet is sent.
    pub most: u32,
}

/// A terminal in a frame: it sends, or it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Sends its packet in this frame.
    Send,
    /// Sends nothing.
    Wait,
}

/// A packet was sent as often as the rules allow, without an acknowledgement. The terminal asks for
/// an assignment now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaveUp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// It has a packet, which it may send from a frame on.
    Ready { from: u64 },
    /// It waits for the acknowledgement of its packet, until a frame.
    Sent { until: u64 },
}

/// One terminal with at most one packet on the channel.
#[derive(Clone, Debug, Default)]
pub struct Contender {
    rules: Retries,
    state: State,
    /// Times that the packet was sent.
    tries: u32,
}

impl Contender {
    /// A terminal without a packet.
    pub fn new(rules: Retries) -> Self {
        Self { rules, state: State::Idle, tries: 0 }
    }

    /// True if it has no packet on the channel.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Takes a packet, which may be sent in the frame `frame` or later. The terminal must be idle.
    pub fn offer(&mut self, frame: u64) {
        debug_assert!(self.is_idle(), "one packet at a time");
        self.state = State::Ready { from: frame };
        self.tries = 0;
    }

    /// The next frame in which [`Contender::turn`] may do something, if there is one.
    pub fn due(&self) -> Option<u64> {
        match self.state {
            State::Idle => None,
            State::Ready { from } => Some(from),
            State::Sent { until } => Some(until),
        }
    }

    /// Decides for the frame `frame`, where `access` is the probability that the
    /// gateway has announced.
    ///
    /// # Errors
    ///
    /// If the packet was lost for the last time. The terminal is idle then.
    pub fn turn(&mut self, frame: u64, access: f64, random: &mut impl Rng) -> Result<Turn, GaveUp> {
        if let State::Sent { until } = self.state
            && frame >= until
        {
            if self.tries >= self.rules.most {
                self.state = State::Idle;
                return Err(GaveUp);
            }
            let wait = 1 + below(self.window(), random);
            self.state = State::Ready { from: frame + wait - 1 };
        }
        let State::Ready { from } = self.state else { return Ok(Turn::Wait) };
        if frame < from {
            return Ok(Turn::Wait);
        }
        if uniform(random) >= access {
            self.state = State::Ready { from: frame + 1 };
            return Ok(Turn::Wait);
        }
        self.tries += 1;
        self.state = State::Sent { until: frame + u64::from(self.rules.timeout) };
        Ok(Turn::Send)
    }

    /// The packet is sent in assigned slots instead. If it is on its way, the terminal still waits
    /// for its acknowledgement or its timeout.
    pub fn withdraw(&mut self, frame: u64) {
        match self.state {
            State::Sent { until } if frame < until => {}
            _ => self.state = State::Idle,
        }
    }

    /// The gateway has acknowledged the packet.
    pub fn acknowledged(&mut self) {
        if matches!(self.state, State::Sent { .. }) {
            self.state = State::Idle;
        }
    }

    /// Window of the next back-off, in frames.
    fn window(&self) -> u64 {
        let doublings = self.tries.saturating_sub(1).min(self.rules.doublings);
        u64::from(self.rules.window.max(1)) << doublings.min(31)
    }
}

#[cfg(test)]
mod tests {
    use link::{Purpose, stream};

    use super::*;

    const RULES: Retries = Retries { timeout: 6, window: 4, doublings: 2, most: 3 };

    #[test]
    fn a_packet_is_repeated_until_it_is_acknowledged() {
        let mut random = stream(1, Purpose::Application, 0);
        let mut terminal = Contender::new(RULES);
        terminal.offer(10);
        assert_eq!(terminal.due(), Some(10));
        assert_eq!(terminal.turn(10, 1.0, &mut random), Ok(Turn::Send));
        assert_eq!(terminal.due(), Some(16));
        let mut frame = 16;
        while terminal.turn(frame, 1.0, &mut random) == Ok(Turn::Wait) {
            frame += 1;
        }
        assert!((16..20).contains(&frame), "a back-off of {frame} - 16 frames from 0 to 3");
        terminal.acknowledged();
        assert!(terminal.is_idle());
    }

    #[test]
    fn a_packet_is_given_up_after_its_last_try() {
        let mut random = stream(2, Purpose::Application, 0);
        let mut terminal = Contender::new(RULES);
        terminal.offer(0);
        let (mut frame, mut sent) = (0, 0);
        loop {
            match terminal.turn(frame, 1.0, &mut random) {
                Ok(Turn::Send) => sent += 1,
                Ok(Turn::Wait) => {}
                Err(GaveUp) => break,
            }
            frame += 1;
        }
        assert_eq!(sent, 3);
        assert!(terminal.is_idle() && terminal.due().is_none());
    }

    #[test]
    fn the_window_doubles_with_each_retry_up_to_its_limit() {
        let mut terminal = Contender::new(RULES);
        let mut window = |tries| {
            terminal.tries = tries;
            terminal.window()
        };
        assert_eq!([1, 2, 3, 4].map(&mut window), [4, 8, 16, 16]);
    }

    #[test]
    fn an_announced_probability_delays_the_first_try_geometrically() {
        let mut random = stream(3, Purpose::Application, 0);
        let mut frames = 0;
        for _ in 0..4000 {
            let mut terminal = Contender::new(RULES);
            terminal.offer(0);
            let mut frame = 0;
            while terminal.turn(frame, 0.25, &mut random) == Ok(Turn::Wait) {
                frame += 1;
            }
            frames += frame;
        }
        // Mean 3 with a standard error of 0.055.
        let mean = f64::from(u32::try_from(frames).expect("small")) / 4000.0;
        assert!((mean - 3.0).abs() < 0.2, "{mean}");
    }
}
