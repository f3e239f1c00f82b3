//! Data that a direction sent, and the parts of it that the capture has not seen.

/// Ranges that are kept. The oldest is forgotten, and its data stays missing.
const MOST: usize = 1024;

/// Bytes that were seen, from the first to the highest position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    highest: Option<i64>,
    missing: Vec<(i64, i64)>,
    /// Bytes of ranges that were forgotten.
    forgotten: u64,
    /// Different bytes that were seen.
    pub bytes: u64,
}

impl Holes {
    /// Adds `start..end`. Returns the number of bytes that were not seen before.
    pub fn add(&mut self, start: i64, end: i64) -> u64 {
        let highest = *self.highest.get_or_insert(start);
        let mut new = 0;
        if end > highest {
            if start > highest {
                if self.missing.len() == MOST {
                    let (from, to) = self.missing.remove(0);
                    self.forgotten += (to - from).cast_unsigned();
                }
                self.missing.push((highest, start));
            }
            new += end - start.max(highest);
            self.highest = Some(end);
        }
        if start < highest && !self.missing.is_empty() {
            new += self.fill(start, end.min(highest));
        }
        let new = new.cast_unsigned();
        self.bytes += new;
        new
    }

    fn fill(&mut self, start: i64, end: i64) -> i64 {
        let mut filled = 0;
        let mut left = Vec::with_capacity(self.missing.len() + 1);
        for &(from, to) in &self.missing {
            let (first, last) = (from.max(start), to.min(end));
            if first >= last {
                left.push((from, to));
                continue;
            }
            filled += last - first;
            left.extend([(from, first), (last, to)].into_iter().filter(|(from, to)| from < to));
        }
        self.missing = left;
        filled
    }

    /// Bytes below the highest position that were never seen.
    pub fn missing(&self) -> u64 {
        let kept: u64 = self.missing.iter().map(|(from, to)| (to - from).cast_unsigned()).sum();
        self.forgotten + kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_forgotten_ranges_stays_missing() {
        let mut holes = Holes::default();
        let segments = MOST as i64 + 10;
        // Every second segment of 100 bytes.
        for number in 0..=segments {
            assert_eq!(holes.add(200 * number, 200 * number + 100), 100);
        }
        assert_eq!(holes.missing(), 100 * segments.cast_unsigned());
        assert_eq!(holes.missing() + holes.bytes, 200 * segments.cast_unsigned() + 100);
    }
}
