//! The interface of middleboxes for the packets of the simulator. They see the segments of TCP;
//! other packets have no header for them, and are neither answered nor rewritten.
//!
//! The two ends of a connection have neighbouring numbers, so the number of an endpoint is its
//! address.

use std::net::IpAddr;

use middlebox::{Address, Endpoints, Header, SackBlocks, Visible};
use tcp::{Flags, Options, Segment};
use wire::IpVersion;

use runtime::EndpointId;

use crate::hosts::Body;
use crate::transports::Carried;

impl<P: Carried> Visible for Body<P> {
    fn header(&self) -> Option<Header> {
        let segment = self.packet.segment()?;
        if segment.reported_mss().is_some() {
            return None;
        }
        let address = |host: u32| Address { host: host.into(), port: 0 };
        let blocks = segment.blocks().iter().map(|block| (block.start, block.end));
        Some(Header {
            endpoints: Endpoints {
                source: address(self.endpoint.0 ^ 1),
                destination: address(self.endpoint.0),
            },
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            window: segment.window,
            flags: segment.flags.in_one_byte().0,
            accurate: segment.flags.contains(Flags::AE),
            payload: segment.payload.into(),
            timestamps: segment.has_timestamps().then_some((segment.timestamp, segment.echo)),
            sack: SackBlocks::new(blocks),
            window_scale: (segment.window_scale != Segment::NO_SCALE)
                .then_some(segment.window_scale),
            // Probes and their answers have a reserved bit, a SYN has options of its own.
            has_more: segment.is_low_priority()
                || segment.flags.contains(Flags::SYN)
                || segment.counters().is_some()
                || segment.ack_ratio().is_some()
                || segment.snack().is_some(),
        })
    }

    fn bytes(&self) -> u16 {
        self.packet.bytes()
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let segment = self.packet.segment()?;
        let past_data = u32::from(segment.payload) + u32::from(segment.flags.contains(Flags::SYN));
        let has_timestamps = segment.has_timestamps();
        // Each ACK reports marks: with ECE, or with accurate ECN their number in three bits.
        let is_syn = segment.flags.contains(Flags::SYN);
        let report = if is_syn { Flags::default() } else { segment.flags.of_ecn() };
        let segment = Segment {
            sequence: segment.sequence.wrapping_add(past_data),
            acknowledgement,
            timestamp: segment.timestamp,
            echo: echo.unwrap_or(segment.echo),
            window: window.unwrap_or(segment.window),
            flags: Flags::ACK.with(report),
            window_scale: Segment::NO_SCALE,
            options: Options::default().with_if(has_timestamps, Options::TIMESTAMPS),
            ..Segment::default()
        };
        Some(Self { endpoint: self.endpoint, packet: segment.into() })
    }

    fn with_timestamp(&self, value: u32) -> Self {
        let packet = match self.packet.segment() {
            Some(segment) if segment.has_timestamps() => {
                Segment { timestamp: value, ..*segment }.into()
            }
            _ => self.packet.clone(),
        };
        Self { endpoint: self.endpoint, packet }
    }

    fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        let segment = self.packet.segment()?;
        if segment.reported_mss().is_some() {
            return None;
        }
        let version = if router.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        let header = version.header_bytes();
        let message = wire::icmp::too_big_bytes(version, header + segment.bytes(), mtu);
        let mss = mtu.saturating_sub(header + wire::tcp::HEADER).max(1);
        // It goes to the end that has sent the segment.
        let segment = segment.too_big(runtime::node(router)?, mss, message - header);
        Some(Self { endpoint: EndpointId(self.endpoint.0 ^ 1), packet: segment.into() })
    }
}

#[cfg(test)]
mod tests {
    use runtime::EndpointId;
    use wire::{IpPacket, IpVersion};

    use super::*;
    use crate::capture::packet;
    use crate::observed::Observed;
    use crate::simulation::Options;

