//! Random numbers of stimuli: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), so that a seed names
//! the same script on every machine.

/// A stream of random numbers.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of `from..=to`.
    pub(super) fn between(&mut self, from: u32, to: u32) -> u32 {
        let span = u64::from(to - from) + 1;
        from + u32::try_from(self.next() % span).unwrap_or(0)
    }

    /// The same for times in microseconds, in steps of `step`.
    pub(super) fn time(&mut self, from: u32, to: u32, step: u32) -> i64 {
        i64::from(self.between(from / step, to / step)) * i64::from(step)
    }

    /// Returns true in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of the values.
    pub(super) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.next() as usize % values.len()]
    }
}
