//! Lookups of names by a resolver behind the path: a query and an answer over UDP (RFC 1035).
//!
//! Sizes are reconstructed: a query has the header, a question and an OPT record (RFC 6891), and an
//! answer also an alias and addresses. Browsers send queries for several types of records at the
//! same time; here one query stands for all of them.

use scenario::model::Page;
use transport::Datagram;
use units::{Span, Time};

use super::super::{Context, EndpointId, Pair};

/// Bytes of the payload of a query: a packet of 70 bytes with IPv4.
const QUERY: u16 = 42;
/// Bytes of the payload of an answer: a packet of 175 bytes with IPv4.
const ANSWER: u16 = 147;
/// Time after which a query is sent again: the `timeout` of glibc's resolver (resolv.conf(5)).
/// glibc gives up after two queries. Here the browser then begins again, at the same interval.
const TIMEOUT: Span = Span::from_secs(5);

/// A lookup of the name of an origin.
#[derive(Clone, Debug)]
struct Lookup {
    number: u64,
    pair: Pair,
    origin: usize,
    is_answered: bool,
}

/// The lookups of a load.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookups {
    lookups: Vec<Lookup>,
    begun: u64,
}

/// Consequence of a datagram that has arrived at an end of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The resolver has the answer for the lookup with this number at this time.
    Answer(u64, Time),
    /// The name of this origin is known.
    Name(usize),
}

impl Lookups {
    /// Forgets the lookups of the load before.
    pub(super) fn clear(&mut self) {
        self.lookups.clear();
    }

    /// Begins a lookup. Returns its number.
    pub(super) fn begin(&mut self, context: &mut Context<'_>, origin: usize) -> u64 {
        let (number, pair) = (self.begun, context.open_lookup());
        self.begun += 1;
        self.lookups.push(Lookup { number, pair, origin, is_answered: false });
        number
    }

    /// Sends the query of a lookup unless it is answered. Returns the time at which it is due
    /// again.
    pub(super) fn query(&self, context: &mut Context<'_>, number: u64) -> Option<Time> {
        let lookup = self.find(number).filter(|one| !one.is_answered)?;
        send(context, lookup.pair.receiver, Datagram { number, bytes: QUERY });
        Some(context.now + TIMEOUT)
    }

    /// Sends the answer of a lookup.
    pub(super) fn answer(&self, context: &mut Context<'_>, number: u64) {
        if let Some(lookup) = self.find(number) {
            send(context, lookup.pair.sender, Datagram { number, bytes: ANSWER });
        }
    }

    /// Takes a datagram that has arrived at an end of a lookup.
    pub(super) fn take(
        &mut self,
        context: &mut Context<'_>,
        page: &Page,
        endpoint: EndpointId,
    ) -> Option<Found> {
        loop {
            let (_, datagram) = context.connections.datagrams(endpoint)?.take_arrived()?;
            let mut lookups = self.lookups.iter_mut();
            let found = lookups.find(|one| one.number == datagram.number);
            let Some(lookup) = found.filter(|one| one.pair.has(endpoint)) else { continue };
            if endpoint == lookup.pair.sender {
                return Some(Found::Answer(lookup.number, context.now + page.dns));
            }
            if !std::mem::replace(&mut lookup.is_answered, true) {
                return Some(Found::Name(lookup.origin));
            }
        }
    }

    fn find(&self, number: u64) -> Option<&Lookup> {
        self.lookups.iter().find(|one| one.number == number)
    }
}

fn send(context: &mut Context<'_>, endpoint: EndpointId, datagram: Datagram) {
    if let Some(datagrams) = context.connections.datagrams(endpoint) {
        datagrams.send(datagram);
    }
}
