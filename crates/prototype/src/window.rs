//! The congestion window and what it starts from.

use pyo3::prelude::*;

use crate::errors::ControllerError;

use crate::values::{Answer, Bytes, LARGEST, Threshold, unexpected};

/// Parameters of a connection for a new controller; amounts in bytes.
///
/// Can be made to try a controller without a run; `ControllerError` for what is not above zero.
#[pyclass(frozen, get_all, module = "bentpipe.controller")]
pub struct Settings {
    /// Sender maximum segment size (SMSS): the payload of a full segment.
    mss: u32,
    /// Initial window (RFC 5681 section 3.1, RFC 6928).
    initial_window: u64,
    /// Initial slow start threshold; 2**64 - 1 for none.
    initial_ssthresh: u64,
    /// Maximum growth per ACK in slow start, in segments: L of RFC 3465.
    byte_counting: u32,
}

impl From<congestion::Settings> for Settings {
    fn from(settings: congestion::Settings) -> Self {
        let congestion::Settings { mss, initial_window, initial_ssthresh, byte_counting } =
            settings;
        Self { mss, initial_window, initial_ssthresh, byte_counting }
    }
}

impl Settings {
    pub(crate) fn window(&self) -> congestion::Window {
        congestion::Window::new(&congestion::Settings {
            mss: self.mss,
            initial_window: self.initial_window,
            initial_ssthresh: self.initial_ssthresh,
            byte_counting: self.byte_counting,
        })
    }
}

#[pymethods]
impl Settings {
    /// For trying a controller without a run.
    #[new]
    #[pyo3(signature = (*, mss = 1460, initial_window = 14_600, initial_ssthresh = u64::MAX, byte_counting = 1))]
    fn new(
        mss: u32,
        initial_window: u64,
        initial_ssthresh: u64,
        byte_counting: u32,
    ) -> PyResult<Self> {
        if mss == 0 || initial_window == 0 || initial_ssthresh == 0 || byte_counting == 0 {
            return Err(ControllerError::new_err("Settings: expected numbers above zero"));
        }
        Ok(Self { mss, initial_window, initial_ssthresh, byte_counting })
    }

    fn __repr__(&self) -> String {
        let Self { mss, initial_window, initial_ssthresh, byte_counting } = self;
        format!(
            "Settings(mss={mss}, initial_window={initial_window}, \
             initial_ssthresh={initial_ssthresh}, byte_counting={byte_counting})"
        )
    }
}

/// cwnd and ssthresh in bytes, with their exact arithmetic.
#[pyclass(module = "bentpipe.controller")]
pub struct Window(pub congestion::Window);

#[pymethods]
impl Window {
    /// Congestion window.
    ///
    /// Can be set to any number from 1 to 2**48, of which the fraction is cut off; else
    /// `ControllerError`.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let read = Bytes::read(value).ok_or_else(|| unexpected("cwnd", Bytes::EXPECTED, value));
        slf.borrow_mut().0.cwnd = read?.0;
        Ok(())
    }

    /// Slow start threshold; 2**64 - 1 for none.
    ///
    /// Can be set as cwnd, and to `math.inf` for none.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    #[setter]
    fn set_ssthresh(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let read = Threshold::read(value);
        let read = read.ok_or_else(|| unexpected("ssthresh", Threshold::EXPECTED, value));
        slf.borrow_mut().0.ssthresh = read?.0;
        Ok(())
    }

    /// Sender maximum segment size, as negotiated.
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss
    }

    /// Window after set-up and after an idle period.
    #[getter]
    fn initial(&self) -> u64 {
        self.0.initial
    }

    /// True if cwnd is below ssthresh (RFC 5681 section 3.1).
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    /// The part of `acked` bytes that counts for growth: at most L segments (RFC 3465).
    fn counted(&self, acked: u64) -> u64 {
        self.0.counted(acked)
    }

    /// Add `numerator / cwnd` bytes and keep the remainder for the next call.
    ///
    /// `numerator` goes from 0 to 2**48, else `ControllerError`. After a timeout L is 1 until this
    /// is called for the first time (RFC 3465 section 2.3).
    fn grow_by_fraction(slf: &Bound<'_, Self>, numerator: &Bound<'_, PyAny>) -> PyResult<()> {
        let whole = numerator.extract::<u64>().ok().filter(|whole| *whole <= LARGEST);
        let expected = "a whole number from 0 to 2**48";
        let whole = whole.ok_or_else(|| unexpected("numerator", expected, numerator))?;
        slf.borrow_mut().0.grow_by_fraction(whole);
        Ok(())
    }

    /// Half the flight size, at least two segments (RFC 5681 equation 4).
    fn half(&self, flight: u64) -> u64 {
        self.0.half(flight)
    }

    fn __repr__(&self) -> String {
        let congestion::Window { cwnd, ssthresh, mss, initial, .. } = self.0;
        format!("<Window cwnd={cwnd} ssthresh={ssthresh} mss={mss} initial={initial}>")
    }
}
