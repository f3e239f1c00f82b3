//! Ends of flows of datagrams: those of the crate `udp` over UDP sockets that are connected to each
//! other.
//!
//! Both ends are in this process, so a datagram has its number only, and no time.

use std::io;
use std::os::fd::OwnedFd;

use network::FlowId;
use runtime::{EndpointId, Pair};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use transport::{Datagrams, Endpoint as _};
use udp::{Connection, Packet, payload, read};

use super::Sockets;

impl Sockets<'_> {
    /// Opens the sockets of a flow at both hosts.
    pub(super) fn open_udp(&mut self, flow: FlowId, pair: Pair) -> io::Result<()> {
        let opener = self.plan.flows[flow.0 as usize].opener;
        let [active, passive] = self.datagram_sockets(flow)?;
        self.take_udp(pair.end(opener.other()), passive)?;
        self.take_udp(pair.end(opener), active)
    }

    fn take_udp(&mut self, number: EndpointId, socket: OwnedFd) -> io::Result<()> {
        let data = EventData::new_u64(number.0.into());
        epoll::add(&self.epoll, &socket, data, EventFlags::IN)?;
        let endpoint = &mut self.endpoints[number.index()];
        endpoint.socket = Some(socket);
        endpoint.udp = Some(Box::new(Connection::new()));
        Ok(())
    }

    /// Datagrams of an endpoint of UDP. What the application sends leaves in this turn of the loop.
    pub(crate) fn datagrams(&mut self, number: EndpointId) -> Option<&mut dyn Datagrams> {
        let connection = self.endpoints[number.index()].udp.as_mut()?;
        self.timers.push(self.clock.now(), number.0.into());
        Some(&mut **connection)
    }

    /// Sends the datagrams of the application. The socket has more room than they need; what it has
    /// no room for is lost, as at a full interface.
    pub(super) fn send_datagrams(&mut self, number: EndpointId) -> io::Result<()> {
        let now = self.clock.now();
        let endpoint = &mut self.endpoints[number.index()];
        let (Some(socket), Some(connection)) = (&endpoint.socket, &mut endpoint.udp) else {
            return Ok(());
        };
        while let Some(Packet(datagram)) = connection.next_packet(now) {
            let bytes = payload(datagram);
            loop {
                match send(socket, &bytes, SendFlags::NOSIGNAL) {
                    Err(Errno::INTR) => {}
                    // An ICMP message may take the place of the call.
                    Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::CONNREFUSED) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Takes in the datagrams that have arrived. Returns true if there were any.
    pub(super) fn take_datagrams(&mut self, number: EndpointId) -> io::Result<bool> {
        let endpoint = &mut self.endpoints[number.index()];
        let (Some(socket), Some(connection)) = (&endpoint.socket, &mut endpoint.udp) else {
            return Ok(false);
        };
        let mut something = false;
        loop {
            let length = match recv(socket, &mut self.sink[..], RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR | Errno::CONNREFUSED) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(datagram) = read(&self.sink[..length]) else { continue };
            connection.on_packet(self.clock.now(), &Packet(datagram));
            something = true;
        }
        endpoint.received = connection.delivered();
        Ok(something)
    }
}
