//! Presets of split proxies: the values that they give to a side where nothing is written.

use congestion::{Specification, Value};
use tcp::{Cause, Recovery, Scps, SnackForm};
use transport::Protocol;
use units::{Bytes, Rate, Span};

use super::flows::LEAST_RTO_OF_SCPS;
use super::gateway::Side;
use crate::model::{Flow, Preset, Scenario, SideName};
use crate::rates;
use crate::routes::Hop;

/// Buffers of the terrestrial side in the manual of the SCPS gateway.
const TERRESTRIAL_BUFFER: Bytes = Bytes(32 << 10);
/// The upper bound of the keys of buffers.
const LARGEST_BUFFER: u64 = 1 << 30;

/// Values of a preset for an end.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub controller: Option<Specification>,
    pub recovery: Option<Recovery>,
    pub send_buffer: Option<Bytes>,
    pub receive_buffer: Option<Bytes>,
    /// The lower bound of the RTO.
    pub least_rto: Option<Span>,
}

/// A leg before its connections: the hops from the gateway and back.
pub(super) struct Way<'a> {
    pub scenario: &'a Scenario,
    pub flow: &'a Flow,
    pub there: Vec<Hop>,
    pub back: Vec<Hop>,
}

impl Way<'_> {
    /// The slowest rate of links, in bit/s.
    fn slowest(&self, hops: &[Hop]) -> u64 {
        let links = &self.scenario.links;
        let rates = hops.iter().map(|hop| hop.direction(links).rate.bits_per_second());
        rates.min().unwrap_or(0)
    }

    /// The same for IP packets with full segments.
    pub(super) fn packet_rate(&self) -> Option<Rate> {
        let packet = self.scenario.packet_bytes(self.flow);
        let links = &self.scenario.links;
        let of = |hop: &Hop| rates::packet_rate(hop.direction(links), packet);
        let slowest = self.there.iter().map(of).min_by(f64::total_cmp)?;
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "bounded")]
        Some(Rate::from_bits_per_second(slowest.floor() as u64))
    }

    /// The round trip in seconds, with the times of a full packet and its ACK.
    fn round_trip(&self) -> f64 {
        let Self { scenario, flow, there, back } = self;
        let time = |hops: &[Hop], bytes: u64| -> f64 {
            let of = |hop: &Hop| {
                let direction = hop.direction(&scenario.links);
                let bits = bytes as f64 * 8.0;
                let sending = bits / direction.rate.bits_per_second() as f64;
                direction.delay.as_secs_f64() + sending
            };
            hops.iter().map(of).sum()
        };
        time(there, scenario.packet_bytes(flow)) + time(back, scenario.ack_bytes(flow))
    }
}

impl Values {
    /// Those of the preset of `side` for a leg.
    pub(super) fn of(side: &Side, leg: &Way<'_>) -> Self {
        let named = |name: &str| Specification::named(name).ok();
        let Some(preset) = side.preset else { return Self::default() };
        // What is slower than the links of the leg.
        let limits = [side.rate, side.pacing_rate].into_iter().flatten();
        let rates = limits.map(Rate::bits_per_second).chain([leg.slowest(&leg.there)]);
        let rate = rates.min().unwrap_or(0);
        match (preset, side.name) {
            (Preset::Pepsal, SideName::Satellite) => {
                Self { controller: named("hybla"), ..Self::default() }
            }
            (Preset::CkStp | Preset::Aerotcp, SideName::Satellite) => Self {
                controller: constant_window(rate as f64, leg.round_trip()),
                recovery: (preset == Preset::Aerotcp).then_some(Recovery::NewReno),
                ..Self::default()
            },
            (Preset::ScpsGateway, SideName::Satellite) => {
                let rtt = leg.round_trip();
                let least = 2 * leg.scenario.packet_bytes(leg.flow);
                #[expect(
                    clippy::cast_sign_loss,
                    clippy::cast_possible_truncation,
                    reason = "bounded"
                )]
                let two_products = |rate: u64| {
                    Bytes(((2.0 * rate as f64 / 8.0 * rtt) as u64).clamp(least, LARGEST_BUFFER))
                };
                Self {
                    controller: Some(Specification::unlimited()),
                    send_buffer: Some(two_products(rate)),
                    receive_buffer: Some(two_products(leg.slowest(&leg.back))),
                    least_rto: Some(LEAST_RTO_OF_SCPS.max(Span::from_secs_f64(rtt))),
                    ..Self::default()
                }
            }
            (Preset::ScpsGateway, SideName::Terrestrial) => Self {
                controller: named("reno"),
                send_buffer: Some(TERRESTRIAL_BUFFER),
                receive_buffer: Some(TERRESTRIAL_BUFFER),
                ..Self::default()
            },
            (Preset::Satpep, SideName::Satellite) => {
                Self { controller: Some(Specification::link_share()), ..Self::default() }
            }
            (_, SideName::Terrestrial) => Self::default(),
        }
    }

    /// The protocol that a preset gives to a side.
    pub(super) fn protocol(preset: Preset, side: SideName) -> Option<Protocol> {
        match (preset, side) {
            (Preset::ScpsGateway | Preset::Satpep, SideName::Satellite) => Some(Protocol::ScpsTp),
            _ => None,
        }
    }

    /// Returns true if a preset gives a side the rate of its links.
    pub(super) fn has_rate(preset: Preset, side: SideName) -> bool {
        matches!(preset, Preset::ScpsGateway | Preset::Satpep) && side == SideName::Satellite
    }

    /// Returns true if a preset has values from the links of the side of the satellite.
    pub(super) const fn is_of_links(preset: Preset) -> bool {
        match preset {
            Preset::Pepsal => false,
            Preset::CkStp | Preset::Aerotcp | Preset::ScpsGateway | Preset::Satpep => true,
        }
    }

    /// The settings of SCPS-TP that a preset has.
    pub(super) fn scps(preset: Preset) -> Scps {
        match preset {
            // The reference implementation has the simple form only.
            Preset::ScpsGateway => Scps { snack: SnackForm::Simple, ..Scps::default() },
            // A loss is an error of the link: the gateway knows how full the link is.
            Preset::Satpep => Scps { cause: Cause::Corruption, ..Scps::default() },
            _ => Scps::default(),
        }
    }
}

/// CK-STP with a window of the bandwidth-delay product.
fn constant_window(rate: f64, rtt: f64) -> Option<Specification> {
    let mut controller = Specification::named("ck-stp").ok()?;
    for (parameter, value) in [("rate", rate / 1e6), ("rtt", (rtt * 1e3).max(1.0))] {
        controller.set(parameter, Value::Number(value)).ok()?;
    }
    Some(controller)
}
