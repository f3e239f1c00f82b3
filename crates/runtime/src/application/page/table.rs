//! Tables of loads of pages, and of their objects over time.

use recording::{ExtraTable, TableDefinition, extra_table};
use units::{Span, Time};

use super::load::Load;
use super::path::{Parts, critical, indices, sent};

extra_table! {
    /// Loads of pages.
    Loads("page_loads") of LoadRow {
        /// Name of the flow.
        flow: String,
        /// Number of the load within its flow.
        [number] page: u32,
        /// Time of its start in seconds.
        start_s: f64,
        /// Page load time in seconds: until all is loaded and computed. NaN if that was not
        /// reached.
        load_s: f64,
        /// Mean time from the start to the arrival of a byte in seconds: the integral of the share
        /// of bytes that is missing. The bytes of an object count once it is complete.
        byte_index_s: f64,
        /// The same for objects, each with the same weight.
        object_index_s: f64,
        /// Connections that it has used.
        connections: u32,
        /// Round trips on the critical path that there are at any rate: of lookups by a remote
        /// resolver, connections, handshakes and requests.
        round_trips: u32,
        /// Lookups of names on the critical path in seconds. The sum of this and of the following
        /// parts is the load time.
        dns_s: f64,
        /// Set-up of connections by the transport. QUIC's contains TLS.
        connect_s: f64,
        /// Handshakes of TLS.
        tls_s: f64,
        /// Waits for a free connection.
        queue_s: f64,
        /// From requests to first bytes, without the times of servers.
        round_trip_s: f64,
        /// Times of servers.
        server_s: f64,
        /// From first bytes to last bytes.
        transfer_s: f64,
        /// Computations, and waits for the main thread.
        compute_s: f64,
        /// Delays that the page itself has between objects.
        delay_s: f64,
    }
}

extra_table! {
    /// Objects of loads over time: the waterfall. NaN is a time that did not come.
    Waterfall("page_objects") of ObjectRow {
        /// Name of the flow.
        flow: String,
        /// Number of the load within its flow.
        [number] page: u32,
        /// Name of the object.
        object: String,
        /// Name of its origin.
        origin: String,
        /// Bytes of its content.
        bytes: u64,
        /// Number of its connection within the load.
        [number] connection: u32,
        /// Time in seconds from which on it is known that the object is needed.
        known_s: f64,
        /// Time of its request, once its connection stands.
        request_s: f64,
        /// Time of its first byte.
        first_byte_s: f64,
        /// Time of its last byte.
        done_s: f64,
        /// Time at which the browser has computed what depends on it.
        computed_s: f64,
    }
}

/// The tables that pages have.
pub(super) const TABLES: [TableDefinition; 2] = [Loads::DEFINITION, Waterfall::DEFINITION];

/// The tables of the loads of flows, each with its name.
pub(super) fn of<'a>(flows: impl Iterator<Item = (&'a str, &'a [Load])>) -> Vec<ExtraTable> {
    let (mut loads_of_flows, mut waterfall) = (Loads::default(), Waterfall::default());
    for (flow, loads) in flows {
        for (number, load) in (0..).zip(loads) {
            loads_of_flows.push(load_row(flow, (number, load)));
            objects(flow, (number, load)).for_each(|row| waterfall.push(row));
        }
    }
    vec![loads_of_flows.into_table(), waterfall.into_table()]
}

fn load_row(flow: &str, (number, load): (u32, &Load)) -> LoadRow {
    let page = &*load.page;
    let parts = load.end.and_then(|_| critical(page, load));
    let seconds = |part: fn(&Parts) -> Span| {
        parts.as_ref().map_or(f64::NAN, |parts| part(parts).as_secs_f64())
    };
    let (byte_index_s, object_index_s) =
        load.end.and_then(|_| indices(page, load)).unwrap_or((f64::NAN, f64::NAN));
    LoadRow {
        flow: flow.to_owned(),
        page: number,
        start_s: load.start.as_secs_f64(),
        load_s: load.end.map_or(f64::NAN, |end| end.since(load.start).as_secs_f64()),
        byte_index_s,
        object_index_s,
        connections: u32::try_from(load.connections.len()).unwrap_or(u32::MAX),
        round_trips: parts.map_or(0, |parts| parts.round_trips),
        dns_s: seconds(|parts| parts.dns),
        connect_s: seconds(|parts| parts.connect),
        tls_s: seconds(|parts| parts.tls),
        queue_s: seconds(|parts| parts.queue),
        round_trip_s: seconds(|parts| parts.round_trip),
        server_s: seconds(|parts| parts.server),
        transfer_s: seconds(|parts| parts.transfer),
        compute_s: seconds(|parts| parts.compute),
        delay_s: seconds(|parts| parts.delay),
    }
}

fn objects<'a>(flow: &'a str, (number, load): (u32, &'a Load)) -> impl Iterator<Item = ObjectRow> {
    let page = &*load.page;
    load.objects.iter().zip(&page.objects).map(move |(object, known)| {
        let seconds = |time: Option<Time>| time.map_or(f64::NAN, |time| time.as_secs_f64());
        ObjectRow {
            flow: flow.to_owned(),
            page: number,
            object: known.name.clone(),
            origin: page.origins[known.origin].clone(),
            bytes: known.bytes.get(),
            connection: object.connection.unwrap_or(u32::MAX),
            known_s: seconds(object.known.get()),
            request_s: seconds(sent(load, object)),
            first_byte_s: seconds(object.first_byte.get()),
            done_s: seconds(object.done.get()),
            computed_s: seconds(object.computed.get()),
        }
    })
}
