//! Set-up: INIT, INIT ACK, COOKIE ECHO and COOKIE ACK (RFC 9260 section 5.1).
//!
//! The end that listens keeps nothing until the COOKIE ECHO. Data may go with the COOKIE ECHO, and
//! at once after it. INITs that have no answer take the paths in turn.

use transport::{AbortCause, Space};
use units::Time;

use super::{Connection, State};
use crate::chunk::{Chunk, Cookie, Init, Packet};

impl Connection {
    fn init(&self) -> Init {
        let streams = u16::try_from(self.config.streams).unwrap_or(u16::MAX).max(1);
        Init {
            tag: self.tag,
            window: self.receiver.wire_window(),
            outbound: streams,
            inbound: streams,
            tsn: self.out.wrap(0),
            addresses: self.config.paths.max(1),
            address: self.config.address,
        }
    }

    /// An INIT is to be sent.
    pub(super) fn request_init(&mut self) {
        let path = self.path_of_attempt();
        self.control.push_back((path, 0, Chunk::Init(self.init())));
    }

    /// A COOKIE ECHO is to be sent. It is the first chunk of its packet.
    fn request_echo(&mut self, path: u8) {
        if let Some(cookie) = &self.cookie {
            self.control.push_front((path, self.peer_tag, Chunk::CookieEcho(cookie.clone())));
        }
    }

    fn path_of_attempt(&self) -> u8 {
        let path = self.timer.attempts % u32::from(self.config.paths.max(1));
        u8::try_from(path).unwrap_or(0)
    }

    /// An INIT or a COOKIE ECHO was sent.
    pub(super) fn on_asked(&mut self, now: Time) {
        self.timer.at = now + self.timer.rto;
        self.asked = (self.timer.attempts == 0).then_some(now);
        self.timer.attempts += 1;
    }

    /// T1-init or T1-cookie has expired.
    pub(super) fn ask_again(&mut self) {
        if self.timer.attempts > self.config.init_max_retries {
            self.give_up(AbortCause::Retransmissions);
            return;
        }
        if self.state == State::CookieWait {
            self.request_init();
        } else {
            // The data that went with it was lost too.
            for path in (0..=u8::MAX).take(self.sender.paths().len()) {
                self.sender.mark_all_lost(path);
            }
            self.request_echo(self.path_of_attempt());
        }
    }

    /// The answer to an INIT or COOKIE ECHO that was sent once measures the RTT.
    fn measure(&mut self, now: Time, path: u8) {
        let rto = self.config.rto();
        if let Some(asked) = self.asked.take()
            && usize::from(path) < self.sender.paths().len()
        {
            self.sender.path_mut(path).sample(&rto, now.since(asked));
        }
    }

    /// An INIT. Nothing of it is kept but in the cookie.
    pub(super) fn on_init(&mut self, now: Time, path: u8, init: Init) {
        if matches!(self.state, State::Closed | State::CookieWait | State::Ended) || init.tag == 0 {
            return;
        }
        let cookie = Cookie { init, tag: self.tag, created: now };
        let ack = Chunk::InitAck(Box::new((self.init(), cookie)));
        self.control.push_back((path, init.tag, ack));
    }

    pub(super) fn on_init_ack(&mut self, now: Time, path: u8, init: Init, cookie: Cookie) {
        if self.state != State::CookieWait || init.tag == 0 {
            return;
        }
        self.measure(now, path);
        self.set_up(init);
        self.state = State::CookieEchoed;
        self.cookie = Some(Box::new(cookie));
        self.timer.attempts = 0;
        self.timer.at = Time::NEVER;
        self.timer.rto = self.sender.rto_of(path);
        self.control.clear();
        self.request_echo(path);
    }

    /// Takes the values of the other end's INIT or INIT ACK.
    fn set_up(&mut self, init: Init) {
        self.peer_tag = init.tag;
        self.inward = Space::new(init.tsn);
        let own = self.init();
        let streams = own.outbound.min(init.inbound).min(init.outbound);
        self.sender.set_up(&self.config, streams, init.window);
        self.receiver.inbound.open(streams);
        self.sender.limit_paths(init.addresses);
    }

    /// The end that listens opens the association (section 5.1.5).
    pub(super) fn on_cookie_echo(&mut self, now: Time, path: u8, cookie: &Cookie) {
        if cookie.tag != self.tag {
            return;
        }
        if self.state == State::Listen {
            if now.since(cookie.created) > self.config.cookie_life {
                self.control.push_back((path, cookie.init.tag, Chunk::Error));
                return;
            }
            self.set_up(cookie.init);
            self.establish(now, path);
        } else if cookie.init.tag == self.peer_tag && self.state != State::Ended {
            self.control.push_front((path, self.peer_tag, Chunk::CookieAck));
        }
    }

    pub(super) fn on_cookie_ack(&mut self, now: Time, path: u8) {
        if self.state == State::CookieEchoed {
            self.measure(now, path);
            self.cookie = None;
            self.establish(now, path);
        }
    }

    /// The cookie was too old: a new one is requested (section 5.2.6).
    pub(super) fn on_stale_cookie(&mut self) {
        if self.state == State::CookieEchoed {
            for path in (0..=u8::MAX).take(self.sender.paths().len()) {
                self.sender.mark_all_lost(path);
            }
            self.state = State::CookieWait;
            self.control.clear();
            self.request_init();
        }
    }

    fn establish(&mut self, now: Time, path: u8) {
        self.state = if self.closing { State::ShutdownPending } else { State::Established };
        self.timer.at = Time::NEVER;
        self.timer.attempts = 0;
        let last = u8::try_from(self.sender.paths().len() - 1).unwrap_or(0);
        self.sender.begin(now, &self.config, path.min(last));
        self.timer.rto = self.sender.rto();
        self.shut_down_if_finished();
    }

    /// A packet whose tag is not that of the association, or that comes before there is one
    /// (sections 8.4 and 8.5).
    #[cold]
    pub(super) fn on_unusual_tag(&mut self, now: Time, packet: &Packet) {
        let is_own = packet.tag == self.tag;
        match packet.first() {
            Chunk::Init(init) if packet.tag == 0 => self.on_init(now, packet.path, *init),
            Chunk::CookieEcho(cookie) if is_own && self.state == State::Listen => {
                self.on_cookie_echo(now, packet.path, cookie);
                if self.state != State::Listen {
                    // For its other chunks, and for the COOKIE ACK.
                    self.on_packet(now, packet);
                }
            }
            Chunk::Abort { reflected: true } if packet.tag == self.peer_tag && self.has_peer() => {
                self.give_up(AbortCause::Reset);
            }
            Chunk::ShutdownComplete { reflected: true } if packet.tag == self.peer_tag => {
                self.on_shutdown_complete();
            }
            _ => {}
        }
    }
}
