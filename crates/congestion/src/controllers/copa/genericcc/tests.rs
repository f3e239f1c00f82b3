use super::*;
use crate::parameters::Value;
use crate::parts::test_path::{MSS, TestPath, settings};

const RTT: Span = Span::from_millis(100);
/// 1000 packets per second: a BDP of 100 packets.
const RATE: f64 = 1e6;

fn copa(competitive: &str) -> GenericCopa {
    let mut values = Values::defaults(GenericCopa::LISTED[0].parameters);
    values.set("copa", "competitive", Value::Word(competitive.to_owned())).unwrap();
    let mut copa = GenericCopa::build(&settings(), &values);
    copa.start = Some(Time::ZERO);
    copa
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// `update_intersend_time`: nothing before `2 * num_probe_pkts - 1` ACKs, then a packet with each.
#[test]
fn slow_start_begins_with_the_twentieth_ack_and_adds_a_packet_with_each() {
    let mut copa = copa("on");
    let mut windows = Vec::new();
    for ack in 1..=22 {
        copa.acknowledge(at(100 + ack), RTT, 0);
        windows.push((ack, copa.state.cwnd, copa.state.pacing.is_some()));
    }
    assert_eq!(
        windows[18..],
        [(19, 10.0, false), (20, 11.0, true), (21, 12.0, true), (22, 13.0, true)]
    );
    // 2 * 13 packets in 100 ms.
    assert_eq!(copa.pacing_rate(), Some(260.0 * MSS as f64));
}

/// `update_amt` doubles with each RTT in the same direction, and is halved above delta cwnd.
#[test]
fn the_velocity_doubles_at_once_and_is_bounded() {
    let mut velocity = Velocity::START;
    let mut values = Vec::new();
    for round in 1..=4 {
        velocity.take(101.0 * f64::from(round), 100.0, 6.0);
        velocity.balance = 1;
        values.push(velocity.value);
    }
    assert_eq!(values, [2.0, 4.0, 4.0, 4.0]);
    velocity.take(450.0, 100.0, 6.0);
    assert_eq!(velocity.value, 4.0, "not before an RTT is over");
    velocity.balance = -1;
    velocity.take(505.0, 100.0, 6.0);
    assert_eq!((velocity.value, velocity.direction), (1.0, -1));
    velocity.balance = -1;
    velocity.take(606.0, 100.0, 6.0);
    assert_eq!(velocity.value, 2.0);
}

/// `update_delta`: 1 / delta grows by one in an RTT, each ACK that shows a loss doubles delta, and
/// an RTT after that a nearly empty queue restores it.
#[test]
fn each_ack_that_shows_a_loss_doubles_delta() {
    let mut changes = Changes::default();
    let delta = changes.delta((101.0, 100.0), (1.0, 0.5), true, false);
    assert_eq!(delta, 1.0 / 3.0);
    assert_eq!(changes.delta((150.0, 100.0), (delta, 0.5), true, false), delta, "once in an RTT");
    let delta = changes.delta((202.0, 100.0), (delta, 0.5), true, false);
    assert_eq!(delta, 0.25);
    let delta = changes.delta((203.0, 0.0), (delta / 2.0, 0.5), true, true);
    assert_eq!(delta, 0.25);
    assert_eq!(changes.delta((204.0, 0.0), (delta, 0.5), true, true), 0.5);
    assert_eq!(changes.delta((250.0, 100.0), (0.1, 0.5), false, false), 0.1);
    assert_eq!(changes.delta((305.0, 100.0), (0.1, 0.5), false, false), 0.5);
}

/// `ReduceOnLoss`: more than 30 % of more than 20 packets, once in two RTTs.
#[test]
fn heavy_losses_leave_seven_tenths_of_the_window() {
    let mut copa = copa("on");
    copa.state.cwnd = 50.0;
    for ack in 0..14 {
        copa.acknowledge(at(150 + ack), RTT, 0);
    }
    copa.acknowledge(at(199), RTT, 6);
    assert_eq!(copa.state.cwnd, 50.0, "two RTTs are not over");
    copa.acknowledge(at(201), RTT, 4);
    assert_eq!(copa.state.cwnd, 35.0);
}

/// `ctcp.hh` calls `init` after a timeout.
#[test]
fn a_timeout_begins_again() {
    let mut path = TestPath::new(copa("off"), RATE, RTT);
    path.follows_rtt = true;
    path.run(Span::from_secs(5), |_| ());
    assert!(path.controller.window.cwnd > 60 * MSS);
    path.controller.on_timeout(&Loss { now: path.now, flight: 0, repeated: false });
    let copa = &path.controller;
    assert_eq!((copa.window.cwnd, copa.pacing_rate()), (10 * MSS, None));
    assert!(copa.state.is_starting && copa.state.rtts.smoothed.is_none());
}

/// The paper's section 2.1: about 1 / delta packets of a flow wait.
#[test]
fn a_flow_uses_the_path_with_a_short_queue() {
    let mut path = TestPath::new(copa("off"), RATE, RTT);
    path.follows_rtt = true;
    path.run(Span::from_secs(10), |_| ());
    let start = path.delivered;
    let (mut sum, mut count) = (0.0, 0);
    path.run(Span::from_secs(10), |path| {
        sum += path.queue() / MSS as f64;
        count += 1;
    });
    let share = (path.delivered - start) as f64 / 10.0 / RATE;
    assert!(share > 0.95, "{share}");
    assert!((1.0..10.0).contains(&(sum / f64::from(count))), "{}", sum / f64::from(count));
}
