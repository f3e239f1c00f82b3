//! Flows and legs with QUIC: what their controllers and settings must be.

use std::sync::Arc;

use congestion::Specification;
use language::error::Problem;
use language::path::Path;
use quic::{Choice, Congestion, Settings};
use transport::SavedPath;

use crate::document;
use crate::model::{Lengths, Plan};

/// The settings of connections with QUIC. `place` is the key of their controller, and `path` their
/// table.
pub(in crate::resolve) fn settings(
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

impl Plan for Settings {
    fn lengths(&self) -> Lengths {
        let full = self.full_packet();
        Lengths { full, longest: full, ack: Self::ACK }
    }

    /// Payload of a stream in a full packet.
    fn mss(&self) -> u32 {
        self.full_payload()
    }

    fn window(&self, streams: u64) -> u64 {
        self.window(streams)
    }

    fn packets_per_ack(&self) -> u32 {
        self.ack_threshold.map_or(2, |threshold| threshold.saturating_add(1).max(1))
    }

    fn has_streams(&self) -> bool {
        true
    }

    fn careful_resume(&self) -> Option<SavedPath> {
        self.careful_resume
    }
}
