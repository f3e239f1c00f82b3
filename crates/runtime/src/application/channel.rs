//! A persistent connection of a browser or a player, and the requests on it.

use std::collections::{BTreeMap, VecDeque};

use transport::{Exchange, Streams};
use units::Time;

use super::{Context, EndpointId, Pair};

/// A connection with its requests that are not answered.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) pair: Pair,
    carriage: Carriage,
    pub(super) idle_since: Option<Time>,
}

/// How requests and answers share the connection.
#[derive(Clone, Debug)]
enum Carriage {
    /// One after the other, as with HTTP/1.1.
    InOrder(InOrder),
    /// Each on a stream of its own, as with HTTP/3: objects with their bytes.
    Streams(BTreeMap<Exchange, (usize, u64)>),
}

/// Messages in the order of their requests. The stream offset of its end identifies a message.
#[derive(Clone, Debug, Default)]
struct InOrder {
    /// Requested objects that are not yet received, with the stream offset of each end.
    expected: VecDeque<(usize, u64)>,
    /// Requests on their way, with the stream offset at which each ends and the answer's bytes.
    requests: VecDeque<(u64, u64)>,
    requested_to: u64,
    answered_to: u64,
}

impl Channel {
    /// Over a new connection.
    pub(super) fn open(context: &mut Context<'_>) -> Self {
        let pair = context.open();
        let carriage = match context.connections.streams(pair.receiver) {
            Some(_) => Carriage::Streams(BTreeMap::new()),
            None => Carriage::InOrder(InOrder::default()),
        };
        Self { pair, carriage, idle_since: None }
    }

    /// Returns false once a connection with streams has ended, for example because it was idle for
    /// too long.
    pub(super) fn is_open(&self, context: &mut Context<'_>) -> bool {
        context.connections.streams(self.pair.receiver).is_none_or(|streams| streams.is_open())
    }

    /// Sends a request of `request` bytes for an object of `bytes`.
    pub(super) fn ask(
        &mut self,
        context: &mut Context<'_>,
        request: u64,
        (object, bytes): (usize, u64),
    ) {
        self.idle_since = None;
        match &mut self.carriage {
            Carriage::InOrder(order) => {
                order.requested_to += request;
                order.answered_to += bytes;
                order.requests.push_back((order.requested_to, bytes));
                order.expected.push_back((object, order.answered_to));
                context.connections.write(self.pair.receiver, request);
                self.watch(context);
            }
            Carriage::Streams(objects) => {
                let streams = streams(context, self.pair.receiver);
                objects.extend(streams.map(|streams| (streams.ask(request), (object, bytes))));
            }
        }
    }

    /// Returns true if nothing is expected.
    pub(super) fn is_idle(&self) -> bool {
        match &self.carriage {
            Carriage::InOrder(order) => order.expected.is_empty(),
            Carriage::Streams(objects) => objects.is_empty(),
        }
    }

    /// Requests a notification at the next end of a request, and of an object. Streams notify of
    /// each.
    pub(super) fn watch(&self, context: &mut Context<'_>) {
        let Carriage::InOrder(order) = &self.carriage else { return };
        let object = order.expected.front().map_or(u64::MAX, |(_, end)| *end);
        context.connections.wake_at(self.pair.receiver, object);
        let request = order.requests.front().map_or(u64::MAX, |(end, _)| *end);
        context.connections.wake_at(self.pair.sender, request);
    }

    /// The server answers the requests that have arrived.
    pub(super) fn answer(&mut self, context: &mut Context<'_>) {
        match &mut self.carriage {
            Carriage::InOrder(order) => {
                let received = context.connections.delivered(self.pair.sender);
                while let Some(&(end, bytes)) = order.requests.front() {
                    if end > received {
                        break;
                    }
                    order.requests.pop_front();
                    context.connections.write(self.pair.sender, bytes);
                }
                self.watch(context);
            }
            Carriage::Streams(objects) => {
                let Some(streams) = streams(context, self.pair.sender) else { return };
                while let Some(exchange) = streams.take_arrived() {
                    let bytes = objects.get(&exchange).map_or(0, |(_, bytes)| *bytes);
                    streams.answer(exchange, bytes);
                }
            }
        }
    }

    /// The next object that has arrived completely.
    pub(super) fn take_received(&mut self, context: &mut Context<'_>) -> Option<usize> {
        match &mut self.carriage {
            Carriage::InOrder(order) => {
                let received = context.connections.delivered(self.pair.receiver);
                let &(object, end) = order.expected.front()?;
                if end > received {
                    return None;
                }
                order.expected.pop_front();
                Some(object)
            }
            Carriage::Streams(objects) => {
                let exchange = streams(context, self.pair.receiver)?.take_arrived()?;
                objects.remove(&exchange).map(|(object, _)| object)
            }
        }
    }
}

fn streams<'a>(context: &'a mut Context<'_>, end: EndpointId) -> Option<&'a mut dyn Streams> {
    context.connections.streams(end)
}
