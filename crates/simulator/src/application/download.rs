//! One transfer over one connection: a download, or a bulk sender.

use crate::application::Context;
use crate::hosts::Pair;

/// More than any run can send: the sending application never runs dry.
const ENDLESS: u64 = 1 << 62;

/// A transfer.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    size: Option<u64>,
    request: u64,
    opened_by_receiver: bool,
    pair: Option<Pair>,
    cut_short: bool,
}

impl Transfer {
    /// The receiver opens the connection and asks with `request` bytes.
    pub(super) fn download(size: u64, request: u64) -> Self {
        Self { size: Some(size), request, opened_by_receiver: true, pair: None, cut_short: false }
    }

    /// The sender opens the connection and sends.
    pub(super) fn bulk(size: Option<u64>) -> Self {
        Self { size, request: 0, opened_by_receiver: false, pair: None, cut_short: false }
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn start(&mut self, context: &mut Context<'_>) {
        let pair = context.open(self.opened_by_receiver);
        self.pair = Some(pair);
        context.hosts.act_on(pair.receiver).wake_at = self.size.unwrap_or(u64::MAX);
        if self.request > 0 {
            context.hosts.act_on(pair.receiver).connection.write(self.request);
            context.hosts.act_on(pair.sender).wake_at = self.request;
        } else {
            self.send(context, pair);
        }
    }

    /// Returns whether the transfer is done.
    pub(super) fn on_received(&mut self, context: &mut Context<'_>, endpoint: u32) -> bool {
        let Some(pair) = self.pair else { return false };
        context.hosts.act_on(endpoint).wake_at = u64::MAX;
        if endpoint == pair.sender {
            self.send(context, pair);
            return false;
        }
        context.hosts.act_on(pair.receiver).connection.close();
        true
    }

    /// Sends no more. Returns whether everything that was sent has arrived.
    pub(super) fn stop(&mut self, context: &mut Context<'_>) -> bool {
        let Some(pair) = self.pair else { return true };
        let sender = context.hosts.act_on(pair.sender);
        // A request that is still on its way is not answered.
        sender.wake_at = u64::MAX;
        let sent = sender.connection.withdraw();
        sender.connection.close();
        self.cut_short = self.size.is_some_and(|size| sent < size);
        let receiver = context.hosts.act_on(pair.receiver);
        receiver.wake_at = sent;
        receiver.connection.delivered() >= sent && self.on_received(context, pair.receiver)
    }

    /// Stopped before everything was sent.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    fn send(&self, context: &mut Context<'_>, pair: Pair) {
        let sender = &mut context.hosts.act_on(pair.sender).connection;
        sender.write(self.size.unwrap_or(ENDLESS));
        sender.close();
    }
}
