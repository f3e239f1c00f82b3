//! A speed test as customers run it: several connections, for a time each way, with the latency
//! before it and under load.
//!
//! Responsiveness is the number of round trips in a minute at the mean latency under load, as in
//! draft-ietf-ippm-responsiveness. Probes have one connection of their own, which is open before
//! the load. Probes on the loaded connections and the set-up of new connections are not part of it.

use units::{Span, Time};

use crate::{Delays, Percentiles};

/// A customer at `to` tests the connection to a server at `from`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Settings {
    /// Parallel connections with data in one direction. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub connections: u32,
    /// Duration of the test in each direction. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s", "x-maximum" = "600s")))]
    pub duration: Span,
    /// Beginning of this duration that does not count for the rate, less than the duration.
    #[cfg_attr(feature = "schema", schemars(extend("x-maximum" = "600s")))]
    pub warm_up: Span,
    /// Time before the download in which only probes are sent.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s", "x-maximum" = "600s")))]
    pub idle: Span,
    /// Time between download and upload, in which queues empty.
    #[cfg_attr(feature = "schema", schemars(extend("x-maximum" = "600s")))]
    pub pause: Span,
    /// Time from one probe to the next.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "60s")))]
    pub probe_interval: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 8,
            duration: Span::from_secs(10),
            warm_up: Span::from_secs(3),
            idle: Span::from_secs(5),
            pause: Span::from_secs(3),
            probe_interval: Span::from_millis(250),
        }
    }
}

/// Bytes of a probe and of its answer.
pub const PROBE: u64 = 64;

/// Time after the upload for which answers to probes are waited for.
const LINGER: Span = Span::from_secs(30);

/// A direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From `from` to `to`.
    Download,
    /// From `to` to `from`.
    Upload,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Open the connections of a direction, and send without end.
    Load(Way),
    /// Report the bytes that have arrived in a direction.
    Measure(Way),
    /// Send no more in a direction.
    Unload(Way),
    /// Send a probe.
    Probe,
    /// Nothing before this time.
    Wait(Time),
    /// All is done.
    Over,
}

/// A speed test.
#[derive(Clone, Debug)]
pub struct SpeedTest {
    settings: Settings,
    start: Time,
    /// Steps that are planned, the next one last.
    plan: Vec<(Time, Step)>,
    probes: Delays,
    /// For each direction, time and bytes at the begin and at the end of the measurement.
    measured: [Vec<(Time, u64)>; 2],
    stopped: bool,
}

/// Figures of a speed test. What was not measured is not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Rate of the download in bit/s.
    pub download_bps: f64,
    /// Rate of the upload in bit/s.
    pub upload_bps: f64,
    /// Latency without load.
    pub idle: Percentiles,
    /// Latency during the download.
    pub download: Percentiles,
    /// Latency during the upload.
    pub upload: Percentiles,
    /// Round trips in a minute at the mean latency under load.
    pub responsiveness_rpm: f64,
}

impl SpeedTest {
    /// A test that starts at `start`.
    pub fn new(settings: Settings, start: Time) -> Self {
        let [download, upload] = Self::starts(&settings, start);
        let mut plan = Vec::new();
        for (way, from) in [(Way::Download, download), (Way::Upload, upload)] {
            let end = from + settings.duration;
            plan.push((from, Step::Load(way)));
            plan.push((from + settings.warm_up, Step::Measure(way)));
            plan.push((end, Step::Measure(way)));
            plan.push((end, Step::Unload(way)));
        }
        plan.reverse();
        let (probes, measured) = (Delays::default(), Default::default());
        Self { settings, start, plan, probes, measured, stopped: false }
    }

    /// When the load of both directions starts.
    fn starts(settings: &Settings, start: Time) -> [Time; 2] {
        let download = start + settings.idle;
        [download, download + settings.duration + settings.pause]
    }

    fn end(&self) -> Time {
        Self::starts(&self.settings, self.start)[1] + self.settings.duration
    }

    /// The next step at `now`; call it again until it waits or is over.
    pub fn step(&mut self, now: Time) -> Step {
        if self.stopped {
            return self.plan.pop().map_or(Step::Over, |(_, step)| match step {
                Step::Unload(_) => step,
                _ => self.step(now),
            });
        }
        let probe = self.start + self.settings.probe_interval.times(self.probes.sent());
        let probe = if probe < self.end() { probe } else { Time::NEVER };
        let planned = self.plan.last().map_or(Time::NEVER, |(at, _)| *at);
        let due = probe.min(planned);
        if due == Time::NEVER {
            return self.after_the_last(now);
        }
        if due > now {
            return Step::Wait(due);
        }
        if planned <= probe {
            return self.plan.pop().map_or(Step::Over, |(_, step)| step);
        }
        self.probes.send(probe);
        Step::Probe
    }

