use units::Rate;

use super::*;

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// A call of a second from 1 s on: its first end hears packets after `delay(number)`.
fn called(settings: Settings, delay: impl Fn(u64) -> Option<u64>) -> Call {
    let settings = Settings { duration: Some(Span::from_secs(1)), ..settings };
    let mut call = Call::new(settings, ms(1000));
    let mut now = ms(1000);
    loop {
        match call.step(now) {
            Step::Send(number) => {
                if let Some(delay) = delay(number) {
                    call.on_arrival(now + Span::from_millis(delay), 0, number);
                }
                call.on_arrival(now + Span::from_millis(250), 1, number);
            }
            Step::Wait(until) => now = until,
            Step::Over => return call,
        }
    }
}

#[test]
fn codecs_have_the_rates_of_their_standards() {
    let of = |codec| Settings { codec, ..Settings::default() };
    let on_wire = |settings: Settings| (settings.payload() + 28) * 8 * 50;
    assert_eq!(on_wire(of(Codec::G711)), 80_000);
    assert_eq!(on_wire(of(Codec::G729a)), 24_000);
    let opus = Settings { bitrate: Some(Rate::from_bits_per_second(16_000)), ..of(Codec::Opus) };
    assert_eq!(opus.payload(), 12 + 40);
    assert_eq!(of(Codec::G711).payload_rate(), Rate::from_bits_per_second(68_800));
}

#[test]
fn a_call_sends_a_packet_each_frame_in_both_directions() {
    let call = called(Settings::default(), |_| Some(250));
    for end in [0, 1] {
        let figures = call.figures(end, ms(9000));
        assert_eq!((figures.sent, figures.arrived, figures.late), (50, 50, 0));
        assert_eq!((figures.loss, figures.min_delay_ms, figures.jitter_ms), (0.0, 250.0, 0.0));
        // The smallest delay, the buffer of 40 ms, and a packet of 20 ms.
        assert_eq!(figures.mouth_to_ear_ms, 310.0);
        assert!((figures.with_echo.mos - 3.71).abs() < 0.02, "{figures:?}");
        assert!(figures.without_echo.mos > figures.with_echo.mos);
    }
}

#[test]
fn a_clock_that_is_late_sends_what_is_due_and_no_packet_twice() {
    let mut call = Call::new(Settings::default(), ms(0));
    assert_eq!(call.step(ms(45)), Step::Send(0));
    assert_eq!(call.step(ms(45)), Step::Send(1));
    assert_eq!(call.step(ms(45)), Step::Send(2));
    assert_eq!(call.step(ms(45)), Step::Wait(ms(60)));
    call.stop();
    // Packets 0 to 2 are still on their way.
    assert_eq!(call.step(ms(60)), Step::Wait(ms(40) + LINGER));
    assert_eq!(call.step(ms(40) + LINGER), Step::Over);
}

#[test]
fn figures_are_settled_once_no_missing_packet_can_be_heard() {
    // The last packet leaves at 1.98 s, and is too late 290 ms after that.
    let call = called(Settings::default(), |number| (number != 49).then_some(250));
    assert_eq!(call.settled(ms(2269)), None);
    let settled = call.settled(ms(2270)).unwrap();
    assert_eq!(settled, [0, 1].map(|end| call.figures(end, ms(90_000))));
    assert_eq!((settled[0].sent, settled[0].arrived), (50, 49));
    assert_ne!(settled[0], call.figures(0, ms(2269)));
}

#[test]
fn a_packet_behind_the_buffer_is_lost_and_bursts_are_counted() {
    let delay = |number| match number {
        10 | 11 => None,
        20 => Some(250 + 41),
        30 => Some(250 + 40),
        _ => Some(250),
    };
    let figures = called(Settings::default(), delay).figures(0, ms(9000));
    assert_eq!((figures.arrived, figures.late), (48, 1));
    assert!((figures.loss - 3.0 / 50.0).abs() < 1e-12);
    // Three losses in two bursts: 1.5 each, and 1/(1 - 0.06) if they were independent.
    assert!((figures.burst_ratio - 1.5 * 0.94).abs() < 1e-12, "{figures:?}");
}

#[test]
fn packets_on_their_way_at_the_end_are_not_lost() {
    let figures =
        called(Settings::default(), |number| (number < 49).then_some(250)).figures(0, ms(2100));
    assert_eq!((figures.sent, figures.arrived, figures.loss), (50, 49, 0.0));
}

#[test]
fn a_buffer_that_follows_the_jitter_drops_nothing() {
    let settings = Settings {
        jitter_buffer: JitterBuffer::TwiceJitter(settings::TwiceJitter::TwiceJitter),
        ..Settings::default()
    };
    let figures = called(settings, |number| Some(250 + 10 * (number % 2))).figures(0, ms(9000));
    assert_eq!((figures.late, figures.loss), (0, 0.0));
    let expected = 255.0 + 2.0 * figures.jitter_ms + 20.0;
    assert!((figures.mouth_to_ear_ms - expected).abs() < 1e-9);
    assert!((figures.jitter_ms - 10.0).abs() < 0.5, "{figures:?}");
}

#[test]
fn opus_has_no_opinion_without_values_of_the_user() {
    let opus = Settings { codec: Codec::Opus, ..Settings::default() };
    let figures = called(opus, |_| Some(100)).figures(0, ms(9000));
    assert!(figures.with_echo.mos.is_nan() && figures.with_echo.rating.is_nan());
    let valued = Settings { ie: Some(5.0), bpl: Some(20.0), ..opus };
    let figures = called(valued, |_| Some(100)).figures(0, ms(9000));
    assert!(figures.with_echo.mos > 4.0, "{figures:?}");
}
