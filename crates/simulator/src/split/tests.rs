//! Four ends and two lossy wires: client, gateway, server.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use congestion::{AnyController, Specification};
use generate::Dice;
use middlebox::conduct::{self, End, Step};
use middlebox::{Accept, Policy};
use proptest::prelude::*;
use tcp::{Config, Connection, Segment, State};
use transport::Endpoint;
use units::{Bytes, SizeLimit, Span, Time};

use super::*;

/// The client, the gateway's two ends, the server. Neighbours in a pair are joined by a wire.
const CLIENT: usize = 0;
const NEAR: usize = 1;
const FAR: usize = 2;
const SERVER: usize = 3;

const RELAY: u64 = 64 * 1024;
const SEND_BUFFER: u64 = 100_000;
const RECEIVE_BUFFER: u64 = 150_000;

struct Lab {
    now: Time,
    ends: [Connection; 4],
    split: Split,
    admission: Admission<NodeId>,
    /// Arrival, order, end, number of the segment.
    flying: BinaryHeap<Reverse<(Time, u64, usize)>>,
    segments: Vec<Segment>,
    delays: [Span; 2],
    loss: f64,
    dice: Dice,
    resets_sent: [u32; 4],
    /// The server, which had stalled, reads.
    reads_now: bool,
    /// Resets of ends that were not done.
    early_resets: u32,
    /// Ends whose connection was established.
    was_open: [bool; 4],
}

fn specification(name: &str) -> Specification {
    Specification::named(name).unwrap()
}

fn connection(controller: &Specification, at_gateway: bool, reads: bool) -> Connection {
    let config = Config {
        reads_at_once: reads && !at_gateway,
        recovery: controller.entry().repair.into(),
        receive_buffer: Bytes(RECEIVE_BUFFER),
        send_buffer: if at_gateway {
            SizeLimit::of(Bytes(SEND_BUFFER))
        } else {
            SizeLimit::UNLIMITED
        },
        user_timeout: Some(Span::from_secs(600)),
        ..Config::default()
    };
    let built: AnyController = controller.build(&config.controller());
    Connection::new(Arc::new(config), built, 7)
}

impl Lab {
    fn new(near: &Specification, far: &Specification, seed: u64, loss: f64, stalled: bool) -> Self {
        let reno = specification("newreno");
        let ends = [
            connection(&reno, false, true),
            connection(near, true, true),
            connection(far, true, true),
            connection(&reno, false, !stalled),
        ];
        // The client is where the data comes from, in the words of flows.
        let numbers = [EndpointId(1), EndpointId(2)];
        Self {
            now: Time::ZERO,
            ends,
            split: Split::new(numbers, Side::Sender, NodeId(2), 1, RELAY),
            admission: Admission::default(),
            flying: BinaryHeap::new(),
            segments: Vec::new(),
            delays: [Span::from_millis(5), Span::from_millis(250)],
            loss,
            dice: Dice::new(seed),
            resets_sent: [0; 4],
            reads_now: false,
            early_resets: 0,
            was_open: [false; 4],
        }
    }

    fn accepting(mut self, accept: Accept) -> Self {
        self.admission = Admission::new(Policy { accept, ..Policy::default() });
        self
    }

    fn open(mut self, server_listens: bool) -> Self {
        self.ends[NEAR].listen_on_hold();
        if server_listens {
            self.ends[SERVER].listen();
        }
        self.ends[CLIENT].connect();
        self
    }

    fn drive(&mut self) {
        let [_, near, far, _] = &mut self.ends;
        self.split.drive(self.now, [near, far], [0; 2], &mut self.admission);
    }

    /// Sends all that can be sent.
    fn flush(&mut self) {
        for number in 0..self.ends.len() {
            while let Some(segment) = self.ends[number].next_packet(self.now) {
                if segment.flags.contains(tcp::Flags::RST) {
                    self.resets_sent[number] += 1;
                }
                if self.dice.chance(self.loss) {
                    continue;
                }
                let at = self.now + self.delays[number / 2];
                self.flying.push(Reverse((at, self.segments.len() as u64, number ^ 1)));
                self.segments.push(segment);
            }
        }
    }

