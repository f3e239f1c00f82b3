//! Makes the controllers of connections.

use std::sync::Arc;
use std::time::Instant;

use congestion::{Settings, Specification};
use quinn_proto::congestion::{Controller, ControllerFactory};
use transport::SavedPath;

use crate::adapter::Adapter;
use crate::carriage::{Carriage, Unsuitable, carriage};
use crate::driver::Driver;

/// Datagrams of the initial window (RFC 9002 section 7.2).
const INITIAL_DATAGRAMS: u64 = 10;
/// Bytes that the initial window has at most, unless two datagrams are more (RFC 9002 section 7.2).
const INITIAL_BYTES: u64 = 14_720;

/// A controller chosen by name, and the settings of its connections. quinn calls it for each path.
#[derive(Clone, Debug)]
pub struct Factory {
    specification: Specification,
    initial_window: Option<u64>,
    initial_ssthresh: u64,
    advertised: u64,
    resumed: Option<SavedPath>,
    epoch: Option<Instant>,
}

impl Factory {
    /// The controller `name` with its default parameters.
    ///
    /// # Errors
    /// When there is no controller of that name, or quinn lacks what it needs.
    pub fn named(name: &str) -> Result<Self, Unsuitable> {
        Self::of(Specification::named(name)?)
    }

    /// A controller with parameters.
    ///
    /// # Errors
    /// When quinn lacks what it needs.
    pub fn of(specification: Specification) -> Result<Self, Unsuitable> {
        if let Carriage::Impossible(missing) = carriage(&specification) {
            return Err(Unsuitable::Missing { name: specification.entry().name, missing });
        }
        Ok(Self {
            specification,
            initial_window: None,
            initial_ssthresh: u64::MAX,
            advertised: u64::MAX,
            resumed: None,
            epoch: None,
        })
    }

    /// The initial window in bytes. The default is that of RFC 9002 section 7.2.
    #[must_use]
    pub fn initial_window(mut self, bytes: u64) -> Self {
        self.initial_window = Some(bytes);
        self
    }

    /// The initial slow start threshold in bytes. The default is no threshold.
    #[must_use]
    pub fn initial_ssthresh(mut self, bytes: u64) -> Self {
        self.initial_ssthresh = bytes;
        self
    }

    /// The receiver's flow-control window in bytes. quinn does not report it to controllers, and a
    /// few (ADaLR, Hybla) compare it with what is in flight. The default is no limit.
    #[must_use]
    pub fn advertised_window(mut self, bytes: u64) -> Self {
        self.advertised = bytes;
        self
    }

    /// Starts with the window that an earlier connection has found (Careful Resume, RFC 9959), with
    /// any controller. quinn calls the factory for each path of each connection that has it. So
    /// give it to connections to the other end of that path only: a client with `connect_with`, a
    /// server with `Incoming::accept_with`.
    #[must_use]
    pub fn careful_resume(mut self, saved: SavedPath) -> Self {
        self.resumed = Some(saved);
        self
    }

    /// The instant that controllers see as time zero. The default is the start of each path.
    /// Controllers that draw random numbers derive them from the time, so a simulation sets it.
    #[must_use]
    pub fn epoch(mut self, epoch: Instant) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// The controller of a path that starts now, for a sender without quinn. `mtu` is the longest
    /// payload of UDP, in bytes.
    pub fn driver(&self, mtu: u16) -> Driver {
        let mss = u64::from(mtu);
        let standard = (INITIAL_DATAGRAMS * mss).min(INITIAL_BYTES.max(2 * mss));
        let settings = Settings {
            mss: u32::from(mtu),
            initial_window: self.initial_window.unwrap_or(standard),
            initial_ssthresh: self.initial_ssthresh,
            // RFC 9002 section 7.3.1 counts all bytes that an ACK acknowledges.
            byte_counting: u32::MAX,
        };
        Driver::new(self.specification.build(&settings), self.advertised, self.resumed)
    }

    /// The same for quinn.
    pub(crate) fn adapter(self: Arc<Self>, now: Instant, mtu: u16) -> Adapter {
        let (driver, epoch) = (self.driver(mtu), self.epoch.unwrap_or(now));
        Adapter::new(self, driver, epoch)
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.adapter(now, current_mtu))
    }
}
