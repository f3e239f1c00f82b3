//! The mechanisms on links and at nodes that add tables to recordings. Each is one line of
//! `mechanisms!`.

mod acm;
mod aqm;
mod arq;
pub(crate) mod compression;
mod demand;
mod fec;
pub(crate) mod feedback;
mod impairments;
pub(crate) mod middlebox;
pub(crate) mod mtu;
mod policer;
mod shaper;
mod switch;
mod trace;
mod tunnel;
mod tunnel_end;

use network::{Counted, NodeReport, PortReport};
use recording::{ExtraTable, Rows, TableDefinition};
use scenario::Scenario;
use units::Time;

use crate::{legs, limits};

pub(crate) use feedback::routers;
pub use middlebox::COUNTERS;
pub(crate) use middlebox::set_filters;
pub use trace::trace_table;

/// Reports of a network at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports<'a> {
    pub at: Time,
    /// By port: both directions of each link, then routers with limited forwarding.
    pub ports: &'a [PortReport],
    pub nodes: &'a [NodeReport],
}

impl<'a> Reports<'a> {
    /// Reports of state machines at places of one kind, with the numbers of the places.
    pub fn counted(
        &self,
        number: fn(Counted) -> Option<u16>,
    ) -> impl Iterator<Item = (u16, &'a NodeReport)> + use<'a> {
        self.nodes.iter().filter_map(move |report| Some((number(report.place)?, report)))
    }
}

/// The tables of a mechanism, and the state between two samples.
pub(crate) trait Recorder {
    type Totals: Rows;
    type Samples: Rows;

    /// Before the first sample.
    fn new(scenario: &Scenario) -> Self;

    /// Adds the samples of an instant, one row for each place that has the mechanism.
    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Self::Samples);

    /// The totals at the end of a run, one row for each place that has the mechanism.
    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Self::Totals;
}

/// Names and columns of both tables of a mechanism.
const fn definitions<R: Recorder>() -> [TableDefinition; 2] {
    [R::Totals::DEFINITION, R::Samples::DEFINITION]
}

/// The list of mechanisms, in the order of their tables.
macro_rules! mechanisms {
    ($($name:ident),+ $(,)?) => {
        /// Recorders of all mechanisms, and their samples.
        #[derive(Clone, Debug)]
        pub(crate) struct Recorders {
            $($name: ($name::Recorder, <$name::Recorder as Recorder>::Samples),)+
        }

        impl Recorders {
            pub fn new(scenario: &Scenario) -> Self {
                Self { $($name: (Recorder::new(scenario), Default::default()),)+ }
            }

            pub fn sample(&mut self, reports: &Reports<'_>) {
                $(self.$name.0.sample(reports, &mut self.$name.1);)+
            }

            /// Tables of samples of the mechanisms that the run has.
            pub fn into_tables(self) -> Vec<ExtraTable> {
                let tables = [$(self.$name.1.into_table(),)+];
                tables.into_iter().filter_map(ExtraTable::filled).collect()
            }
        }

        /// Tables of totals of the mechanisms that the run has.
        pub(crate) fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Vec<ExtraTable> {
            let tables = [$($name::Recorder::totals(scenario, reports).into_table(),)+];
            tables.into_iter().filter_map(ExtraTable::filled).collect()
        }

        /// The tables of this crate. Those of a run are some of them.
        pub static TABLES: &[TableDefinition] = &[
            $(definitions::<$name::Recorder>()[0], definitions::<$name::Recorder>()[1],)+
            legs::Legs::DEFINITION,
            limits::Series::DEFINITION,
            trace::Starts::DEFINITION,
        ];
    };
}

mechanisms!(
    aqm,
    arq,
    fec,
    acm,
    feedback,
    demand,
    compression,
    mtu,
    tunnel,
    tunnel_end,
    switch,
    impairments,
    shaper,
    policer,
    middlebox
);

/// Declares the tables and the recorder of a mechanism from the counters that ports report: first
/// the name of the table and of the column with its kind, then the counters, all of which are
/// columns, and those of them that are sampled.
macro_rules! port_counters {
    (
        $table:literal of $key:ident, $counters:ident in $report:expr, $settings:expr;
        totals { $($(#[$about:meta])* $field:ident),+ $(,)? }
        $series:literal { $($sample:ident),+ $(,)? }
    ) => {
        recording::extra_table! {
            #[doc = concat!("Totals of `", $table, "`, one row for each direction that has it.")]
            pub(crate) Totals($table) of Total {
                /// Name of the link.
                link: String,
                /// `forward` or `backward`.
                direction: String,
                /// Its kind.
                $key: String,
                $($(#[$about])* $field: u64,)+
            }
        }

        recording::extra_table! {
            #[doc = concat!("Samples of `", $table, "`, at the times of the series of links.")]
            pub(crate) Samples($series) of Sample {
                /// Number of the link direction in the recording's `links`.
                link: u32,
                /// Seconds since the start of the run.
                t_s: f64,
                $(#[doc = concat!("`", stringify!($sample), "` since the start.")] $sample: u64,)+
            }
        }

        /// Has no state.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Recorder;

        impl $crate::mechanisms::Recorder for Recorder {
            type Totals = Totals;
            type Samples = Samples;

            fn new(_: &scenario::Scenario) -> Self {
                Self
            }

            fn sample(
                &mut self,
                reports: &$crate::mechanisms::Reports<'_>,
                samples: &mut Self::Samples,
            ) {
                let of = |port: &network::PortReport| -> Option<$counters> { $report(port) };
                for (link, port) in (0..).zip(reports.ports) {
                    let Some($counters { $($sample,)+ .. }) = of(port) else { continue };
                    samples.push(Sample { link, t_s: reports.at.as_secs_f64(), $($sample,)+ });
                }
            }

            fn totals(
                scenario: &scenario::Scenario,
                reports: &$crate::mechanisms::Reports<'_>,
            ) -> Self::Totals {
                let mut totals = Totals::default();
                let of = |port: &network::PortReport| -> Option<$counters> { $report(port) };
                for (link, direction, name, counters) in
                    $crate::links::counted(scenario, reports.ports, $settings, of)
                {
                    // Without `..`, so that a new counter has to stand in the table.
                    let $counters { $($field,)+ } = counters;
                    totals.push(Total {
                        link,
                        direction,
                        $key: name.to_owned(),
                        $($field,)+
                    });
                }
                totals
            }
        }
    };
}

pub(crate) use port_counters;
