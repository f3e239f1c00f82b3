//! Modems with adaptive coding and modulation: a table of totals, and one of samples, in runs
//! that have them. All of it is known before the run.

use std::sync::Arc;

use link::{Acm, Errors};
use recording::extra_table;
use scenario::Scenario;
use units::{Span, Time};

use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of adaptive coding and modulation, one row for each direction that has it.
    pub(crate) Totals("acm") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The modem.
        acm: String,
        /// Mean data rate in bits per second, over time.
        mean_rate_bps: f64,
        /// Lowest data rate in bits per second.
        [measure] min_rate_bps: u64,
        /// Changes of modulation and code.
        changes: u64,
        /// Seconds in which the signal was too weak for what the modem sent.
        lost_s: f64,
    }
}

extra_table! {
    /// Samples of adaptive coding and modulation, at the times of the series of links.
    pub(crate) Samples("acm_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Data rate in bits per second.
        rate_bps: f64,
        /// Es/N0 in decibels.
        es_n0_db: f64,
        /// Es/N0 in decibels that the modulation and code need.
        threshold_db: f64,
    }
}

/// All directions of links with a modem, in the order of their ports.
fn modems(scenario: &Scenario) -> impl Iterator<Item = (u32, &str, &'static str, &Arc<Acm>)> {
    let directions = scenario.links.iter().flat_map(|link| {
        link.sides().map(|(side, direction)| (link.name.as_str(), side, direction))
    });
    (0..).zip(directions).filter_map(|(port, (link, side, direction))| match &direction.channel {
        Errors::Acm { acm, .. } => Some((port, link, side, acm)),
        _ => None,
    })
}

/// The modems with their ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    modems: Vec<(u32, Arc<Acm>)>,
}

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(scenario: &Scenario) -> Self {
        let modems = modems(scenario).map(|(port, _, _, acm)| (port, acm.clone())).collect();
        Self { modems }
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        let at = reports.at;
        for (link, acm) in &self.modems {
            let modcod = acm.choice(at);
            samples.push(Sample {
                link: *link,
                t_s: at.as_secs_f64(),
                rate_bps: acm.modem().settings().rate(modcod).bits_per_second() as f64,
                es_n0_db: acm.signal().at(at),
                threshold_db: modcod.threshold,
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let end = reports.at;
        let mut totals = Totals::default();
        for (_, link, direction, acm) in modems(scenario) {
            let mut rate = acm.rate().bits_per_second();
            let (mut since, mut bits, mut lowest, mut changes) = (Time::ZERO, 0.0, rate, 0);
            for change in acm.rates().changes() {
                let at = Time::ZERO + change.at;
                let Some(next) = change.rate.filter(|_| at < end) else { continue };
                bits += rate as f64 * at.since(since).as_secs_f64();
                (since, rate) = (at, next.bits_per_second());
                lowest = lowest.min(rate);
                changes += 1;
            }
            bits += rate as f64 * end.since(since).as_secs_f64();
            let elapsed = end.as_secs_f64();
            let of_run = |(from, to): &(Time, Time)| (*to).min(end).since((*from).min(end));
            let lost = acm.outages().iter().map(of_run).fold(Span::ZERO, |sum, span| sum + span);
            totals.push(Total {
                link: link.to_owned(),
                direction: direction.to_owned(),
                acm: acm.modem().name().to_owned(),
                mean_rate_bps: if elapsed > 0.0 { bits / elapsed } else { rate as f64 },
                min_rate_bps: lowest,
                changes,
                lost_s: lost.as_secs_f64(),
            });
        }
        totals
    }
}
