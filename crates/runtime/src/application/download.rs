//! One transfer over one connection: a download, or a bulk sender.

use super::{Context, EndpointId, Pair};

/// More than any run can send, so that the application always has data.
const ENDLESS: u64 = 1 << 62;

/// A transfer.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    size: Option<u64>,
    request: u64,
    pair: Option<Pair>,
    cut_short: bool,
}

impl Transfer {
    /// The receiver asks with `request` bytes.
    pub(super) fn download(size: u64, request: u64) -> Self {
        Self { size: Some(size), request, pair: None, cut_short: false }
    }

    /// The sender sends on its own account.
    pub(super) fn bulk(size: Option<u64>) -> Self {
        Self { size, request: 0, pair: None, cut_short: false }
    }

    pub(super) fn start(&mut self, context: &mut Context<'_>) {
        let pair = context.open();
        self.pair = Some(pair);
        context.connections.wake_at(pair.receiver, self.size.unwrap_or(u64::MAX));
        if self.request > 0 {
            context.connections.write(pair.receiver, self.request);
            context.connections.wake_at(pair.sender, self.request);
        } else {
            self.send(context, pair);
        }
    }

    /// Returns whether the transfer is done.
    pub(super) fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(pair) = self.pair else { return false };
        context.connections.wake_at(endpoint, u64::MAX);
        if endpoint == pair.sender {
            self.send(context, pair);
            return false;
        }
        context.connections.close(pair.receiver);
        true
    }

    /// Sends no more. Returns whether everything that was sent has arrived.
    pub(super) fn stop(&mut self, context: &mut Context<'_>) -> bool {
        let Some(pair) = self.pair else { return true };
        // A request that is still on its way is not answered.
        context.connections.wake_at(pair.sender, u64::MAX);
        let sent = context.connections.withdraw(pair.sender);
        context.connections.close(pair.sender);
        self.cut_short = self.size.is_some_and(|size| sent < size);
        context.connections.wake_at(pair.receiver, sent);
        context.connections.delivered(pair.receiver) >= sent
            && self.on_received(context, pair.receiver)
    }

    /// Stopped before everything was sent.
    pub(super) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    fn send(&self, context: &mut Context<'_>, pair: Pair) {
        context.connections.write(pair.sender, self.size.unwrap_or(ENDLESS));
        context.connections.close(pair.sender);
    }
}
