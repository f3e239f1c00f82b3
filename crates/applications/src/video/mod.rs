//! Adaptive video over HTTP: ladder, segments, buffer, and the rules that choose bit rates.
//!
//! The player is that of Sabre (Spiteri, Sitaraman and Sparacio, MMSys 2018): one segment at a
//! time, play from the first segment on, a request when the buffer has room for a segment, and a
//! segment that is given up if a rule says so. Its rules are the files of `rules`. Over a link of
//! constant rate and latency both give the same figures.
//!
//! Times are milliseconds and bit rates kilobits per second, that is bits per millisecond.

mod estimate;
mod link;
mod player;
mod rules;
mod settings;

pub use link::FluidLink;
pub use player::{Download, Fetch, Next, Played, Player, Segment};
pub use settings::{Movie, RuleName, Settings};

#[cfg(test)]
mod tests;
