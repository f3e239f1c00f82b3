//! Adaptive coding and modulation (ACM): the modem of a link chooses what it sends by the quality
//! of the signal, so that a fade takes rate before it takes packets.
//!
//! The attenuation of a link is known before the run. So all choices are computed in advance, and
//! become changes of the rate, as those of an event or of a trace. A packet only pays for a link
//! that changes.
//!
//! The receiver measures Es/N0 every `interval`, and the sender follows `delay` later. It takes the
//! most efficient modulation and code that needs at most the measured Es/N0 less `margin`. To a
//! more efficient one it goes only if `hysteresis` is left too. A packet that passes while Es/N0 is
//! below the threshold of the choice is lost: the fade was faster than the control loop, or too
//! deep for every choice.
//!
//! Decisions:
//! - A threshold is a step: above it no packet is lost, below it every one is. The codes of DVB-S2
//!   go from quasi error free to useless within some tenths of a decibel.
//! - At the start of a run the loop has settled.
//! - The rate of a packet is that at the start of its transmission, as with every change of a link.
//!   Its loss is decided at its last bit.
//! - Frames of the physical layer are not modelled: their headers are in the efficiency, and their
//!   length and the padding of the last one are left out. `overhead` can stand for encapsulation.

mod modcods;

use units::{Rate, Span, Time};

use crate::channel::{Fade, Outage, first_instant, noise_rise};
use crate::dynamics::{Change, Timeline};
use crate::mechanism::{Mechanism, Provenance};

pub use modcods::Modcod;

/// The key of scenarios that takes a modem.
const KEY: &str = "link.channel.modem";
const KIND: &str = "adaptive coding and modulation";
const HURTS: &str = "Fades that are faster than the control loop: packets are lost until the sender follows. A margin against that costs rate all the time. Senders that keep the rate of clear sky fill the queue.";

const DVB_S2: Mechanism = Mechanism {
    name: "dvb-s2",
    key: KEY,
    kind: KIND,
    source: "ETSI EN 302 307-1 V1.4.1, 2014, table 13 (modulations, codes, thresholds)",
    status: Provenance::Reconstructed,
    hurts: HURTS,
};

const DVB_S2X: Mechanism = Mechanism {
    name: "dvb-s2x",
    key: KEY,
    kind: KIND,
    source: "ETSI EN 302 307-2 V1.1.1, 2014, table 20a (modulations, codes, thresholds)",
    status: Provenance::Reconstructed,
    hurts: HURTS,
};

/// A modem with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Modem {
    /// DVB-S2: 28 modulations and codes from QPSK 1/4 to 32APSK 9/10.
    #[cfg_attr(feature = "schema", serde(rename = "dvb-s2"))]
    DvbS2(ModemSettings),
    /// DVB-S2X: those of DVB-S2 and 39 more, from QPSK 2/9 to 256APSK 3/4.
    #[cfg_attr(feature = "schema", serde(rename = "dvb-s2x"))]
    DvbS2x(ModemSettings),
}

/// Parameters of a modem.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct ModemSettings {
    /// Bandwidth of the carrier in Hz. The symbol rate is the bandwidth divided by 1 + `roll_off`.
    /// The default is that of a common transponder.
    #[cfg_attr(feature = "schema", schemars(range(min = 10_000, max = 10_000_000_000.0)))]
    pub bandwidth: f64,
    /// Roll-off of the pulse: 0.35, 0.25 or 0.2 in DVB-S2, and also 0.15, 0.1 and 0.05 in DVB-S2X.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub roll_off: f64,
    /// Es/N0 in dB that is left above the threshold of a choice when it is made. The default is our
    /// choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 50)))]
    pub margin: f64,
    /// Further Es/N0 in dB that must be left for a more efficient choice. The default is our
    /// choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 50)))]
    pub hysteresis: f64,
    /// Time between measurements of Es/N0. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub interval: Span,
    /// Delay of the control loop: time from a measurement to the first packet that follows it. The
    /// default is a round trip over a geostationary satellite.
    pub delay: Span,
}

impl Default for ModemSettings {
    fn default() -> Self {
        Self {
            bandwidth: 36e6,
            roll_off: 0.2,
            margin: 0.5,
            hysteresis: 0.5,
            interval: Span::from_millis(100),
            delay: Span::from_millis(500),
        }
    }
}

