//! What automatic repeat request did: a table of totals, and one of samples, in runs that have it.

use link::ArqCounters;
use network::PortReport;
use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use units::Time;

use crate::links::counted;

extra_table! {
    /// Totals of automatic repeat request, one row for each direction that has it.
    pub(crate) Totals("arq") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The procedure.
        arq: String,
        /// Frames sent for the first time.
        frames: u64,
        /// Repeats of frames with their packet.
        repeated_frames: u64,
        /// Empty frames that replace given-up packets, their repeats included.
        skip_frames: u64,
        /// Frames that the channel corrupted, repeats and empty frames included.
        corrupted_frames: u64,
        /// Packets given up after the last repeat.
        given_up_packets: u64,
        /// Expiries of the timer.
        timeouts: u64,
        /// Status frames that the far end has sent over the other direction.
        status_frames: u64,
        /// Those of them that came back intact.
        received_status_frames: u64,
        /// Status frames that reported a missing frame: REJ or SREJ.
        reject_frames: u64,
        /// Packets that waited at the far end for a missing one.
        held_packets: u64,
        /// Frames that the far end discarded: it had them, or did not expect them yet.
        discarded_frames: u64,
    }
}

extra_table! {
    /// Samples of automatic repeat request, at the times of the series of links.
    pub(crate) Samples("arq_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Repeats of frames with their packet since the start.
        repeated_frames: u64,
        /// Packets given up since the start.
        given_up_packets: u64,
        /// Status frames since the start.
        status_frames: u64,
        /// Packets that waited at the far end for a missing one, since the start.
        held_packets: u64,
    }
}

/// Collects samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Samples);

impl Recorder {
    /// Adds a row for each port with ARQ.
    pub fn sample(&mut self, at: Time, ports: &[PortReport]) {
        for (link, port) in (0..).zip(ports) {
            let Some(arq) = port.counters.arq else { continue };
            let ArqCounters {
                repeated_frames, given_up_packets, status_frames, held_packets, ..
            } = arq;
            let t_s = at.as_secs_f64();
            self.0.push(Sample {
                link,
                t_s,
                repeated_frames,
                given_up_packets,
                status_frames,
                held_packets,
            });
        }
    }

    /// All rows so far; none without ARQ.
    pub fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }
}

/// The totals of all directions with ARQ; none without any.
pub(crate) fn totals(scenario: &Scenario, ports: &[PortReport]) -> Option<ExtraTable> {
    let mut totals = Totals::default();
    let all = counted(scenario, ports, |direction| direction.arq, |port| port.arq);
    for (link, direction, arq, counters) in all {
        // Without `..`, so that a new counter has to stand in the table.
        let ArqCounters {
            frames,
            repeated_frames,
            skip_frames,
            corrupted_frames,
            given_up_packets,
            timeouts,
            status_frames,
            received_status_frames,
            reject_frames,
            held_packets,
            discarded_frames,
        } = counters;
        totals.push(Total {
            link,
            direction,
            arq: arq.name().to_owned(),
            frames,
            repeated_frames,
            skip_frames,
            corrupted_frames,
            given_up_packets,
            timeouts,
            status_frames,
            received_status_frames,
            reject_frames,
            held_packets,
            discarded_frames,
        });
    }
    totals.into_table().filled()
}
