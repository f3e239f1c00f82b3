//! An end that is gone: keep-alive and the user timeout (RFC 9293 sections 3.8.3 and 3.8.4,
//! RFC 5482), with every recovery.

use tcp::{Config, Flags, KeepAlive, Recovery, State};
use transport::{AbortCause, Endpoint};
use units::{Bytes, Span, Time};

use crate::script::Script;
use crate::wire::{A, B, MSS, Sent, Wire, at, config, ms};

const EVERY_RECOVERY: [Recovery; 4] =
    [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux];

fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

fn keep_alive(recovery: Recovery) -> Config {
    let keep_alive = KeepAlive { idle: secs(10), interval: secs(2), probes: 3 };
    Config { recovery, keep_alive: Some(keep_alive), ..config() }
}

fn is_probe(sent: &Sent) -> bool {
    sent.is_bare_ack() && sent.by == A && !sent.segment.flags.contains(Flags::RST)
}

#[test]
fn an_idle_end_whose_probes_nobody_answers_is_aborted_with_a_reset() {
    for recovery in EVERY_RECOVERY {
        let mut wire = Wire::established(&keep_alive(recovery)).losing(|sent| sent.by == B);
        wire.run_for(ms(300));
        wire.forget();
        wire.run_for(secs(15));
        assert_eq!(wire.ends[A].abort_cause(), None, "{recovery:?}");
        assert_eq!(wire.ends[A].info().window_probes, 3);
        wire.run_for(secs(2));
        assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::KeepAlive), "{recovery:?}");
        assert_eq!(wire.sent(A, is_probe).count(), 3);
        assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::Reset), "it is told");
        assert_eq!(wire.ends[A].deadline(), Time::NEVER);
    }
}

#[test]
fn probes_that_are_answered_keep_a_connection_open_for_ever() {
    for recovery in EVERY_RECOVERY {
        let mut wire = Wire::between(&keep_alive(recovery), &config()).open();
        wire.run_for(secs(1000));
        assert_eq!(wire.states(), [State::Established; 2], "{recovery:?}");
        wire.write(A, MSS);
        wire.run_for(secs(1));
        assert_eq!(wire.ends[B].delivered(), MSS);
    }
}

/// Longer than the idle time, so that a count that only follows silence would not begin again.
#[test]
fn an_answer_begins_the_count_of_probes_again() {
    let keep_alive = KeepAlive { idle: secs(1), interval: secs(5), probes: 2 };
    let config = Config { keep_alive: Some(keep_alive), ..config() };
    let mut wire = Wire::between(&config, &Config { keep_alive: None, ..config.clone() }).open();
    // Of three probes one is answered.
    wire = wire.losing(|sent| sent.by == B && sent.nth % 2 == 0);
    wire.run_for(secs(300));
    assert_eq!(wire.ends[A].abort_cause(), None);
}

#[test]
fn data_has_timers_of_its_own_and_sends_no_keep_alive() {
    for recovery in EVERY_RECOVERY {
        let mut wire = Wire::established(&keep_alive(recovery)).losing(|sent| sent.by == B);
        wire.write(A, MSS);
        wire.run_for(ms(300));
        wire.forget();
        wire.run_for(secs(60));
        assert_eq!(wire.sent(A, is_probe).count(), 0, "{recovery:?}");
        assert!(wire.sent(A, Sent::is_data).count() > 2);
    }
}

#[test]
fn the_wait_after_a_close_ends_keep_alive() {
    let mut wire = Wire::established(&keep_alive(Recovery::Sack));
    wire.close(A);
    wire.close(B);
    wire.run_for(secs(2));
    wire.forget();
    wire.run();
    assert_eq!(wire.sent(A, |_| true).count(), 0);
    assert_eq!(wire.states(), [State::Closed; 2]);
    assert!(
        wire.ends.iter().all(|end| end.deadline() == Time::NEVER && end.abort_cause().is_none())
    );
}

#[test]
fn a_half_closed_end_is_probed() {
    let mut wire = Wire::established(&keep_alive(Recovery::Linux)).losing(|sent| sent.by == B);
    wire.run_for(ms(300));
    let mut wire = wire.losing(|_| false);
    wire.close(A);
    wire.run_for(secs(1));
    assert_eq!(wire.states(), [State::FinWait2, State::CloseWait]);
    let mut wire = wire.losing(|sent| sent.by == B);
    wire.run_for(secs(20));
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::KeepAlive));
}

