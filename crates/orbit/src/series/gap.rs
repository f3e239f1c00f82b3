//! Times without a path, and their reasons.

use units::Span;

use crate::sight::Miss;

/// A place that sees no satellite, and the satellite that is nearest to being seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Unseen {
    /// Name of the place.
    pub place: String,
    /// Number of the satellite.
    pub satellite: u32,
    /// Why it is not seen.
    pub miss: Miss,
}

/// Why there is no path at a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Places see no satellite: the first, all of the last ones, or both.
    Unseen(Vec<Unseen>),
    /// Both ends see satellites, but no common one.
    NoCommon,
    /// Both ends see satellites, but no path over laser links is between them.
    NoRoute,
}

/// A time without a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gap {
    /// Its first step.
    pub start: Span,
    /// The end of its last step.
    pub end: Span,
    /// Places that saw nothing at some step, each with the smallest miss.
    pub unseen: Vec<Unseen>,
    /// Steps at which the ends saw no common satellite.
    pub no_common: u64,
    /// Steps at which no laser links were between the satellites of the ends.
    pub no_route: u64,
}

/// Extends the last gap by a step, or begins a new one.
pub(super) fn extend(gaps: &mut Vec<Gap>, start: Span, end: Span, cause: Option<Cause>) {
    if gaps.last().is_none_or(|gap| gap.end != start) {
        gaps.push(Gap { start, end, ..Gap::default() });
    }
    let Some(gap) = gaps.last_mut() else { return };
    gap.end = end;
    match cause {
        Some(Cause::Unseen(places)) => {
            for unseen in places {
                match gap.unseen.iter_mut().find(|one| one.place == unseen.place) {
                    Some(known) if size(&unseen.miss) < size(&known.miss) => *known = unseen,
                    Some(_) => {}
                    None => gap.unseen.push(unseen),
                }
            }
        }
        Some(Cause::NoCommon) => gap.no_common += 1,
        Some(Cause::NoRoute) => gap.no_route += 1,
        None => {}
    }
}

/// The size of a miss, to compare it with others of the same bound. The arc comes after the bound:
/// a satellite that is only too near to the arc is nearer to being seen.
pub(super) fn size(miss: &Miss) -> (bool, f64) {
    match *miss {
        Miss::NearArc(degrees) => (false, degrees),
        Miss::Below(by) | Miss::Beyond(by) => (true, by),
    }
}
