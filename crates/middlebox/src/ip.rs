//! The interface for real IPv4 and IPv6 packets.

use std::net::IpAddr;

use wire::{Addresses, IpPacket};

use crate::header::{Address, Endpoints, Header, SackBlocks, Visible};

/// The last one of the reserved bits.
const AE: u8 = 1;

impl Visible for IpPacket {
    fn header(&self) -> Option<Header> {
        let fields = self.tcp()?;
        let [source, destination] = match fields.addresses {
            Addresses::V4(from, to) => [from, to].map(|address| u128::from(u32::from(address))),
            Addresses::V6(from, to) => [from, to].map(u128::from),
        };
        Some(Header {
            endpoints: Endpoints {
                source: Address { host: source, port: fields.source_port },
                destination: Address { host: destination, port: fields.destination_port },
            },
            sequence: fields.sequence,
            acknowledgement: fields.acknowledgement,
            window: fields.window,
            flags: fields.flags,
            accurate: fields.reserved & AE != 0,
            payload: fields.payload,
            timestamps: fields.timestamps,
            sack: SackBlocks::new(fields.blocks().iter().copied()),
            window_scale: fields.window_scale,
            has_more: fields.has_other_options || fields.reserved & !AE != 0,
        })
    }

    fn bytes(&self) -> u16 {
        u16::try_from(Self::bytes(self).len()).unwrap_or(u16::MAX)
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        Self::pure_ack(self, acknowledgement, echo, window)
    }

    fn with_timestamp(&self, value: u32) -> Self {
        Self::with_timestamp(self, value)
    }

    fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        Self::too_big(self, router, mtu)
    }
}