    /// The next event. Returns whether there was one before `until`.
    fn step(&mut self, until: Time) -> bool {
        self.drive();
        self.flush();
        let timer = self.ends.iter().map(Connection::deadline).min().unwrap();
        let arrival = self.flying.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        let next = timer.min(arrival);
        if next > until {
            return false;
        }
        self.now = next;
        if arrival <= timer {
            let Reverse((_, segment, end)) = self.flying.pop().unwrap();
            let segment = self.segments[segment as usize];
            let before = self.ends[end].state();
            self.ends[end].on_segment(self.now, &segment);
            self.was_open[end] |= self.ends[end].is_established();
            // A reset in TIME-WAIT comes from an end that is done already (RFC 1337).
            let is_early = self.ends[end].abort_cause().is_some() && before != State::TimeWait;
            self.early_resets += u32::from(is_early && before != State::Closed);
        } else {
            for end in &mut self.ends {
                if end.deadline() <= self.now {
                    end.on_deadline(self.now);
                }
            }
        }
        true
    }

    fn run(&mut self, seconds: u64) {
        let until = self.now + Span::from_secs(seconds);
        let mut events = 0;
        while self.step(until) {
            events += 1;
            assert!(events < 3_000_000, "the run does not end");
        }
    }

    /// Bytes of the end's stream that have arrived at the far end of the proxy.
    fn arrived(&self, at: usize) -> u64 {
        self.ends[at].delivered() + self.ends[at].unread()
    }

    fn is_over(&self) -> bool {
        let over = |end: &Connection| matches!(end.state(), State::Closed | State::TimeWait);
        self.ends.iter().all(over)
    }
}

