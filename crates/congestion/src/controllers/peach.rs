//! TCP-Peach: dummy segments of low priority probe for unused capacity.
//!
//! Source: I. F. Akyildiz, G. Morabito, S. Palazzo, "TCP-Peach: a new congestion control scheme for
//! satellite IP networks", IEEE/ACM Transactions on Networking 9(3), 2001. Sudden Start and Rapid
//! Recovery stand in `probing`, with what is reconstructed of them. The probes are dummies: copies
//! of the segment that was sent last, from which the receiver takes nothing.

use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::parameters::Values;
use crate::parts::probing::{IGNORED, Kind, PROBES_PER_ACK, Probing};
use crate::tcp_policy::Probe;
use crate::window::Settings;

/// Copies of the last segment.
#[derive(Clone, Debug)]
pub struct Dummies;

impl Kind for Dummies {
    const PROBE: Probe = Probe::Dummy;
}

/// TCP-Peach.
pub type Peach = Probing<Dummies>;

impl Listed for Peach {
    const LISTED: &'static [Entry] = &[Entry {
        name: "peach",
        summary: "Dummy segments of low priority tell a loss by an error from congestion",
        source: "Akyildiz, Morabito and Palazzo, TCP-Peach, 2001",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: &[PROBES_PER_ACK, IGNORED],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers that drop low priority first"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, values, None)
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::controller::Controller;
    use crate::events::{Ack, Feedback, Loss};
    use crate::tcp_policy::{ProbeState, TcpPolicy};

    const MSS: u64 = 1000;
    const RTT: u64 = 500;

    fn peach() -> Peach {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        Peach::build(&settings, &Values::defaults(Peach::LISTED[0].parameters))
    }

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// The receiver advertises 50 segments.
    fn state(milliseconds: u64) -> ProbeState {
        ProbeState {
            now: at(milliseconds),
            srtt: Some(Span::from_millis(RTT)),
            advertised: 50 * MSS,
        }
    }

    fn ack(milliseconds: u64) -> Ack {
        Ack {
            now: at(milliseconds),
            acked: MSS,
            flight: 0,
            advertised: 50 * MSS,
            srtt: Some(Span::from_millis(RTT)),
            min_rtt: Some(Span::from_millis(RTT)),
            cwnd_limited: true,
        }
    }

    fn loss(flight: u64, repeated: bool) -> Loss {
        Loss { now: at(10_000), flight, repeated }
    }

    fn feedback() -> Feedback {
        Feedback {
            now: at(10_000),
            acked: 0,
            sacked: 0,
            duplicate: true,
            recovering: true,
            round_trip: None,
            srtt: Some(Span::from_millis(RTT)),
            min_rtt: None,
            acknowledged: 0,
            sent: 0,
            pipe: 0,
            advertised: 50 * MSS,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: None,
        }
    }

    /// A connection in congestion avoidance.
    fn steady(segments: u64) -> Peach {
        let mut peach = peach();
        peach.on_loss(&loss(0, false));
        peach.on_recovery_exit(at(5000));
        peach.window_mut().cwnd = segments * MSS;
        peach.window_mut().ssthresh = segments * MSS;
        peach
    }

    /// A loss, recovery on `acks` duplicate ACKs, and `answers` to the dummies afterwards. Returns
    /// how many dummies were sent.
    fn lose(peach: &mut Peach, acks: u64, answers: u64) -> u64 {
        peach.on_loss(&loss(0, false));
        let mut dummies = 0;
        for _ in 0..acks {
            peach.on_feedback(&feedback());
            while peach.take_probe(&state(10_000)).is_some() {
                dummies += 1;
            }
        }
        peach.on_recovery_exit(at(10_500));
        for _ in 0..answers {
            peach.on_probe_answered(&state(11_000));
        }
        dummies
    }

    #[test]
    fn without_congestion_all_dummies_return_and_the_window_is_what_it_was() {
        let mut peach = steady(40);
        assert_eq!(lose(&mut peach, 36, 40), 40);
        assert_eq!(peach.window().cwnd, 40 * MSS);
    }

    #[test]
    fn with_congestion_half_of_them_return_and_the_window_is_that_of_reno() {
        let mut peach = steady(40);
        assert_eq!(lose(&mut peach, 36, 20), 40);
        assert_eq!(peach.window().cwnd, 20 * MSS);
    }

    #[test]
    fn each_answer_beyond_half_adds_a_segment() {
        let mut peach = steady(40);
        lose(&mut peach, 36, 27);
        assert_eq!(peach.window().cwnd, 27 * MSS);
    }

    #[test]
    fn an_answer_during_a_long_recovery_counts_when_it_ends() {
        let mut peach = steady(40);
        peach.on_loss(&loss(0, false));
        for _ in 0..25 {
            peach.on_probe_answered(&state(10_500));
        }
        peach.on_recovery_exit(at(11_000));
        assert_eq!(peach.window().cwnd, 25 * MSS);
    }

