//! A browser that fetches pages by HTTP/1.1 (RFC 9112) and the server that answers it.
//!
//! A page is a main object and, once that has arrived, its embedded objects over up to
//! `connections` parallel connections. Without pipelining each connection has one request
//! outstanding; with it, all requests are sent at once, spread evenly.

use std::collections::VecDeque;

use recording::{ObjectRecord, PageRecord};
use scenario::model::Web;
use units::Time;

use super::{Context, EndpointId, Pair};

/// A persistent connection of the browser.
#[derive(Clone, Debug)]
struct Channel {
    pair: Pair,
    /// Requested objects that are not yet received, with the stream offset of each end.
    expected: VecDeque<(usize, u64)>,
    /// Requests on their way, with the stream offset at which each ends and the answer's bytes.
    requests: VecDeque<(u64, u64)>,
    requested_to: u64,
    answered_to: u64,
    idle_since: Option<Time>,
}

/// The browser.
#[derive(Clone, Debug)]
pub(super) struct Browser {
    web: Web,
    channels: Vec<Channel>,
    pages: Vec<PageRecord>,
    /// Objects of the current page that are not yet requested.
    unasked: VecDeque<usize>,
    outstanding: usize,
    next_page_at: Option<Time>,
    cut_short: bool,
}

impl Browser {
    pub(super) fn new(web: Web) -> Self {
        Self {
            web,
            channels: Vec::new(),
            pages: Vec::new(),
            unasked: VecDeque::new(),
            outstanding: 0,
            next_page_at: None,
            cut_short: false,
        }
    }

    pub(super) fn pages(&self) -> &[PageRecord] {
        &self.pages
    }

    /// It is time for the next page. A page that is still loading is not interrupted; the next one
    /// starts when it is complete.
    pub(super) fn on_timer(&mut self, context: &mut Context<'_>) {
        if self.outstanding > 0 || !self.unasked.is_empty() {
            self.next_page_at = Some(context.now);
        } else {
            self.start_page(context);
        }
    }

    /// Starts no more pages. Returns whether none is loading.
    pub(super) fn stop(&mut self) -> bool {
        self.cut_short = self.web.pages.is_some() && self.has_more_pages();
        self.web.pages = Some(u32::try_from(self.pages.len()).unwrap_or(u32::MAX));
        self.next_page_at = None;
        self.page_is_complete()
    }

