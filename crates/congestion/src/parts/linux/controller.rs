//! A controller of Linux behind the interface of this crate: which of its calls the kernel makes
//! for an event.

use units::{Span, Time};

use super::socket::jiffies;
use super::{Growth, LINUX, Operations, Sample, Socket, State};
use crate::controller::Controller;
use crate::entry::{Entry, Listed};
use crate::events::{Ack, Feedback, Loss, Needs, Sent};
use crate::parameters::Values;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// A controller of Linux behind the interface of this crate.
#[derive(Clone, Debug)]
pub struct LinuxController<O> {
    socket: Socket,
    operations: O,
    connected: bool,
}

impl<O: Operations> LinuxController<O> {
    #[cfg(test)]
    pub(crate) fn operations(&self) -> &O {
        &self.operations
    }

    pub(crate) fn operations_mut(&mut self) -> &mut O {
        &mut self.operations
    }

    fn enter(&mut self, state: State) {
        self.socket.state = state;
        self.operations.on_state(&self.socket);
    }

    /// `tcp_init_cwnd_reduction`.
    fn reduce(&mut self, now: Time) {
        self.socket.now = now;
        self.socket.count = 0;
        let ssthresh = self.operations.ssthresh(&self.socket);
        self.socket.set_ssthresh(ssthresh);
    }
}

impl<O: Operations> Listed for LinuxController<O> {
    const VARIANT: &'static str = LINUX;
    const LISTED: &'static [Entry] = O::LISTED;

    fn build(settings: &Settings, values: &Values) -> Self {
        let operations = O::configured(values);
        Self { socket: Socket::new(settings), operations, connected: false }
    }
}

impl<O: Operations> Controller for LinuxController<O> {
    fn window(&self) -> &Window {
        &self.socket.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.socket.window
    }

    fn needs(&self) -> Needs {
        O::NEEDS
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        if !self.connected {
            self.connected = true;
            self.socket.now = now;
            self.socket.srtt = sample.as_nanos() / 1000;
            self.operations.init(&mut self.socket);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.socket.now = sent.now;
        if sent.pipe_before == 0 {
            let pause = jiffies(sent.now) - jiffies(self.socket.last_sent);
            self.operations.on_start(&self.socket, pause);
        }
        self.socket.last_sent = sent.now;
        self.socket.sent = sent.sent;
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let socket = &mut self.socket;
        socket.now = feedback.now;
        socket.acknowledged = feedback.acknowledged;
        socket.sent = feedback.sent;
        socket.srtt = feedback.srtt.map_or(socket.srtt, |srtt| srtt.as_nanos() / 1000);
        let rtt = feedback.round_trip.map(|rtt| rtt.as_nanos() / 1000);
        let sample = Sample { acked: feedback.acked.div_ceil(socket.mss()), rtt };
        self.operations.on_sample(socket, sample, feedback);
        self.operations.on_any_ack(socket, feedback);
        let whole = feedback.pipe >= feedback.sent - feedback.acknowledged;
        match self.socket.state {
            State::Open if !whole => self.enter(State::Disorder),
            State::Disorder if whole => self.enter(State::Open),
            State::Loss if feedback.acknowledged >= self.socket.recover => self.enter(State::Open),
            State::Open | State::Disorder | State::Recovery | State::Loss => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let socket = &mut self.socket;
        socket.now = ack.now;
        socket.srtt = ack.srtt.map_or(socket.srtt, |srtt| srtt.as_nanos() / 1000);
        let acked = ack.acked.div_ceil(socket.mss());
        self.operations.grow(socket, Growth { acked, limited: ack.cwnd_limited });
    }

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.operations.clone().ssthresh(&self.socket) * self.socket.mss()
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.now);
        self.operations.on_recovery(&mut self.socket);
        self.socket.window.cwnd = self.socket.window.ssthresh;
        self.enter(State::Recovery);
    }

    /// The kernel has no bound here: what its controller takes for the window is the window.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        if self.operations.is_reducing() {
            return;
        }
        self.reduce(loss.now);
        self.enter(State::Recovery);
        self.on_recovery_exit(loss.now);
    }

    /// `tcp_enter_recovery`, from `TCP_CA_CWR`.
    fn on_loss_after_mark(&mut self, _loss: &Loss) {
        let before = self.socket.window.ssthresh;
        self.operations.on_recovery(&mut self.socket);
        let window = &mut self.socket.window;
        if window.ssthresh != before {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        self.enter(State::Recovery);
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.socket.now = now;
        standard::on_recovery_exit(self);
        self.operations.on_reduced(&mut self.socket);
        self.enter(State::Open);
    }

    /// `tcp_enter_loss`.
    fn on_timeout(&mut self, loss: &Loss) {
        self.socket.now = loss.now;
        if !loss.repeated {
            self.reduce(loss.now);
            self.operations.on_timeout(&mut self.socket);
        }
        self.socket.count = 0;
        self.socket.recover = self.socket.sent;
        self.socket.set_cwnd(1);
        self.enter(State::Loss);
    }

    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        self.operations.on_undo();
        if self.socket.state == State::Loss {
            self.enter(State::Open);
        }
    }

    fn on_idle(&mut self) {
        self.operations.on_restart(&self.socket);
        standard::on_idle(self);
    }
}

impl<O: Operations> TcpPolicy for LinuxController<O> {}
