//! Events of ports, and their numbers in the list of next events.

/// An event of a port. Of events at one instant, those of the first kind come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PortEvent {
    /// The first packet on its way arrives.
    Arrival,
    /// Transmissions of a discipline may have started.
    Service,
    /// The first frame of the link layer arrives.
    Frame,
    /// A status frame of ARQ arrives.
    Status,
    /// The timer of the link layer's sender expires.
    Timer,
    /// Packets at the far end of FEC have waited long enough.
    Hold,
}

impl PortEvent {
    const ALL: [Self; 6] =
        [Self::Arrival, Self::Service, Self::Frame, Self::Status, Self::Timer, Self::Hold];
}

/// The numbers of events: first those of all ports for arrivals, then those for each other kind. So
/// the number of an arrival is that of its port.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventNumbers {
    ports: usize,
}

impl EventNumbers {
    /// The numbers for this many ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { ports }
    }

    /// How many numbers there are if `last` is the last kind that happens.
    pub(super) fn up_to(self, last: PortEvent) -> usize {
        self.ports * (last as usize + 1)
    }

    /// The number of an event of a port.
    #[inline(always)]
    pub(super) fn of(self, event: PortEvent, port: usize) -> usize {
        event as usize * self.ports + port
    }

    /// The event and the port of a number; `None` for the number that no event has.
    pub(super) fn event(self, number: usize) -> Option<(PortEvent, usize)> {
        let kind = number.checked_div(self.ports)?;
        Some((*PortEvent::ALL.get(kind)?, number % self.ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_that_of_one_event() {
        let numbers = EventNumbers::new(3);
        let of = |event| (0..3).map(move |port| (event, port));
        let all: Vec<_> = PortEvent::ALL.into_iter().flat_map(of).collect();
        assert!(all.is_sorted() && all.len() == numbers.up_to(PortEvent::Hold));
        for (number, (event, port)) in all.into_iter().enumerate() {
            assert_eq!(numbers.of(event, port), number);
            assert_eq!(numbers.event(number), Some((event, port)));
        }
        assert_eq!(numbers.event(u32::MAX as usize), None);
        assert_eq!(EventNumbers::new(0).event(0), None);
    }
}
