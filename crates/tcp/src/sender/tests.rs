//! Two senders with the same events. One takes the short way to its next segment and through plain
//! ACKs where that is allowed, and the other one always goes by all the rules.

use congestion::Specification;
use proptest::prelude::*;

use super::*;
use crate::buffers::SendTuning;
use crate::segment::Block;
use transport::{Pacing, Space};
use units::SizeLimit;

const SPACE: Space = Space::new(7);

const TUNED: SendTuning = SendTuning {
    default: SendTuning::DEFAULT,
    max: SendTuning::MAX,
    write: SendTuning::WRITE,
    notsent_lowat: SizeLimit::UNLIMITED,
};

/// For tests: what has to hold between the numbers of a sender.
impl Sender {
    pub(crate) fn recount(&self) {
        assert!(
            self.core.stream.una <= self.core.stream.max,
            "{} acknowledged of {}",
            self.core.stream.una,
            self.core.stream.max
        );
        let end = self.core.stream.written + u64::from(self.core.stream.fin_queued);
        assert!(self.core.stream.max <= end.max(1), "{} sent of {end}", self.core.stream.max);
        if self.core.stream.una > 0 && self.core.timers.gave_up.is_none() {
            self.core.scoreboard.recount(self.core.stream.una, self.core.stream.max);
        }
        let window = self.core.controller.window();
        assert!(window.cwnd >= window.mss, "cwnd {} of {}", window.cwnd, window.mss);
        assert!(self.core.counters.retransmissions <= self.core.counters.segments);
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// The application writes bytes.
    Write(u64),
    /// It closes.
    Close,
    /// An ACK of a share of what is outstanding in percent, with a window, and with a block over
    /// the last part of what is outstanding.
    Ack { share: u64, window: u64, block: bool },
    /// Time passes, in milliseconds, and the timer expires if that is due.
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let share = prop::sample::select(vec![0, 0, 10, 50, 100]);
    let window = prop::sample::select(vec![0, 100, 3000, 20_000, 65_535]);
    let event = prop_oneof![
        3 => (1u64..20_000).prop_map(Event::Write),
        6 => (share, window, any::<bool>())
            .prop_map(|(share, window, block)| Event::Ack { share, window, block }),
        1 => (0u64..4000).prop_map(Event::Wait),
        1 => Just(Event::Close),
    ];
    prop::collection::vec(event, 1..60)
}

fn sender(config: &Config, controller: &str) -> Sender {
    let controller = Specification::named(controller).unwrap().build(&config.controller());
    let mut sender = Sender::new(config, controller);
    sender.syn_sent(Time::ZERO, config, false);
    let now = Time::ZERO + Span::from_millis(500);
    sender.syn_acknowledged(now, config, config.mss.into(), 65_535, 1, None);
    sender
}

/// Lets an event happen. With `is_short`, plain ACKs have their short way.
fn happen(sender: &mut Sender, config: &Config, now: Time, event: &Event, is_short: bool) {
    let (una, max) = (sender.stream().una, sender.stream().max);
    match *event {
        Event::Write(bytes) if !sender.stream().fin_queued => sender.write(config, bytes),
        Event::Close => sender.finish(),
        Event::Ack { share, window, block } => {
            let number = una + (max - una) * share / 100;
            let ack = Acknowledgement {
                number,
                window,
                sequence: 1,
                carries_data: false,
                round_trip: config.timestamps.then(|| Span::from_millis(100)),
                peer_clock: None,
                marked: false,
                needless: Range { start: 0, end: 0 },
                answers_probe: false,
                is_old: false,
            };
            let start = number + (max - number) / 2;
            let last = Block { start: SPACE.wrap(start), end: SPACE.wrap(max) };
            let blocks = if block && number < start { &[last][..] } else { &[] };
            if is_short && blocks.is_empty() && sender.is_plain_ack(number) {
                let advertised = (ack.sequence, window);
                return sender.on_plain_ack(now, config, number, advertised, ack.round_trip);
            }
            sender.on_acknowledgement(now, config, ack, Blocks { blocks, space: SPACE, near: una });
        }
        Event::Wait(_) if sender.deadline() <= now => sender.on_deadline(now, config, Time::ZERO),
        Event::Write(_) | Event::Wait(_) => {}
    }
}

proptest! {
    #[test]
    fn the_short_ways_are_those_of_all_rules(
        events in events(),
        controller in prop::sample::select(vec!["newreno", "cubic", "adalr", "bbr3", "vivace"]),
        recovery in prop::sample::select(vec![Recovery::NewReno, Recovery::Sack, Recovery::Linux]),
        (nagle, limited_transmit, in_a_row) in any::<(bool, bool, bool)>(),
        (is_tuned, is_paced, timestamps) in any::<(bool, bool, bool)>(),
    ) {
        let mut config =
            Config { recovery, nagle, limited_transmit, timestamps, ..Config::default() };
        if is_paced {
            config.pacing = Pacing::Linux;
        }
        config.send_tuning = is_tuned.then_some(TUNED);
        let mut short = sender(&config, controller);
        let mut long = sender(&config, controller);
        let mut now = Time::ZERO + Span::from_millis(500);
        for event in events {
            if let Event::Wait(millis) = event {
                now += Span::from_millis(millis);
            }
            happen(&mut short, &config, now, &event, true);
            happen(&mut long, &config, now, &event, false);
            while short.has_work() {
                let chunk = match in_a_row {
                    true => short.next_chunk::<true>(now, &config),
                    false => short.next_chunk::<false>(now, &config),
                };
                prop_assert_eq!(chunk, long.choose_chunk(now, &config, false));
                if !in_a_row {
                    prop_assert_eq!(format!("{short:?}"), format!("{long:?}"));
                }
                if chunk.is_none() {
                    break;
                }
            }
            transmit::end_burst(&mut short);
            // Pacing knows what waits once it has been looked for.
            let last = [&mut short, &mut long].map(|one| one.choose_chunk(now, &config, false));
            prop_assert_eq!(last[0], last[1]);
            prop_assert_eq!(format!("{short:?}"), format!("{long:?}"));
        }
    }
}

/// A controller may change its window with a segment that leaves. The timer and the departure time
/// of the next packet are then those of a sender that looks at each segment.
#[test]
fn a_row_of_segments_ends_where_the_window_has_shrunk() {
    let config = Config {
        recovery: Recovery::Linux,
        pacing: Pacing::Linux,
        send_tuning: Some(TUNED),
        ..Config::default()
    };
    let [mut short, mut long] = [sender(&config, "bbr3"), sender(&config, "bbr3")];
    let now = Time::ZERO + Span::from_millis(1600);
    for sender in [&mut short, &mut long] {
        let start = Time::ZERO + Span::from_millis(600);
        sender.write(&config, 1_000_000);
        while sender.choose_chunk(start, &config, false).is_some() {}
        let half = Event::Ack { share: 50, window: 1_000_000, block: false };
        happen(sender, &config, now, &half, false);
    }
    let first = short.next_chunk::<true>(now, &config);
    assert!(transmit::is_in_burst(&short), "a packet has several segments");
    assert_eq!(first, long.choose_chunk(now, &config, false));
    for sender in [&mut short, &mut long] {
        sender.core.controller.window_mut().cwnd = sender.core.stream.mss;
        assert_eq!(sender.next_chunk::<true>(now, &config), None);
        transmit::end_burst(sender);
    }
    assert_eq!(short.timers().deadline, long.timers().deadline);
    let departure = format!("unseen: Some({now:?})");
    assert!(format!("{:?}", short.recovery).contains(&departure), "the use of cwnd is noted");
    let pacer = |sender: &mut Sender| format!("{:?}", sender.core.pacer());
    assert_eq!(pacer(&mut short), pacer(&mut long));
}
