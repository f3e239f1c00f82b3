//! Applications: what opens connections, writes and reads.
//!
//! An application is told when a timer of its own expires and when an endpoint has received as
//! many bytes as it asked to be told about; the packets in between do not reach it.

mod download;
mod web;

use recording::PageRecord;
use scenario::model::{Flow, Traffic};
use units::Time;

use crate::hosts::{Blueprint, Hosts, Pair};

use download::Transfer;
use web::Browser;

/// The traffic of a flow.
#[derive(Clone, Debug)]
enum Kind {
    Transfer(Transfer),
    Browser(Browser),
}

/// A flow: its connections and the application that drives them.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// When the last of what was to arrive did.
    pub(crate) finished: Option<Time>,
    pub(crate) aborted: bool,
    pub(crate) pairs: Vec<Pair>,
    stopped: bool,
    endless: bool,
    initial_sequence: u32,
    kind: Kind,
}

/// What an application needs to act: the hosts, how its connections are made, its own number.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) flow: u32,
    pub(crate) hosts: &'a mut Hosts,
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) initial_sequence: u32,
    pub(crate) pairs: &'a mut Vec<Pair>,
}

impl Context<'_> {
    /// Opens a connection: `opener` connects, the other end listens.
    fn open(&mut self, opened_by_receiver: bool) -> Pair {
        let pair = self.hosts.open_pair(self.flow, self.blueprint, self.initial_sequence);
        let (opener, other) = if opened_by_receiver {
            (pair.receiver, pair.sender)
        } else {
            (pair.sender, pair.receiver)
        };
        self.hosts.act_on(other).connection.listen();
        self.hosts.act_on(opener).connection.connect();
        self.pairs.push(pair);
        pair
    }
}

impl Application {
    pub(crate) fn new(flow: &Flow) -> Self {
        let (kind, endless) = match flow.traffic {
            Traffic::Download { size, request } => {
                (Kind::Transfer(Transfer::download(size.get(), request.get())), false)
            }
            Traffic::Bulk { size } => {
                (Kind::Transfer(Transfer::bulk(size.map(units::Bytes::get))), size.is_none())
            }
            Traffic::Web(web) => (Kind::Browser(Browser::new(web)), web.pages.is_none()),
        };
        Self {
            start: Time::ZERO + flow.start,
            stop: flow.stop.map(|stop| Time::ZERO + stop),
            finished: None,
            aborted: false,
            stopped: false,
            pairs: Vec::new(),
            endless: endless && flow.stop.is_none(),
            initial_sequence: flow.initial_sequence,
            kind,
        }
    }

    /// Whether the run has to wait for it. What never ends on its own is ended by the duration.
    pub(crate) fn is_over(&self) -> bool {
        self.finished.is_some() || self.aborted
    }

    /// Whether it has done all that it was to do.
    pub(crate) fn is_completed(&self) -> bool {
        let cut_short = match &self.kind {
            Kind::Transfer(transfer) => transfer.is_cut_short(),
            Kind::Browser(browser) => browser.is_cut_short(),
        };
        self.finished.is_some() && !cut_short
    }

    /// Bytes of the whole transfer, if it is one that ends.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.kind {
            Kind::Transfer(transfer) => transfer.size(),
            Kind::Browser(_) => None,
        }
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.endless
    }

    /// A timer of the application expired; the first one is its start, and from its stop on it does
    /// nothing but wait for what is on its way.
    pub(crate) fn on_timer(
        &mut self,
        now: Time,
        flow: u32,
        hosts: &mut Hosts,
        blueprint: &Blueprint,
    ) {
        let initial_sequence = self.initial_sequence;
        let pairs = &mut self.pairs;
        let mut context = Context { now, flow, hosts, blueprint, initial_sequence, pairs };
        if self.stop.is_none_or(|stop| now < stop) {
            match &mut self.kind {
                Kind::Transfer(transfer) => transfer.start(&mut context),
                Kind::Browser(browser) => browser.on_timer(&mut context),
            }
        } else if self.finished.is_none() && !self.aborted && !self.stopped {
            self.stopped = true;
            let done = match &mut self.kind {
                Kind::Transfer(transfer) => transfer.stop(&mut context),
                Kind::Browser(browser) => browser.stop(),
            };
            self.finished = done.then_some(now);
        }
    }

    /// An endpoint has received as many bytes as the application asked to be told about.
    pub(crate) fn on_received(
        &mut self,
        now: Time,
        flow: u32,
        endpoint: u32,
        hosts: &mut Hosts,
        blueprint: &Blueprint,
    ) {
        let initial_sequence = self.initial_sequence;
        let pairs = &mut self.pairs;
        let mut context = Context { now, flow, hosts, blueprint, initial_sequence, pairs };
        let done = match &mut self.kind {
            Kind::Transfer(transfer) => transfer.on_received(&mut context, endpoint),
            Kind::Browser(browser) => browser.on_received(&mut context, endpoint),
        };
        if done {
            self.finished = Some(now);
        }
    }

    /// Web pages, if it fetches any.
    pub(crate) fn pages(&self) -> Vec<PageRecord> {
        match &self.kind {
            Kind::Transfer(_) => Vec::new(),
            Kind::Browser(browser) => browser.pages().to_vec(),
        }
    }
}
