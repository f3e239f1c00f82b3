//! State of a middlebox for each flow, and the timers of flows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use units::Time;

use crate::header::Endpoints;

/// State with a timer.
pub(crate) trait Timed {
    /// When it expires; [`Time::NEVER`] if it does not run.
    fn timer(&self) -> Time;
}

/// State with a timer for each flow.
#[derive(Clone, Debug)]
pub(crate) struct Flows<F> {
    places: Places,
    known: Vec<Option<F>>,
}

impl<F> Default for Flows<F> {
    fn default() -> Self {
        Self { places: Places::default(), known: Vec::new() }
    }
}

impl<F: Timed> Flows<F> {
    pub(crate) fn get(&self, endpoints: Endpoints) -> Option<&F> {
        self.known[self.places.find(endpoints)?].as_ref()
    }

    pub(crate) fn get_mut(&mut self, endpoints: Endpoints) -> Option<Changing<'_, F>> {
        let place = self.places.find(endpoints)?;
        let flow = self.known[place].as_mut()?;
        Some(Changing { places: &mut self.places, endpoints, before: flow.timer(), flow })
    }

    /// That of the flow; `new` makes that of an unknown one.
    pub(crate) fn get_or_insert_with(
        &mut self,
        endpoints: Endpoints,
        new: impl FnOnce() -> F,
    ) -> Changing<'_, F> {
        let place = self.places.find_or_take(endpoints);
        if place == self.known.len() {
            self.known.push(None);
        }
        let before = self.known[place].as_ref().map_or(Time::NEVER, F::timer);
        let flow = self.known[place].get_or_insert_with(new);
        Changing { places: &mut self.places, endpoints, before, flow }
    }

    pub(crate) fn remove(&mut self, endpoints: Endpoints) -> Option<F> {
        let flow = self.known[self.places.free(endpoints)?].take()?;
        self.places.set_timer(endpoints, flow.timer(), Time::NEVER);
        Some(flow)
    }

    /// All of them, in the order of their endpoints.
    pub(crate) fn values(&self) -> impl Iterator<Item = &F> {
        self.places.by_endpoints.values().filter_map(|place| self.known[*place].as_ref())
    }

    /// Lets `change` change all of them, in the order of their endpoints.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut F)) {
        let all: Vec<_> = self.places.by_endpoints.keys().copied().collect();
        for endpoints in all {
            self.get_mut(endpoints).iter_mut().for_each(|flow| change(flow));
        }
    }

    /// The earliest timer; [`Time::NEVER`] if none runs.
    pub(crate) fn next_timer(&self) -> Time {
        self.places.next_timer()
    }

    /// Lets `change` change those whose timers have come by `now`, in the order of their timers and
    /// then of their endpoints.
    pub(crate) fn on_timers(&mut self, now: Time, mut change: impl FnMut(&mut F)) {
        for endpoints in self.places.expired(now) {
            self.get_mut(endpoints).iter_mut().for_each(|flow| change(flow));
        }
    }
}

/// State of a flow that may change. Its timer is set again at the end.
#[derive(Debug)]
pub(crate) struct Changing<'a, F: Timed> {
    places: &'a mut Places,
    endpoints: Endpoints,
    /// The timer before the change.
    before: Time,
    flow: &'a mut F,
}

impl<F: Timed> Deref for Changing<'_, F> {
    type Target = F;

    fn deref(&self) -> &F {
        self.flow
    }
}

impl<F: Timed> DerefMut for Changing<'_, F> {
    fn deref_mut(&mut self) -> &mut F {
        self.flow
    }
}

impl<F: Timed> Drop for Changing<'_, F> {
    fn drop(&mut self) {
        self.places.set_timer(self.endpoints, self.before, self.flow.timer());
    }
}

/// Places of flows in a list, and their timers. It is one type for all middleboxes and packets, so
/// that its maps are compiled once.
#[derive(Clone, Debug, Default)]
struct Places {
    by_endpoints: BTreeMap<Endpoints, usize>,
    /// Places of flows that are no longer known.
    vacant: Vec<usize>,
    /// Timers that run.
    timers: BTreeSet<(Time, Endpoints)>,
}

impl Places {
    fn find(&self, endpoints: Endpoints) -> Option<usize> {
        self.by_endpoints.get(&endpoints).copied()
    }

