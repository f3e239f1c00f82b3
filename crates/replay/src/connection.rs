//! A socket in C: those of `bpf/`, linked into this program, and those of a library.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

/// The connection as the controller sees it at an event; `struct view` of `bpf/replay/replay.c`.
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
    /// Smallest round-trip time in microseconds.
    pub min_rtt: u32,
    /// TSval of the last ACK in milliseconds.
    pub peer_clock: u32,
    /// TSecr of the last ACK in milliseconds.
    pub echo: u32,
    /// Segments of data sent over the connection, retransmissions included.
    pub segments: u32,
}

/// A rate sample and what goes with it; `struct rate` of `bpf/replay/replay.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Microseconds in which `delivered` segments were; -1 without a valid sample.
    pub interval: i64,
    /// Microseconds; -1 for none.
    pub rtt: i64,
    /// Segments delivered when the sampled segment was sent.
    pub prior_delivered: u32,
    /// Segments delivered since; -1 without a valid sample.
    pub delivered: i32,
    /// Segments that this ACK shows to be lost.
    pub losses: i32,
    /// Segments that it delivers.
    pub acked: u32,
    /// Segments in the network before it.
    pub in_flight: u32,
    /// 1 when the application may have limited the rate, else 0.
    pub limited: u32,
    /// Segments lost over the connection.
    pub lost: u32,
    /// 1 in recovery or after a timeout, else 0.
    pub recovers: u32,
}

#[repr(C)]
struct Socket {
    _opaque: [u8; 0],
}

/// Declares the functions of `bpf/replay/replay.c`: as those that are linked into this program, and
/// as those that a library has under the same names.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        unsafe extern "C" {
            $(fn $name($($argument: $type),*) $(-> $result)?;)+
        }

        #[derive(Clone, Copy, Debug)]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)+
        }

        const LINKED: Functions = Functions { $($name,)+ };

        impl Functions {
            /// # Safety
            /// The functions of the library have the types that are declared here.
            unsafe fn of(handle: *mut c_void) -> Result<Self, NotLoaded> {
                $(
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the name ends with a zero, and the handle is that of a library.
                    let $name = unsafe { libc::dlsym(handle, name.as_ptr().cast()) };
                    if $name.is_null() {
                        return Err(last_error());
                    }
                )+
                Ok(Self {
                    // SAFETY: the caller's.
                    $($name: unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($type),*) $(-> $result)?,
                        >($name)
                    },)+
                })
            }
        }
    };
}

functions! {
    fn replay_parameters(name: *const c_char) -> *mut u64;
    fn replay_open(
        name: *const c_char,
        mss: u32,
        cwnd: u32,
        ssthresh: u32,
        view: *const View
    ) -> *mut Socket;
    fn replay_close(replay: *mut Socket);
    fn replay_draw(source: extern "C" fn() -> u32);
    fn replay_view(replay: *mut Socket, view: *const View);
    fn replay_pkts_acked(
        replay: *mut Socket,
        acked: u32,
        rtt: i32,
        in_flight: u32,
        echo: u32
    );
    fn replay_cong_avoid(replay: *mut Socket, acked: u32);
    fn replay_loss(replay: *mut Socket);
    fn replay_mark(replay: *mut Socket);
    fn replay_recovered(replay: *mut Socket);
    fn replay_timeout(replay: *mut Socket, repeated: u32);
    fn replay_undo(replay: *mut Socket);
    fn replay_open_again(replay: *mut Socket);
    fn replay_send(replay: *mut Socket);
    fn replay_idle(replay: *mut Socket, cwnd: u32);
    fn replay_control(replay: *mut Socket, rate: *const Rate);
    fn replay_limit(replay: *mut Socket, in_network: u32);
    fn replay_pacing(replay: *const Socket) -> u64;
    fn replay_cwnd(replay: *const Socket) -> u32;
    fn replay_exact_cwnd(replay: *const Socket) -> u64;
    fn replay_ssthresh(replay: *const Socket) -> u32;
}

/// A library of controllers could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLoaded {
    /// The loader's message.
    pub reason: String,
}

impl std::fmt::Display for NotLoaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the library was not loaded: {}", self.reason)
    }
}

impl std::error::Error for NotLoaded {}

fn last_error() -> NotLoaded {
    // SAFETY: the message, if there is one, ends with a zero and stays until the next call.
    let reason = unsafe {
        let message = libc::dlerror();
        if message.is_null() { c"no message" } else { CStr::from_ptr(message) }.to_string_lossy()
    };
    NotLoaded { reason: reason.into_owned() }
}

/// Where controllers come from.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    functions: Functions,
    /// Its symbols; null for what is linked into this program.
    symbols: *mut c_void,
}

impl Library {
    /// Those of `bpf/`.
    pub const LINKED: Self = Self { functions: LINKED, symbols: std::ptr::null_mut() };

