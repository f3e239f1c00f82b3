//! Requests and assignments of a terminal, frame by frame. Delays against closed forms are tests of
//! the network.

use super::*;

/// Frames of 10 ms with 4 slots of 100 bytes.
fn settings() -> DemandSettings {
    DemandSettings {
        frame: Span::from_millis(10),
        slots: 4,
        cra: 0,
        vbdc: true,
        fca: 0,
        control_delay: Span::from_millis(25),
        rate: Rate::from_bits_per_second(320_000),
    }
}

fn millis(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// The actions of a terminal, up to a number of them, with `waiting` bytes in the queue.
fn actions(terminal: &mut Terminal, waiting: u64, times: usize) -> Vec<(f64, Action)> {
    let one = |_| (millis(terminal.next_action()), terminal.act(waiting));
    (0..times).map(one).collect()
}

#[test]
fn a_slot_has_whole_bytes() {
    let demand = settings();
    assert_eq!(demand.slot_bytes(demand.rate), 100);
    assert_eq!(demand.slot_bytes(Rate::from_bits_per_second(319_999)), 99);
    assert_eq!([0, 1, 100, 101].map(|bytes| demand.slots_of(bytes)), [0, 1, 1, 2]);
}

#[test]
fn slots_on_request_come_at_the_first_frame_after_the_loop() {
    use Action::{Frame, Slot};
    let mut terminal = Terminal::new(settings());
    // 25 ms are three frames: the request at 10 ms is granted at 40 ms.
    let expected = [10.0, 20.0, 30.0, 40.0].map(|at| (at, Frame));
    assert_eq!(actions(&mut terminal, 550, 4), expected);
    let expected = [(40.0, Slot), (42.5, Slot), (45.0, Slot), (47.5, Slot), (50.0, Frame)];
    assert_eq!(actions(&mut terminal, 550, 5), expected);
    // Six slots were requested, and four of them fit the frame.
    let expected = [(50.0, Slot), (52.5, Slot), (60.0, Frame)];
    assert_eq!(actions(&mut terminal, 550, 3), expected);
}

#[test]
fn constant_rate_and_free_capacity_have_parts_of_slots() {
    // 0.3 of 4 slots are 1.2, and half of the others are 1.4.
    let demand = DemandSettings { cra: 96_000, fca: 500_000, vbdc: false, ..settings() };
    let mut terminal = Terminal::new(demand);
    let mut slots = [0_u32; 2];
    for _ in 0..1000 {
        terminal.begin_frame(0);
        slots[0] += terminal.plan.cra;
        slots[1] += terminal.plan.fca;
    }
    assert!(slots[0].abs_diff(1200) <= 1, "{slots:?}");
    assert!(slots[1].abs_diff(1400) <= 2, "{slots:?}");
    assert!((demand.unrequested_slots() - 2.6).abs() < 1e-12);
}

#[test]
fn a_long_silence_is_skipped_and_slots_that_pass_in_it_are_counted() {
    let mut terminal = Terminal::new(settings());
    actions(&mut terminal, 150, 1);
    let late = Time::ZERO + Span::from_secs(1_000_000_000);
    assert_eq!(terminal.counters(late, 0).unused_slots, 2);
    assert_eq!(terminal.counters(late, 150).unused_slots, 0, "it has had something to send");
    terminal.skip_to(late + Span::from_millis(3));
    assert_eq!(terminal.next_action(), late + Span::from_millis(10));
}

#[test]
fn what_is_left_of_a_packet_is_requested_too() {
    let mut terminal = Terminal::new(settings());
    terminal.begin(250);
    actions(&mut terminal, 0, 1);
    assert_eq!(terminal.counters.requested_slots, 3);
    // It is on its way, and nothing more is needed.
    actions(&mut terminal, 0, 1);
    assert_eq!((terminal.counters.requests, terminal.counters.requested_slots), (1, 3));
}

#[test]
fn free_capacity_is_what_requests_leave_of_a_frame() {
    let demand = DemandSettings { fca: 1_000_000, ..settings() };
    let mut terminal = Terminal::new(demand);
    let plans = (0..20).map(|_| {
        terminal.begin_frame(550);
        (terminal.plan.vbdc, terminal.plan.fca)
    });
    let plans: Vec<_> = plans.collect();
    assert!(plans.iter().all(|(vbdc, fca)| vbdc + fca == 4), "{plans:?}");
    assert!(plans.contains(&(4, 0)) && plans.contains(&(2, 2)), "{plans:?}");
}
