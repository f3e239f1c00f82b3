//! The enums over all protocols of the simulator: ends, packets, and ends by their protocol.

/// Declares the protocols: for each a variant, its ends, and its packets. Behind them the remains
/// of ends that are over, which speak one of them.
macro_rules! protocols {
    (
        $($(#[$doc:meta])* $variant:ident($end:ty, $packet:ty),)+;
        $(#[$of_over:meta])* $over:ident($remains:ty) of $protocol:ident,
    ) => {
        /// An end of one of the protocols.
        #[derive(Debug)]
        pub(crate) enum Any {
            $($(#[$doc])* $variant(Box<$end>),)+
            $(#[$of_over])* $over(Box<$remains>),
        }

        /// A packet of one of the protocols.
        #[derive(Clone, Debug)]
        pub(crate) enum Packet {
            $($(#[$doc])* $variant($packet),)+
        }

        /// An end by its protocol, for what only one protocol reports.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum End<'a> {
            $($(#[$doc])* $variant(&'a $end),)+
            $(#[$of_over])* $over(&'a $remains),
        }

        impl Any {
            /// The end by its protocol.
            pub(super) fn by_protocol(&self) -> End<'_> {
                match self {
                    $(Self::$variant(end) => End::$variant(end),)+
                    Self::$over(end) => End::$over(end),
                }
            }
        }

        /// A packet of another protocol than that of the end does nothing.
        impl Endpoint for Any {
            type Packet = Packet;

            fn connect(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::connect(&mut **end),)+
                    Self::$over(end) => Endpoint::connect(&mut **end),
                }
            }

            fn listen(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::listen(&mut **end),)+
                    Self::$over(end) => Endpoint::listen(&mut **end),
                }
            }

            #[inline(never)]
            fn on_packet(&mut self, now: Time, packet: &Packet) {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::on_packet(&mut **end, now, packet);
                    })+
                    (Self::$over(end), Packet::$protocol(packet)) => {
                        Endpoint::on_packet(&mut **end, now, packet);
                    }
                    _ => {}
                }
            }

            fn on_congestion_experienced(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_congestion_experienced(&mut **end),)+
                    Self::$over(end) => Endpoint::on_congestion_experienced(&mut **end),
                }
            }

            fn on_marked_packet(&mut self, now: Time, packet: &Packet) {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::on_marked_packet(&mut **end, now, packet);
                    })+
                    (Self::$over(end), Packet::$protocol(packet)) => {
                        Endpoint::on_marked_packet(&mut **end, now, packet);
                    }
                    _ => {}
                }
            }

            fn take_field(&mut self, packet: &Packet) -> Field {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::take_field(&mut **end, packet)
                    })+
                    (Self::$over(end), Packet::$protocol(packet)) => {
                        Endpoint::take_field(&mut **end, packet)
                    }
                    _ => Field::default(),
                }
            }

            fn on_field(&mut self, now: Time, field: &Field) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_field(&mut **end, now, field),)+
                    Self::$over(end) => Endpoint::on_field(&mut **end, now, field),
                }
            }

            fn may_send(&self) -> bool {
                match self {
                    $(Self::$variant(end) => Endpoint::may_send(&**end),)+
                    Self::$over(end) => Endpoint::may_send(&**end),
                }
            }

            #[inline(never)]
            fn next_packet(&mut self, now: Time) -> Option<Packet> {
                Some(match self {
                    $(Self::$variant(end) => {
                        Packet::$variant(Endpoint::next_packet(&mut **end, now)?)
                    })+
                    Self::$over(end) => {
                        Packet::$protocol(Endpoint::next_packet(&mut **end, now)?)
                    }
                })
            }

            fn may_have_low_priority(&self) -> bool {
                match self {
                    $(Self::$variant(end) => Endpoint::may_have_low_priority(&**end),)+
                    Self::$over(end) => Endpoint::may_have_low_priority(&**end),
                }
            }

            fn next_of_low_priority(&mut self, now: Time) -> Option<Packet> {
                Some(match self {
                    $(Self::$variant(end) => {
                        Packet::$variant(Endpoint::next_of_low_priority(&mut **end, now)?)
                    })+
                    Self::$over(end) => {
                        Packet::$protocol(Endpoint::next_of_low_priority(&mut **end, now)?)
                    }
                })
            }

            fn deadline(&self) -> Time {
                match self {
                    $(Self::$variant(end) => Endpoint::deadline(&**end),)+
                    Self::$over(end) => Endpoint::deadline(&**end),
                }
            }

            fn on_deadline(&mut self, now: Time) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_deadline(&mut **end, now),)+
                    Self::$over(end) => Endpoint::on_deadline(&mut **end, now),
                }
            }

            fn write(&mut self, bytes: u64) {
                match self {
                    $(Self::$variant(end) => Endpoint::write(&mut **end, bytes),)+
                    Self::$over(end) => Endpoint::write(&mut **end, bytes),
                }
            }

            fn withdraw(&mut self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::withdraw(&mut **end),)+
                    Self::$over(end) => Endpoint::withdraw(&mut **end),
                }
            }

            fn read(&mut self, bytes: u64) {
                match self {
                    $(Self::$variant(end) => Endpoint::read(&mut **end, bytes),)+
                    Self::$over(end) => Endpoint::read(&mut **end, bytes),
                }
            }

            fn unread(&self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::unread(&**end),)+
                    Self::$over(end) => Endpoint::unread(&**end),
                }
            }

            fn delivered(&self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::delivered(&**end),)+
                    Self::$over(end) => Endpoint::delivered(&**end),
                }
            }

            fn close(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::close(&mut **end),)+
                    Self::$over(end) => Endpoint::close(&mut **end),
                }
            }

            fn abort_cause(&self) -> Option<AbortCause> {
                match self {
                    $(Self::$variant(end) => Endpoint::abort_cause(&**end),)+
                    Self::$over(end) => Endpoint::abort_cause(&**end),
                }
            }

            fn counters(&self) -> &Counters {
                match self {
                    $(Self::$variant(end) => Endpoint::counters(&**end),)+
                    Self::$over(end) => Endpoint::counters(&**end),
                }
            }

            fn sample(&self) -> Sample {
                match self {
                    $(Self::$variant(end) => Endpoint::sample(&**end),)+
                    Self::$over(end) => Endpoint::sample(&**end),
                }
            }

            fn rtt_samples(&self) -> &Sketch {
                match self {
                    $(Self::$variant(end) => Endpoint::rtt_samples(&**end),)+
                    Self::$over(end) => Endpoint::rtt_samples(&**end),
                }
            }

            fn limits(&self, now: Time) -> Option<Limits> {
                match self {
                    $(Self::$variant(end) => Endpoint::limits(&**end, now),)+
                    Self::$over(end) => Endpoint::limits(&**end, now),
                }
            }
        }
    };
}