/// In milliseconds from the write to the abort.
fn time_of_abort(config: &Config) -> (u64, Option<AbortCause>) {
    let mut wire = Wire::established(config).losing(|sent| sent.is_data());
    wire.run_for(ms(300));
    wire.write(A, MSS);
    let start = wire.now;
    while wire.ends[A].state() != State::Closed && wire.now < start + secs(3000) {
        wire.run_for(ms(10));
    }
    ((wire.now.since(start)).as_nanos() / 1_000_000, wire.ends[A].abort_cause())
}

#[test]
fn the_user_timeout_ends_retransmission_however_many_there_were() {
    for recovery in EVERY_RECOVERY {
        for (limit, max_retries) in [(secs(3), 15), (secs(20), 1), (secs(600), 2)] {
            let config = Config { recovery, max_retries, user_timeout: Some(limit), ..config() };
            let (time, cause) = time_of_abort(&config);
            assert_eq!(cause, Some(AbortCause::UserTimeout), "{recovery:?}");
            // From the first timeout: an RTO of a second, or two with a tail loss probe first.
            let limit = limit.as_nanos() / 1_000_000;
            assert!((limit..=limit + 2010).contains(&time), "{recovery:?}: {time} of {limit}");
        }
    }
}

#[test]
fn progress_begins_the_user_timeout_again() {
    for recovery in EVERY_RECOVERY {
        let config = Config { recovery, user_timeout: Some(secs(100)), ..config() };
        let mut wire = Wire::established(&config);
        // Each segment needs three attempts, and all of them together more than 100 s.
        wire = wire.losing(|sent| sent.by == A && sent.is_data() && sent.nth % 3 != 0);
        for _ in 0..10 {
            wire.write(A, 100);
            wire.run();
        }
        assert!(wire.now > at(200_000));
        assert_eq!(wire.ends[A].abort_cause(), None, "{recovery:?}");
        assert_eq!(wire.ends[B].delivered(), 1000);
    }
}

#[test]
fn the_user_timeout_ends_a_wait_for_a_closed_window_although_probes_are_answered() {
    for recovery in EVERY_RECOVERY {
        let limit = Some(secs(30));
        let receive_buffer = Bytes(4 * MSS);
        let base = Config { recovery, receive_buffer, reads_at_once: false, ..config() };
        let mut wire = Wire::between(&Config { user_timeout: limit, ..base.clone() }, &base).open();
        wire.write(A, 10 * MSS);
        wire.run_for(secs(29));
        assert_eq!(wire.ends[A].abort_cause(), None, "{recovery:?}");
        wire.run_for(secs(5));
        assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::UserTimeout), "{recovery:?}");
    }
}

/// RFC 9293 section 3.8.6.1 keeps a connection open only while the probes are answered.
#[test]
fn window_probes_that_nobody_answers_are_given_up_like_data() {
    for recovery in EVERY_RECOVERY {
        let receive_buffer = Bytes(4 * MSS);
        let max_retries = 3;
        let config =
            Config { recovery, max_retries, receive_buffer, reads_at_once: false, ..config() };
        let mut wire = Wire::established(&config);
        wire.write(A, 10 * MSS);
        wire.run_for(secs(100));
        assert!(wire.ends[A].abort_cause().is_none(), "{recovery:?}: all were answered");
        let mut wire = wire.losing(|sent| sent.by == B);
        wire.forget();
        wire.run_for(secs(1000));
        assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions), "{recovery:?}");
        assert_eq!(wire.sent(A, |_| true).count(), 3, "{recovery:?}");
    }
}

/// Whatever arrives in the instant in which a probe leaves was sent before it.
#[test]
fn a_segment_in_the_instant_of_a_probe_is_no_answer() {
    let keep_alive = KeepAlive { idle: secs(1), interval: secs(5), probes: 9 };
    let mut script = Script::new(&Config { keep_alive: Some(keep_alive), ..config() });
    for probes in 1..=2 {
        script.run_to_deadline();
        assert_eq!(script.segments.len(), 1, "a probe");
        script.ack(0);
        assert_eq!(script.end.info().window_probes, probes);
    }

    let mut script = Script::new(&config());
    script.window = 0;
    script.ack(0);
    script.end.write(MSS);
    script.sent();
    for probes in 1..=2 {
        script.run_to_deadline();
        assert_eq!(script.segments.len(), 1, "a probe");
        script.ack(0);
        assert_eq!(script.end.info().window_probes, probes);
    }
}

#[test]
fn the_user_timeout_ends_a_set_up_that_nobody_answers() {
    let config = Config { user_timeout: Some(secs(5)), ..config() };
    let mut wire = Wire::new(&config).losing(|_| true);
    wire.ends[A].connect();
    wire.flush();
    wire.run_until(at(4990));
    assert_eq!(wire.ends[A].abort_cause(), None);
    wire.run_until(at(5010));
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::UserTimeout));
}
