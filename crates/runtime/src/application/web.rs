//! A browser that fetches pages by HTTP/1.1 (RFC 9112) and the server that answers it.
//!
//! A page is a main object and, once that has arrived, its embedded objects over up to
//! `connections` parallel connections. Without pipelining each connection has one request
//! outstanding; with it, all requests are sent at once, spread evenly.
//!
//! Over connections with streams, each request and its answer have a stream of their own, as with
//! HTTP/3 (RFC 9114).

use std::collections::VecDeque;

use recording::{ObjectRecord, PageRecord};
use scenario::model::Web;
use units::Time;

use super::channel::Channel;
use super::{Context, EndpointId};

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
            self.channels.push(Channel::open(context));
        }
        self.ask(context, 0, 0);
    }

    fn has_more_pages(&self) -> bool {
        self.web.pages.is_none_or(|pages| self.pages.len() < pages as usize)
    }

    /// Connections that were idle for longer than the keep-alive time were closed meanwhile, and so
    /// were those that their transport has ended.
    fn close_idle_channels(&mut self, context: &mut Context<'_>) {
        self.channels.retain(|channel| channel.is_open(context));
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

    /// Sends the request for an object over a connection.
    fn ask(&mut self, context: &mut Context<'_>, channel: usize, object: usize) {
        let Some(page) = self.pages.last_mut() else { return };
        let record = &mut page.objects[object];
        record.start_s = context.now.as_secs_f64();
        let wanted = (object, record.bytes);
        self.outstanding += 1;
        self.channels[channel].ask(context, self.web.request.get(), wanted);
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
        if self.channels[channel].is_idle() {
            self.channels[channel].idle_since = Some(context.now);
        }
    }

    fn ask_for_embedded(&mut self, context: &mut Context<'_>) {
        let wanted = (self.web.connections as usize).min(self.unasked.len());
        while self.channels.len() < wanted {
            self.channels.push(Channel::open(context));
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
            return false;
        }
        !self.has_more_pages()
    }
}
