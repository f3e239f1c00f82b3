//! Common to both backends, so that one scenario means the same on each: the network of a scenario,
//! the addresses of its nodes, its applications, and the records of its links.
//!
//! Like the crates below it, this one reads no clock and no socket. The backend passes the time and
//! owns the connections. Applications act on them through [`Connections`].
//!
//! Decisions:
//! - Applications act through a trait: one browser for both backends: a page means the same on
//!   simulated and on real TCP.

// A number of the user's is never narrowed in silence: it is bounded first, and converted with a
// check.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod address;
mod application;
mod beams;
mod flow;
mod legs;
mod limits;
mod links;
mod mechanisms;
mod networks;
mod nodes;
mod signals;
mod stops;
mod switches;
mod topology;
mod totals;
mod tunnels;

pub use address::{address, ipv4, ipv6, node};
pub use application::{
    APPLICATION_TABLES, Application, Cast, Connections, application_tables, applications,
    has_application_table,
};
pub use beams::{BEAM_TABLES, BeamSampler, Beams, beam_tables};
pub use flow::{
    ConnectionId, End, EndpointId, Ends, Leg, LegEnd, Pair, Side, legs, sequence_of_leg,
};
pub use legs::{LegTotals, legs_table};
pub use limits::LimitSeries;
pub use links::{LinkRecorder, LinkSamples, link_records, link_tables};
pub use mechanisms::{COUNTERS, TABLES, trace_table};
pub use networks::{AnyNetwork, Engine, Fast, Reference, beams, links, network};
pub use nodes::needs_nodes;
pub use signals::{ErrorWatch, Hearer, News, Signal, error_watches, signals};
pub use topology::{number, topology};
pub use totals::{FlowState, quic_record, tcp_record};
