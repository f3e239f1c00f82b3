//! Vectors of three dimensions, in kilometres or without a unit.

use std::ops::{Add, Mul, Sub};

/// A vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector {
    /// Towards the vernal equinox (TEME), or to the meridian of Greenwich (fixed to the Earth).
    pub x: f64,
    /// To the east of `x`, in the plane of the equator.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Vector {
    /// The vector with these components.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// Scalar product.
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Length.
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Distance between two points.
    pub fn distance(self, other: Self) -> f64 {
        (self - other).norm()
    }

    /// The same direction, with length 1.
    pub fn unit(self) -> Self {
        self * (1.0 / self.norm())
    }

    /// The vector after a rotation around the axis of the Earth, by an angle given as its cosine
    /// and sine.
    pub fn turned(self, (cos, sin): (f64, f64)) -> Self {
        Self::new(cos * self.x - sin * self.y, sin * self.x + cos * self.y, self.z)
    }
}

impl From<[f64; 3]> for Vector {
    fn from([x, y, z]: [f64; 3]) -> Self {
        Self { x, y, z }
    }
}

impl Add for Vector {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64> for Vector {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}
