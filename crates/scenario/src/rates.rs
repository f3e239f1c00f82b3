//! Rates of packets on a direction of a link.

use crate::model::Direction;

/// Bits per second that a lasting load has on a direction, `overhead` included.
pub fn usable_rate(direction: &Direction) -> f64 {
    let rate = direction.rate.bits_per_second() as f64;
    direction.demand.map_or(rate, |demand| rate * demand.share())
}

/// Bytes that a packet takes on a direction, with its share of parity.
pub fn framed(direction: &Direction, packet: f64) -> f64 {
    let plain = packet + f64::from(direction.overhead);
    #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
    let expansion = direction.fec.map(|fec| fec.expansion(packet as u32, direction.overhead));
    expansion.map_or(plain + f64::from(direction.header()), |expansion| plain * expansion)
}

/// The rate in bit/s of IP packets of this length on a direction.
pub fn packet_rate(direction: &Direction, packet: u64) -> f64 {
    let packet = packet as f64;
    usable_rate(direction) * packet / framed(direction, packet)
}