    /// Stopped before the last page was asked for.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    fn start_page(&mut self, context: &mut Context<'_>) {
        self.next_page_at = None;
        self.close_idle_channels(context);
        let object = |bytes| ObjectRecord { bytes, ..ObjectRecord::default() };
        let mut objects = vec![object(self.web.main_object.get())];
        let embedded = object(self.web.embedded_object.get());
        objects.resize(1 + self.web.embedded_objects as usize, embedded);
        let start_s = context.now.as_secs_f64();
        self.pages.push(PageRecord { start_s, response_s: None, objects });
        if self.has_more_pages() {
            context.connections.wake_application(context.now + self.web.interval);
        }
        if self.channels.is_empty() {
            self.open_channel(context);
        }
        self.ask(context, 0, 0);
    }

    fn has_more_pages(&self) -> bool {
        self.web.pages.is_none_or(|pages| self.pages.len() < pages as usize)
    }

    /// Connections that were idle for longer than the keep-alive time were closed meanwhile.
    fn close_idle_channels(&mut self, context: &mut Context<'_>) {
        let Some(keep_alive) = self.web.keep_alive else { return };
        let now = context.now;
        let connections = &mut *context.connections;
        self.channels.retain(|channel| {
            let expired = channel.idle_since.is_some_and(|since| now.since(since) >= keep_alive);
            if expired {
                connections.close(channel.pair.receiver);
                connections.close(channel.pair.sender);
            }
            !expired
        });
    }

    fn open_channel(&mut self, context: &mut Context<'_>) {
        let pair = context.open();
        self.channels.push(Channel {
            pair,
            expected: VecDeque::new(),
            requests: VecDeque::new(),
            requested_to: 0,
            answered_to: 0,
            idle_since: None,
        });
    }

    /// Sends the request for an object over a connection.
    fn ask(&mut self, context: &mut Context<'_>, channel: usize, object: usize) {
        let Some(page) = self.pages.last_mut() else { return };
        let record = &mut page.objects[object];
        record.start_s = context.now.as_secs_f64();
        let channel = &mut self.channels[channel];
        channel.idle_since = None;
        channel.requested_to += self.web.request.get();
        channel.answered_to += record.bytes;
        channel.requests.push_back((channel.requested_to, record.bytes));
        channel.expected.push_back((object, channel.answered_to));
        self.outstanding += 1;
        context.connections.write(channel.pair.receiver, self.web.request.get());
        channel.watch(context);
    }

    /// Returns whether the last page is complete.
    pub(super) fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(number) = self.channels.iter().position(|channel| channel.pair.has(endpoint))
        else {
            context.connections.wake_at(endpoint, u64::MAX);
            return false;
        };
        if endpoint == self.channels[number].pair.sender {
            self.channels[number].answer(context);
            return false;
        }
        while let Some(object) = self.channels[number].take_received(context) {
            self.on_object(context, number, object);
        }
        self.channels[number].watch(context);
        self.page_is_complete() && self.finish_page(context)
    }

    fn on_object(&mut self, context: &mut Context<'_>, channel: usize, object: usize) {
        self.outstanding -= 1;
        if let Some(page) = self.pages.last_mut() {
            let record = &mut page.objects[object];
            record.response_s = Some(context.now.as_secs_f64() - record.start_s);
        }
        if object == 0 {
            self.unasked = (1..=self.web.embedded_objects as usize).collect();
            self.ask_for_embedded(context);
        } else if !self.web.pipelining
            && let Some(next) = self.unasked.pop_front()
        {
            self.ask(context, channel, next);
        }
        if self.channels[channel].expected.is_empty() {
            self.channels[channel].idle_since = Some(context.now);
        }
    }

    fn ask_for_embedded(&mut self, context: &mut Context<'_>) {
        let wanted = (self.web.connections as usize).min(self.unasked.len());
        while self.channels.len() < wanted {
            self.open_channel(context);
        }
        let mut channel = 0;
        while let Some(object) = self.unasked.pop_front() {
            self.ask(context, channel, object);
            channel += 1;
            if channel == wanted {
                if !self.web.pipelining {
                    break;
                }
                channel = 0;
            }
        }
    }

    fn page_is_complete(&self) -> bool {
        self.outstanding == 0 && self.unasked.is_empty()
    }

    fn finish_page(&mut self, context: &mut Context<'_>) -> bool {
        let Some(page) = self.pages.last_mut() else { return false };
        if page.response_s.is_some() {
            return false;
        }
        page.response_s = Some(context.now.as_secs_f64() - page.start_s);
        if self.next_page_at.is_some() {
            self.start_page(context);
        }
        !self.has_more_pages()
    }
}

impl Channel {
    /// Requests a notification at the next end of a request, and of an object.
    fn watch(&self, context: &mut Context<'_>) {
        let object = self.expected.front().map_or(u64::MAX, |(_, end)| *end);
        context.connections.wake_at(self.pair.receiver, object);
        let request = self.requests.front().map_or(u64::MAX, |(end, _)| *end);
        context.connections.wake_at(self.pair.sender, request);
    }

    /// The server answers the requests that have arrived.
    fn answer(&mut self, context: &mut Context<'_>) {
        let received = context.connections.delivered(self.pair.sender);
        while let Some(&(end, bytes)) = self.requests.front() {
            if end > received {
                break;
            }
            self.requests.pop_front();
            context.connections.write(self.pair.sender, bytes);
        }
        self.watch(context);
    }

    /// The next object that has arrived completely.
    fn take_received(&mut self, context: &Context<'_>) -> Option<usize> {
        let received = context.connections.delivered(self.pair.receiver);
        let &(object, end) = self.expected.front()?;
        if end > received {
            return None;
        }
        self.expected.pop_front();
        Some(object)
    }
}
