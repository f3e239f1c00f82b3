//! A ring of the packets in flight through a port, first in, first out.
//!
//! A `VecDeque` whose first element can be forgotten where it is, after it was looked at: what
//! `pop_front` gives has been moved.

/// A queue in a ring whose length is a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// Those of the queue, and `None` in all other places.
    slots: Vec<Option<T>>,
    first: usize,
    len: usize,
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), first: 0, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The element that came first.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.slots.get(self.first)?.as_ref()
    }

    /// The one behind it.
    #[inline]
    pub(crate) fn second(&self) -> Option<&T> {
        self.slots.get(self.place(1))?.as_ref()
    }

    /// Forgets the first, which must be there.
    #[inline]
    pub(crate) fn forget_first(&mut self) {
        self.slots[self.first] = None;
        self.first = self.place(1);
        self.len -= 1;
    }

    /// Takes out the first.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<T> {
        let taken = self.slots.get_mut(self.first)?.take()?;
        self.first = self.place(1);
        self.len -= 1;
        Some(taken)
    }

    /// Adds one at the end.
    #[inline]
    pub(crate) fn push(&mut self, element: T) {
        self.push_with(|| element);
    }

    /// Likewise, made once there is room for it: so it is written where it stays.
    #[inline]
    pub(crate) fn push_with(&mut self, make: impl FnOnce() -> T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.slots[place] = Some(make());
        self.len += 1;
    }

    /// Moves the last element forward, before all that come `after` it.
    pub(crate) fn move_last(&mut self, mut after: impl FnMut(&T, &T) -> bool) {
        for number in (1..self.len).rev() {
            let [before, place] = [number - 1, number].map(|number| self.place(number));
            match [&self.slots[before], &self.slots[place]] {
                [Some(first), Some(second)] if after(first, second) => {
                    self.slots.swap(before, place);
                }
                _ => return,
            }
        }
    }

    /// Changes all from number `from` on.
    pub(crate) fn change_from(&mut self, from: usize, mut change: impl FnMut(&mut T)) {
        for number in from..self.len {
            let place = self.place(number);
            self.slots[place].iter_mut().for_each(&mut change);
        }
    }

    /// Removes number `number`, which must be there.
    pub(crate) fn remove(&mut self, number: usize) {
        let mut free = self.place(number);
        self.slots[free] = None;
        for behind in number + 1..self.len {
            let place = self.place(behind);
            self.slots.swap(free, place);
            free = place;
        }
        self.len -= 1;
    }

    /// The place of number `number`.
    #[inline]
    fn place(&self, number: usize) -> usize {
        (self.first + number) & self.slots.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let before = self.slots.len();
        // Of two at least: the second must not lie where the first does.
        self.slots.resize_with((2 * before).max(4), || None);
        // Those that had gone round now follow the last place of before.
        for place in 0..self.first {
            self.slots.swap(place, before + place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Push(u8),
        Take,
        Remove(usize),
        ChangeFrom(usize),
        MoveLast,
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let operation = prop_oneof![
            4 => any::<u8>().prop_map(Operation::Push),
            3 => Just(Operation::Take),
            1 => (0usize..20).prop_map(Operation::Remove),
            1 => (0usize..20).prop_map(Operation::ChangeFrom),
            1 => Just(Operation::MoveLast),
        ];
        prop::collection::vec(operation, 1..200)
    }

    proptest! {
        #[test]
        fn the_ring_is_a_queue(operations in operations()) {
            let mut ring = Ring::new();
            let mut twin = VecDeque::new();
            for operation in operations {
                match operation {
                    Operation::Push(element) => {
                        ring.push(element);
                        twin.push_back(element);
                    }
                    Operation::Take => prop_assert_eq!(ring.take_first(), twin.pop_front()),
                    Operation::Remove(number) if number < twin.len() => {
                        ring.remove(number);
                        twin.remove(number);
                    }
                    Operation::ChangeFrom(from) if from <= twin.len() => {
                        ring.change_from(from, |element| *element ^= 1);
                        twin.range_mut(from..).for_each(|element| *element ^= 1);
                    }
                    Operation::MoveLast => {
                        ring.move_last(|first, second| first > second);
                        if let Some(last) = twin.pop_back() {
                            let place = twin.iter().rposition(|one| *one <= last);
                            twin.insert(place.map_or(0, |place| place + 1), last);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(ring.len(), twin.len());
                prop_assert_eq!(ring.first(), twin.front());
                prop_assert_eq!(ring.second(), twin.get(1));
            }
        }
    }
}
