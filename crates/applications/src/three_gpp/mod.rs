//! Web pages whose sizes are drawn: the model of 3GPP2 and 3GPP for web browsing.
//!
//! Source: 3GPP2 C.R1002-0, cdma2000 Evaluation Methodology, section on HTTP, with the values of
//! ns-3 (`src/internet-apps/model/three-gpp-http-variables.cc`, commit 140646449), as this
//! laboratory's notes have them. ns-3 draws a value again if it lies outside its bounds, and so
//! does this. 3GPP2 cuts the number of objects at its bound instead, so its mean of 5.64 objects is
//! larger than that of ns-3.
//!
//! Left out: the model's choice of the MTU (1500 or 576 B). The transport of the flow decides on
//! the sizes of packets. In ns-3 one connection of HTTP/1.1 fetches all objects one after the
//! other; here the version of HTTP decides on it.

use core::f64::consts::PI;

use units::{Bytes, Span};

/// Bytes of a request.
pub const REQUEST: Bytes = Bytes(328);
/// Mean time from the end of a page to the start of the next one.
pub const READING: Span = Span::from_secs(30);
/// Mean time from the arrival of the main object to the requests for the embedded ones.
pub const PARSING: Span = Span::from_millis(130);
/// Size of the main object in bytes.
pub const MAIN: Size = Size { mean: 10_710.0, deviation: 25_032.0, least: 100, bound: 2_000_000 };
/// Size of an embedded object in bytes.
pub const EMBEDDED: Size = Size { mean: 7758.0, deviation: 126_168.0, least: 50, bound: 2_000_000 };
/// Number of embedded objects.
pub const OBJECTS: Count = Count { shape: 1.1, scale: 2, bound: 55 };

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Size of the main object.
    pub main: Bytes,
    /// Time from its arrival to the requests for the others.
    pub parsing: Span,
    /// Sizes of the embedded objects, of which there may be none.
    pub embedded: Vec<Bytes>,
    /// Time from the end of the page to the start of the next one.
    pub reading: Span,
}

impl Drawn {
    /// Draws a page. `uniform` returns numbers from 0 to below 1.
    pub fn new(uniform: &mut impl FnMut() -> f64) -> Self {
        let main = MAIN.draw(uniform);
        let parsing = exponential(PARSING, uniform);
        let objects = OBJECTS.draw(uniform);
        let embedded = (0..objects).map(|_| EMBEDDED.draw(uniform)).collect();
        Self { main, parsing, embedded, reading: exponential(READING, uniform) }
    }
}

/// Mean bytes of a page.
pub fn mean_bytes() -> Bytes {
    whole(MAIN.mean_within() + OBJECTS.mean() * EMBEDDED.mean_within())
}

/// A lognormal number of bytes, drawn again outside its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Mean without the bounds, in bytes.
    pub mean: f64,
    /// Standard deviation without the bounds, in bytes.
    pub deviation: f64,
    /// Smallest value, in bytes.
    pub least: u64,
    /// Upper bound in bytes, which is not reached.
    pub bound: u64,
}

impl Size {
    /// Mean and standard deviation of the logarithm.
    fn of_logarithm(self) -> (f64, f64) {
        let ratio = self.deviation / self.mean;
        let variance = libm::log1p(ratio * ratio);
        (libm::log(self.mean) - variance / 2.0, libm::sqrt(variance))
    }

    /// Draws a size, in whole bytes: parts of a byte are left out before the bounds are checked.
    fn draw(self, uniform: &mut impl FnMut() -> f64) -> Bytes {
        let (mean, deviation) = self.of_logarithm();
        loop {
            let value = libm::floor(libm::exp(mean + deviation * normal(uniform)));
            if value >= self.least as f64 && value < self.bound as f64 {
                return whole(value);
            }
        }
    }

    /// Mean within the bounds, in whole bytes.
    pub fn mean(self) -> Bytes {
        whole(self.mean_within())
    }

    /// Mean within the bounds, without the rounding to whole bytes.
    fn mean_within(self) -> f64 {
        let (mean, deviation) = self.of_logarithm();
        let above = |bound: u64| (libm::log(bound as f64) - mean) / deviation;
        let (from, to) = (above(self.least), above(self.bound));
        let all = distribution(to) - distribution(from);
        let weighted = distribution(to - deviation) - distribution(from - deviation);
        libm::exp(mean + deviation * deviation / 2.0) * weighted / all
    }
}

/// A number of objects: Pareto in whole numbers, drawn again at its bound, less its scale.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Shape of the Pareto distribution.
    pub shape: f64,
    /// Its smallest value.
    pub scale: u32,
    /// Upper bound, which is not reached.
    pub bound: u32,
}

impl Count {
    /// Largest number of objects.
    pub const fn most(self) -> u32 {
        self.bound - 1 - self.scale
    }

    fn draw(self, uniform: &mut impl FnMut() -> f64) -> u32 {
        let scale = f64::from(self.scale);
        loop {
            let value = libm::floor(scale * libm::pow(1.0 - uniform(), -1.0 / self.shape));
            // The bound is small, so whole numbers are exact.
            let below = (self.scale..self.bound).find(|whole| f64::from(*whole) == value);
            if let Some(whole) = below {
                return whole - self.scale;
            }
        }
    }

    /// Mean number of objects.
    pub fn mean(self) -> f64 {
        let at_least = |value: u32| libm::pow(f64::from(self.scale) / f64::from(value), self.shape);
        let cut = at_least(self.bound);
        let shares = (self.scale + 1..self.bound).map(|value| at_least(value) - cut);
        shares.sum::<f64>() / (1.0 - cut)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
fn whole(value: f64) -> Bytes {
    Bytes(value as u64)
}

/// Distribution function of the normal distribution.
fn distribution(value: f64) -> f64 {
    libm::erfc(-value / core::f64::consts::SQRT_2) / 2.0
}

/// A normal number with the mean 0 and the deviation 1 (Box and Muller, 1958).
fn normal(uniform: &mut impl FnMut() -> f64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform()));
    radius * libm::cos(2.0 * PI * uniform())
}

fn exponential(mean: Span, uniform: &mut impl FnMut() -> f64) -> Span {
    Span::from_secs_f64(-mean.as_secs_f64() * libm::log(1.0 - uniform()))
}

#[cfg(test)]
mod tests;
