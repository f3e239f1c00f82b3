//! Ends of QUIC connections: those of the crate `quic` over UDP sockets.
//!
//! Each end has a socket of its own that is connected to the other end's, so the kernel finds the
//! connection of a datagram, and hosts need no listener. A system call carries one datagram,
//! without segmentation offload: each datagram is a packet on the link.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use network::FlowId;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use quic::{Connection, Datagram};
use runtime::{EndpointId, Pair, address};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, getsockname, send,
    socket_with, sockopt,
};
use transport::{Endpoint as _, Streams};
use units::Time;
use wire::IpVersion;
use wire::ip::{CE, ECT_0};

use super::{Event, Sockets};

/// For each direction of a socket: more than the queues of a path hold, so that datagrams are lost
/// there and not here.
const BUFFER: usize = 16 << 20;
/// The bits of a traffic class that are the ECN field (RFC 3168 section 5).
const ECN_FIELD: u8 = 0b11;

/// One end of a connection.
pub(super) struct End {
    pub(super) connection: Connection,
    /// True if the datagrams of the socket are marked as ECN-capable.
    is_ecn_capable: bool,
    /// The datagram that the socket did not take.
    unsent: Option<Datagram>,
    /// The earliest entry of this end in the timers.
    scheduled: Time,
}

impl Sockets<'_> {
    /// Opens a connection of a flow between sockets of both hosts.
    pub(super) fn open_quic(&mut self, flow: FlowId, pair: Pair) -> io::Result<()> {
        let opener = self.plan.flows[flow.0 as usize].opener;
        let [active, passive] = self.datagram_sockets(flow)?;
        self.take_quic(pair.end(opener.other()), flow, passive, Connection::listen)?;
        self.take_quic(pair.end(opener), flow, active, Connection::connect)
    }

    /// Sockets of both hosts of a flow that are connected to each other: that of the opener, and
    /// the other one.
    pub(super) fn datagram_sockets(&self, flow: FlowId) -> io::Result<[OwnedFd; 2]> {
        let plan = &self.plan.flows[flow.0 as usize];
        let (opener, other) = (plan.opener, plan.opener.other());
        let own = self.plan.hosts[plan.host(opener)].node;
        let to = self.address_of(plan.host(other), plan);
        let sockets = [opener, other].map(|side| self.datagram_socket(plan.host(side)));
        let [active, passive] = sockets;
        let (active, passive) = (active?, passive?);
        bind(&active, &SocketAddr::new(address(own, self.plan.ip), 0))?;
        sockopt::set_socket_reuseaddr(&passive, true)?;
        bind(&passive, &to)?;
        connect(&active, &to)?;
        connect(&passive, &SocketAddr::try_from(getsockname(&active)?)?)?;
        Ok([active, passive])
    }

    fn datagram_socket(&self, host: usize) -> io::Result<OwnedFd> {
        self.namespaces[host].enter()?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match self.plan.ip {
            IpVersion::V4 => AddressFamily::INET,
            IpVersion::V6 => AddressFamily::INET6,
        };
        let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
        match self.plan.ip {
            IpVersion::V4 => sockopt::set_ip_recvtos(&socket, true)?,
            IpVersion::V6 => sockopt::set_ipv6_recvtclass(&socket, true)?,
        }
        sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER)?;
        sockopt::set_socket_send_buffer_size_force(&socket, BUFFER)?;
        Ok(socket)
    }

    /// Gives an endpoint its socket and its connection, and begins.
    fn take_quic(
        &mut self,
        number: EndpointId,
        flow: FlowId,
        socket: OwnedFd,
        begin: impl FnOnce(&mut Connection),
    ) -> io::Result<()> {
        let Some(maker) = &self.makers[flow.0 as usize] else { return Ok(()) };
        let mut connection = maker.end();
        connection.identify(flow.0, self.ends.get(number).connection.0);
        begin(&mut connection);
        let data = EventData::new_u64(number.0.into());
        epoll::add(&self.epoll, &socket, data, EventFlags::IN)?;
        let endpoint = &mut self.endpoints[number.index()];
        endpoint.socket = Some(socket);
        endpoint.quic = Some(Box::new(End {
            connection,
            is_ecn_capable: false,
            unsent: None,
            scheduled: Time::NEVER,
        }));
        self.flush(number)
    }

    /// Lets the application act on a connection. Returns false if the endpoint has none of QUIC.
    pub(super) fn act_on_quic<T>(
        &mut self,
        number: EndpointId,
        act: impl FnOnce(&mut Connection) -> T,
    ) -> io::Result<Option<T>> {
        let Some(end) = &mut self.endpoints[number.index()].quic else { return Ok(None) };
        let acted = act(&mut end.connection);
        self.flush(number).map(|()| Some(acted))
    }

    /// Streams of an endpoint of QUIC. What the application does with them is sent in this turn of
    /// the loop.
    pub(crate) fn streams(&mut self, number: EndpointId) -> Option<&mut dyn Streams> {
        let end = self.endpoints[number.index()].quic.as_mut()?;
        self.timers.push(self.clock.now(), number.0.into());
        Some(&mut end.connection)
    }

    /// Takes in the datagrams that have arrived, and answers them.
    pub(super) fn receive_datagrams(&mut self, number: EndpointId) -> io::Result<()> {
        loop {
            let endpoint = &mut self.endpoints[number.index()];
            let (Some(socket), Some(end)) = (&endpoint.socket, &mut endpoint.quic) else {
                return Ok(());
            };
            let received = receive(socket.as_fd(), &mut self.sink, &mut self.control);
            let (length, class) = match received {
                Ok(received) => received,
                Err(nix::Error::EAGAIN) => return Ok(()),
                // An ICMP message about an earlier datagram, which is as good as lost.
                Err(nix::Error::EINTR | nix::Error::ECONNREFUSED) => continue,
                Err(error) => return Err(error.into()),
            };
            let field = class & ECN_FIELD;
            let bytes = self.sink[..length].to_vec();
            let datagram = Datagram { bytes, is_ecn_capable: field != 0 };
            let now = self.clock.now();
            if field == CE {
                end.connection.on_marked_packet(now, &datagram);
            } else {
                end.connection.on_packet(now, &datagram);
            }
            self.flush(number)?;
        }
    }

    /// A timer of an endpoint may be due: the entry of `at`.
    pub(super) fn on_timer(&mut self, at: Time, number: EndpointId) -> io::Result<()> {
        let now = self.clock.now();
        let Some(end) = &mut self.endpoints[number.index()].quic else { return Ok(()) };
        if at == end.scheduled {
            end.scheduled = Time::NEVER;
        }
        if end.connection.deadline() <= now {
            end.connection.on_deadline(now);
        }
        self.flush(number)
    }

    /// Sends what the connection has to send, and sets its timer.
    pub(super) fn flush(&mut self, number: EndpointId) -> io::Result<()> {
        let endpoint = &mut self.endpoints[number.index()];
        let (Some(socket), Some(end)) = (&endpoint.socket, &mut endpoint.quic) else {
            return Ok(());
        };
        let waited = end.unsent.is_some();
        let now = self.clock.now();
        while let Some(datagram) = end.next(now) {
            if datagram.is_ecn_capable != end.is_ecn_capable {
                set_ecn_capable(socket.as_fd(), self.plan.ip, datagram.is_ecn_capable)?;
                end.is_ecn_capable = datagram.is_ecn_capable;
            }
            match send(socket, &datagram.bytes, SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => {
                    end.unsent = Some(datagram);
                    break;
                }
                Err(Errno::INTR) => end.unsent = Some(datagram),
                // The interface had no room, which it counts, or an ICMP message took the call's
                // place: lost.
                Ok(_) | Err(Errno::NOBUFS | Errno::CONNREFUSED) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if waited != end.unsent.is_some() {
            let mut flags = EventFlags::IN;
            flags.set(EventFlags::OUT, !waited);
            epoll::modify(&self.epoll, socket, EventData::new_u64(number.0.into()), flags)?;
        }
        let deadline = end.connection.deadline();
        if deadline < end.scheduled {
            end.scheduled = deadline;
            self.timers.push(deadline, number.0.into());
        }
        Ok(())
    }

    /// Notes what has become of an endpoint of QUIC since this was called last.
    pub(super) fn note_quic(&mut self, number: EndpointId, happened: &mut Vec<Event>) {
        let endpoint = &mut self.endpoints[number.index()];
        let Some(end) = &endpoint.quic else { return };
        let delivered = end.connection.delivered();
        // The end of a stream may come without bytes.
        if delivered > endpoint.received || end.connection.has_arrived() {
            endpoint.received = delivered;
            happened.push(Event::Received(number));
        }
        // Its socket stays open: the connection still has to report its end to the other side.
        if let Some(cause) = end.connection.abort_cause().filter(|_| !endpoint.failed) {
            endpoint.failed = true;
            happened.push(Event::Failed(number, cause));
        }
    }
}

impl End {
    /// The next datagram to send.
    fn next(&mut self, now: Time) -> Option<Datagram> {
        let waiting = self.unsent.take();
        waiting.or_else(|| {
            self.connection.may_send().then(|| self.connection.next_packet(now)).flatten()
        })
    }
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.connection.fmt(f)
    }
}

/// Receives a datagram. Returns its length and the traffic class of its packet.
fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    control: &mut [u8],
) -> nix::Result<(usize, u8)> {
    let mut parts = [IoSliceMut::new(buffer)];
    let socket = socket.as_raw_fd();
    let message = recvmsg::<()>(socket, &mut parts, Some(control), MsgFlags::empty())?;
    let classes = message.cmsgs()?.filter_map(|control| match control {
        ControlMessageOwned::Ipv4Tos(class) => Some(class),
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
        _ => None,
    });
    Ok((message.bytes, classes.last().unwrap_or_default()))
}

/// Marks the datagrams of a socket from now on as ECN-capable, or not.
fn set_ecn_capable(socket: BorrowedFd<'_>, ip: IpVersion, is_capable: bool) -> io::Result<()> {
    let class = if is_capable { ECT_0 } else { 0 };
    match ip {
        IpVersion::V4 => sockopt::set_ip_tos(socket, class)?,
        IpVersion::V6 => sockopt::set_ipv6_tclass(socket, class.into())?,
    }
    Ok(())
}
