//! Counters of all threads. Relaxed atomics: each one is exact, and they are read one by one.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::SideName;

macro_rules! counters {
    ($name:ident, $about:literal: $($(#[doc = $doc:literal])+ $field:ident,)+) => {
        #[doc = $about]
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            $($(#[doc = $doc])+ pub(crate) $field: Counter,)+
        }

        impl $name {
            /// Name, meaning and value of each counter.
            pub(crate) fn rows(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($field), concat!($($doc),+).trim_ascii(), self.$field.get()),)+]
            }
        }
    };
}

counters! { Counters, "Counters of the process.":
    /// Connections that were intercepted.
    accepted,
    /// Connections that were split: the server accepted.
    split,
    /// Connections that ended with a FIN in both directions.
    finished,
    /// Connections that ended with a reset, from whichever end.
    reset,
    /// Clients that were reset because the server refused.
    refused_by_server,
    /// Clients that were answered after their server had accepted.
    answered_late,
    /// SYNs that the machine could not take or send on. Their clients retransmit them.
    lost_syns,
    /// Connections that were accepted at once because the rules did not hold their SYN back.
    not_held_back,
    /// Connections that crossed unsplit because of the limit, where SYNs are held back.
    passed_at_limit,
    /// Servers that were unreachable or did not answer in time. With `accept = "early"` their
    /// clients were reset.
    server_unreachable,
    /// Clients that were reset because of the limit of connections.
    refused_at_limit,
    /// Times at which new connections began to cross unsplit because of the limit.
    limit_reached,
    /// Connections that were refused because nothing had intercepted them, or because they led back
    /// to this machine.
    refused_loops,
    /// Connections that were reset after the idle timeout.
    idle,
    /// Connections whose source port is another one than the client's.
    other_source_port,
    /// Bytes that were received and not delivered because an end was reset.
    lost_bytes,
    /// Connections that could not be opened because the machine had no descriptors or memory.
    out_of_resources,
    /// Settings that the kernel did not accept for a connection.
    failed_settings,
    /// Lines of the log that could not be written.
    lost_log_lines,
}

counters! { SideCounters, "Counters of one side.":
    /// Bytes received from this side.
    received_bytes,
    /// Bytes delivered to this side.
    delivered_bytes,
    /// Segments retransmitted to this side.
    retransmitted_segments,
    /// Samples of the smoothed RTT.
    rtt_samples,
    /// Sum of the samples of the smoothed RTT in microseconds.
    rtt_microseconds,
    /// Turns for which connections had to wait because of the rate that they share.
    rate_waits,
    /// Sum of the times that connections waited for these turns in microseconds.
    rate_wait_microseconds,
}

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn one(&self) {
        self.add(1);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All counters, and the state that belongs with them.
#[derive(Debug, Default)]
pub(crate) struct All {
    pub(crate) process: Counters,
    sides: [SideCounters; 2],
    /// Connections that are open now.
    pub(crate) open: AtomicU64,
    /// Bytes that relays hold now.
    pub(crate) held: AtomicU64,
}

impl All {
    pub(crate) fn side(&self, name: SideName) -> &SideCounters {
        &self.sides[name.index()]
    }
}
