//! Requests and answers of given sizes at a period: games, terminals, sensors.

use units::{Bytes, Rate, Span, Time};

use crate::Delays;

/// Time after the last request for which datagrams are waited for.
const LINGER: Span = Span::from_secs(5);

/// Requests of `to` and answers of `from`, one after the other at a period.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Settings {
    /// Bytes of each request. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "8B", "x-maximum" = "1GB")))]
    pub request: Bytes,
    /// Bytes of each answer. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "8B", "x-maximum" = "1GB")))]
    pub answer: Bytes,
    /// Time from a request to the next one. The default is our choice: 30 requests in a second.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "100us")))]
    pub interval: Span,
    /// Number of requests. Default: until the flow stops.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000_000)))]
    pub count: Option<u32>,
    /// Bound of the delay, of which the share that exceeds it is reported, as of 100ms, 150ms and
    /// 300ms. Default: none.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1us")))]
    pub deadline: Option<Span>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            request: Bytes(100),
            answer: Bytes(400),
            interval: Span::from_nanos(33_333_333),
            count: None,
            deadline: None,
        }
    }
}

impl Settings {
    /// Bit rate of the answers.
    pub fn rate(&self) -> Rate {
        let bits = u128::from(self.answer.get()) * 8_000_000_000;
        let rate = bits / u128::from(self.interval.as_nanos().max(1));
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }
}

/// Requests and their answers.
#[derive(Clone, Debug)]
pub struct Messages {
    settings: Settings,
    start: Time,
    /// True if a message may be lost.
    may_lose: bool,
    requests: Delays,
    answers: Delays,
    /// From the request to its answer.
    responses: Delays,
    /// For each request, the number of its answer once that is sent.
    answered: Vec<Option<u64>>,
    stopped: bool,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the request with this number.
    Ask(u64),
    /// Nothing before this time.
    Wait(Time),
    /// Nothing before a message arrives.
    Listen,
    /// All is done.
    Over,
}

/// Delays of all messages.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// One way, of requests.
    pub requests: &'a Delays,
    /// One way, of answers.
    pub answers: &'a Delays,
    /// From a request to the arrival of its answer.
    pub responses: &'a Delays,
}

impl Messages {
    /// Messages from `start` on, some of which may be lost.
    pub fn new(settings: Settings, start: Time, may_lose: bool) -> Self {
        Self {
            settings,
            start,
            may_lose,
            requests: Delays::default(),
            answers: Delays::default(),
            responses: Delays::default(),
            answered: Vec::new(),
            stopped: false,
        }
    }

    /// The next step at `now`. With a clock that is late, requests that are due follow at once.
    pub fn step(&mut self, now: Time) -> Step {
        let number = self.requests.sent();
        if self.has_sent_all() {
            return self.after_the_last(now);
        }
        let due = self.start + self.settings.interval.times(number);
        if due > now {
            return Step::Wait(due);
        }
        self.requests.send(due);
        self.responses.send(due);
        self.answered.push(None);
        Step::Ask(number)
    }

    fn after_the_last(&self, now: Time) -> Step {
        if self.has_everything() {
            return Step::Over;
        }
        if !self.may_lose {
            return Step::Listen;
        }
        let last = self.requests.sent().saturating_sub(1);
        let until = self.start + self.settings.interval.times(last) + LINGER;
        if now >= until { Step::Over } else { Step::Wait(until) }
    }

    /// Sends no more requests.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns true if it was stopped before the last request.
    pub fn is_cut_short(&self) -> bool {
        self.stopped && self.settings.count.is_some_and(|count| self.requests.sent() < count.into())
    }

    /// Returns true if there is no request to send any more.
    pub fn has_sent_all(&self) -> bool {
        let sent = self.requests.sent();
        self.stopped || self.settings.count.is_some_and(|count| sent >= count.into())
    }

    /// Returns true if all requests have their answers.
    pub fn has_everything(&self) -> bool {
        self.responses.arrived() == self.responses.sent()
    }

    /// A request has arrived. Returns true if it is to be answered.
    pub fn on_request(&mut self, now: Time, number: u64) -> bool {
        let place = usize::try_from(number).ok().and_then(|place| self.answered.get_mut(place));
        let Some(answered @ None) = place else { return false };
        *answered = Some(self.answers.send(now));
        self.requests.arrive(number, now);
        true
    }

    /// An answer has arrived, by the number of its request.
    pub fn on_answer(&mut self, now: Time, number: u64) {
        let place = usize::try_from(number).ok().and_then(|place| self.answered.get(place));
        let Some(Some(answer)) = place else { return };
        self.answers.arrive(*answer, now);
        self.responses.arrive(number, now);
    }

    /// Delays so far.
    pub fn measured(&self) -> Measured<'_> {
        let Self { requests, answers, responses, .. } = self;
        Measured { requests, answers, responses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn settings() -> Settings {
        Settings { interval: Span::from_millis(50), count: Some(3), ..Settings::default() }
    }

    #[test]
    fn each_request_has_one_answer_and_three_delays() {
        let mut messages = Messages::new(settings(), ms(1000), true);
        assert_eq!(messages.step(ms(1000)), Step::Ask(0));
        assert_eq!(messages.step(ms(1000)), Step::Wait(ms(1050)));
        assert_eq!(messages.step(ms(1100)), Step::Ask(1));
        assert_eq!(messages.step(ms(1100)), Step::Ask(2));
        assert!(messages.on_request(ms(1260), 0));
        // A duplicate is not answered, and neither is a request that was not sent.
        assert!(!messages.on_request(ms(1261), 0) && !messages.on_request(ms(1261), 3));
        messages.on_answer(ms(1510), 0);
        // The answer to a request that has not arrived does not count.
        messages.on_answer(ms(1510), 1);
        let measured = messages.measured();
        assert_eq!(measured.requests.percentiles().p50, 260.0);
        assert_eq!(measured.answers.percentiles().p50, 250.0);
        assert_eq!(measured.responses.percentiles().p50, 510.0);
        assert_eq!(measured.responses.arrived(), 1);
        assert_eq!(messages.step(ms(1510)), Step::Wait(ms(1100) + LINGER));
        assert_eq!(messages.step(ms(1100) + LINGER), Step::Over);
    }

    #[test]
    fn a_stream_that_loses_nothing_waits_for_all_answers() {
        let mut messages = Messages::new(settings(), ms(0), false);
        for number in 0..3 {
            assert_eq!(messages.step(ms(100)), Step::Ask(number));
        }
        assert_eq!(messages.step(ms(90_000)), Step::Listen);
        for number in 0..3 {
            assert!(messages.on_request(ms(90_000), number));
            messages.on_answer(ms(91_000), number);
        }
        assert_eq!(messages.step(ms(91_000)), Step::Over);
        assert!(!messages.is_cut_short());
    }

    #[test]
    fn messages_that_are_stopped_before_the_last_are_cut_short() {
        let mut messages = Messages::new(settings(), ms(0), true);
        assert_eq!(messages.step(ms(0)), Step::Ask(0));
        messages.stop();
        assert!(messages.is_cut_short());
        messages.on_request(ms(10), 0);
        messages.on_answer(ms(20), 0);
        assert_eq!(messages.step(ms(60)), Step::Over);
    }
}
