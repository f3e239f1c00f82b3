//! Automatic repeat request: a table of totals, and one of samples, in runs that have it.

use link::ArqCounters;
use network::PortReport;

use crate::mechanisms::port_counters;

port_counters! {
    "arq" of arq, ArqCounters in |port: &PortReport| port.counters.arq, |direction| direction.arq.map(|arq| arq.name());
    totals {
        /// Frames sent for the first time.
        frames,
        /// Repeats of frames with their packet.
        repeated_frames,
        /// Empty frames that replace given-up packets, their repeats included.
        skip_frames,
        /// Frames that the channel corrupted, repeats and empty frames included.
        corrupted_frames,
        /// Packets given up after the last repeat.
        given_up_packets,
        /// Expiries of the timer.
        timeouts,
        /// Status frames that the far end has sent over the other direction.
        status_frames,
        /// Those of them that came back intact.
        received_status_frames,
        /// Status frames that reported a missing frame: REJ or SREJ.
        reject_frames,
        /// Packets that waited at the far end for a missing one.
        held_packets,
        /// Frames that the far end discarded: it had them, or did not expect them yet.
        discarded_frames,
    }
    "arq_series" { repeated_frames, given_up_packets, status_frames, held_packets }
}
