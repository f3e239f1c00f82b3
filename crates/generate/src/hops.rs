//! Links of a random chain or tree.

use proptest::prelude::*;

use crate::keys::{
    changes, channel, compression, feedback, jitter, mark, mtu, queue, repair_or_demand, trace,
};

/// One link of a random chain or tree: the node before it, rate, delay, queue, channel, framing.
#[derive(Clone, Debug)]
pub struct Hop {
    pub(crate) from: usize,
    pub(crate) rate_kbps: u32,
    pub(crate) delay_us: u32,
    pub(crate) queue: String,
    pub(crate) channel: String,
    /// Further keys.
    pub(crate) more: String,
    pub(crate) changes: String,
    pub(crate) framing: u32,
}

/// Further keys of a link.
type Texts = (String, String, String, String, (String, String));

/// One to four links of a chain or tree.
pub fn hops() -> impl Strategy<Value = Vec<Hop>> {
    // Round numbers on purpose: they make events coincide.
    let rate = prop_oneof![Just(8_000u32), Just(1_000), 64u32..20_000];
    let delay = prop_oneof![Just(0u32), Just(1_000), Just(250_000), 1u32..300_000];
    let hop = (
        any::<prop::sample::Index>(),
        rate,
        delay,
        queue(),
        channel(),
        (
            mark(),
            jitter(),
            trace(),
            repair_or_demand(),
            (feedback(), (compression(), mtu()).prop_map(|(text, mtu)| text + mtu)),
        ),
        changes(),
        0u32..40,
    );
    prop::collection::vec(hop, 1..5).prop_map(|hops| {
        let hop =
            |(number, (from, rate_kbps, delay_us, queue, channel, more, changes, framing))| {
                let (from, queue): (prop::sample::Index, String) = (from, queue);
                let pushes_out = queue.contains("push-out");
                let (channel, changes): (String, String) = (channel, changes);
                // A modem determines the rate, which changes.
                let adapts = channel.contains("modem");
                let channel = if adapts && pushes_out { "\"perfect\"".to_owned() } else { channel };
                let is_own = adapts && changes.contains("rate");
                let changes = if is_own { String::new() } else { changes };
                let changes = if pushes_out { String::new() } else { changes };
                let (mark, jitter, trace, repair, (feedback, compression)): Texts = more;
                // A router with feedback needs the whole rate.
                let is_assigned = repair.starts_with("demand");
                let repair = if is_assigned { repair } else { repair + &feedback };
                let trace = if adapts { String::new() } else { trace };
                // Active queue management decides about low priority itself.
                let gives_way = queue.contains("push-out") || queue.contains("refuse");
                let mark = if gives_way && mark.starts_with("aqm") { String::new() } else { mark };
                let more = if pushes_out { mark } else { mark + &jitter + &trace } + &repair;
                let more = more + &compression;
                // Nothing else may rely on the order, and a delay of a trace falls.
                let keeps_order =
                    ["arq", "fec", "header_compression"].iter().any(|key| more.contains(key));
                let overtakes = more.contains("trace = ") && !keeps_order && framing % 2 == 0;
                let more = if overtakes { more + "reorder = true\n" } else { more };
                let from = from.index(number + 1);
                Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing }
            };
        hops.into_iter().enumerate().map(hop).collect()
    })
}
