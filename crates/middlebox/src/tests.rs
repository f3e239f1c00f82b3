//! Plain packets for the tests of devices, and properties that all devices have.

use proptest::prelude::*;
use units::Time;
use wire::tcp::flags;

use crate::device::Device;
use crate::{Address, AnyDevice, Endpoints, Header, Middlebox, SackBlocks, Visible, is_after};

/// A packet that is only its header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plain(pub Header);

impl Plain {
    /// With explicit loss notification, which is a reserved bit here.
    pub fn is_noticed(&self) -> bool {
        self.0.has_more
    }
}

impl Visible for Plain {
    fn header(&self) -> Option<Header> {
        Some(self.0)
    }

    fn bytes(&self) -> u16 {
        40
    }

    fn pure_ack(&self, acknowledgement: u32, _: Option<u32>, window: Option<u16>) -> Option<Self> {
        let sack = SackBlocks::default();
        let (payload, flags) = (0, flags::ACK);
        let (sequence, window) = (self.0.end(), window.unwrap_or(self.0.window));
        Some(Self(Header { sequence, acknowledgement, sack, payload, flags, window, ..self.0 }))
    }

    fn with_timestamp(&self, value: u32) -> Self {
        let timestamps = self.0.timestamps.map(|(_, echo)| (value, echo));
        Self(Header { timestamps, ..self.0 })
    }

    fn too_big(&self, _: std::net::IpAddr, _: u16) -> Option<Self> {
        None
    }

    fn with_loss_notice(&self) -> Self {
        Self(Header { has_more: true, ..self.0 })
    }
}

pub(crate) fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn endpoints() -> Endpoints {
    let [source, destination] = [1, 2].map(|host| Address { host, port: 0 });
    Endpoints { source, destination }
}

/// A pure ACK.
pub(crate) fn ack(acknowledgement: u32) -> Plain {
    let endpoints = endpoints().reversed();
    Plain(Header { endpoints, acknowledgement, flags: flags::ACK, ..Header::default() })
}

/// Data the other way.
pub(crate) fn data(sequence: u32, payload: u32) -> Plain {
    let endpoints = endpoints();
    Plain(Header { endpoints, sequence, payload, flags: flags::ACK, ..Header::default() })
}

/// Everything that comes out of `device` with its time, until `until`.
pub(crate) fn drive(
    device: &mut impl Device<Plain>,
    packets: impl IntoIterator<Item = (Time, Plain)>,
    until: Time,
) -> Vec<(Time, Plain)> {
    let mut all = Vec::new();
    let mut out = Vec::new();
    let mut expire = |device: &mut dyn Device<Plain>, until: Time, all: &mut Vec<_>| {
        while device.next_timer() <= until && device.next_timer() != Time::NEVER {
            let now = device.next_timer();
            device.on_timer(now, &mut out);
            all.extend(out.drain(..).map(|packet| (now, packet)));
        }
    };
    let mut passed = Vec::new();
    for (now, packet) in packets {
        expire(device, now, &mut all);
        device.on_packet(now, packet, &mut passed);
        all.extend(passed.drain(..).map(|packet| (now, packet)));
    }
    expire(device, until, &mut all);
    all
}

impl Device<Plain> for AnyDevice<Plain> {
    fn on_packet(&mut self, now: Time, packet: Plain, out: &mut Vec<Plain>) {
        Self::on_packet(self, now, packet, out);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Plain>) {
        Self::on_timer(self, now, out);
    }

    fn next_timer(&self) -> Time {
        Self::next_timer(self)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Self::counts(self)
    }
}

proptest! {
    /// Whatever comes, no device invents data, and none acknowledges what the receiver has not.
    /// Times never run back, and a device comes to rest.
    #[test]
    fn no_device_invents_data_or_acknowledges_what_never_arrived(
        packets in prop::collection::vec((0u64..200, any::<bool>(), 0u32..30, 0u32..4, any::<bool>()), 1..80),
    ) {
        for settings in Middlebox::all() {
            let Some(mut device) = AnyDevice::new(settings) else { continue };
            // It acknowledges what it has forwarded in order.
            let may_promise = matches!(settings, Middlebox::SpoofingProxy(_));
            let mut now = 0;
            let syn = |packet: Plain, flags| {
                let sequence = packet.0.sequence.wrapping_sub(1);
                (at(0), Plain(Header { flags, sequence, payload: 0, window_scale: Some(9), ..packet.0 }))
            };
            let opening = [
                syn(data(0, 0), flags::SYN),
                syn(ack(0), flags::SYN | flags::ACK),
                (at(0), ack(0)),
            ];
            let later = packets.iter().map(|&(wait, is_data, number, sack, window)| {
                now += wait;
                let window = u16::from(window);
                let blocks = (0..sack / 2).map(|n| (40_000 + n, 41_000 + n));
                let packet = match is_data {
                    true => data(number * 500, 1000),
                    false => ack(number * 1000),
                };
                let sack = if is_data { SackBlocks::default() } else { SackBlocks::new(blocks) };
                (at(now), Plain(Header { window, sack, ..packet.0 }))
            });
            let packets: Vec<_> = opening.into_iter().chain(later).collect();
            let out = drive(&mut device, packets.clone(), at(now + 10_000_000));
            prop_assert!(out.is_sorted_by_key(|(time, _)| *time));
            prop_assert!(out.len() <= packets.len() * 40, "{} of {}", out.len(), packets.len());
            for (time, packet) in &out {
                let earlier = || packets.iter().filter(|(came, _)| came <= time);
                if packet.0.payload > 0 {
                    prop_assert!(earlier().any(|(_, sent)| sent == packet), "{:?}", packet);
                } else {
                    let covers = |sent: &Plain| {
                        sent.0.payload == 0
                            && !is_after(packet.0.acknowledgement, sent.0.acknowledgement)
                    };
                    let is_promised = may_promise && {
                        let acks = earlier().filter(|(_, sent)| sent.0.payload == 0);
                        let mut next = acks.map(|(_, sent)| sent.0.acknowledgement).max().unwrap_or(0);
                        let mut sent: Vec<_> = earlier().map(|(_, sent)| sent.0).collect();
                        sent.retain(|header| header.payload > 0);
                        sent.sort_by_key(|header| header.sequence);
                        for header in &sent {
                            if header.sequence > next {
                                break;
                            }
                            next = next.max(header.end());
                        }
                        packet.0.acknowledgement <= next
                    };
                    let is_right = is_promised || earlier().any(|(_, sent)| covers(sent));
                    prop_assert!(is_right, "{:?} {:?}", settings, packet);
                }
            }
            // The highest acknowledgement comes out, or a promise is above it.
            let highest = |all: &[(Time, Plain)]| {
                all.iter().filter(|(_, p)| p.0.payload == 0).map(|(_, p)| p.0.acknowledgement).max()
            };
            match may_promise {
                true => prop_assert!(highest(&out) >= highest(&packets)),
                false => prop_assert_eq!(highest(&out), highest(&packets), "{}", settings.name()),
            }
        }
    }
}
