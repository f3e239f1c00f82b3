//! The controllers of `bpf/`, compiled for this machine instead of the kernel, and a socket to call
//! them with. Only for tests. This crate has the whole interface to C.

use std::ffi::{CString, c_char};

/// What the controller sees of the connection at an event; `struct view` of `bpf/replay/replay.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Microseconds.
    pub now: u64,
    /// Smoothed round-trip time in microseconds.
    pub srtt: u32,
    /// Position in the stream up to which everything is acknowledged.
    pub acknowledged: u32,
    /// Position after the last byte sent.
    pub sent: u32,
    /// Window of the receiver in bytes.
    pub advertised: u32,
    /// Segments delivered over the connection.
    pub delivered: u32,
    /// Segments sent and not acknowledged cumulatively.
    pub packets_out: u32,
    /// Of those, what is acknowledged selectively.
    pub sacked_out: u32,
    /// 1 when cwnd holds the sender back, else 0.
    pub limited: u32,
}

#[repr(C)]
struct Socket {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn replay_parameters(name: *const c_char) -> *mut u64;
    fn replay_open(name: *const c_char, mss: u32, cwnd: u32, ssthresh: u32) -> *mut Socket;
    fn replay_close(replay: *mut Socket);
    fn replay_view(replay: *mut Socket, view: *const View);
    fn replay_pkts_acked(replay: *mut Socket, acked: u32, rtt: i32);
    fn replay_cong_avoid(replay: *mut Socket, acked: u32);
    fn replay_loss(replay: *mut Socket);
    fn replay_mark(replay: *mut Socket);
    fn replay_recovered(replay: *mut Socket);
    fn replay_timeout(replay: *mut Socket, repeated: u32);
    fn replay_open_again(replay: *mut Socket);
    fn replay_idle(replay: *mut Socket, cwnd: u32);
    fn replay_cwnd(replay: *const Socket) -> u32;
    fn replay_exact_cwnd(replay: *const Socket) -> u64;
    fn replay_ssthresh(replay: *const Socket) -> u32;
    fn bp_log2(value: u64) -> i64;
    fn bp_exp2(exponent: i64) -> u64;
    fn bp_sqrt(value: u64) -> u64;
    fn bp_mul_shift(a: u64, b: u64, shift: u32) -> u64;
}

/// `bp_log2` of `bpf/log.h`: of a number with 16 bits behind the point, with 24.
pub fn log2(value: u64) -> i64 {
    // SAFETY: these four take numbers and give numbers.
    unsafe { bp_log2(value) }
}

/// `bp_exp2` of `bpf/log.h`: of an exponent with 24 bits behind the point, with 32.
pub fn exp2(exponent: i64) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_exp2(exponent) }
}

/// `bp_sqrt` of `bpf/log.h`: the whole root of a number below 2^63.
pub fn sqrt(value: u64) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_sqrt(value) }
}

/// `bp_mul_shift` of `bpf/bentpipe.h`: `a * b >> shift`, saturated.
pub fn mul_shift(a: u64, b: u64, shift: u32) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_mul_shift(a, b, shift) }
}

/// A connection whose controller is one of `bpf/`.
#[derive(Debug)]
pub struct Connection {
    socket: *mut Socket,
    /// The controller's name and the parameters that it had before.
    restore: (CString, Vec<u64>),
}

impl Connection {
    /// A new connection with windows in segments; `None` when there is no such controller.
    ///
    /// `parameters` are those of the controller's map, in its order. They belong to the controller
    /// and not to the connection: one connection of a controller at a time.
    pub fn open(
        name: &str,
        parameters: &[u64],
        mss: u32,
        cwnd: u32,
        ssthresh: u32,
    ) -> Option<Self> {
        let name = CString::new(name.replace('-', "_")).ok()?;
        let mut before = Vec::with_capacity(parameters.len());
        // SAFETY: the name ends with a zero; the map has as many numbers as the controller has
        // parameters, which the caller's table says too.
        let socket = unsafe {
            let map = replay_parameters(name.as_ptr());
            if map.is_null() {
                return None;
            }
            for (i, parameter) in parameters.iter().enumerate() {
                before.push(*map.add(i));
                *map.add(i) = *parameter;
            }
            replay_open(name.as_ptr(), mss, cwnd, ssthresh)
        };
        (!socket.is_null()).then_some(Self { socket, restore: (name, before) })
    }

    /// What the controller's file has as defaults, `count` numbers.
    pub fn defaults(name: &str, count: usize) -> Option<Vec<u64>> {
        let name = CString::new(name.replace('-', "_")).ok()?;
        // SAFETY: as in `open`.
        unsafe {
            let map = replay_parameters(name.as_ptr());
            (!map.is_null()).then(|| (0..count).map(|i| *map.add(i)).collect())
        }
    }

    /// The fields of the socket for what follows.
    pub fn view(&mut self, view: &View) {
        // SAFETY: here and below the socket lives until `drop`.
        unsafe { replay_view(self.socket, view) }
    }

    /// An ACK covers `acked` segments and measures `rtt` microseconds.
    pub fn pkts_acked(&mut self, acked: u32, rtt: Option<u32>) {
        let rtt = rtt.and_then(|rtt| i32::try_from(rtt).ok()).unwrap_or(-1);
        // SAFETY: see `view`.
        unsafe { replay_pkts_acked(self.socket, acked, rtt) }
    }

    /// The window may grow by an ACK of `acked` segments.
    pub fn cong_avoid(&mut self, acked: u32) {
        // SAFETY: see `view`.
        unsafe { replay_cong_avoid(self.socket, acked) }
    }

    /// Recovery begins.
    pub fn loss(&mut self) {
        // SAFETY: see `view`.
        unsafe { replay_loss(self.socket) }
    }

    /// A mark is echoed, and the round trip after it is over.
    pub fn mark(&mut self) {
        // SAFETY: see `view`.
        unsafe { replay_mark(self.socket) }
    }

    /// Recovery is over.
    pub fn recovered(&mut self) {
        // SAFETY: see `view`.
        unsafe { replay_recovered(self.socket) }
    }

    /// The retransmission timer expires, for the first time or again.
    pub fn timeout(&mut self, repeated: bool) {
        // SAFETY: see `view`.
        unsafe { replay_timeout(self.socket, u32::from(repeated)) }
    }

    /// What was outstanding at the timeout is acknowledged.
    pub fn open_again(&mut self) {
        // SAFETY: see `view`.
        unsafe { replay_open_again(self.socket) }
    }

    /// Nothing was sent for a while: the kernel cuts the window to `cwnd` segments.
    pub fn idle(&mut self, cwnd: u32) {
        // SAFETY: see `view`.
        unsafe { replay_idle(self.socket, cwnd) }
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> u32 {
        // SAFETY: see `view`.
        unsafe { replay_cwnd(self.socket) }
    }

    /// The congestion window with the part of a segment that the controller keeps.
    pub fn exact_cwnd(&self) -> f64 {
        // SAFETY: see `view`.
        unsafe { replay_exact_cwnd(self.socket) as f64 / 65_536.0 }
    }

    /// The slow start threshold in segments.
    pub fn ssthresh(&self) -> u32 {
        // SAFETY: see `view`.
        unsafe { replay_ssthresh(self.socket) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (name, before) = &self.restore;
        // SAFETY: it was opened by `open`, which found the map, and nobody else has it.
        unsafe {
            let map = replay_parameters(name.as_ptr());
            for (i, parameter) in before.iter().enumerate() {
                *map.add(i) = *parameter;
            }
            replay_close(self.socket);
        }
    }
}