    /// The place of a flow. An unknown one gets the last vacant one, or the next behind all.
    fn find_or_take(&mut self, endpoints: Endpoints) -> usize {
        let behind = self.by_endpoints.len() + self.vacant.len();
        let vacant = &mut self.vacant;
        *self.by_endpoints.entry(endpoints).or_insert_with(|| vacant.pop().unwrap_or(behind))
    }

    fn free(&mut self, endpoints: Endpoints) -> Option<usize> {
        let place = self.by_endpoints.remove(&endpoints)?;
        self.vacant.push(place);
        Some(place)
    }

    fn set_timer(&mut self, endpoints: Endpoints, before: Time, after: Time) {
        if before == after {
            return;
        }
        if before != Time::NEVER {
            self.timers.remove(&(before, endpoints));
        }
        if after != Time::NEVER {
            self.timers.insert((after, endpoints));
        }
    }

    fn next_timer(&self) -> Time {
        self.timers.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The flows whose timers have come.
    fn expired(&self, now: Time) -> Vec<Endpoints> {
        let due = self.timers.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, endpoints)| *endpoints).collect()
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::header::Address;

    /// A number, and a timer.
    #[derive(Debug, PartialEq)]
    struct Flow(u32, Time);

    impl Timed for Flow {
        fn timer(&self) -> Time {
            self.1
        }
    }

    fn endpoints(number: u32) -> Endpoints {
        let source = Address { host: number.into(), port: 1 };
        Endpoints { source, ..Endpoints::default() }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn with(numbers: &[u32]) -> Flows<Flow> {
        let mut flows = Flows::default();
        for number in numbers {
            flows.get_or_insert_with(endpoints(*number), || Flow(*number, Time::NEVER));
        }
        flows
    }

    fn numbers(flows: &Flows<Flow>) -> Vec<u32> {
        flows.values().map(|flow| flow.0).collect()
    }

    fn expire(flows: &mut Flows<Flow>, now: u64) -> Vec<u32> {
        let mut seen = Vec::new();
        flows.on_timers(at(now), |flow| {
            seen.push(flow.0);
            flow.1 = Time::NEVER;
        });
        seen
    }

    #[test]
    fn flows_are_in_the_order_of_their_endpoints() {
        let mut flows = with(&[3, 1, 2]);
        assert_eq!(numbers(&flows), [1, 2, 3]);
        let mut seen = Vec::new();
        flows.for_each(|flow| seen.push(flow.0));
        assert_eq!(seen, [1, 2, 3]);
    }

    #[test]
    fn a_forgotten_flow_leaves_its_place_to_the_next_one() {
        let mut flows = with(&[1, 2]);
        assert_eq!(flows.remove(endpoints(1)), Some(Flow(1, Time::NEVER)));
        assert_eq!(flows.remove(endpoints(1)), None);
        assert_eq!(flows.get(endpoints(1)), None);
        flows.get_or_insert_with(endpoints(3), || Flow(3, Time::NEVER));
        assert_eq!(flows.known.len(), 2);
        flows.get_or_insert_with(endpoints(4), || Flow(4, Time::NEVER)).0 = 5;
        assert_eq!(numbers(&flows), [2, 3, 5]);
    }

    #[test]
    fn timers_come_in_their_order() {
        let mut flows = with(&[1, 2, 3, 4, 5]);
        assert_eq!(flows.next_timer(), Time::NEVER);
        for (number, time) in [(1, 7), (2, 5), (3, 9), (4, 5), (5, 6)] {
            flows.get_mut(endpoints(number)).unwrap().1 = at(time);
        }
        assert_eq!(flows.next_timer(), at(5));
        assert_eq!(expire(&mut flows, 4), [0; 0]);
        assert_eq!(expire(&mut flows, 6), [2, 4, 5]);
        assert_eq!(flows.next_timer(), at(7));
        flows.get_mut(endpoints(1)).unwrap().1 = at(10);
        flows.remove(endpoints(3));
        assert_eq!(flows.next_timer(), at(10));
        flows.for_each(|flow| flow.1 = at(8));
        assert_eq!(expire(&mut flows, 8), [1, 2, 4, 5]);
        assert_eq!(flows.next_timer(), Time::NEVER);
    }

    #[test]
    fn the_timer_of_a_new_flow_runs() {
        let mut flows = Flows::default();
        flows.get_or_insert_with(endpoints(1), || Flow(1, at(3)));
        assert_eq!(flows.next_timer(), at(3));
    }
}
