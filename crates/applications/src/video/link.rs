//! A link on which data flows like a fluid: constant rate, constant latency. Tests compare the
//! player with Sabre over it.

use super::player::{Download, Next, Played, Player};

/// Progress between two questions whether to go on: time in milliseconds, and bits.
const STEP_MS: f64 = 50.0;
const STEP_BITS: f64 = 12_000.0;

/// The link.
#[derive(Clone, Copy, Debug)]
pub struct FluidLink {
    /// Rate in kbit/s.
    pub rate: f64,
    /// Time from a request to the first byte, in milliseconds.
    pub latency: f64,
}

impl FluidLink {
    /// Plays the whole movie.
    pub fn play(&self, mut player: Player) -> Played {
        loop {
            match player.step() {
                Next::Wait(time) => player.advance(time),
                Next::Fetch(fetch) => {
                    let download = self.download(&mut player, fetch.bits);
                    player.advance(download.time);
                    player.finish(download);
                }
                Next::PlayOut => {
                    player.play_out();
                    return player.played();
                }
            }
        }
    }

    fn download(&self, player: &mut Player, bits: f64) -> Download {
        let mut download =
            Download { time: self.latency, first_byte: self.latency, bits: 0.0, gave_up: None };
        let mut step_ms = STEP_MS - self.latency;
        while download.bits < bits && download.gave_up.is_none() {
            let left = bits - download.bits;
            let step = STEP_BITS.max(step_ms * self.rate).min(left);
            download.bits += step;
            download.time += step / self.rate;
            if download.bits < bits {
                download.gave_up = player.would_give_up(&download);
            }
            step_ms = STEP_MS;
        }
        download
    }
}
