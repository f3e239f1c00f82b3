//! Congestion controllers of Bentpipe in a QUIC server or client that uses quinn.
//!
//! quinn lets its users replace the congestion controller. This crate implements quinn's interface
//! on top of the crate `congestion`, so that a server can use Hybla, ADaLR or BBR version 3 with
//! one line:
//!
//! ```
//! # use std::sync::Arc;
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(quinn_controllers::Factory::named("hybla")?));
//! # Ok::<(), quinn_controllers::Unsuitable>(())
//! ```
//!
//! `quinn::TransportConfig` is the same type. The README lists what quinn does not report, and what
//! follows from it for each controller; [`carriage()`] says it of one.
//!
//! - [`Factory`] makes an [`Adapter`] for each path of a connection, or a [`Driver`] for senders
//!   that are not quinn
//! - `flight` follows what is in the network, because quinn reports lost bytes and not lost packets
//! - [`carriage()`] compares what a controller needs with what quinn reports

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod adapter;
mod carriage;
mod driver;
mod factory;
mod flight;

pub use adapter::Adapter;
pub use carriage::{Approximation, Carriage, Missing, Unsuitable, carriage};
pub use driver::Driver;
pub use factory::Factory;
pub use transport::SavedPath;
pub use units::{Bytes, SizeLimit, Span};
