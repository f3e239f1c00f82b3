//! Pages, and the applications of the crate `applications`, with the connections that carry them.
//!
//! Each is one line of `machines!`. Its driver is a file of this folder: it passes times and
//! messages to the state machine, and makes rows of its table.

use link::Seed;
use recording::{ExtraTable, PageRecord, TableDefinition};
use scenario::Scenario;
use scenario::model::{Flow, FlowSettings};
use units::Time;

use super::{Application, Context, EndpointId, Kind, sessions};

/// An application as its flow describes it.
pub(super) type Task = FlowSettings;

/// One session of a flow: its start, and the names of its random streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    /// Seed of the run.
    pub seed: Seed,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the session; 0 without sessions.
    pub session: u32,
    /// When it begins.
    pub start: Time,
}

/// A state machine with its connections.
pub(super) trait Driver: Sized {
    /// Its tables, if a run has it.
    const TABLES: &'static [TableDefinition];

    /// A session of a task, if the task is this application.
    fn of(task: &Task, entity: &Entity) -> Option<Self>;

    /// A timer has expired; the first is the start. Returns true if the application is over.
    fn on_timer(&mut self, context: &mut Context<'_>) -> bool;

    /// Something has arrived at an endpoint. Returns true if the application is over.
    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool;

    /// Begins nothing new. The next call of [`on_timer`](Self::on_timer) follows at once.
    fn stop(&mut self);

    /// It is over at `now`, and nothing arrives any more: memory that its tables do not need is
    /// given back.
    fn settle(&mut self, now: Time) {
        let _ = now;
    }

    /// Stopped before its end.
    fn is_cut_short(&self) -> bool;

    /// Its tables for a run that ended at `end`, with the numbers and names of flows.
    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        end: Time,
    ) -> Vec<ExtraTable>
    where
        Self: 'a;
}

/// Declares the applications: variant and driver.
macro_rules! machines {
    ($($variant:ident($driver:ty),)+) => {
        /// An application of the crate `applications`.
        #[derive(Clone, Debug)]
        pub(super) enum Machine {
            $($variant(Box<$driver>),)+
        }

        impl Machine {
            /// A session of a task, if it is one of these applications.
            pub(super) fn of(task: &Task, entity: &Entity) -> Option<Self> {
                None$(.or_else(|| <$driver>::of(task, entity).map(Box::new).map(Self::$variant)))+
            }

            pub(super) fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
                match self { $(Self::$variant(driver) => driver.on_timer(context),)+ }
            }

            pub(super) fn on_received(
                &mut self,
                context: &mut Context<'_>,
                endpoint: EndpointId,
            ) -> bool {
                match self { $(Self::$variant(driver) => driver.on_received(context, endpoint),)+ }
            }

            pub(super) fn stop(&mut self) {
                match self { $(Self::$variant(driver) => driver.stop(),)+ }
            }

            pub(super) fn settle(&mut self, now: Time) {
                match self { $(Self::$variant(driver) => driver.settle(now),)+ }
            }

            pub(super) fn is_cut_short(&self) -> bool {
                match self { $(Self::$variant(driver) => driver.is_cut_short(),)+ }
            }
        }

        impl Machine {
            /// Web pages, if it loads any.
            pub(super) fn pages(&self) -> Vec<PageRecord> {
                if let Self::Page(loader) = self { loader.pages() } else { Vec::new() }
            }
        }

        /// The tables that applications add to recordings. A run has those of its applications.
        pub static APPLICATION_TABLES: &[&[TableDefinition]] =
            &[$(<$driver>::TABLES,)+ sessions::TABLES];

        /// Returns true if a flow has rows in one of [`APPLICATION_TABLES`], once it has begun.
        pub fn has_application_table(flow: &Flow, table: &str) -> bool {
            let is_in = |tables: &[TableDefinition]| tables.iter().any(|one| one.name == table);
            (flow.sessions.is_some() && is_in(sessions::TABLES))
                $(|| (is_in(<$driver>::TABLES)
                    && <$driver>::of(&flow.settings, &Entity::default()).is_some()))+
        }

        /// The tables of the applications of a run that ended at `end`.
        pub fn application_tables(
            scenario: &Scenario,
            applications: &[Application],
            end: Time,
        ) -> Vec<ExtraTable> {
            let mut tables = Vec::new();
            $({
                let flows = (0..).zip(&scenario.flows).zip(applications);
                let all = flows.flat_map(|((number, flow), application)| {
                    let machines = application.kind().map(Kind::machines).into_iter().flatten();
                    machines.filter_map(move |machine| match machine {
                        Machine::$variant(driver) => Some((number, flow.name.as_str(), &**driver)),
                        _ => None,
                    })
                });
                tables.extend(<$driver>::tables(all, end));
            })+
            tables.extend(sessions::tables(scenario.flows.iter().zip(applications)));
            tables.into_iter().filter_map(ExtraTable::filled).collect()
        }
    };
}

machines! {
    Page(super::page::Loader),
    Call(super::call::Caller),
    Messages(super::messages::Messenger),
    Video(super::video::Viewer),
    Speedtest(super::speedtest::Tester),
}
