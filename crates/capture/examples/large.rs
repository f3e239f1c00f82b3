//! Writes a large capture, to measure speed and memory:
//! `cargo run -p capture --example large -- FILE MEGABYTES CONNECTIONS PAYLOAD`. The connections
//! send in turns, with losses, and packets have PAYLOAD captured bytes of data.

#![expect(clippy::unwrap_used, reason = "a program for developers")]

#[path = "../tests/build/mod.rs"]
mod build;

use std::fs::File;
use std::io::{BufWriter, Write};

use build::{MSS, Pcap, RAW, Step, Talk, time};

/// Segments between two ACKs that end a round.
const ROUND: u32 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize| arguments[place].parse::<u64>().unwrap();
    let (bytes, connections, payload) = (number(2) * 1_000_000, number(3), number(4));
    let mut file = BufWriter::new(File::create(&arguments[1]).unwrap());
    file.write_all(&Pcap::new(RAW).0).unwrap();
    let mut talks: Vec<Talk> =
        (0..connections).map(|n| talk(u16::try_from(n % 60_000).unwrap())).collect();
    let mut written = 0;
    for round in 0_u32.. {
        for (place, talk) in talks.iter_mut().enumerate() {
            let at = 50.0 * (f64::from(round) * connections as f64 + place as f64);
            steps(round, at).for_each(|step| {
                let (mut kept, length) = talk.bytes(step);
                let data = step.length.min(u32::try_from(payload).unwrap());
                kept.resize((length - step.length + data) as usize, 0);
                let mut packet = Pcap(Vec::new());
                packet.packet(time(step.at_ms), &kept, length);
                written += packet.0.len() as u64;
                file.write_all(&packet.0).unwrap();
            });
        }
        if written > bytes {
            break;
        }
    }
    file.flush().unwrap();
}

fn talk(port: u16) -> Talk {
    let mut talk = Talk::new();
    talk.ports = [port + 1000, 80];
    talk
}

/// A round of a connection: data, of which a segment is retransmitted, and its ACKs.
fn steps(round: u32, at: f64) -> impl Iterator<Item = Step> {
    let start = 1_u32.wrapping_add(round.wrapping_mul(ROUND * MSS));
    let place = move |n: u32| start.wrapping_add(n * MSS);
    let data = (0..ROUND).map(move |n| Step::data(at + f64::from(n) * 0.01, place(n), MSS));
    let acks = (0..ROUND / 2).map(move |n| Step::ack(at + 20.0 + f64::from(n) * 0.01, place(1)));
    let repair = [Step::data(at + 20.5, place(1), MSS), Step::ack(at + 41.0, place(ROUND))];
    data.chain(acks).chain(repair)
}