impl ModemSettings {
    /// Symbols per second.
    pub fn symbol_rate(&self) -> f64 {
        self.bandwidth / (1.0 + self.roll_off)
    }

    /// Data rate of a choice, in whole bits per second.
    #[expect(clippy::cast_possible_truncation, reason = "the bandwidth is bounded")]
    pub fn rate(&self, modcod: &Modcod) -> Rate {
        Rate::from_bits_per_second((self.symbol_rate() * modcod.efficiency).round() as u64)
    }
}

crate::list_of_mechanisms! {
    Modem {
        DvbS2 => DVB_S2,
        DvbS2x => DVB_S2X,
    }
}

impl Modem {
    /// Its parameters.
    pub fn settings(&self) -> &ModemSettings {
        match self {
            Self::DvbS2(settings) | Self::DvbS2x(settings) => settings,
        }
    }

    /// Its choices, the most robust first. Choices that need more than a more efficient one are
    /// left out.
    pub fn modcods(&self) -> Vec<Modcod> {
        let more: &[Modcod] = match self {
            Self::DvbS2(_) => &[],
            Self::DvbS2x(_) => &modcods::DVB_S2X,
        };
        let mut all: Vec<_> = modcods::DVB_S2.iter().chain(more).copied().collect();
        all.sort_by(|a, b| {
            b.efficiency.total_cmp(&a.efficiency).then(a.threshold.total_cmp(&b.threshold))
        });
        let mut least = f64::INFINITY;
        all.retain(|one| {
            let is_best = one.threshold < least;
            least = least.min(one.threshold);
            is_best
        });
        all.reverse();
        all
    }
}

/// The signal of a link at its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Es/N0 in dB in clear sky, Es being the energy of a symbol.
    pub es_n0: f64,
    /// Noise temperature of the receiving system in clear sky, in K; `None` if rain does not add
    /// noise.
    pub system_temperature: Option<f64>,
    /// Attenuation over time.
    pub fade: Fade,
}

impl Signal {
    /// Es/N0 in dB behind `attenuation` dB.
    pub fn behind(&self, attenuation: f64) -> f64 {
        self.es_n0 - attenuation - noise_rise(self.system_temperature, attenuation)
    }

    /// Es/N0 in dB at an instant.
    pub fn at(&self, now: Time) -> f64 {
        self.behind(self.fade.at_any(now))
    }
}

/// The choices of a modem during a run, and when packets are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Acm {
    modem: Modem,
    signal: Signal,
    modcods: Vec<Modcod>,
    /// When each choice begins, and its number; the first at the start.
    choices: Vec<(Time, usize)>,
    rates: Timeline,
    outages: Vec<Outage>,
}

impl Acm {
    /// Computes the choices of a run of `duration`.
    pub fn new(modem: Modem, signal: Signal, duration: Span) -> Self {
        Self::among(modem.modcods(), modem, signal, duration)
    }

    /// The same with a choice among some of the modem's modulations and codes, the most robust
    /// first.
    pub fn among(modcods: Vec<Modcod>, modem: Modem, signal: Signal, duration: Span) -> Self {
        let choices = choices(modem.settings(), &signal, &modcods, duration);
        let change = |&(at, choice): &(Time, usize)| Change {
            at: at.since(Time::ZERO),
            every: None,
            rate: Some(modem.settings().rate(&modcods[choice])),
            delay: None,
            outage: None,
            loss: None,
        };
        let rates = Timeline::new(choices.iter().skip(1).map(change).collect());
        let outages = outages(&signal, &modcods, &choices);
        Self { modem, signal, modcods, choices, rates, outages }
    }

    /// The modem.
    pub fn modem(&self) -> &Modem {
        &self.modem
    }

    /// The signal.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The choice at an instant.
    pub fn choice(&self, now: Time) -> &Modcod {
        let number = self.choices.partition_point(|(at, _)| *at <= now).saturating_sub(1);
        &self.modcods[self.choices[number].1]
    }

    /// When each choice begins, and its number among [`modcods`](Self::modcods); the first at the
    /// start.
    pub fn choices(&self) -> &[(Time, usize)] {
        &self.choices
    }

    /// Its possible choices, the most robust first.
    pub fn modcods(&self) -> &[Modcod] {
        &self.modcods
    }

    /// The data rate at the start.
    pub fn rate(&self) -> Rate {
        self.modem.settings().rate(self.choice(Time::ZERO))
    }

    /// The changes of the rate.
    pub fn rates(&self) -> &Timeline {
        &self.rates
    }

