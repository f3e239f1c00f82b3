//! Values from Python: amounts of bytes and answers, with errors that say what was expected.

use pyo3::prelude::*;
use units::Span;

use crate::errors::ControllerError;

/// The largest window, in bytes: far more than any receiver can advertise (RFC 7323), and small
/// enough that sums with it are exact.
pub const LARGEST: u64 = 1 << 48;

/// An error that names what was expected and shows what was found.
pub fn unexpected(what: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let found = found.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    ControllerError::new_err(format!("{what}: expected {expected}, found {found}"))
}

/// Result of a method.
pub trait Answer: Sized {
    /// In words.
    const EXPECTED: &str;

    /// `None` when it is something else.
    fn read(given: &Bound<'_, PyAny>) -> Option<Self>;
}

/// A number of bytes from one to [`LARGEST`]; fractions of a byte are cut off.
pub struct Bytes(pub u64);

impl Answer for Bytes {
    const EXPECTED: &str = "a number of bytes from 1 to 2**48";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        let whole = given.extract::<u64>().ok();
        let fraction =
            || given.extract::<f64>().ok().filter(|n| (1.0..=LARGEST as f64).contains(n));
        let bytes = whole.or_else(|| fraction().map(|n| n as u64))?;
        (1..=LARGEST).contains(&bytes).then_some(Self(bytes))
    }
}

/// A slow start threshold: bytes, or as good as none.
pub struct Threshold(pub u64);

impl Answer for Threshold {
    const EXPECTED: &str = "a number of bytes from 1 upwards, or math.inf for none";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        let none = || given.extract::<f64>().ok().filter(|n| *n > LARGEST as f64);
        Bytes::read(given).map(|Bytes(n)| n).or_else(|| none().map(|_| u64::MAX)).map(Self)
    }
}

/// A rate in bytes per second, or none.
pub struct Rate(pub Option<f64>);

impl Answer for Rate {
    const EXPECTED: &str = "bytes per second above zero, or None";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        if given.is_none() {
            return Some(Self(None));
        }
        let rate = given.extract::<f64>().ok()?;
        (rate.is_finite() && rate > 0.0).then_some(Self(Some(rate)))
    }
}

impl Answer for Span {
    const EXPECTED: &str = "seconds from zero to 86400";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        let seconds = given.extract::<f64>().ok()?;
        (0.0..=86_400.0).contains(&seconds).then(|| Self::from_secs_f64(seconds))
    }
}

impl Answer for u32 {
    const EXPECTED: &str = "a whole number from 1 to 2**32 - 1";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        given.extract().ok().filter(|number| *number > 0)
    }
}

impl Answer for bool {
    const EXPECTED: &str = "True or False";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        given.extract().ok()
    }
}

/// Events change the window and answer nothing; an answer is a misunderstanding.
impl Answer for () {
    const EXPECTED: &str = "nothing to be returned, but self.window to be changed";

    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        given.is_none().then_some(())
    }
}
