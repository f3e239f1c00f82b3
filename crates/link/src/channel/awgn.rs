//! A satellite link under rain. The link budget gives Eb/N0, the code gives the bit error rate, and
//! the demodulator may lose the signal completely.

use std::sync::Arc;

use units::Time;

use super::code::Code;
use super::fade::{Fade, Piece};
use super::lock::{Lock, Outage};
use super::threshold;

/// Temperature of rain in K, as the receiver sees it.
const RAIN: f64 = 275.0;

/// QPSK over white Gaussian noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Eb/N0 in dB in clear sky, Eb being the energy of an information bit.
    pub eb_n0: f64,
    /// Error-correcting code.
    pub code: Code,
    /// Wrong bits in one error event; see [`Budget::packet_error_rate`].
    pub errors_per_event: f64,
    /// Noise temperature of the receiving system in clear sky, in K; `None` if rain does not
    /// add noise.
    pub system_temperature: Option<f64>,
    /// Attenuation over time.
    pub fade: Fade,
    /// Loss of lock of the demodulator; `None` is never.
    pub lock: Option<Lock>,
}

/// A link budget with all its outages.
#[derive(Clone, Debug, PartialEq)]
pub struct Awgn {
    budget: Budget,
    outages: Vec<Outage>,
}

impl Budget {
    /// Eb/N0 in dB behind `attenuation` dB: rain weakens the signal and, being warm, adds noise.
    pub fn eb_n0(&self, attenuation: f64) -> f64 {
        self.eb_n0 - attenuation - self.noise_rise(attenuation)
    }

    /// By how many dB noise rises behind `attenuation` dB.
    pub fn noise_rise(&self, attenuation: f64) -> f64 {
        noise_rise(self.system_temperature, attenuation)
    }

    /// Probability that a packet of `bytes` is corrupted at `eb_n0` dB.
    ///
    /// PER = 1 - (1 - BER / e)^N for N bits and e wrong bits per error event. With e = 1 errors
    /// are independent, which overstates the losses behind a decoder: its errors come in bursts,
    /// and a burst corrupts one packet, not e of them.
    pub fn packet_error_rate(&self, eb_n0: f64, bytes: u32) -> f64 {
        let events = self.code.bit_error_rate(eb_n0) / self.errors_per_event;
        -libm::expm1(f64::from(bytes) * 8.0 * libm::log1p(-events))
    }
}

/// By how many dB noise rises: rain that lets a share L = 10^(-A/10) through shines with T (1 - L).
/// The clear sky's noise from behind the rain is not deducted.
pub(crate) fn noise_rise(system_temperature: Option<f64>, attenuation: f64) -> f64 {
    match system_temperature {
        Some(system) if attenuation > 0.0 => {
            let rain = RAIN * (1.0 - libm::exp10(-attenuation / 10.0));
            10.0 * libm::log10((system + rain) / system)
        }
        _ => 0.0,
    }
}

impl Awgn {
    /// Computes when the demodulator has no lock.
    pub fn new(budget: Budget) -> Self {
        let outages = budget.lock.map_or_else(Vec::new, |lock| {
            lock.outages(&budget.fade, |attenuation| budget.eb_n0(attenuation))
        });
        Self { budget, outages }
    }

    /// The link budget that it was made from.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// All times without lock, in their order.
    pub fn outages(&self) -> &[Outage] {
        &self.outages
    }
}

/// A channel of this kind at work: where it stands in its fade and among its outages.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    awgn: Arc<Awgn>,
    piece: Piece,
    outage: usize,
    bounds: Bounds,
}

/// Least and greatest packet error rate of one length within one piece of the fade.
#[derive(Clone, Debug)]
struct Bounds {
    piece: Piece,
    bytes: u32,
    least: u64,
    most: u64,
}

impl Receiver {
    pub fn new(awgn: Arc<Awgn>) -> Self {
        let bounds = Bounds { piece: Piece::MAX, bytes: 0, least: 0, most: 0 };
        Self { awgn, piece: 0, outage: 0, bounds }
    }

