//! Chunks that are not DATA or SACK, and what goes into a packet (RFC 9260 sections 6.10 and 8.3).

use transport::AbortCause;
use units::Time;

use super::{Connection, State};
use crate::chunk::{Beat, COMMON_HEADER, Chunk, DATA_HEADER, Data, Kind, Packet, Sack};
use crate::sender::Slot;

impl Connection {
    #[cold]
    pub(super) fn on_control(&mut self, now: Time, packet: &Packet, chunk: &Chunk) {
        let path = packet.path;
        match chunk {
            Chunk::InitAck(both) => self.on_init_ack(now, path, both.0, both.1),
            Chunk::CookieEcho(cookie) => self.on_cookie_echo(now, path, cookie),
            Chunk::CookieAck => self.on_cookie_ack(now, path),
            Chunk::Error => self.on_stale_cookie(),
            Chunk::Heartbeat(beat) if self.has_peer() => {
                self.control.push_back((path, self.peer_tag, Chunk::HeartbeatAck(*beat)));
            }
            Chunk::HeartbeatAck(beat) if self.has_peer() => {
                self.sender.on_heartbeat_ack(now, &self.config, beat.path, beat.sent);
            }
            Chunk::Abort { .. } => {
                self.control.clear();
                self.give_up(AbortCause::Reset);
            }
            Chunk::Shutdown(cumulative) => self.on_shutdown(now, *cumulative),
            Chunk::ShutdownAck => self.on_shutdown_ack(packet),
            Chunk::ShutdownComplete { .. } => self.on_shutdown_complete(),
            // An INIT has no tag.
            Chunk::Init(_) | Chunk::Data(_) | Chunk::Sack(_) => {}
            Chunk::Heartbeat(_) | Chunk::HeartbeatAck(_) => {}
        }
    }

    /// A timer of what opens or ends the association.
    pub(super) fn on_timer(&mut self) {
        self.timer.at = Time::NEVER;
        self.timer.rto = self.timer.rto.doubled(1).min(self.config.rto_max);
        match self.state {
            State::CookieWait | State::CookieEchoed => self.ask_again(),
            State::ShutdownSent | State::ShutdownAckSent => self.shut_down_again(),
            _ => {}
        }
    }

    #[inline]
    pub(super) fn has_something(&self) -> bool {
        !self.control.is_empty()
            || self.receiver.is_due()
            || (self.may_send_data() && self.sender.may_send())
            || self.sender.due_heartbeat().is_some()
    }

    /// DATA may go without a COOKIE ECHO.
    #[inline]
    fn may_send_data(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Bytes for chunks: a DATA chunk of the largest size fits.
    fn room(&self) -> u16 {
        u16::try_from(self.config.chunk()).unwrap_or(u16::MAX - COMMON_HEADER).next_multiple_of(4)
    }

    /// The next packet to send, if there is one.
    pub fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let packet = if self.control.is_empty() { self.compose(now) } else { self.controlled(now) };
        if let Some(packet) = &packet {
            self.sent.count(packet);
        }
        packet
    }

    #[inline]
    fn compose(&mut self, now: Time) -> Option<Packet> {
        if !self.may_send_data() {
            return if self.receiver.is_due() && self.receives() {
                Some(self.sack())
            } else {
                self.heartbeat(now)
            };
        }
        let slot = Slot { bytes: self.room(), path: None, begins: true, may_shrink: false };
        if self.receiver.is_due() {
            let mut packet = self.sack();
            let bytes = slot.bytes.saturating_sub(packet.bytes() - COMMON_HEADER);
            let path = Some(packet.path);
            self.fill(now, Slot { bytes, path, ..slot }, &mut packet);
            return Some(packet);
        }
        match self.sender.next_data(now, self.out, slot) {
            Some(data) => Some(self.data_packet(now, slot, data)),
            None => self.heartbeat(now),
        }
    }

    fn sack(&mut self) -> Packet {
        let sack = self.receiver.take_sack(self.inward, self.room());
        Packet::new(self.peer_tag, self.path_of_report(), Chunk::Sack(sack))
    }

    /// The path of the last packet with data, if it is in use.
    fn path_of_report(&self) -> u8 {
        let path = self.receiver.path();
        if usize::from(path) < self.sender.paths().len() { path } else { self.sender.current() }
    }

    /// A packet with this chunk, others that fit, and a delayed SACK before them if it fits.
    #[inline]
    fn data_packet(&mut self, now: Time, slot: Slot, (path, data): (u8, Data)) -> Packet {
        let chunk = Chunk::Data(data);
        let mut bytes = slot.bytes.saturating_sub(chunk.bytes());
        let has_space = bytes >= Sack::default().bytes();
        let mut packet = if self.receiver.has_report() && has_space && path == self.path_of_report()
        {
            let sack = Chunk::Sack(self.receiver.take_sack(self.inward, bytes));
            bytes -= sack.bytes();
            let mut packet = Packet::new(self.peer_tag, path, sack);
            packet.push(chunk);
            packet
        } else {
            Packet::new(self.peer_tag, path, chunk)
        };
        self.sender.on_data_packet();
        let slot = Slot { bytes, path: Some(path), begins: false, ..slot };
        self.fill(now, slot, &mut packet);
        packet
    }

    /// Adds DATA that fits.
    #[inline]
    fn fill(&mut self, now: Time, mut slot: Slot, packet: &mut Packet) {
        while slot.bytes > DATA_HEADER {
            let Some((_, data)) = self.sender.next_data(now, self.out, slot) else { break };
            if slot.begins {
                self.sender.on_data_packet();
            }
            let chunk = Chunk::Data(data);
            slot = Slot { bytes: slot.bytes.saturating_sub(chunk.bytes()), begins: false, ..slot };
            packet.push(chunk);
        }
    }

    /// The heartbeat that is due.
    fn heartbeat(&mut self, now: Time) -> Option<Packet> {
        if !self.has_peer() {
            return None;
        }
        let path = self.sender.due_heartbeat()?;
        self.sender.path_mut(path).on_heartbeat_sent(now);
        let beat = Beat { sent: now, path };
        Some(Packet::new(self.peer_tag, path, Chunk::Heartbeat(beat)))
    }

    /// The packet that goes before everything else. DATA may go with COOKIE ECHO and COOKIE ACK.
    #[cold]
    fn controlled(&mut self, now: Time) -> Option<Packet> {
        let (path, tag, chunk) = self.control.pop_front()?;
        let kind = chunk.kind();
        let bytes = self.room().saturating_sub(chunk.bytes());
        let mut packet = Packet::new(tag, path, chunk);
        let mut slot = Slot { bytes, path: Some(path), begins: true, may_shrink: false };
        match kind {
            Kind::Init => self.on_asked(now),
            Kind::CookieEcho => {
                self.on_asked(now);
                slot.may_shrink = true;
                self.sender.carry(path);
                self.fill(now, slot, &mut packet);
                // T1-cookie runs in the place of T3-rtx.
                self.sender.hold_timers();
            }
            Kind::CookieAck if self.may_send_data() => {
                if self.receiver.has_report() && self.path_of_report() == path {
                    let sack = Chunk::Sack(self.receiver.take_sack(self.inward, bytes));
                    slot.bytes = bytes.saturating_sub(sack.bytes());
                    packet.push(sack);
                }
                self.fill(now, slot, &mut packet);
            }
            Kind::Shutdown | Kind::ShutdownAck => self.on_shutdown_sent(now),
            _ => {}
        }
        Some(packet)
    }
}