    /// Times at which all packets are lost, in their order.
    pub fn outages(&self) -> &[Outage] {
        &self.outages
    }

    /// Es/N0 in dB that the most robust choice needs.
    pub fn least(&self) -> f64 {
        self.modcods[0].threshold
    }
}

/// The best choice for a measured Es/N0; the most robust one, if none fits.
fn best(modcods: &[Modcod], es_n0: f64) -> usize {
    modcods.iter().rposition(|one| one.threshold <= es_n0).unwrap_or(0)
}

fn choices(
    settings: &ModemSettings,
    signal: &Signal,
    modcods: &[Modcod],
    duration: Span,
) -> Vec<(Time, usize)> {
    let &ModemSettings { margin, hysteresis, interval, delay, .. } = settings;
    let mut choice = best(modcods, signal.at(Time::ZERO) - margin);
    let mut choices = vec![(Time::ZERO, choice)];
    if signal.fade.samples().len() < 2 {
        return choices;
    }
    let (mut now, mut piece) = (Time::ZERO, 0);
    while now.since(Time::ZERO) < duration {
        piece = signal.fade.advance(piece, now);
        let left = signal.behind(signal.fade.at(piece, now)) - margin;
        let next = if left < modcods[choice].threshold {
            best(modcods, left)
        } else {
            best(modcods, left - hysteresis).max(choice)
        };
        if next != choice {
            choice = next;
            choices.push((now + delay, choice));
        }
        now += interval;
    }
    choices
}