    /// Returns true if a packet of `bytes` that passes at `now` is corrupted, given its `draw`.
    ///
    /// A curve costs some hundred times a comparison. The packet error rate never falls as
    /// attenuation rises, so the two ends of a piece decide for nearly all packets in it, and only
    /// a draw between the two needs the rate of its own instant. Not inlined, so that the path of
    /// a perfect channel stays short.
    #[inline(never)]
    pub fn corrupts(&mut self, draw: u64, now: Time, bytes: u32) -> bool {
        let fade = &self.awgn.budget.fade;
        self.piece = fade.advance(self.piece, now);
        if self.is_out(now) {
            return true;
        }
        if (self.bounds.piece, self.bounds.bytes) != (self.piece, bytes) {
            let (from, to) = self.awgn.budget.fade.ends(self.piece);
            let [from, to] = [from, to].map(|attenuation| self.corrupt(attenuation, bytes));
            let (piece, least, most) = (self.piece, from.min(to), from.max(to));
            self.bounds = Bounds { piece, bytes, least, most };
        }
        if draw < self.bounds.least {
            true
        } else if draw >= self.bounds.most {
            false
        } else {
            draw < self.corrupt(self.awgn.budget.fade.at(self.piece, now), bytes)
        }
    }

    fn is_out(&mut self, now: Time) -> bool {
        let outages = &self.awgn.outages;
        while outages.get(self.outage).is_some_and(|(_, to)| *to <= now) {
            self.outage += 1;
        }
        outages.get(self.outage).is_some_and(|(from, _)| *from <= now)
    }

