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

use network::{NodeReport, PortReport};
use recording::{ExtraTable, TableDefinition};
use scenario::Scenario;
use units::Time;

use crate::{legs, limits};

pub use feedback::{Routers, routers};
pub use middlebox::{COUNTERS, set_filters};
pub use trace::trace_table;

/// Reports of a network at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports<'a> {
    pub at: Time,
    /// By port: both directions of each link, then routers with limited forwarding.
    pub ports: &'a [PortReport],
    pub nodes: &'a [NodeReport],
}

/// The tables of a mechanism, and the samples collected for one of them.
pub(crate) trait Recorder {
    /// Totals and samples.
    const TABLES: [TableDefinition; 2];

    /// No samples yet.
    fn new(scenario: &Scenario) -> Self;

    /// Adds the samples of an instant, one row for each place that has the mechanism.
    fn sample(&mut self, reports: &Reports<'_>);

    /// All samples; none without the mechanism.
    fn into_table(self) -> Option<ExtraTable>;

    /// The totals at the end of a run; none without the mechanism.
    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Option<ExtraTable>;
}

/// The list of mechanisms, in the order of their tables.
macro_rules! mechanisms {
    ($($name:ident),+ $(,)?) => {
        /// Recorders of all mechanisms.
        #[derive(Clone, Debug)]
        pub(crate) struct Recorders { $($name: $name::Recorder,)+ }

        impl Recorders {
            pub fn new(scenario: &Scenario) -> Self {
                Self { $($name: Recorder::new(scenario),)+ }
            }

            pub fn sample(&mut self, reports: &Reports<'_>) {
                $(self.$name.sample(reports);)+
            }

            /// Tables of samples of the mechanisms that the run has.
            pub fn into_tables(self) -> Vec<ExtraTable> {
                [$(self.$name.into_table(),)+].into_iter().flatten().collect()
            }
        }

        /// Tables of totals of the mechanisms that the run has.
        pub(crate) fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Vec<ExtraTable> {
            [$(<$name::Recorder as Recorder>::totals(scenario, reports),)+].into_iter().flatten().collect()
        }

        /// The tables of this crate. Those of a run are some of them.
        pub static TABLES: &[TableDefinition] = &[
            $($name::Recorder::TABLES[0], $name::Recorder::TABLES[1],)+
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

        /// Collects samples.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Recorder(Samples);

        impl $crate::mechanisms::Recorder for Recorder {
            const TABLES: [recording::TableDefinition; 2] =
                [Totals::DEFINITION, Samples::DEFINITION];

            fn new(_: &scenario::Scenario) -> Self {
                Self::default()
            }

            fn sample(&mut self, reports: &$crate::mechanisms::Reports<'_>) {
                let of = |port: &network::PortReport| -> Option<$counters> { $report(port) };
                for (link, port) in (0..).zip(reports.ports) {
                    let Some($counters { $($sample,)+ .. }) = of(port) else { continue };
                    self.0.push(Sample { link, t_s: reports.at.as_secs_f64(), $($sample,)+ });
                }
            }

            fn into_table(self) -> Option<recording::ExtraTable> {
                self.0.into_table().filled()
            }

            fn totals(
                scenario: &scenario::Scenario,
                reports: &$crate::mechanisms::Reports<'_>,
            ) -> Option<recording::ExtraTable> {
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
                totals.into_table().filled()
            }
        }
    };
}

pub(crate) use port_counters;
