//! Requests and answers at a period, over datagrams or over a connection with a stream of bytes.
//!
//! Over a stream, the messages of an end follow one another: a message has arrived when the stream
//! has arrived up to its end.

use applications::Delays;
use applications::messages::{Measured, Messages, Settings, Step};
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::model::Traffic;
use transport::Datagram;
use units::{Span, Time};

use super::machine::{Driver, Entity, Task};
use super::{Context, EndpointId, Pair};

extra_table! {
    /// Messages: one row for each direction, with one-way delays.
    pub(super) OneWay("messages") of OneWayRow {
        /// Name of the flow.
        flow: String,
        /// `forward` for the answers of `from`, `backward` for the requests of `to`.
        direction: String,
        /// Messages sent.
        sent_messages: u64,
        /// Messages that have arrived.
        arrived_messages: u64,
        /// Smallest delay in milliseconds.
        min_delay_ms: f64,
        /// Median of the delay in milliseconds.
        p50_delay_ms: f64,
        /// 95th percentile of the delay in milliseconds.
        p95_delay_ms: f64,
        /// 99th percentile of the delay in milliseconds.
        p99_delay_ms: f64,
        /// Largest delay in milliseconds.
        max_delay_ms: f64,
        /// Share of the messages that arrived after 100 ms or never, from 0 to 1.
        above_100ms: f64,
        /// Share of the messages that arrived after 150 ms or never.
        above_150ms: f64,
        /// Share of the messages that arrived after 300 ms or never.
        above_300ms: f64,
        /// Share of the messages that arrived after `deadline` or never. Null without a deadline.
        above_deadline: f64,
    }
}

extra_table! {
    /// Times from a request to its answer: one row for each flow with messages.
    pub(super) Responses("responses") of ResponseRow {
        /// Name of the flow.
        flow: String,
        /// Requests sent.
        requests: u64,
        /// Answers that have arrived.
        answers: u64,
        /// Smallest time in milliseconds.
        min_response_ms: f64,
        /// Median of the time in milliseconds.
        p50_response_ms: f64,
        /// 95th percentile of the time in milliseconds.
        p95_response_ms: f64,
        /// 99th percentile of the time in milliseconds.
        p99_response_ms: f64,
        /// Largest time in milliseconds.
        max_response_ms: f64,
        /// Share of the requests whose answer arrived after `deadline` or never, from 0 to 1. Null
        /// without a deadline.
        above_deadline: f64,
    }
}

/// Messages with their connection.
#[derive(Clone, Debug)]
pub(super) struct Messenger {
    settings: Settings,
    messages: Messages,
    has_datagrams: bool,
    /// The rows of its tables, once it is over and they are final.
    settled: Option<Box<Rows>>,
    is_cut_short: bool,
    pair: Option<Pair>,
    /// Messages that have arrived over a stream: answers at `to`, and requests at `from`.
    arrived: [u64; 2],
}

/// Rows of messages without the names of flow and direction.
#[derive(Clone, Debug)]
struct Rows {
    /// Of answers, and of requests.
    one_way: [OneWayRow; 2],
    responses: ResponseRow,
}

impl Messenger {
    /// Sends a message of `to` (a request) or of `from` (an answer).
    fn send(&self, context: &mut Context<'_>, pair: Pair, is_request: bool, number: u64) {
        let (end, bytes) = match is_request {
            true => (pair.receiver, self.settings.request.get()),
            false => (pair.sender, self.settings.answer.get()),
        };
        match context.connections.datagrams(end) {
            Some(datagrams) => {
                let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
                datagrams.send(Datagram { number, bytes });
            }
            None => context.connections.write(end, bytes),
        }
    }

    /// The message with this number has arrived at an end.
    fn take(&mut self, context: &mut Context<'_>, at: Time, endpoint: EndpointId, number: u64) {
        let Some(pair) = self.pair else { return };
        if endpoint == pair.receiver {
            self.messages.on_answer(at, number);
        } else if self.messages.on_request(at, number) {
            self.send(context, pair, false, number);
        }
    }

    fn take_datagrams(&mut self, context: &mut Context<'_>, endpoint: EndpointId) {
        loop {
            let datagrams = context.connections.datagrams(endpoint);
            let Some((at, datagram)) = datagrams.and_then(|one| one.take_arrived()) else { return };
            self.take(context, at, endpoint, datagram.number);
        }
    }

    /// Takes the messages whose last byte has arrived, and waits for the next.
    fn take_stream(&mut self, context: &mut Context<'_>, pair: Pair, endpoint: EndpointId) {
        let is_server = endpoint == pair.sender;
        let size = if is_server { self.settings.request } else { self.settings.answer };
        let place = usize::from(is_server);
        let delivered = context.connections.delivered(endpoint);
        while (self.arrived[place] + 1).saturating_mul(size.get()) <= delivered {
            self.take(context, context.now, endpoint, self.arrived[place]);
            self.arrived[place] += 1;
        }
        let next = (self.arrived[place] + 1).saturating_mul(size.get());
        context.connections.wake_at(endpoint, next);
    }

