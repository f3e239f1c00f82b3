//! The memory of queues: an application that pauses leaves empty ones behind.

use std::collections::VecDeque;

/// Bytes that an empty queue may keep.
const KEPT: usize = 1024;

/// Gives back the memory of a queue that has become empty, if it is more than a few elements. The
/// next burst grows it again, at a fraction of the cost of its packets.
///
/// ```
/// use std::collections::VecDeque;
///
/// let mut queue: VecDeque<u64> = (0..1000).collect();
/// while queue.pop_front().is_some() {
///     units::shrink_if_empty(&mut queue);
/// }
/// assert_eq!(queue.capacity(), 0);
/// ```
#[inline]
pub fn shrink_if_empty<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() && queue.capacity() > const { elements::<T>() } {
        shrink(queue);
    }
}

/// Elements in the bytes that a queue may keep.
const fn elements<T>() -> usize {
    if size_of::<T>() == 0 { usize::MAX } else { KEPT / size_of::<T>() }
}

#[cold]
#[inline(never)]
fn shrink<T>(queue: &mut VecDeque<T>) {
    *queue = VecDeque::new();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_gives_memory_back_when_it_is_empty_and_not_before() {
        let mut queue: VecDeque<u64> = (0..1000).collect();
        queue.drain(1..);
        shrink_if_empty(&mut queue);
        assert!(queue.capacity() >= 1000, "an element is left");
        queue.clear();
        shrink_if_empty(&mut queue);
        assert_eq!(queue.capacity(), 0);
    }

    #[test]
    fn a_short_queue_keeps_its_memory() {
        let mut queue: VecDeque<u64> = VecDeque::with_capacity(16);
        shrink_if_empty(&mut queue);
        assert_eq!(queue.capacity(), 16);
        let mut nothings: VecDeque<()> = VecDeque::new();
        shrink_if_empty(&mut nothings);
    }
}
