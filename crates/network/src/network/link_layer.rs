//! The link layer of a port: ARQ or FEC, apart from its sender. A port has one or none: they
//! exclude each other.

use link::Counters;
use units::Time;

use super::arq::Arq;
use super::events::PortEvent;
use super::fec::Fec;
use crate::topology::PortSpec;

/// The far end of a port, and what is on the way to it.
#[derive(Clone, Debug)]
pub(super) enum LinkLayer {
    Arq(Arq),
    Fec(Fec),
}

impl LinkLayer {
    pub(super) fn of(spec: &PortSpec) -> Option<Box<Self>> {
        let settings = spec.direction.settings();
        let arq = settings.arq.map(|arq| Self::Arq(Arq::new(arq)));
        arq.or_else(|| settings.fec.map(|fec| Self::Fec(Fec::new(fec)))).map(Box::new)
    }

    /// The last kind of event that it has.
    pub(super) fn last_event(&self) -> PortEvent {
        match self {
            Self::Arq(_) => PortEvent::Timer,
            Self::Fec(_) => PortEvent::Hold,
        }
    }

    /// When the event of the sender's timer happens.
    pub(super) fn timer(&mut self) -> &mut Time {
        match self {
            Self::Arq(arq) => &mut arq.timer,
            Self::Fec(fec) => &mut fec.timer,
        }
    }

    /// Totals at `now`, added to those of the direction.
    pub(super) fn counters(&self, now: Time, direction: Counters) -> Counters {
        match self {
            Self::Arq(end) => {
                Counters { arq: direction.arq.map(|arq| end.counters(now, arq)), ..direction }
            }
            Self::Fec(end) => {
                Counters { fec: direction.fec.map(|fec| end.decoder().counters(fec)), ..direction }
            }
        }
    }
}
