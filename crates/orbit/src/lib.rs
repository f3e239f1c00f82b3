//! Satellites that move: their positions, what a place on the ground sees of them, and the paths
//! between places, step by step.
//!
//! - `elements`: two-line elements from text. `walker`: elements of a Walker constellation.
//! - `ephemeris`: positions over time. SGP4 gives them at knots, and a polynomial gives what is
//!   between them.
//! - `place`: coordinates on the ground. `track`: the way of a place that moves. `station`: a place
//!   in the frame of the satellites, and its look angles. `sight`: which satellites it may use.
//! - `grid`: laser links between satellites, and shortest paths. `choice`: the satellite that a
//!   place uses. `series`: the path of each step, hand-overs, and reasons for times without a path.
//!
//! This crate reads no file and no clock. Positions are in kilometres in the frame of SGP4 (TEME),
//! which does not rotate with the Earth; stations are turned into it by Greenwich mean sidereal
//! time. UTC stands for UT1, which is an error of at most 0.9 s of rotation, 0.4 km on the ground.
//! Polar motion (15 m) and the nutation between TEME and the true equator are left out.

pub mod choice;
pub mod elements;
pub mod ephemeris;
pub mod grid;
pub mod place;
pub mod series;
pub mod sight;
pub mod station;
pub mod track;
pub mod utc;
mod vector;
pub mod walker;

pub use choice::{Rule, When};
pub use elements::{ElementsError, Satellite};
pub use ephemeris::{Ephemeris, PropagationError};
pub use grid::Grid;
pub use place::{Place, places};
pub use series::{Gap, Handover, Lasers, Outage, Relay, Request, Row, Series, series};
pub use sight::{Bound, Sight};
pub use station::{Look, Station};
pub use track::{Track, Waypoint};
pub use utc::Utc;
pub use vector::Vector;
pub use walker::{Phasing, Shell};

/// Speed of light in vacuum, in km/s.
pub const LIGHT_KM_PER_S: f64 = 299_792.458;
/// Equatorial radius of the Earth in SGP4 (WGS72), in km.
pub const EARTH_RADIUS_KM: f64 = 6378.135;
/// Gravitational parameter of the Earth in SGP4 (WGS72), in km³/s².
pub const EARTH_MU: f64 = 398_600.8;
