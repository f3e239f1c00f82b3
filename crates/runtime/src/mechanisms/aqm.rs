//! Active queue management: a table of totals, and one of samples, in runs that have it.

use recording::extra_table;
use scenario::Scenario;
use units::Span;

use crate::links::counted;
use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of active queue management, one row for each direction that has it.
    pub(crate) Totals("aqm") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The algorithm.
        aqm: String,
        /// Packets that it dropped, without those that found the queue full.
        dropped_packets: u64,
        /// Packets that it marked.
        marked_packets: u64,
        /// Mean time in the queue, over the packets sent, in milliseconds; NaN without any.
        mean_queue_delay_ms: f64,
        /// The longest of these times, in milliseconds.
        max_queue_delay_ms: f64,
    }
}

extra_table! {
    /// Samples of active queue management, at the times of the series of links.
    pub(crate) Samples("aqm_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets dropped since the start, without those that found the queue full.
        dropped_packets: u64,
        /// Packets marked since the start.
        marked_packets: u64,
        /// Mean time in the queue of the packets sent since the row before, in milliseconds; NaN
        /// without any.
        queue_delay_ms: f64,
    }
}

/// Counters at the last sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    /// Packets sent and the sum of their times in the queue, at the last sample.
    last: Vec<(u64, Span)>,
}

/// Mean time of a packet in milliseconds.
fn mean_ms(sum: Span, packets: u64) -> f64 {
    if packets > 0 { sum.as_millis_f64() / packets as f64 } else { f64::NAN }
}

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(_: &Scenario) -> Self {
        Self::default()
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        let ports = reports.ports;
        self.last.resize(ports.len(), (0, Span::ZERO));
        for (link, (port, last)) in (0..).zip(ports.iter().zip(&mut self.last)) {
            let Some(aqm) = port.counters.aqm else { continue };
            let (packets, sum) = std::mem::replace(last, (aqm.sent_packets, aqm.queue_delay));
            let waited = aqm.queue_delay.saturating_sub(sum);
            samples.push(Sample {
                link,
                t_s: reports.at.as_secs_f64(),
                dropped_packets: aqm.decisions.dropped_packets,
                marked_packets: aqm.decisions.marked_packets,
                queue_delay_ms: mean_ms(waited, aqm.sent_packets - packets),
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        let all =
            counted(scenario, reports.ports, |direction| direction.aqm, |port| port.counters.aqm);
        for (link, direction, aqm, counters) in all {
            totals.push(Total {
                link,
                direction,
                aqm: aqm.name().to_owned(),
                dropped_packets: counters.decisions.dropped_packets,
                marked_packets: counters.decisions.marked_packets,
                mean_queue_delay_ms: mean_ms(counters.queue_delay, counters.sent_packets),
                max_queue_delay_ms: counters.max_queue_delay.as_millis_f64(),
            });
        }
        totals
    }
}
