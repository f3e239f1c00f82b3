//! Rates of packets on a direction of a link.

use units::Rate;

use crate::model::Direction;

/// Bits per second that a lasting load has on a direction, `overhead` included.
pub fn usable_rate(direction: &Direction) -> f64 {
    usable_rate_at(direction, direction.rate)
}

/// The same while the line has another `rate`.
pub fn usable_rate_at(direction: &Direction, rate: Rate) -> f64 {
    let rate = direction.mean_of(rate).bits_per_second() as f64;
    let line = direction.demand.map_or(rate, |demand| rate * demand.share());
    let buckets = [direction.shaper, direction.policer].into_iter().flatten();
    buckets.map(|bucket| bucket.rate.bits_per_second() as f64).fold(line, f64::min)
}

/// Bytes that a packet takes on a direction, with its share of parity.
pub fn framed(direction: &Direction, packet: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a packet has at most 65535 bytes"
    )]
    let packet = packet as u32;
    let framed = |bytes| f64::from(direction.framing.bytes(bytes));
    let expansion = direction.fec.map(|fec| fec.expansion(packet, &direction.framing));
    expansion
        .map_or_else(|| framed(packet + direction.header()), |expansion| framed(packet) * expansion)
}

/// The rate in bit/s of IP packets of this length on a direction.
pub fn packet_rate(direction: &Direction, packet: u64) -> f64 {
    let packet = packet as f64;
    usable_rate(direction) * packet / framed(direction, packet)
}
