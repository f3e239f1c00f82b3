//! `variant = "linux"`: numbers of the kernel's integer arithmetic, worked out by hand from the
//! sources that each file names. All steps are compared with the kernel's own C by
//! `make replay-kernel`.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{
    Ack, AnyController, Controller as _, LINUX, Loss, ParameterError, Settings, Specification,
    Status, VARIANT, Value, entries, variants,
};
use units::{Span, Time};

const MSS: u64 = 1460;

/// In congestion avoidance with a window of `segments` segments.
fn linux(name: &str, segments: u64) -> AnyController {
    let mut specification = Specification::named(name).unwrap();
    specification.set(VARIANT.name, Value::Word(LINUX.into())).unwrap();
    let mut controller = specification.build(&Settings {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        initial_ssthresh: 2 * MSS,
        byte_counting: 1,
    });
    controller.window_mut().cwnd = segments * MSS;
    controller
}

fn loss() -> Loss {
    Loss { now: Time::ZERO + Span::from_secs(9), flight: MSS, repeated: false }
}

fn ack(controller: &mut AnyController, segments: u64) {
    controller.on_ack(&Ack {
        now: Time::ZERO + Span::from_secs(1),
        acked: segments * MSS,
        flight: 0,
        advertised: u64::MAX,
        srtt: None,
        min_rtt: None,
        cwnd_limited: true,
    });
}

fn cwnd(controller: &AnyController) -> u64 {
    assert_eq!(controller.window().cwnd % MSS, 0, "windows are whole segments");
    controller.window().cwnd / MSS
}

/// The flight of `loss` is one segment: what is reduced is cwnd.
#[test]
fn a_loss_and_a_timeout_leave_what_the_kernel_leaves_of_cwnd() {
    let cases = [
        ("bic", 1000, 799),   // 819 / 1024
        ("bic", 14, 7),       // Reno up to 14 segments
        ("cubic", 1000, 700), // 717 / 1024
        ("dctcp", 1000, 500),
        ("highspeed", 1000, 500), // the first row: no ACK has come
        ("htcp", 1000, 500),
        ("hybla", 1000, 500),
        ("reno", 15, 7),
        ("scalable", 99, 87), // 99 - 99 / 8
        ("vegas", 1000, 500),
        ("veno", 1000, 800), // no backlog is known: 4/5
        ("veno", 2, 2),
    ];
    for (name, before, after) in cases {
        let mut controller = linux(name, before);
        controller.on_loss(&loss());
        assert_eq!(cwnd(&controller), after, "{name}");
        let mut controller = linux(name, before);
        controller.on_timeout(&loss());
        assert_eq!(cwnd(&controller), 1, "{name}");
        assert_eq!(controller.window().ssthresh, after * MSS, "{name}");
    }
}

#[test]
fn highspeed_takes_the_row_of_the_last_ack() {
    // 1058 is the first window of Appendix B that is not below 1000: its a(w) is 8, b(w) 83/256.
    let mut highspeed = linux("highspeed", 1000);
    for _ in 0..125 {
        assert_eq!(cwnd(&highspeed), 1000);
        ack(&mut highspeed, 1);
    }
    assert_eq!(cwnd(&highspeed), 1001);
    highspeed.on_loss(&loss());
    assert_eq!(cwnd(&highspeed), 1001 - 1001 * 83 / 256);
}

#[test]
fn all_segments_of_an_ack_count_and_the_rest_is_kept() {
    let mut scalable = linux("scalable", 50);
    ack(&mut scalable, 49);
    assert_eq!(cwnd(&scalable), 50, "below 100 segments it is Reno");
    ack(&mut scalable, 2);
    assert_eq!(cwnd(&scalable), 51);
    let mut scalable = linux("scalable", 1000);
    ack(&mut scalable, 250);
    assert_eq!(cwnd(&scalable), 1002);
    ack(&mut scalable, 50);
    assert_eq!(cwnd(&scalable), 1003);
}

#[test]
fn slow_start_ends_at_ssthresh_and_the_rest_counts_for_avoidance() {
    let mut scalable = linux("scalable", 10);
    scalable.window_mut().ssthresh = 12 * MSS;
    ack(&mut scalable, 14);
    assert_eq!(cwnd(&scalable), 13);
}

#[test]
fn hybla_starts_with_rho_segments() {
    for (rtt, segments) in [(600, 24), (60, 2), (10, 1)] {
        let mut hybla = linux("hybla", 10);
        hybla.on_rtt(Time::ZERO, Span::from_millis(rtt));
        assert_eq!(cwnd(&hybla), segments);
        hybla.on_rtt(Time::ZERO, Span::from_millis(25));
        assert_eq!(cwnd(&hybla), segments, "once");
    }
}

#[test]
fn every_variant_names_the_file_of_the_kernel_and_takes_few_parameters() {
    let mut found = 0;
    for entry in entries() {
        for (_, other) in variants(entry.name).filter(|(variant, _)| *variant == LINUX) {
            found += 1;
            assert_eq!(other.name, entry.name);
            let Status::Implementation(which) = other.status else { panic!("{}", other.name) };
            let (kernel, file) = which.split_once(", ").unwrap();
            // Reno is a part of every kernel, with what others take from it.
            let stem = if entry.name == "reno" { "cong" } else { entry.name };
            assert_eq!(file, format!("net/ipv4/tcp_{stem}.c"));
            assert!(["Linux 6.1", "Linux 6.12"].contains(&kernel), "{which}");
            assert_eq!(entry.parameters.iter().filter(|p| p.name == VARIANT.name).count(), 1);
            // The constants of CUBIC are parameters of the kernel's module.
            let own = if entry.name == "cubic" { 3 } else { 1 };
            assert_eq!(other.parameters.len(), own);
        }
    }
    assert_eq!(found, 12);
    let mut vegas = Specification::named("vegas").unwrap();
    vegas.set("alpha", Value::Number(2.0)).unwrap();
    vegas.set(VARIANT.name, Value::Word(LINUX.into())).unwrap();
    let error = vegas.set("alpha", Value::Number(2.0)).unwrap_err();
    assert!(matches!(error, ParameterError::OtherVariant { name: "alpha", variant: LINUX, .. }));
    vegas.set(VARIANT.name, Value::Word("original".into())).unwrap();
    assert_eq!(vegas, Specification::named("vegas").unwrap());
}