    #[test]
    fn recovery_sends_two_dummies_on_each_ack_and_never_more_than_the_window_was() {
        let mut peach = steady(5);
        peach.on_loss(&loss(0, false));
        let mut dummies = Vec::new();
        for _ in 0..4 {
            peach.on_feedback(&feedback());
            let due = std::iter::from_fn(|| peach.take_probe(&state(10_000)));
            dummies.push(due.inspect(|probe| assert_eq!(*probe, Probe::Dummy)).count());
        }
        assert_eq!(dummies, [2, 2, 1, 0]);
    }

    #[test]
    fn recovery_that_is_over_sends_no_dummies() {
        let mut peach = steady(40);
        assert_eq!(lose(&mut peach, 10, 0), 20);
        peach.on_feedback(&feedback());
        assert_eq!(peach.take_probe(&state(10_600)), None);
    }

    #[test]
    fn sudden_start_fills_one_round_trip_with_dummies_at_even_distances() {
        let mut peach = peach();
        assert_eq!(peach.take_probe(&state(0)), None);
        let mut times = Vec::new();
        while peach.probe_deadline() != Time::NEVER {
            let due = peach.probe_deadline().as_nanos() / 1_000_000;
            assert_eq!(peach.take_probe(&state(due)), Some(Probe::Dummy));
            assert_eq!(peach.take_probe(&state(due)), None);
            times.push(due);
        }
        let expected: Vec<_> = (1..50).map(|n| n * 10).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn each_answer_of_sudden_start_adds_a_segment_up_to_the_advertised_window() {
        let mut peach = peach();
        peach.take_probe(&state(0));
        peach.on_ack(&ack(RTT));
        for _ in 0..30 {
            peach.on_probe_answered(&state(RTT + 10));
        }
        assert_eq!(peach.window().cwnd, 32 * MSS);
        for _ in 0..30 {
            peach.on_probe_answered(&state(RTT + 10));
        }
        assert_eq!(peach.window().cwnd, 50 * MSS);
    }

    #[test]
    fn congestion_avoidance_follows_after_two_round_trips() {
        let mut peach = peach();
        peach.take_probe(&state(0));
        for _ in 0..19 {
            peach.on_probe_answered(&state(RTT + 10));
        }
        peach.on_ack(&ack(2 * RTT));
        assert_eq!(peach.window().ssthresh, 20 * MSS);
        assert_eq!(peach.window().cwnd, 20 * MSS + MSS / 20);
    }

    #[test]
    fn without_a_round_trip_time_there_is_slow_start_and_no_dummy() {
        let mut peach = peach();
        assert_eq!(peach.take_probe(&ProbeState { srtt: None, ..state(0) }), None);
        assert_eq!(peach.probe_deadline(), Time::NEVER);
        peach.on_ack(&ack(RTT));
        assert_eq!(peach.window().cwnd, 2 * MSS);
    }

    #[test]
    fn a_timeout_begins_again_and_forgets_the_dummies_before() {
        for repeated in [false, true] {
            let mut peach = steady(40);
            peach.on_loss(&loss(0, false));
            peach.on_feedback(&feedback());
            peach.on_timeout(&loss(0, repeated));
            assert_eq!(peach.window().cwnd, MSS);
            assert_eq!(peach.take_probe(&state(20_000)), None);
            assert_eq!(peach.probe_deadline(), at(20_010));
            peach.on_probe_answered(&state(20_100));
            assert_eq!(peach.window().cwnd, 2 * MSS);
        }
    }

    #[test]
    fn a_train_that_nobody_asked_for_in_time_is_not_made_up_for() {
        let mut peach = peach();
        peach.take_probe(&state(0));
        assert_eq!(peach.take_probe(&state(2 * RTT)), None);
        assert_eq!(peach.probe_deadline(), Time::NEVER);
    }

    #[test]
    fn a_hundred_thousand_segments_and_a_second_do_not_overflow() {
        let mut peach = peach();
        let wide = |milliseconds| ProbeState {
            srtt: Some(Span::from_secs(1)),
            advertised: u64::MAX,
            ..state(milliseconds)
        };
        peach.take_probe(&wide(0));
        for _ in 0..100_000 {
            peach.on_probe_answered(&wide(1500));
        }
        assert_eq!(peach.window().cwnd, 100_001 * MSS);
        for _ in 0..50 {
            lose(&mut peach, 200_000, 200_000);
        }
        assert!(peach.window().cwnd >= 100_001 * MSS);
        for _ in 0..50 {
            peach.on_timeout(&loss(0, true));
        }
        assert_eq!(peach.window().cwnd, MSS);
    }
}
