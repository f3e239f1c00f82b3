//! Sizes of the data structures of the engine in bytes, as an object of JSON.
//!
//!     sizes
//!
//! The memory behind a box, a vector or a deque is not included.

#![allow(clippy::print_stdout, reason = "it is a program that measures")]

use network::Packet;
use simulator::Body;

fn main() {
    let sizes = serde_json::json!({
        "segment of TCP": size_of::<tcp::Segment>(),
        "packet on its way, with its time": size_of::<Option<(units::Time, Packet<Body>)>>(),
        "end of a connection of TCP": size_of::<tcp::Connection>(),
        "of it, the controller": size_of::<congestion::AnyController>(),
        "of it, the estimator of the RTT": size_of::<transport::RttEstimator>(),
        "of it, the counters": size_of::<transport::Counters>(),
        "direction of a link": size_of::<link::Direction>(),
        "flow of a scenario": size_of::<scenario::model::Flow>(),
        "its application": size_of::<runtime::Application>(),
        "its record": size_of::<recording::FlowRecord>(),
    });
    println!("{sizes}");
}
