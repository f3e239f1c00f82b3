//! The send buffer: how much of what the application has written the sender may see.

use congestion::{AnyController, Controller};

use crate::buffers::{CongestionWindow, Positions};
use crate::config::Config;

use super::core::Core;
use super::stream::Stream;

/// Positions in the stream that a send buffer needs.
pub(super) fn positions(stream: &Stream) -> Positions {
    // A FIN is after the last byte of the buffer.
    Positions {
        acknowledged: stream.una.min(stream.buffered),
        sent: stream.max.max(1).min(stream.buffered),
        buffered: stream.buffered,
        written: stream.written,
    }
}

/// Lets as much of the written data into the send buffer as it has room for, if it has one
/// size.
#[inline]
pub(super) fn fill(core: &mut Core, config: &Config) {
    if config.send_tuning.is_none() {
        core.stream.fill_buffer(config.send_buffer);
    } else {
        take_acknowledged(core);
    }
}

/// Data was acknowledged, which has left the send buffer.
#[inline(never)]
fn take_acknowledged(core: &mut Core) {
    let Core { features, stream, .. } = core;
    if let Some(buffer) = features.as_mut().and_then(|features| features.send_buffer.as_mut()) {
        buffer.on_acknowledged(stream.una, stream.max);
    }
}

/// The connection is open: the send buffer has room for the initial window.
pub(super) fn open(core: &mut Core) {
    let Core { features, stream, controller, .. } = core;
    if let Some(buffer) = features.as_mut().and_then(|features| features.send_buffer.as_mut()) {
        buffer.open(stream.mss, controller.windows_in_buffer());
    }
}

/// The application has taken back what was never sent.
pub(super) fn withdraw(core: &mut Core, config: &Config) {
    let Core { features, stream, .. } = core;
    if let Some(buffer) = features.as_mut().and_then(|features| features.send_buffer.as_mut()) {
        buffer.withdraw();
        stream.buffered = stream.buffered.min(stream.written);
    } else {
        stream.fill_buffer(config.send_buffer);
    }
}

/// The congestion window as the size of the buffer follows it.
pub(super) fn congestion_window(controller: &AnyController) -> CongestionWindow {
    CongestionWindow { cwnd: controller.window().cwnd, windows: controller.windows_in_buffer() }
}

/// All that may leave has left: the application goes on writing, if it is not asleep or wakes
/// up. Returns true if it has written something.
#[inline(never)]
pub(super) fn write_on(core: &mut Core) -> bool {
    if core.stream.una == 0 {
        return false;
    }
    let Core { features, stream, peer, scoreboard, controller, .. } = core;
    let Some(buffer) = features.as_mut().and_then(|features| features.send_buffer.as_mut()) else {
        return false;
    };
    let segment = stream.mss;
    let open = || {
        let pipe = scoreboard.pipe(stream.una, stream.max);
        let by_congestion = controller.window().cwnd.saturating_sub(pipe);
        peer.usable.saturating_sub(stream.flight()).min(by_congestion)
    };
    let unfilled = || (open() >= segment).then(|| congestion_window(controller));
    let runs_dry = stream.unsent() < segment;
    let at = positions(stream);
    if stream.buffered >= stream.written {
        buffer.rest(&at, unfilled);
        return false;
    }
    buffer.check(&at, unfilled);
    if buffer.is_blocked() {
        return false;
    }
    let open = open();
    let packet = core.segments_of_packet() * segment;
    let buffer = core.features.as_mut().and_then(|features| features.send_buffer.as_mut());
    let bytes = buffer.map_or(0, |buffer| buffer.fill(&at, open, packet));
    // The application has let the sender run out of data (`tcp_rate_check_app_limited` in
    // `tcp_sendmsg`).
    if runs_dry {
        core.note_application_limit();
    }
    core.stream.buffered += bytes;
    bytes > 0
}
