//! Links of a random chain or tree.

use proptest::prelude::*;

use crate::keys::{
    buckets, changes, channel, compression, feedback, impairments, jitter, mark, mtu, queue,
    repair_or_demand, trace,
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
type Texts = (String, (String, String), String, String, (String, String));

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
            (jitter(), impairments()),
            trace(),
            repair_or_demand(),
            (
                feedback(),
                (compression(), mtu(), buckets())
                    .prop_map(|(text, mtu, buckets)| text + mtu + &buckets),
            ),
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
                let (mark, (jitter, impaired), trace, repair, (feedback, compression)): Texts =
                    more;
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
                // A shaper sends nothing but packets of the queue, as they are.
                let more = match ["arq", "fec", "demand", "header_compression"]
                    .iter()
                    .any(|key| more.contains(key))
                {
                    true => without_line(&more, "shaper"),
                    false => more,
                };
                let more = if keeps_order {
                    more.replace("reorder = true", "reorder = false")
                } else {
                    more
                };
                let is_possible = !keeps_order && !pushes_out && delay_us > 0;
                let more = if is_possible { impair(more, &impaired, framing) } else { more };
                let from = from.index(number + 1);
                Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing }
            };
        hops.into_iter().enumerate().map(hop).collect()
    })
}

/// Further keys with random impairments, or packets that overtake where the delay of a trace falls.
/// Packets that overtake take no slots.
fn impair(more: String, impaired: &str, number: u32) -> String {
    let overtakes = more.contains("reorder = true");
    let more = match impaired.starts_with("slot") && overtakes {
        true => more,
        false => more + impaired,
    };
    let is_written = impaired.starts_with("slot") || impaired.starts_with("reorder");
    match more.contains("trace = ") && number.is_multiple_of(2) && !is_written {
        true => more + "reorder = true\n",
        false => more,
    }
}

/// The keys without one of them.
fn without_line(more: &str, key: &str) -> String {
    more.lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n")).collect()
}