    /// The rows of a run that ends at `end`.
    fn rows(&self, end: Time) -> Rows {
        let deadline = self.settings.deadline;
        let Measured { requests, answers, responses } = self.messages.measured();
        let times = responses.percentiles();
        Rows {
            one_way: [answers, requests].map(|delays| one_way(delays, deadline, end)),
            responses: ResponseRow {
                flow: String::new(),
                requests: responses.sent(),
                answers: responses.arrived(),
                min_response_ms: times.min,
                p50_response_ms: times.p50,
                p95_response_ms: times.p95,
                p99_response_ms: times.p99,
                max_response_ms: times.max,
                above_deadline: above(responses, deadline, end),
            },
        }
    }

    /// Does what is due. Returns true if all is done.
    fn step(&mut self, context: &mut Context<'_>, pair: Pair) -> bool {
        loop {
            match self.messages.step(context.now) {
                Step::Ask(number) => self.send(context, pair, true, number),
                Step::Wait(until) => {
                    context.connections.wake_application(until);
                    return false;
                }
                Step::Listen => return false,
                Step::Over => {
                    context.connections.close(pair.receiver);
                    context.connections.close(pair.sender);
                    return true;
                }
            }
        }
    }
}

impl Driver for Messenger {
    const TABLES: &'static [TableDefinition] = &[OneWay::DEFINITION, Responses::DEFINITION];

    fn of(task: &Task, entity: &Entity) -> Option<Self> {
        let Traffic::Messages(settings) = task.traffic else { return None };
        let has_datagrams = !task.protocol().entry().has_stream;
        let messages = Messages::new(settings, entity.start, has_datagrams);
        Some(Self {
            settings,
            messages,
            has_datagrams,
            settled: None,
            is_cut_short: false,
            pair: None,
            arrived: [0; 2],
        })
    }

    fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
        let pair = match self.pair {
            Some(pair) => pair,
            None => {
                let pair = *self.pair.insert(context.open());
                if !self.has_datagrams {
                    for end in [pair.sender, pair.receiver] {
                        self.take_stream(context, pair, end);
                    }
                }
                pair
            }
        };
        self.step(context, pair)
    }

    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(pair) = self.pair else { return false };
        if self.has_datagrams {
            self.take_datagrams(context, endpoint);
        } else {
            self.take_stream(context, pair, endpoint);
        }
        // Only the last answer ends it; requests have their own timer.
        self.messages.has_sent_all() && self.step(context, pair)
    }

    fn stop(&mut self) {
        self.messages.stop();
    }

    fn settle(&mut self, now: Time) {
        let largest = self.settings.deadline.unwrap_or_default().max(LARGEST_BOUND);
        let Measured { requests, answers, responses } = self.messages.measured();
        if [requests, answers, responses].into_iter().all(|one| one.is_settled(largest, now)) {
            self.settled = Some(self.rows(now).into());
            self.is_cut_short = self.messages.is_cut_short();
            self.messages = Messages::new(self.settings, now, self.has_datagrams);
        }
    }

    fn is_cut_short(&self) -> bool {
        self.is_cut_short || self.messages.is_cut_short()
    }

    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        end: Time,
    ) -> Vec<ExtraTable> {
        let (mut one_way, mut both) = (OneWay::default(), Responses::default());
        for (_, flow, messenger) in all {
            let settled = messenger.settled.as_deref().cloned();
            let Rows { one_way: rows, responses } = settled.unwrap_or_else(|| messenger.rows(end));
            for (direction, row) in ["forward", "backward"].into_iter().zip(rows) {
                let (flow, direction) = (flow.to_owned(), direction.to_owned());
                one_way.push(OneWayRow { flow, direction, ..row });
            }
            both.push(ResponseRow { flow: flow.to_owned(), ..responses });
        }
        vec![one_way.into_table(), both.into_table()]
    }
}

/// Share above a bound, if there is one.
fn above(delays: &Delays, bound: Option<Span>, end: Time) -> f64 {
    bound.map_or(f64::NAN, |bound| delays.share_above(bound, end))
}

/// The largest bound of the columns `above_...` besides the deadline.
const LARGEST_BOUND: Span = Span::from_millis(300);

/// The row of one direction without its name.
fn one_way(delays: &Delays, deadline: Option<Span>, end: Time) -> OneWayRow {
    let share = |bound| delays.share_above(bound, end);
    let times = delays.percentiles();
    OneWayRow {
        flow: String::new(),
        direction: String::new(),
        sent_messages: delays.sent(),
        arrived_messages: delays.arrived(),
        min_delay_ms: times.min,
        p50_delay_ms: times.p50,
        p95_delay_ms: times.p95,
        p99_delay_ms: times.p99,
        max_delay_ms: times.max,
        above_100ms: share(Span::from_millis(100)),
        above_150ms: share(Span::from_millis(150)),
        above_300ms: share(LARGEST_BOUND),
        above_deadline: above(delays, deadline, end),
    }
}
