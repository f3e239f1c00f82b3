//! Buffers of the side towards the satellite that tune themselves: what the kernel lets through,
//! and the command for more.
//!
//! The round trip of the path is not known here, so the figures are those of a GEO link, and
//! nothing is wrong with buffers that suffice for the link at hand.

use middlebox::SplitSide;

use super::Finding;
use crate::config::{Loaded, SideName};

/// Round trip of a GEO link in seconds.
const GEO_S: f64 = 0.6;
/// Share of the memory of a send buffer that is data.
const DATA: f64 = 0.95;
/// Memory of a send buffer for each byte of the bandwidth-delay product.
const SEND: f64 = 1.6;
/// Share of the memory of a receive buffer that is window, for full segments.
const WINDOW: f64 = 0.625;

/// The largest size of buffers that tune themselves: the third value of `tcp_wmem` or `tcp_rmem`.
fn largest(values: &str) -> Option<f64> {
    values.split_whitespace().nth(2)?.parse().ok()
}

/// Rate in Mbit/s of this window over a GEO link.
fn mbit_s(window: f64) -> f64 {
    window * 8.0 / GEO_S / 1e6
}

/// Both findings for these values of the kernel.
pub(super) fn findings(loaded: &Loaded, wmem: &str, rmem: &str) -> Vec<Finding> {
    let split = &loaded.config.side(SideName::Satellite).tcp.split;
    let send = send(split, wmem);
    let receive = receive(split, rmem);
    [("send buffer", send), ("receive buffer", receive)]
        .into_iter()
        .filter_map(|(name, found)| Some(Finding::new(name, true, found?, "")))
        .collect()
}

fn send(split: &SplitSide, wmem: &str) -> Option<String> {
    if let Some(size) = split.send_buffer {
        return Some(format!("{size}, from the file"));
    }
    let largest = largest(wmem)?;
    let most = mbit_s(largest * DATA);
    let double = 2.0 * largest;
    Some(format!(
        "grows to {largest:.0} B: {:.0} to {most:.0} Mbit/s for a connection at an RTT of 600 ms. \
         `sysctl -w net.ipv4.tcp_wmem=\"4096 16384 {double:.0}\"` is enough for {:.0} Mbit/s",
        2.0 / 3.0 * most,
        double / SEND * 8.0 / GEO_S / 1e6,
    ))
}

fn receive(split: &SplitSide, rmem: &str) -> Option<String> {
    if let Some(size) = split.receive_buffer {
        return Some(format!("{size}, from the file"));
    }
    let largest = largest(rmem)?;
    Some(format!(
        "grows to {largest:.0} B: {:.0} Mbit/s for an upload at an RTT of 600 ms (net.ipv4.tcp_rmem)",
        mbit_s(largest * WINDOW),
    ))
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    /// The default of Linux and 32 MiB: sizes of docs/transport.md.
    #[test]
    fn buffers_of_the_kernel_are_said_with_what_they_let_through() {
        let split = SplitSide::default();
        let found = send(&split, "4096\t16384\t4194304\n").unwrap();
        assert!(found.starts_with("grows to 4194304 B: 35 to 53 Mbit/s"), "{found}");
        assert!(found.contains("\"4096 16384 8388608\"` is enough for 70 Mbit/s"), "{found}");
        let found = receive(&split, "4096\t131072\t33554432\n").unwrap();
        assert!(found.starts_with("grows to 33554432 B: 280 Mbit/s"), "{found}");
        assert_eq!(send(&split, "nothing"), None);
    }

    #[test]
    fn a_size_of_the_file_stands_for_itself() {
        let split = SplitSide { send_buffer: Some(Bytes(1 << 20)), ..SplitSide::default() };
        assert_eq!(send(&split, "4096 16384 4194304").unwrap(), "1MiB, from the file");
    }
}