    /// The header of the packet that a capture has of a segment, with the addresses of the
    /// simulator.
    fn header_on_the_wire(observed: &Observed<'_>, segment: &Segment) -> Header {
        let sack = segment.sack.map(|block| (block.start, block.end));
        let mut bytes = Vec::new();
        packet(observed, segment, IpVersion::V4, &sack).write(0, &mut bytes);
        let seen = IpPacket::read(&bytes).unwrap().header().unwrap();
        Header { endpoints: Endpoints::default(), ..seen }
    }

    /// Middleboxes do to packets of the simulator what they do to real ones: flows with all forms
    /// of ECN over a queue that marks, and losses.
    #[test]
    fn middleboxes_see_of_a_segment_what_they_see_of_a_real_packet() {
        let mut reports = std::collections::BTreeSet::new();
        for (controller, ecn) in
            [("cubic", "false"), ("cubic", "true"), ("dctcp", "true"), ("prague", "\"accurate\"")]
        {
            let text = format!(
                r#"
duration = "4s"
[[link]]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "10ms"
queue = {{ packets = 40 }}
ecn_marking = {{ packets = 5, weight = 1 }}
channel = {{ per = 0.002 }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ ecn = {ecn}, recovery = "sack" }}
traffic = {{ download = "1MB" }}
"#
            );
            let scenario = scenario::Scenario::parse(&text, "views.toml", &[]).unwrap();
            let mut observer = |observed: &Observed<'_>| {
                let segment = observed.segment().unwrap();
                let body = Body { endpoint: EndpointId(0), packet: *segment };
                let seen = Header { endpoints: Endpoints::default(), ..body.header().unwrap() };
                assert_eq!(seen, header_on_the_wire(observed, segment), "{segment:?}");
                reports.insert((controller, seen.congestion_flags()));
            };
            let options = Options { observer: Some(&mut observer), ..Options::default() };
            crate::run(&scenario, 1, options);
        }
        let of = |name| reports.iter().filter(|(controller, _)| *controller == name).count();
        assert_eq!(of("prague"), 8, "{reports:?}");
        assert!(of("dctcp") >= 3, "{reports:?}");
    }

    #[test]
    fn the_message_about_a_segment_goes_back_and_is_as_long_as_that_about_a_packet() {
        let segment =
            Segment { sequence: 7, flags: Flags::ACK, payload: 1460, ..Segment::default() };
        let body = Body { endpoint: EndpointId(5), packet: segment };
        for (router, header, mtu, bytes) in [
            (IpAddr::from([10, 0, 0, 9]), 20, 1400, 576),
            (runtime::ipv6(8).into(), 40, 1280, 1280),
            (IpAddr::from([10, 0, 0, 9]), 20, 200, 200),
        ] {
            let message = body.too_big(router, mtu).unwrap();
            assert_eq!(message.endpoint, EndpointId(4));
            assert_eq!(message.bytes() + header, bytes);
            assert_eq!(message.packet.report(), Some((mtu - header - 20, 8, 1480)));
            assert_eq!((message.packet.sequence, message.header()), (7, None));
            assert_eq!(message.too_big(router, 68), None, "no message about a message");
        }
    }

    /// RFC 9768 section 3.2.2: ACE is in each segment after the set-up, also where its bits are not
    /// those of the option.
    #[test]
    fn an_ack_that_a_middlebox_makes_reports_the_marks_of_the_segment() {
        let body = |flags: Flags| Body {
            endpoint: EndpointId(1),
            packet: Segment { flags: Flags::ACK.with(flags), payload: 100, ..Segment::default() },
        };
        for report in [Flags::ECE, Flags::AE.with(Flags::ECE), Flags::CWR.with(Flags::ECE)] {
            let ack = body(report).pure_ack(7, None, None).unwrap();
            assert_eq!(ack.packet.flags, Flags::ACK.with(report));
        }
        let syn = body(Flags::SYN.with(Flags::ECE).with(Flags::CWR));
        assert_eq!(syn.pure_ack(7, None, None).unwrap().packet.flags, Flags::ACK);
    }
}
