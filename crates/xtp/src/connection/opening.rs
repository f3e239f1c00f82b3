//! Set-up: FIRST and TCNTL, with the traffic specifiers of both ends.

use units::Time;

use super::{Connection, State, Urgent};
use crate::packet::{Kind, Options, Packet};
use crate::receiver::Arrival;

impl Connection {
    /// FIRST opens the connection, and its data is the first of the stream.
    pub(super) fn on_packet_in_listen(&mut self, now: Time, packet: &Packet) {
        if packet.kind != Kind::First {
            return;
        }
        self.state = State::Open;
        self.sender.begin(now, &self.config);
        self.sender.restrict(&self.config, &packet.traffic);
        self.on_repeated_first(packet);
    }

    /// A FIRST is answered with TCNTL, each time.
    pub(super) fn on_repeated_first(&mut self, packet: &Packet) {
        let fast_nak = packet.options.contains(Options::FASTNAK);
        self.receiver.on_data(&Arrival { seq: 0, payload: packet.payload, fast_nak });
        self.on_stream_options(packet);
        self.urgent = Urgent::TrafficControl;
    }

    pub(super) fn on_packet_while_opening(&mut self, now: Time, packet: &Packet) {
        if packet.options.contains(Options::END) {
            self.on_end(packet);
        } else if packet.kind == Kind::Tcntl {
            // Other packets came before the TCNTL, or it was lost. What they had will be asked for.
            self.state = State::Open;
            self.urgent = Urgent::Nothing;
            self.sender.restrict(&self.config, &packet.traffic);
            self.sender.begin(now, &self.config);
            self.on_packet_while_open(now, packet);
        }
    }

    /// The packet that goes before everything else.
    #[cold]
    pub(super) fn next_urgent(&mut self, now: Time) -> Packet {
        let urgent = std::mem::replace(&mut self.urgent, Urgent::Nothing);
        let released = Options::END.with_if(true, Options::RCLOSE).with_if(true, Options::WCLOSE);
        match urgent {
            Urgent::Nothing | Urgent::First => self.first(now),
            Urgent::TrafficControl => {
                self.receiver.take_report();
                let control = self.control(now, Kind::Tcntl);
                Packet { traffic: self.config.traffic(), ..control }
            }
            Urgent::End => {
                self.set_end_timer(now);
                let options = released.with_if(true, Options::SREQ);
                Packet { options, ..self.bare_control(Kind::Cntl) }
            }
            Urgent::EndAnswer => Packet { options: released, ..self.bare_control(Kind::Cntl) },
            Urgent::Abort => Packet { options: Options::END, ..self.bare_control(Kind::Cntl) },
        }
    }

    fn first(&mut self, now: Time) -> Packet {
        let payload = self.sender.open(now, &self.config);
        let options = Options::SREQ
            .with_if(self.config.fast_nak, Options::FASTNAK)
            .with_if(self.sender.opening_ends(), Options::WCLOSE);
        Packet {
            kind: Kind::First,
            sync: self.sync(),
            payload,
            options,
            ip_extra: self.config.ip_extra(),
            traffic: self.config.traffic(),
            ..Packet::default()
        }
    }
}