    fn after_the_last(&self, now: Time) -> Step {
        let until = self.end() + LINGER;
        let has_all = self.probes.arrived() == self.probes.sent();
        if has_all || now >= until { Step::Over } else { Step::Wait(until) }
    }

    /// Bytes that have arrived in a direction, in answer to [`Step::Measure`].
    pub fn measure(&mut self, now: Time, way: Way, bytes: u64) {
        self.measured[way as usize].push((now, bytes));
    }

    /// The answer to the probe with this number has arrived.
    pub fn on_answer(&mut self, now: Time, number: u64) {
        self.probes.arrive(number, now);
    }

    /// Returns true if nothing but the last answers is missing.
    pub fn is_at_its_end(&self) -> bool {
        self.plan.is_empty()
    }

    /// Ends the test before its time.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns true if it was stopped before its end.
    pub fn is_cut_short(&self) -> bool {
        self.stopped && self.measured[Way::Upload as usize].len() < 2
    }

    /// The figures so far.
    pub fn figures(&self) -> Figures {
        let rate = |way: Way| match self.measured[way as usize][..] {
            [(begin, before), (end, after)] if end > begin => {
                (after - before) as f64 * 8.0 / end.since(begin).as_secs_f64()
            }
            _ => f64::NAN,
        };
        let [download, upload] = Self::starts(&self.settings, self.start);
        let Settings { warm_up, duration, .. } = self.settings;
        let idle = self.probes.between(self.start, download);
        let loaded = [download, upload].map(|at| self.probes.between(at + warm_up, at + duration));
        let delays = loaded.iter().flat_map(Delays::milliseconds);
        let (count, sum) = delays.fold((0_u32, 0.0), |(count, sum), one| (count + 1, sum + one));
        Figures {
            download_bps: rate(Way::Download),
            upload_bps: rate(Way::Upload),
            idle: idle.percentiles(),
            download: loaded[0].percentiles(),
            upload: loaded[1].percentiles(),
            responsiveness_rpm: if count == 0 { f64::NAN } else { 60e3 * f64::from(count) / sum },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// Runs a test whose directions carry 1 MB and 0.5 MB in a second, with the latency of `delay`.
    fn tested(delay: impl Fn(Time) -> u64) -> (SpeedTest, Vec<Step>) {
        let mut test = SpeedTest::new(Settings::default(), at(10));
        let (mut now, mut steps, mut number) = (at(10), Vec::new(), 0);
        loop {
            match test.step(now) {
                Step::Wait(until) => now = until,
                Step::Over => return (test, steps),
                Step::Probe => {
                    test.on_answer(now + Span::from_millis(delay(now)), number);
                    number += 1;
                }
                step => {
                    steps.push(step);
                    if let Step::Measure(way) = step {
                        let per_second = if way == Way::Download { 1e6 } else { 5e5 };
                        test.measure(now, way, (now.as_secs_f64() * per_second) as u64);
                    }
                }
            }
        }
    }

    #[test]
    fn both_directions_are_loaded_one_after_the_other_and_measured_after_the_warm_up() {
        let (test, steps) = tested(|now| if now < at(15) { 600 } else { 1200 });
        let of = |way| [Step::Load(way), Step::Measure(way), Step::Measure(way), Step::Unload(way)];
        assert_eq!(steps, [of(Way::Download), of(Way::Upload)].concat());
        let figures = test.figures();
        assert_eq!((figures.download_bps, figures.upload_bps), (8e6, 4e6));
        assert_eq!(
            (figures.idle.p50, figures.download.p50, figures.upload.p95),
            (600.0, 1200.0, 1200.0)
        );
        assert!((figures.responsiveness_rpm - 50.0).abs() < 1e-9);
        // 28 seconds, four probes in each.
        assert_eq!(test.probes.sent(), 112);
        assert!(!test.is_cut_short());
    }

    #[test]
    fn a_test_that_is_stopped_unloads_and_has_no_rate_of_what_it_did_not_measure() {
        let mut test = SpeedTest::new(Settings::default(), at(0));
        while !matches!(test.step(at(6)), Step::Wait(_)) {}
        test.stop();
        let mut steps = Vec::new();
        loop {
            match test.step(at(7)) {
                Step::Over => break,
                step => steps.push(step),
            }
        }
        assert_eq!(steps, [Step::Unload(Way::Download), Step::Unload(Way::Upload)]);
        assert!(test.is_cut_short() && test.figures().download_bps.is_nan());
    }
}
