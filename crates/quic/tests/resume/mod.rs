//! Careful Resume (RFC 9959) over GEO with every controller that QUIC carries.

use congestion::{Specification, entries};
use quic::{Carriage, Choice, Config, Settings, carriage};
use transport::{Endpoint, SavedPath};
use units::{Bytes, SizeLimit, Span};

use super::{CLIENT, SERVER, Wire, laboratory, wide};

/// Half of it is the bandwidth-delay product of the wire, which the queue holds too.
const SAVED: u64 = 1_500_000;

/// Controllers that gain little or nothing: one has a constant window, the first round trips of
/// another grow as fast as a jump, and PCC starts with a rate and not with a window.
const NO_SHORTER: [&str; 4] = ["allegro", "ck-stp", "hybla", "vivace"];

/// A download of 1 MB. Returns its time in s and the packets that the queue has dropped.
fn download(choice: &Choice, saved: Option<(u64, u64)>) -> (f64, u64) {
    let careful_resume = saved.map(|(bytes, milliseconds)| SavedPath {
        saved_cwnd: Bytes(bytes),
        saved_rtt: Span::from_millis(milliseconds),
        max_jump: SizeLimit::UNLIMITED,
    });
    let settings = Settings { careful_resume, ..wide() };
    let mut wire = Wire::new(Config::new(settings, choice.clone(), None).unwrap(), 1, None);
    wire.ends[SERVER].write(1_000_000);
    wire.run(CLIENT, 1_000_000);
    assert_eq!(wire.ends[CLIENT].delivered(), 1_000_000, "{choice:?}");
    (wire.seconds(), wire.directions[SERVER].dropped)
}

/// The link alone takes 0.8 s for 1 MB; one and a half round trips for the handshake, one for the
/// initial window and half of one for the last packet are 1.8 s.
#[test]
fn a_resumed_download_is_shorter_with_every_controller() {
    let mut failed = Vec::new();
    for entry in entries() {
        let specification = Specification::named(entry.name).unwrap();
        if matches!(carriage(&specification), Carriage::Impossible(_)) {
            continue;
        }
        let choice = Choice::Laboratory(specification);
        let (plain, _) = download(&choice, None);
        let (resumed, dropped) = download(&choice, Some((SAVED, 600)));
        let most = if NO_SHORTER.contains(&entry.name) { 1.001 } else { 0.6 };
        if dropped > 0 || resumed > most * plain {
            failed.push(format!("{}: {plain} s, {resumed} s, {dropped} drops", entry.name));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// RFC 9959 section 4.1: the parameters of a path with another round-trip time are not used.
#[test]
fn the_parameters_of_another_path_change_nothing() {
    for name in ["newreno", "cubic", "bbr3"] {
        let choice = laboratory(name);
        assert_eq!(download(&choice, None), download(&choice, Some((SAVED, 1300))), "{name}");
    }
}

/// Twice as much as the path and its queue hold: a part of the jump is lost, and the transfer goes
/// on.
#[test]
fn a_jump_that_is_too_large_is_taken_back() {
    for name in ["newreno", "cubic", "hybla", "bbr", "bbr3"] {
        let choice = laboratory(name);
        let saved = 4 * SAVED;
        let settings = Settings {
            careful_resume: Some(SavedPath {
                saved_cwnd: Bytes(saved),
                saved_rtt: Span::from_millis(600),
                max_jump: SizeLimit::UNLIMITED,
            }),
            ..wide()
        };
        let mut wire = Wire::new(Config::new(settings, choice, None).unwrap(), 1, None);
        wire.ends[SERVER].write(6_000_000);
        let mut least = u64::MAX;
        let end = units::Time::ZERO + Span::from_secs(600);
        wire.run_until(end, |ends, _| {
            if ends[SERVER].counters().retransmissions > 0 {
                least = least.min(ends[SERVER].sample().cwnd);
            }
            ends[CLIENT].delivered() == 6_000_000
        });
        assert_eq!(wire.ends[CLIENT].delivered(), 6_000_000, "{name}");
        assert!(wire.directions[SERVER].dropped > 0, "{name}: nothing to take back");
        // Half of what has arrived, which is less than the path and its queue hold.
        assert!(least <= 750_000, "{name}: {least}");
    }
}
