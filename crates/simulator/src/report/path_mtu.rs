//! Path MTU discovery: a table with one row for each leg of a flow, in runs with an MTU or with
//! flows that probe.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use transport::{MtuProbing, PathMtuCounters};

use crate::hosts::Hosts;
use crate::transports::Connection;

use super::legs::of_senders;

extra_table! {
    /// Path MTU discovery of the ends that send data. Counters are sums over the connections of the
    /// leg.
    pub(super) Discoveries("path_mtu") of Discovery {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes; zero in flows that no gateway
        /// splits.
        [number] leg: u32,
        /// Payload of a full segment at the end of the run, in bytes: of the connection that was
        /// opened last.
        [measure] mss_bytes: u64,
        /// Messages of routers that made segments smaller.
        icmp_reductions: u64,
        /// Messages that named no outstanding data, or no smaller size.
        icmp_ignored: u64,
        /// Probes sent.
        probes: u64,
        /// Probes that made segments larger.
        probe_successes: u64,
        /// Probes that were lost.
        probe_failures: u64,
        /// Timeouts that were taken for a black hole.
        black_holes: u64,
        /// Connections that started with the size that another one had found.
        cache_hits: u64,
    }
}

/// The table; `None` if nothing calls for discovery.
pub(super) fn table(scenario: &Scenario, hosts: &Hosts<impl Connection>) -> Option<ExtraTable> {
    let has_mtu = scenario.links.iter().any(|link| link.mtu.iter().any(Option::is_some));
    let mut configs = scenario.flows.iter().filter_map(|flow| flow.transport.tcp());
    let probes = configs.any(|config| config.mtu_probing != MtuProbing::Off);
    if !has_mtu && !probes {
        return None;
    }
    let rows = of_senders(
        scenario,
        hosts,
        |_| true,
        |(mss, sum): &mut (u64, PathMtuCounters), info| {
            *mss = info.mss;
            // Without `..`, so that a new counter has to stand in the table.
            let PathMtuCounters {
                reductions,
                ignored_messages,
                probes,
                successes,
                failures,
                black_holes,
                cache_hits,
            } = info.path_mtu.unwrap_or_default();
            sum.reductions += reductions;
            sum.ignored_messages += ignored_messages;
            sum.probes += probes;
            sum.successes += successes;
            sum.failures += failures;
            sum.black_holes += black_holes;
            sum.cache_hits += cache_hits;
        },
    );
    let mut table = Discoveries::default();
    for (flow, leg, (mss_bytes, sum)) in rows {
        table.push(Discovery {
            flow: flow.name.clone(),
            leg,
            mss_bytes,
            icmp_reductions: sum.reductions,
            icmp_ignored: sum.ignored_messages,
            probes: sum.probes,
            probe_successes: sum.successes,
            probe_failures: sum.failures,
            black_holes: sum.black_holes,
            cache_hits: sum.cache_hits,
        });
    }
    table.into_table().filled()
}