/// When Es/N0 is below the threshold of the choice.
fn outages(signal: &Signal, modcods: &[Modcod], choices: &[(Time, usize)]) -> Vec<Outage> {
    let mut outages: Vec<Outage> = Vec::new();
    let mut add = |from: Time, to: Time| match outages.last_mut() {
        Some((_, end)) if *end == from => *end = to,
        _ => outages.push((from, to)),
    };
    let ends = choices.iter().skip(1).map(|(at, _)| *at).chain([Time::NEVER]);
    let mut piece = 0;
    for (&(start, choice), end) in choices.iter().zip(ends) {
        let threshold = modcods[choice].threshold;
        piece = signal.fade.advance(piece, start);
        let mut from = start;
        while from < end {
            let to = signal.fade.span(piece).1.min(end);
            // Attenuation is a straight line here, so Es/N0 crosses the threshold at most once.
            let is_lost =
                |nanos| signal.behind(signal.fade.at(piece, Time::from_nanos(nanos))) < threshold;
            if is_lost(from.as_nanos()) {
                add(from, first_instant(from, to, |nanos| !is_lost(nanos)).unwrap_or(to));
            } else if let Some(lost) = first_instant(from, to, is_lost) {
                add(lost, to);
            }
            from = to;
            piece = signal.fade.advance(piece, from);
        }
    }
    outages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(seconds)
    }

    /// A fade of 10 dB within `ramp` seconds from 10 s on, and back after a minute.
    fn fade(ramp: f64) -> Fade {
        let samples =
            [(0.0, 0.0), (10.0, 0.0), (10.0 + ramp, 10.0), (70.0, 10.0), (70.0 + ramp, 0.0)];
        Fade::new(samples.map(|(at, attenuation)| (seconds(at), attenuation)).into()).unwrap()
    }

    fn acm(modem: Modem, es_n0: f64, fade: Fade) -> Acm {
        let signal = Signal { es_n0, system_temperature: None, fade };
        Acm::new(modem, signal, Span::from_secs(200))
    }

    fn dvb_s2(change: impl FnOnce(&mut ModemSettings)) -> Modem {
        let mut settings = ModemSettings::default();
        change(&mut settings);
        Modem::DvbS2(settings)
    }

    #[test]
    fn a_choice_is_the_best_that_the_signal_allows() {
        let rate = |es_n0| {
            let acm = acm(dvb_s2(|_| ()), es_n0, Fade::constant(0.0));
            (acm.choice(Time::ZERO).name, acm.rate().bits_per_second(), acm.outages().len())
        };
        // 36 MHz with a roll-off of 0.2 are 30 million symbols per second, and half a dB is left.
        assert_eq!(rate(11.53), ("16APSK 4/5", 94_968_690, 0));
        assert_eq!(rate(11.52), ("16APSK 3/4", 89_001_840, 0));
        assert_eq!(rate(40.0), ("32APSK 9/10", 133_590_810, 0));
        // Less than the margin, and then less than the most robust one needs.
        assert_eq!(rate(-2.0), ("QPSK 1/4", 14_707_290, 0));
        assert_eq!(rate(-2.4), ("QPSK 1/4", 14_707_290, 1));
    }

    #[test]
    fn no_choice_needs_more_than_one_that_carries_more() {
        for (modem, number) in Modem::all().into_iter().zip([22, 46]) {
            let modcods = modem.modcods();
            assert!(modcods.is_sorted_by(|a, b| a.threshold < b.threshold), "{}", modem.name());
            assert!(modcods.is_sorted_by(|a, b| a.efficiency < b.efficiency), "{}", modem.name());
            assert_eq!(modcods.len(), number, "{}", modem.name());
        }
    }

    #[test]
    fn a_slow_fade_takes_rate_and_no_packets() {
        // 10 dB in 40 s are 0.25 dB/s: 0.15 dB within interval and delay, and half a dB is left.
        let acm = acm(dvb_s2(|_| ()), 15.5, fade(40.0));
        assert_eq!(acm.outages(), []);
        let rates: Vec<_> = [0.0, 60.0, 150.0].map(|at| acm.choice(seconds(at)).name).into();
        assert_eq!(rates, ["32APSK 5/6", "QPSK 4/5", "32APSK 5/6"]);
        assert!(acm.rates().changes().len() > 10);
    }

    #[test]
    fn a_fast_fade_takes_packets_until_the_sender_follows() {
        // 10 dB in a second: half a dB is gone within the interval and the delay of the loop.
        let acm = acm(dvb_s2(|_| ()), 15.0, fade(1.0));
        let [(from, to)] = acm.outages() else { panic!("{:?}", acm.outages()) };
        // 32APSK 5/6 needs 14.28 dB, which is left at 10.072 s.
        assert!(from.since(seconds(10.072)) < Span::from_millis(1), "{from}");
        let last =
            acm.rates().changes().iter().take_while(|change| change.at < Span::from_secs(20));
        assert_eq!(Time::ZERO + last.last().unwrap().at, *to, "until the last step down");
        // A margin of the whole fade loses nothing.
        let careful = dvb_s2(|settings| settings.margin = 10.0);
        let signal = Signal { es_n0: 15.0, system_temperature: None, fade: fade(1.0) };
        assert_eq!(Acm::new(careful, signal, Span::from_secs(200)).outages(), []);
    }

    #[test]
    fn hysteresis_keeps_a_choice_where_the_signal_trembles() {
        let samples = (0..400).map(|n| (seconds(f64::from(n) * 0.5), f64::from(n % 2) * 0.3));
        let fade = Fade::new(samples.collect()).unwrap();
        let changes = |hysteresis: f64| {
            let modem = dvb_s2(|settings| settings.hysteresis = hysteresis);
            // 14.28 dB and the margin are crossed each half second.
            acm(modem, 14.9, fade.clone()).rates().changes().len()
        };
        assert!(changes(0.0) > 300, "{}", changes(0.0));
        assert_eq!(changes(0.5), 1);
    }

    /// The definition, millisecond by millisecond.
    #[test]
    fn packets_are_lost_exactly_while_the_choice_needs_more_than_there_is() {
        let acm = acm(dvb_s2(|settings| settings.margin = 0.0), 13.0, fade(5.0));
        assert!(!acm.outages().is_empty());
        for millis in 0..200_000 {
            let now = Time::ZERO + Span::from_millis(millis);
            let lost = acm.outages().iter().any(|(from, to)| (*from..*to).contains(&now));
            assert_eq!(lost, acm.signal().at(now) < acm.choice(now).threshold, "{now}");
        }
    }

    /// Rain of 3 dB shines with half of its 275 K into a receiver of 137.5 K, and doubles its
    /// noise.
    #[test]
    fn rain_adds_its_noise_to_its_attenuation() {
        let signal = |system_temperature| {
            let signal = Signal { es_n0: 15.0, system_temperature, fade: Fade::constant(0.0) };
            signal.behind(10.0 * 2.0_f64.log10())
        };
        assert!((signal(None) - (15.0 - 3.0103)).abs() < 1e-4, "{}", signal(None));
        let behind = signal(Some(137.5));
        assert!((behind - (15.0 - 2.0 * 3.0103)).abs() < 1e-4, "{behind}");
    }
}
