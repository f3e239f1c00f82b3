//! Flows and legs with QUIC: what their controllers and settings must be.

use std::sync::Arc;

use congestion::Specification;
use language::error::Problem;
use language::path::Path;
use quic::{Choice, Congestion, Settings};
use tcp::{AckTiming, Config, DelayedAck, Recovery};
use units::{Bytes, SizeLimit, Span};

use crate::document;

/// The longest time that quinn's receiver delays an ACK.
const ACK_DELAY: Span = Span::from_millis(25);

/// The settings of connections with QUIC. `place` is the key of their controller, and `path` their table.
pub(super) fn settings(
    settings: Settings,
    controller: &Specification,
    place: Path,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Arc<Settings> {
    if let Err(unsuitable) = Choice::of(settings.congestion, controller) {
        let name = controller.entry().name;
        let problem = Problem::new(place, unsuitable.possible(), format!("{name:?}"));
        problems.push(problem.because(unsuitable.reason()));
    }
    if let (None, Some(delay)) = (settings.ack_threshold, settings.ack_delay) {
        let problem = Problem::new(path.key("ack_delay"), "ack_threshold too", delay.to_string());
        problems.push(problem.because("both are sent in one ACK_FREQUENCY frame"));
    }
    let windows = [
        ("receive_window", settings.receive_window.size()),
        ("stream_receive_window", Some(settings.stream_receive_window)),
        ("send_window", Some(settings.send_window)),
    ];
    for (key, window) in windows {
        let Some(window) = window else { continue };
        let range = 1..=Settings::LARGEST_WINDOW;
        if !range.contains(&window.get()) {
            let expected = format!("1B to {}B", range.end());
            let problem = Problem::new(path.key(key), expected, window.to_string());
            problems.push(problem.because("QUIC writes numbers with 62 bits"));
        }
    }
    Arc::new(settings)
}

/// The settings of a flow. `path` is its table `transport`.
pub(super) fn of_flow(
    written: &document::Transport,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Settings {
    let settings = Settings { careful_resume: written.config.careful_resume, ..written.quic };
    if let (Congestion::Quinn, Some(saved)) = (settings.congestion, settings.careful_resume) {
        let expected = "no careful_resume with transport.quic.congestion = \"quinn\"";
        let found = format!("a saved window of {}", saved.saved_cwnd);
        let problem = Problem::new(path.key("careful_resume"), expected, found);
        problems
            .push(problem.because("the controllers of quinn always start with their own window"));
    }
    settings
}

/// A TCP with packets of the same length, as much in flight and as many ACKs: what is computed of a flow
/// before a run follows from it.
pub(super) fn as_tcp(settings: &Settings) -> Config {
    let timeout = settings.ack_delay.unwrap_or(ACK_DELAY);
    let segments = settings.ack_threshold.map_or(2, |threshold| threshold.saturating_add(1).max(1));
    Config {
        recovery: Recovery::Sack,
        mss: settings.full_payload(),
        timestamps: false,
        receive_buffer: Bytes(settings.window(1)),
        send_buffer: SizeLimit::UNLIMITED,
        delayed_ack: AckTiming::Fixed(DelayedAck { segments, timeout }),
        careful_resume: settings.careful_resume,
        ..Config::default()
    }
}
