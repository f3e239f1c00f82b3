//! A QUIC server's transport settings for a GEO path of 50 Mbit/s and 600 ms, with a controller of
//! the laboratory. `quinn::ServerConfig` takes them as `transport_config(Arc::new(transport))`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example")]

use std::sync::Arc;
use std::time::Duration;

use congestion::{Specification, Value};
use quinn_controllers::{Carriage, Factory, Unsuitable, carriage};
use quinn_proto::{TransportConfig, VarInt};

/// The bandwidth-delay product in bytes.
const BDP: u32 = 3_750_000;

fn transport() -> Result<TransportConfig, Unsuitable> {
    let mut specification = Specification::named("hybla")?;
    // The reference round-trip time of Hybla in seconds.
    if let Err(error) = specification.set("rtt0", Value::Number(0.05)) {
        eprintln!("{error}");
    }
    if let Carriage::Approximated(differences) = carriage(&specification) {
        differences.iter().for_each(|difference| eprintln!("{}", difference.reason()));
    }
    let factory = Factory::of(specification)?.initial_window(32 * 1200);
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(factory))
        .initial_rtt(Duration::from_millis(700))
        .stream_receive_window(VarInt::from_u32(2 * BDP))
        .send_window(2 * u64::from(BDP));
    Ok(transport)
}

fn main() {
    match transport() {
        Ok(transport) => println!("{transport:#?}"),
        Err(error) => eprintln!("{error}"),
    }
}