    fn corrupt(&self, attenuation: f64, bytes: u32) -> u64 {
        let budget = &self.awgn.budget;
        threshold(budget.packet_error_rate(budget.eb_n0(attenuation), bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Span;

    use super::super::fade::tests::fades;
    use super::*;

    fn budget(eb_n0: f64, code: Code) -> Budget {
        Budget {
            eb_n0,
            code,
            errors_per_event: code.errors_per_event(),
            system_temperature: None,
            fade: Fade::constant(0.0),
            lock: None,
        }
    }

    /// Counted with a decoder: packets of 12,000 bits behind soft decisions at rate 3/4.
    const COUNTED: [(f64, f64, f64); 5] = [
        (4.0, 4.4e-4, 0.39),
        (4.5, 9.2e-5, 0.126),
        (5.0, 2.1e-5, 0.034),
        (5.5, 1.8e-6, 0.003),
        (6.0, 7.6e-7, 0.0016),
    ];

    /// PER of 12,000 bits of which one event in each `errors_per_event` wrong bits is made.
    fn rule(ber: f64, errors_per_event: f64) -> f64 {
        -libm::expm1(12_000.0 * libm::log1p(-ber / errors_per_event))
    }

    #[test]
    fn seven_bits_per_event_give_the_packet_losses_that_were_counted() {
        for (eb_n0, ber, counted) in COUNTED {
            let ratio = rule(ber, 7.0) / counted;
            assert!((0.7..1.5).contains(&ratio), "{eb_n0} dB: {ratio}");
        }
    }

    #[test]
    fn independent_errors_overstate_the_packet_losses_of_a_decoder() {
        for (eb_n0, ber, counted) in COUNTED {
            let ratio = rule(ber, 1.0) / counted;
            assert!((2.5..7.5).contains(&ratio), "{eb_n0} dB: {ratio}");
        }
    }

    /// The whole chain, from Eb/N0 on: the bound of the code costs another factor at the points
    /// of which few events were counted.
    #[test]
    fn the_union_bound_loses_about_as_many_packets_as_a_decoder() {
        for (eb_n0, _, counted) in &COUNTED[..3] {
            let per = budget(*eb_n0, Code::Viterbi).packet_error_rate(*eb_n0, 1500);
            assert!((0.6..2.0).contains(&(per / counted)), "{eb_n0} dB: {per}");
        }
    }

    #[test]
    fn without_a_code_bits_are_wrong_independently() {
        let ber = Code::Uncoded.bit_error_rate(9.59);
        let per = budget(9.59, Code::Uncoded).packet_error_rate(9.59, 1500);
        assert!((per - (1.0 - (1.0 - ber).powi(12_000))).abs() < 1e-12, "{per}");
    }

    #[test]
    fn rain_weakens_the_signal_and_adds_noise() {
        let dry = budget(12.0, Code::Sequential);
        assert_eq!(dry.eb_n0(5.0), 7.0);
        let budget = Budget { system_temperature: Some(150.0), ..dry };
        // 3.0103 dB let half of the signal through: 150 K + 137.5 K.
        let expected = 12.0 - 3.0103 - 10.0 * (287.5f64 / 150.0).log10();
        assert!((budget.eb_n0(3.0103) - expected).abs() < 1e-5, "{}", budget.eb_n0(3.0103));
        assert_eq!(budget.eb_n0(0.0), 12.0);
        assert_eq!(budget.eb_n0(-0.5), 12.5);
    }

    #[test]
    fn an_outage_begins_and_ends_with_the_nanosecond() {
        let at = Time::from_nanos;
        let samples = vec![(at(0), 0.0), (at(10), 20.0), (at(11), 20.0), (at(21), 0.0)];
        let lock = Lock { threshold: 5.0, hysteresis: 0.0, reacquisition: Span::ZERO };
        let fade = Fade::new(samples).unwrap();
        let awgn = Awgn::new(Budget { fade, lock: Some(lock), ..budget(15.0, Code::Uncoded) });
        assert_eq!(awgn.outages(), [(at(6), at(16))]);
        let mut receiver = Receiver::new(Arc::new(awgn));
        // A draw that no weather corrupts.
        let lost = [5, 6, 15, 16].map(|nanos| receiver.corrupts(u64::MAX, at(nanos), 40));
        assert_eq!(lost, [false, true, true, false]);
    }

    fn budgets() -> impl Strategy<Value = Budget> {
        let code = prop::sample::select(Code::ALL.map(|(_, code)| code).to_vec());
        let lock = (0.0..8.0f64, 0.0..2.0f64, 0u64..2000);
        let lock = lock.prop_map(|(threshold, hysteresis, reacquisition)| Lock {
            threshold,
            hysteresis,
            reacquisition: Span::from_nanos(reacquisition),
        });
        let temperature = prop::option::of(10.0..500.0f64);
        (5.0..20.0f64, code, temperature, fades(), prop::option::of(lock)).prop_map(
            |(eb_n0, code, system_temperature, fade, lock)| Budget {
                system_temperature,
                fade,
                lock,
                ..budget(eb_n0, code)
            },
        )
    }

    proptest! {
        #[test]
        fn a_short_cut_over_the_ends_of_a_piece_changes_no_packet(
            budget in budgets(),
            packets in prop::collection::vec((0u64..900, any::<u64>(), prop::bool::ANY), 1..60),
        ) {
            let awgn = Arc::new(Awgn::new(budget));
            let mut receiver = Receiver::new(awgn.clone());
            let mut now = Time::ZERO;
            for (step, draw, full) in packets {
                now += Span::from_nanos(step);
                let bytes = if full { 1500 } else { 52 };
                let budget = awgn.budget();
                let attenuation = budget.fade.at(budget.fade.advance(0, now), now);
                let per = budget.packet_error_rate(budget.eb_n0(attenuation), bytes);
                let out = awgn.outages().iter().any(|(from, to)| (*from..*to).contains(&now));
                let expected = out || draw < threshold(per);
                prop_assert_eq!(receiver.corrupts(draw, now, bytes), expected);
            }
        }

        #[test]
        fn more_rain_never_loses_fewer_packets(
            budget in budgets(), attenuation in -1.0..30.0f64, more in 0.0..5.0f64,
        ) {
            let per = |attenuation| budget.packet_error_rate(budget.eb_n0(attenuation), 1500);
            prop_assert!(per(attenuation) <= per(attenuation + more));
        }
    }
}
