//! Slots that go round: each in turn is that of the next member. So everybody has the same number
//! over time, and the slots of a terminal are known without a list of all terminals.

/// Slots of a frame that go round among `members`: the first of them is turn number `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Number of members.
    pub members: u64,
    /// Turns before this frame.
    pub first: u64,
    /// Place of the first slot in the frame.
    pub place: u32,
    /// Number of slots.
    pub slots: u32,
}

impl Turns {
    /// The places of the slots of a member.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than the slots of a frame")]
    pub fn of(self, member: u64) -> impl Iterator<Item = u32> {
        let behind = (member + self.members - self.first % self.members) % self.members;
        let all = u64::from(self.slots);
        let step = usize::try_from(self.members).unwrap_or(usize::MAX);
        (behind..all).step_by(step).map(move |slot| self.place + slot as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_that_of_one_member_and_the_next_frame_goes_on() {
        let mut owners = Vec::new();
        for (first, slots) in [(0, 4), (4, 7)] {
            let turns = Turns { members: 5, first, place: 10, slots };
            let mut frame = vec![None; slots as usize];
            for member in 0..5 {
                for place in turns.of(member) {
                    assert_eq!(frame[place as usize - 10].replace(member), None);
                }
            }
            owners.extend(frame.into_iter().map(Option::unwrap));
        }
        assert_eq!(owners, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0]);
    }
}
