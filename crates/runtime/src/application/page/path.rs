//! The critical path of a load: the chain of waits that ends with the last thing of the page. And
//! indices of how early its bytes and objects came.

use scenario::model::{Milestone, Page};
use units::{Span, Time};

use super::load::{Load, Object, Set};

/// The parts of the critical path. Their sum is the load time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// Delays that the page itself has between objects.
    pub delay: Span,
    /// Lookups of names.
    pub dns: Span,
    /// Set-up of connections by the transport. QUIC's has TLS in it.
    pub connect: Span,
    /// Handshakes of TLS.
    pub tls: Span,
    /// Waits for a connection that is free.
    pub queue: Span,
    /// From requests to first bytes, without the server's time.
    pub round_trip: Span,
    /// Times of servers.
    pub server: Span,
    /// From first to last bytes.
    pub transfer: Span,
    /// Computations, and waits for the main thread.
    pub compute: Span,
    /// Round trips that there are at any rate: of remote lookups, set-ups, handshakes and requests.
    pub round_trips: u32,
}

/// The parts of the critical path of a load that has ended.
pub(super) fn critical(page: &Page, load: &Load) -> Option<Parts> {
    let numbered = load.objects.iter().enumerate();
    // Of several that end together the first one counts.
    let last = numbered.rev().max_by_key(|(_, object)| object.computed.get())?.0;
    let mut parts = Parts::default();
    let (mut number, mut milestone) = (last, Milestone::Computed);
    loop {
        let object = &load.objects[number];
        parts.add(page, load, number, milestone)?;
        let Some(cause) = object.cause else { return Some(parts) };
        let after = page.objects[number].after[cause as usize];
        parts.delay = parts.delay + after.delay;
        (number, milestone) = (after.object, after.at);
    }
}

impl Parts {
    /// Adds the times of an object until a milestone.
    fn add(&mut self, page: &Page, load: &Load, number: usize, to: Milestone) -> Option<()> {
        let object = &load.objects[number];
        self.add_set_up(page, load, object, page.objects[number].origin)?;
        let sent = sent(load, object)?;
        let first = object.first_byte.get()?;
        let server = page.objects[number].server_time;
        self.round_trips += 1;
        self.server = self.server + server;
        self.round_trip = self.round_trip + first.since(sent).saturating_sub(server);
        if to == Milestone::FirstByte {
            return Some(());
        }
        let done = object.done.get()?;
        self.transfer = self.transfer + done.since(first);
        if to == Milestone::Computed {
            self.compute = self.compute + object.computed.get()?.since(done);
        }
        Some(())
    }

    /// Adds the time from which on an object is known until its request is sent.
    fn add_set_up(
        &mut self,
        page: &Page,
        load: &Load,
        object: &Object,
        origin: usize,
    ) -> Option<()> {
        let known = object.known.get()?;
        let sent = sent(load, object)?;
        let Set { opened, connected, ready } = load.connections[object.connection? as usize];
        let part = |from: Time, to: Time| {
            let (from, to) = (from.max(known), to.min(sent));
            if to > from { to.since(from) } else { Span::ZERO }
        };
        let lookup = load.lookups[origin].and_then(|(from, to)| Some(part(from, to?)));
        let dns = lookup.unwrap_or_default();
        let connect = part(opened, connected);
        let tls = part(connected, ready);
        self.dns = self.dns + dns;
        self.connect = self.connect + connect;
        self.tls = self.tls + tls;
        self.queue = self.queue + sent.since(known).saturating_sub(dns + connect + tls);
        self.round_trips += u32::from(page.has_remote_resolver && dns > Span::ZERO);
        self.round_trips += u32::from(connect > Span::ZERO);
        if tls > Span::ZERO {
            let flights = page.tls.as_ref().map_or(0, |tls| tls.before_requests);
            self.round_trips += u32::try_from(flights / 2).unwrap_or(u32::MAX);
        }
        Some(())
    }
}

/// The time at which a request could leave: a connection keeps what is written before it stands.
pub(super) fn sent(load: &Load, object: &Object) -> Option<Time> {
    let connection = load.connections[object.connection? as usize];
    Some(object.requested.get()?.max(connection.connected))
}

/// Mean time from the start to the arrival of a byte, and of an object: the integrals of the
/// shares that are missing, which count once an object is complete.
pub(super) fn indices(page: &Page, load: &Load) -> Option<(f64, f64)> {
    let (mut of_bytes, mut of_objects) = (0.0, 0.0);
    for (object, known) in load.objects.iter().zip(&page.objects) {
        let time = object.done.get()?.since(load.start).as_secs_f64();
        of_bytes += time * known.bytes.get() as f64;
        of_objects += time;
    }
    Some((of_bytes / page.bytes() as f64, of_objects / load.objects.len() as f64))
}
