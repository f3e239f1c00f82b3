//! The tables that mechanisms add to a recording, known before any run.

use recording::TableDefinition;

use crate::{acm, aqm, arq, compression, demand, fec, feedback, legs, middlebox, mtu, trace};

/// The tables of this crate. Those of a run are some of them.
pub const TABLES: [TableDefinition; 20] = [
    aqm::Totals::DEFINITION,
    aqm::Samples::DEFINITION,
    arq::Totals::DEFINITION,
    arq::Samples::DEFINITION,
    fec::Totals::DEFINITION,
    fec::Samples::DEFINITION,
    acm::Totals::DEFINITION,
    acm::Samples::DEFINITION,
    feedback::Totals::DEFINITION,
    feedback::Samples::DEFINITION,
    demand::Totals::DEFINITION,
    demand::Samples::DEFINITION,
    compression::Totals::DEFINITION,
    compression::Samples::DEFINITION,
    mtu::Totals::DEFINITION,
    mtu::Samples::DEFINITION,
    middlebox::Totals::DEFINITION,
    middlebox::Samples::DEFINITION,
    legs::Legs::DEFINITION,
    trace::Starts::DEFINITION,
];
