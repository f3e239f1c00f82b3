//! Calls over datagrams.

use applications::call::{Call, Figures, Opinion, Settings, Step};
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::model::Traffic;
use transport::Datagram;
use units::Time;

use super::machine::{Driver, Entity, Task};
use super::{Context, EndpointId, Pair};

extra_table! {
    /// Calls: one row for each direction. Figures of the receiver of the speech.
    pub(super) Calls("call") of CallRow {
        /// Name of the flow.
        flow: String,
        /// `forward` for the speech of `from`, `backward` for that of `to`.
        direction: String,
        /// Codec.
        codec: String,
        /// Packets sent.
        sent_packets: u64,
        /// Packets that have arrived.
        arrived_packets: u64,
        /// Packets that arrived too late for the jitter buffer.
        late_packets: u64,
        /// Share of the packets that were lost or late, from 0 to 1.
        loss: f64,
        /// Mean length of bursts of losses, in units of that of independent losses.
        burst_ratio: f64,
        /// Smallest one-way delay in milliseconds.
        min_delay_ms: f64,
        /// Mean one-way delay in milliseconds.
        mean_delay_ms: f64,
        /// Interarrival jitter in milliseconds (RFC 3550).
        jitter_ms: f64,
        /// One-way delay from mouth to ear in milliseconds.
        mouth_to_ear_ms: f64,
        /// Rating factor R of ITU-T G.107 with its default echo. Null for a codec without values.
        rating: f64,
        /// Mean opinion score with the default echo.
        mos: f64,
        /// Rating factor R without echo.
        rating_without_echo: f64,
        /// Mean opinion score without echo.
        mos_without_echo: f64,
    }
}

/// A call with its flow of datagrams.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    settings: Settings,
    call: Call,
    /// The figures of both directions, once the call is over and they are final.
    settled: Option<Box<[Figures; 2]>>,
    pair: Option<Pair>,
    is_stopped: bool,
}

impl Driver for Caller {
    const TABLES: &'static [TableDefinition] = &[Calls::DEFINITION];

    fn of(task: &Task, entity: &Entity) -> Option<Self> {
        let Traffic::Call(settings) = task.traffic else { return None };
        let call = Call::new(settings, entity.start);
        Some(Self { settings, call, settled: None, pair: None, is_stopped: false })
    }

    fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
        let pair = match self.pair {
            Some(pair) => pair,
            None => *self.pair.insert(context.open()),
        };
        let bytes = u16::try_from(self.settings.payload()).unwrap_or(u16::MAX);
        loop {
            match self.call.step(context.now) {
                Step::Send(number) => {
                    for end in [pair.sender, pair.receiver] {
                        if let Some(datagrams) = context.connections.datagrams(end) {
                            datagrams.send(Datagram { number, bytes });
                        }
                    }
                }
                Step::Wait(until) => {
                    context.connections.wake_application(until);
                    return false;
                }
                Step::Over => return true,
            }
        }
    }

    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(pair) = self.pair else { return false };
        let Some(datagrams) = context.connections.datagrams(endpoint) else { return false };
        let sender = usize::from(endpoint == pair.sender);
        while let Some((at, datagram)) = datagrams.take_arrived() {
            self.call.on_arrival(at, sender, datagram.number);
        }
        self.call.is_over(context.now)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.call.stop();
    }

    fn settle(&mut self, now: Time) {
        if let Some(figures) = self.call.settled(now) {
            self.settled = Some(figures.into());
            self.call = Call::new(self.settings, now);
        }
    }

    fn is_cut_short(&self) -> bool {
        self.is_stopped && self.settings.duration.is_some()
    }

    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        end: Time,
    ) -> Vec<ExtraTable> {
        let mut table = Calls::default();
        for (_, flow, caller) in all {
            for (number, direction) in ["forward", "backward"].into_iter().enumerate() {
                let settled = caller.settled.as_ref().map(|figures| figures[number]);
                let figures = settled.unwrap_or_else(|| caller.call.figures(number, end));
                table.push(row(flow, direction, &caller.settings, &figures));
            }
        }
        vec![table.into_table()]
    }
}

fn row(flow: &str, direction: &str, settings: &Settings, figures: &Figures) -> CallRow {
    let Figures {
        sent,
        arrived,
        late,
        loss,
        burst_ratio,
        min_delay_ms,
        mean_delay_ms,
        jitter_ms,
        mouth_to_ear_ms,
        with_echo: Opinion { rating, mos },
        without_echo,
    } = *figures;
    CallRow {
        flow: flow.to_owned(),
        direction: direction.to_owned(),
        codec: settings.codec.name().to_owned(),
        sent_packets: sent,
        arrived_packets: arrived,
        late_packets: late,
        loss,
        burst_ratio,
        min_delay_ms,
        mean_delay_ms,
        jitter_ms,
        mouth_to_ear_ms,
        rating,
        mos,
        rating_without_echo: without_echo.rating,
        mos_without_echo: without_echo.mos,
    }
}