fn plain(seed: u64, loss: f64) -> Lab {
    Lab::new(&specification("cubic"), &specification("hybla"), seed, loss, false).open(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_bytes_sent_arrive_both_ways_and_every_connection_ends(
        up in 0..400_000_u64,
        down in 0..400_000_u64,
        loss in prop_oneof![Just(0.0), 0.0..0.05f64],
        seed: u64,
        client_closes_first: bool,
    ) {
        let mut lab = plain(seed, loss);
        let order = if client_closes_first { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        lab.ends[CLIENT].write(up);
        lab.ends[SERVER].write(down);
        lab.ends[order[0]].close();
        lab.run(2);
        prop_assert!(!lab.is_over(), "one direction is open");
        lab.ends[order[1]].close();
        lab.run(1200);
        prop_assert_eq!(lab.arrived(SERVER), up);
        prop_assert_eq!(lab.arrived(CLIENT), down);
        prop_assert_eq!(lab.split.discarded(), [0, 0]);
        prop_assert_eq!(lab.split.held([&lab.ends[NEAR], &lab.ends[FAR]], [0; 2]), [0, 0]);
        prop_assert!(lab.is_over(), "{:?}", lab.ends.each_ref().map(Connection::state));
        prop_assert_eq!(lab.early_resets, 0);
    }

    #[test]
    fn what_a_leg_that_dies_takes_with_it_is_counted(
        up in 1..2_000_000_u64,
        down in 1..2_000_000_u64,
        // Half of them while connections are set up.
        dies_at in prop_oneof![1..60_u64, 60..6000_u64],
        who in prop::sample::select(vec![CLIENT, NEAR, FAR, SERVER]),
        seed: u64,
    ) {
        let mut lab = plain(seed, 0.002);
        lab.ends[CLIENT].write(up);
        lab.ends[SERVER].write(down);
        let until = lab.now + Span::from_millis(dies_at);
        while lab.step(until) {}
        lab.now = until;
        lab.ends[who].abort();
        lab.run(1200);
        let [towards_server, towards_client] = lab.split.discarded();
        // What a host acknowledged without the gateway's knowing is not lost.
        let taken = |gateway: usize| lab.ends[gateway].delivered() + lab.ends[gateway].unread();
        prop_assert!(taken(NEAR) <= lab.arrived(SERVER) + towards_server);
        prop_assert!(taken(FAR) <= lab.arrived(CLIENT) + towards_client);
        prop_assert_eq!(taken(NEAR), lab.ends[FAR].acknowledged() + towards_server);
        prop_assert_eq!(taken(FAR), lab.ends[NEAR].acknowledged() + towards_client);
        // A client that gives up before the gateway has its connection leaves a gateway that
        // listens (RFC 9293, 3.10.7.4: a reset in SYN-RECEIVED after a passive open).
        let was_taken = lab.ends[NEAR].state() != State::Listen;
        prop_assert!(was_taken || who == CLIENT);
        let gateway_aborted = [NEAR, FAR].map(|end| lab.ends[end].abort_cause().is_some());
        prop_assert_eq!(gateway_aborted, [was_taken; 2]);
        prop_assert!(lab.ends[CLIENT].abort_cause().is_some() || lab.ends[SERVER].abort_cause().is_some());
    }
}

/// The place of an end among the ends of the lab.
fn place(end: End) -> usize {
    match end {
        End::Client => CLIENT,
        End::Server => SERVER,
    }
}

impl Lab {
    /// Runs until `is_done`, and says whether it was within a time.
    fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) -> bool {
        let most = self.now + Span::from_secs(2000);
        while !is_done(self) && self.now < most {
            // A reader that began late takes what has come.
            let reader = &mut self.ends[SERVER];
            if self.reads_now {
                let unread = reader.unread();
                reader.read(unread);
            }
            self.run(1);
        }
        is_done(self)
    }

    /// Does a step of a case, or checks it.
    fn take(&mut self, step: Step, name: &str) {
        match step {
            Step::Write(end, bytes) => self.ends[place(end)].write(bytes),
            Step::Close(end) => self.ends[place(end)].close(),
            Step::Reset(end) => self.ends[place(end)].abort(),
            Step::Read(end) => {
                assert_eq!(end, End::Server, "only a server stalls");
                self.reads_now = true;
            }
            Step::Pass => self.run(3),
            Step::Stopped(end) => {
                assert_eq!(end, End::Client, "only a server stalls");
                self.run(100);
                let taken = self.ends[NEAR].delivered();
                let most = RECEIVE_BUFFER + SEND_BUFFER + RELAY;
                assert_eq!(self.arrived(SERVER), RECEIVE_BUFFER, "{name}");
                assert_eq!(taken, most, "{name}: server, send buffer and relay are full");
                let before = self.ends[CLIENT].acknowledged();
                assert_eq!(before, taken + self.ends[NEAR].unread(), "{name}");
                assert!(self.ends[NEAR].unread() <= RECEIVE_BUFFER, "{name}");
                self.run(100);
                assert_eq!(
                    self.ends[CLIENT].acknowledged(),
                    before,
                    "{name}: the window is closed"
                );
            }
            Step::Receives(end, bytes) => {
                let all = self.run_until(|lab| lab.arrived(place(end)) >= bytes);
                assert!(all, "{name}: {} of {bytes}", self.arrived(place(end)));
                self.run(20);
                assert_eq!(self.arrived(place(end)), bytes, "{name}");
            }
            Step::Ended(end) => {
                let ended = self.run_until(|lab| lab.ends[place(end)].peer_has_finished());
                assert!(ended && self.ends[place(end)].abort_cause().is_none(), "{name}");
            }
            Step::Open(end) => {
                self.run(3);
                assert!(!self.ends[place(end)].peer_has_finished(), "{name}");
            }
            Step::WasReset(end) => {
                self.run_until(|lab| lab.ends[place(end)].abort_cause().is_some());
                let cause = self.ends[place(end)].abort_cause();
                assert_eq!(cause, Some(AbortCause::Reset), "{name}");
                assert!(self.was_open[place(end)], "{name}: refused");
            }
            Step::Refused(end) => {
                self.run_until(|lab| lab.ends[place(end)].abort_cause().is_some());
                let cause = self.ends[place(end)].abort_cause();
                assert_eq!(cause, Some(AbortCause::Reset), "{name}");
                assert!(!self.was_open[place(end)], "{name}: it was open");
            }
        }
    }
}

/// Late answers with every controller on the far side: none may depend on when the client was
/// answered.
#[test]
fn split_connections_behave_as_the_table_of_both_backends_has_it() {
    let near = specification("cubic");
    for far in congestion::entries().map(|entry| specification(entry.name)) {
        let name = far.entry().name;
        let does = |case: &conduct::Case| case.accept != Accept::Early || name == "hybla";
        for case in conduct::CASES.iter().filter(|case| does(case)) {
            let lab = Lab::new(&near, &far, 1, 0.0, !case.reads);
            let mut lab = lab.accepting(case.accept).open(case.listens);
            let name = format!("{name}, {}", case.name);
            case.steps.iter().for_each(|step| lab.take(*step, &name));
        }
    }
}

/// Round trips are 10 ms to the gateway and 500 ms behind it.
#[test]
fn the_client_is_answered_when_the_policy_allows() {
    let opens_after = |accept: Accept, is_known: bool| {
        let [near, far] = ["cubic", "hybla"].map(specification);
        let mut lab = Lab::new(&near, &far, 1, 0.0, false).accepting(accept);
        if is_known {
            lab.admission.on_accepted(Time::ZERO, NodeId(2));
        }
        lab = lab.open(true);
        while !lab.was_open[CLIENT] {
            assert!(lab.step(Time::NEVER));
        }
        lab.now.since(Time::ZERO)
    };
    let [soon, late] = [10, 510].map(Span::from_millis);
    for (accept, is_known, expected) in [
        (Accept::Early, false, soon),
        (Accept::Late, false, late),
        (Accept::Late, true, late),
        (Accept::EarlyIfKnown, false, late),
        (Accept::EarlyIfKnown, true, soon),
    ] {
        assert_eq!(opens_after(accept, is_known), expected, "{accept:?}, known: {is_known}");
    }
}

#[test]
fn a_late_answer_leaves_the_client_of_a_silent_server_without_a_connection() {
    let [near, far] = ["cubic", "hybla"].map(specification);
    let mut lab = Lab::new(&near, &far, 1, 0.0, false).accepting(Accept::Late).open(true);
    lab.delays[1] = Span::from_secs(1_000_000);
    lab.ends[CLIENT].write(10_000);
    lab.run(3600);
    assert_eq!(lab.ends[CLIENT].abort_cause(), Some(AbortCause::UserTimeout));
    assert!(!lab.was_open[CLIENT] && lab.resets_sent == [0; 4]);
    assert_eq!(lab.split.discarded(), [0, 0], "nothing was acknowledged");
}

/// A client that has given up does not know the answer any more.
#[test]
fn an_answer_to_a_client_that_has_gone_ends_the_servers_connection() {
    let [near, far] = ["cubic", "hybla"].map(specification);
    let mut lab = Lab::new(&near, &far, 1, 0.0, false).accepting(Accept::Late).open(true);
    while lab.ends[NEAR].held_syn().is_none() {
        assert!(lab.step(Time::NEVER));
    }
    lab.ends[CLIENT].abort();
    lab.run(10);
    assert_eq!(lab.ends[SERVER].abort_cause(), Some(AbortCause::Reset));
    assert_eq!(lab.ends[FAR].abort_cause(), Some(AbortCause::Reset));
}

#[test]
fn resets_are_sent_by_the_gateway_and_what_they_cost_is_counted() {
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut lab = plain(4, 0.0);
        lab.ends[CLIENT].write(5_000_000);
        lab.ends[SERVER].write(5_000_000);
        lab.run(3);
        lab.ends[from].abort();
        lab.run(3);
        assert_eq!(lab.ends[to].abort_cause(), Some(AbortCause::Reset));
        assert!(lab.resets_sent[if from == CLIENT { FAR } else { NEAR }] > 0);
        assert!(lab.split.discarded().iter().sum::<u64>() > 0, "data was on its way");
        assert_eq!(lab.split.held([&lab.ends[NEAR], &lab.ends[FAR]], [0; 2]), [0, 0]);
    }
}

#[test]
fn what_was_accepted_early_for_a_server_that_refuses_is_counted_as_lost() {
    let both = [specification("cubic"), specification("hybla")];
    let mut lab = Lab::new(&both[0], &both[1], 1, 0.0, false).open(false);
    lab.ends[CLIENT].write(10_000);
    lab.run(1);
    assert!(lab.ends[FAR].abort_cause().is_some());
    assert_eq!(lab.split.discarded(), [10_000, 0], "accepted early, and lost");
}

#[test]
fn a_server_that_never_answers_ends_the_client_after_all_syns() {
    let mut lab = plain(1, 0.0);
    // Behind the gateway nothing arrives.
    lab.delays[1] = Span::from_secs(1_000_000);
    lab.ends[CLIENT].write(10_000);
    lab.run(3600);
    assert_eq!(lab.ends[CLIENT].abort_cause(), Some(AbortCause::Reset));
}
