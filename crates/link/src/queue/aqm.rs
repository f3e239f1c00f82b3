//! Active queue management (RFC 7567): queues that drop or mark packets before they are full, so
//! that the queue stays short.
//!
//! One file per algorithm. Each is a state machine without I/O: packets and times go in, and it
//! decides at enqueue (RED, PIE) or at dequeue (CoDel, FQ-CoDel, DualPI2), as its source says. So
//! arrivals from a list drive it as well as a network.
//!
//! Decisions:
//! - The limit of a queue stays a setting of the direction: no algorithm has one of its own, so
//!   that a comparison with a drop-tail queue compares the same memory.
//! - Dispatch is an enum. A discipline from elsewhere, such as one of a test, is called through a
//!   vtable.
//! - A mark replaces a drop: `ecn` is on by default, and only packets of flows that use ECN are
//!   marked.

pub(super) mod codel;
pub(super) mod dualpi2;
pub(super) mod fq_codel;
pub(super) mod pie;
pub(super) mod red;
pub(super) mod store;

use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Rate, Time};

use super::drop_tail::DropTail;
use super::{Decisions, Discipline, QueueLimit, Queued};
use codel::{CodelQueue, CodelSettings};
use dualpi2::{DualPi2Queue, DualPi2Settings};
use fq_codel::{FqCodelQueue, FqCodelSettings};
use pie::{PieQueue, PieSettings};
use red::{RedQueue, RedSettings};

/// The key of scenarios that takes an algorithm.
const KEY: &str = "link.aqm";
const KIND: &str = "active queue management";

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Aqm {
    /// CoDel: drops or marks while packets have waited longer than a target for a whole interval.
    /// It decides at dequeue.
    Codel(CodelSettings),
    /// DualPI2: a queue of low latency for scalable flows (ECT(1)) and one for all others, coupled
    /// so that both kinds of flows get similar rates.
    #[cfg_attr(feature = "schema", serde(rename = "dualpi2"))]
    DualPi2(DualPi2Settings),
    /// FQ-CoDel: a queue with CoDel for each flow, served in turn, and new flows first.
    FqCodel(FqCodelSettings),
    /// PIE: drops or marks at random at enqueue, with a probability that a proportional-integral
    /// controller adapts to the queue delay.
    Pie(PieSettings),
    /// RED: drops or marks at random at enqueue, with a probability that grows with the average
    /// queue.
    Red(RedSettings),
}

crate::list_of_mechanisms! {
    Aqm {
        Codel => codel::ABOUT,
        DualPi2 => dualpi2::ABOUT,
        FqCodel => fq_codel::ABOUT,
        Pie => pie::ABOUT,
        Red => red::ABOUT,
    }
}

/// Values of the direction that all algorithms get.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Limit of the packets that wait.
    pub limit: QueueLimit,
    /// Rate of the link at the start of the run.
    pub rate: Rate,
    /// Random numbers of this queue.
    pub random: Xoshiro256PlusPlus,
}

/// An algorithm at work, or a discipline from elsewhere.
#[derive(Clone, Debug)]
pub(crate) enum AnyDiscipline {
    Codel(CodelQueue),
    DualPi2(DualPi2Queue),
    FqCodel(FqCodelQueue),
    Pie(PieQueue),
    Red(RedQueue),
    DropTail(DropTail),
    External(Box<dyn Discipline>),
}

/// Calls the discipline behind each variant.
macro_rules! each {
    ($any:expr, $discipline:ident => $call:expr) => {
        match $any {
            AnyDiscipline::Codel($discipline) => $call,
            AnyDiscipline::DualPi2($discipline) => $call,
            AnyDiscipline::FqCodel($discipline) => $call,
            AnyDiscipline::Pie($discipline) => $call,
            AnyDiscipline::Red($discipline) => $call,
            AnyDiscipline::DropTail($discipline) => $call,
            AnyDiscipline::External($discipline) => $call,
        }
    };
}

impl AnyDiscipline {
    /// An empty queue with this algorithm.
    pub fn new(aqm: Aqm, surroundings: Surroundings) -> Self {
        match aqm {
            Aqm::Codel(settings) => Self::Codel(CodelQueue::new(settings, surroundings)),
            Aqm::DualPi2(settings) => Self::DualPi2(DualPi2Queue::new(settings, surroundings)),
            Aqm::FqCodel(settings) => Self::FqCodel(FqCodelQueue::new(settings, surroundings)),
            Aqm::Pie(settings) => Self::Pie(PieQueue::new(settings, surroundings)),
            Aqm::Red(settings) => Self::Red(RedQueue::new(settings, surroundings)),
        }
    }

    #[inline(always)]
    pub fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        each!(self, discipline => discipline.enqueue(packet, waits, dropped));
    }

    #[inline(always)]
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued> {
        each!(self, discipline => discipline.dequeue(now, dropped))
    }

    pub fn remove(&mut self, ticket: u32, flow: u32) -> Option<Queued> {
        each!(self, discipline => discipline.remove(ticket, flow))
    }

    /// Returns true if its decisions are those of active queue management. A discipline from
    /// elsewhere may be.
    pub fn is_managed(&self) -> bool {
        !matches!(self, Self::DropTail(_))
    }

    pub fn is_fifo(&self) -> bool {
        each!(self, discipline => discipline.is_fifo())
    }

    pub fn next_bytes(&self) -> Option<u32> {
        each!(self, discipline => discipline.next_bytes())
    }

    #[inline(always)]
    pub fn waiting(&self) -> (usize, u64) {
        each!(self, discipline => discipline.waiting())
    }

    pub fn decisions(&self) -> Decisions {
        each!(self, discipline => discipline.decisions())
    }

    pub fn boxed_clone(&self) -> Box<dyn Discipline> {
        each!(self, discipline => discipline.boxed_clone())
    }
}

#[cfg(test)]
mod tests;