    /// Those of a shared library that has `bpf/replay/replay.c` in it, for the rest of the process.
    ///
    /// # Errors
    /// When the file is no such library.
    pub fn load(path: &Path) -> Result<Self, NotLoaded> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|error| NotLoaded { reason: error.to_string() })?;
        // SAFETY: the name ends with a zero. The constructors of the library register controllers.
        // Its functions are those of the file that also `LINKED` comes from.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                return Err(last_error());
            }
            Ok(Self { functions: Functions::of(handle)?, symbols: handle })
        }
    }

    /// Sets a number of 32 bits of a loaded library, such as a parameter of a module. Returns false
    /// if the library has no such symbol.
    pub fn set_number(&self, symbol: &str, value: u32) -> bool {
        let Some(symbol) = CString::new(symbol).ok().filter(|_| !self.symbols.is_null()) else {
            return false;
        };
        // SAFETY: the name ends with a zero, and the handle is that of a library that stays loaded.
        // The caller names a variable of this size.
        unsafe {
            let variable = libc::dlsym(self.symbols, symbol.as_ptr()).cast::<u32>();
            if variable.is_null() {
                return false;
            }
            variable.write(value);
        }
        true
    }

    /// Random numbers come from `source` from now on, for all connections of the library.
    pub fn draw_from(&self, source: extern "C" fn() -> u32) {
        // SAFETY: the source is a function for the rest of the process.
        unsafe { (self.functions.replay_draw)(source) }
    }

    /// Returns true if there is a controller `name`.
    pub fn has(&self, name: &str) -> bool {
        // SAFETY: the name ends with a zero.
        CString::new(name).is_ok_and(|name| unsafe {
            !(self.functions.replay_parameters)(name.as_ptr()).is_null()
        })
    }
}

/// A connection whose controller is written in C.
#[derive(Debug)]
pub struct Connection {
    functions: Functions,
    socket: *mut Socket,
    /// The controller's name and the parameters that it had before.
    restore: (CString, Vec<u64>),
}

impl Connection {
    /// A new connection with windows in segments, whose controller is called `name` in `library`
    /// and begins with `view`; `None` when there is no such controller.
    ///
    /// `parameters` are those of the controller's map, in its order. They belong to the controller
    /// and not to the connection: one connection of a controller at a time.
    pub fn open(
        library: Library,
        name: &str,
        parameters: &[u64],
        mss: u32,
        cwnd: u32,
        ssthresh: u32,
        view: &View,
    ) -> Option<Self> {
        let functions = library.functions;
        let name = CString::new(name.replace('-', "_")).ok()?;
        let mut before = Vec::with_capacity(parameters.len());
        // SAFETY: the name ends with a zero; the map has as many numbers as the controller has
        // parameters, which the caller's table says too.
        let socket = unsafe {
            let map = (functions.replay_parameters)(name.as_ptr());
            if map.is_null() {
                return None;
            }
            for (i, parameter) in parameters.iter().enumerate() {
                before.push(*map.add(i));
                *map.add(i) = *parameter;
            }
            (functions.replay_open)(name.as_ptr(), mss, cwnd, ssthresh, view)
        };
        (!socket.is_null()).then_some(Self { functions, socket, restore: (name, before) })
    }

    /// Defaults in the file of a controller of `bpf/`, `count` numbers.
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
        unsafe { (self.functions.replay_view)(self.socket, view) }
    }

    /// An ACK covers `acked` segments and measures `rtt` microseconds, in which `in_flight` bytes
    /// were delivered. `echo`: it reports that what it delivers was marked.
    pub fn pkts_acked(&mut self, acked: u32, rtt: Option<u32>, in_flight: u32, echo: bool) {
        let rtt = rtt.and_then(|rtt| i32::try_from(rtt).ok()).unwrap_or(-1);
        let functions = &self.functions;
        // SAFETY: see `view`.
        unsafe {
            (functions.replay_pkts_acked)(self.socket, acked, rtt, in_flight, u32::from(echo));
        }
    }

    /// The window may grow by an ACK of `acked` segments.
    pub fn cong_avoid(&mut self, acked: u32) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_cong_avoid)(self.socket, acked) }
    }

    /// Recovery begins.
    pub fn loss(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_loss)(self.socket) }
    }

    /// A mark is echoed, and the round trip after it is over.
    pub fn mark(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_mark)(self.socket) }
    }

    /// Recovery is over.
    pub fn recovered(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_recovered)(self.socket) }
    }

    /// The retransmission timer expires, for the first time or again.
    pub fn timeout(&mut self, repeated: bool) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_timeout)(self.socket, u32::from(repeated)) }
    }

    /// The last reduction was needless.
    pub fn undo(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_undo)(self.socket) }
    }

    /// Data is sent, after an ACK or because the application has some.
    pub fn send(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_send)(self.socket) }
    }

    /// Data that was outstanding at the timeout is acknowledged.
    pub fn open_again(&mut self) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_open_again)(self.socket) }
    }

    /// Nothing was sent for a while: the kernel cuts the window to `cwnd` segments.
    pub fn idle(&mut self, cwnd: u32) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_idle)(self.socket, cwnd) }
    }

    /// An ACK with its rate sample, for a controller that does everything by itself.
    pub fn control(&mut self, rate: &Rate) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_control)(self.socket, rate) }
    }

    /// The application has nothing to send while `in_network` segments are in the network.
    pub fn limit(&mut self, in_network: u32) {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_limit)(self.socket, in_network) }
    }

    /// The pacing rate in bytes per second; zero for a controller without one.
    pub fn pacing(&self) -> u64 {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_pacing)(self.socket) }
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> u32 {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_cwnd)(self.socket) }
    }

    /// The congestion window with the part of a segment that the controller keeps.
    pub fn exact_cwnd(&self) -> f64 {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_exact_cwnd)(self.socket) as f64 / 65_536.0 }
    }

    /// The slow start threshold in segments.
    pub fn ssthresh(&self) -> u32 {
        // SAFETY: see `view`.
        unsafe { (self.functions.replay_ssthresh)(self.socket) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (name, before) = &self.restore;
        // SAFETY: it was opened by `open`, which found the map, and nobody else has it.
        unsafe {
            let map = (self.functions.replay_parameters)(name.as_ptr());
            for (i, parameter) in before.iter().enumerate() {
                *map.add(i) = *parameter;
            }
            (self.functions.replay_close)(self.socket);
        }
    }
}
