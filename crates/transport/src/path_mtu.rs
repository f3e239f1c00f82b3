//! Discovery of the path MTU: the largest packet that all links of a path take.
//!
//! A router that cannot send a packet on drops it and reports the MTU of its link to the sender by
//! ICMP (RFC 1191, RFC 8201). Where these messages are filtered, packets vanish without a trace: a
//! black hole. Packetization-layer discovery (RFC 4821) needs no messages. It sends a larger
//! segment now and then, and takes that size once the segment is acknowledged.
//!
//! Sources: the RFCs; for all that they leave open, Linux 6.1 (`tcp_sync_mss`, `tcp_mtu_probe`,
//! `tcp_mtup_probe_success`, `tcp_mtup_probe_failed` and `tcp_mtu_probing`, with the defaults of
//! their settings). RFC 8899 is about datagrams, and has no rules for TCP.
//!
//! All sizes are bytes of payload of a segment, as the sender counts them. They differ from a
//! packet's by its headers and timestamps, which are the same in each segment.

use units::{Span, Time};

use crate::path_cache::KnownPath;
use crate::ranges::Range;

/// Payload of the first segments while the path is searched (`tcp_base_mss`).
const BASE: u64 = 1024;
/// The smallest segment without timestamps that is sent on a path however narrow
/// (`tcp_min_snd_mss`), and the end of the halving in a black hole (`tcp_mtu_probe_floor`).
const LEAST: u64 = 48;
/// The search ends with a smaller interval (`tcp_probe_threshold`).
const LEAST_INTERVAL: u64 = 8;
/// After that, the path may have changed (`tcp_probe_interval`).
const SEARCH_AGAIN: Span = Span::from_secs(600);
/// Life of a router's report: ten minutes (RFC 1191 section 6.3; `mtu_expires`).
const EXPIRY: Span = Span::from_secs(600);
/// Segments of cwnd that a probe needs (`tcp_mtu_probe`).
const LEAST_WINDOW: u64 = 11;
/// From the first retransmission to the timeout that means a black hole: four timeouts of 200 ms
/// that double, for `tcp_retries1 = 3` (`tcp_model_timeout`).
const BLACK_HOLE: Span = Span::from_secs(3);

/// Packetization-layer path MTU discovery (RFC 4821) of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum MtuProbing {
    /// ICMP only.
    #[default]
    Off,
    /// When retransmissions time out for three seconds.
    BlackHole,
    /// From the start.
    Always,
}

impl MtuProbing {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::BlackHole => "black-hole",
            Self::Always => "always",
        }
    }
}

/// Counts of discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathMtuCounters {
    /// Messages of routers that have made segments smaller.
    pub reductions: u64,
    /// Messages that name no outstanding data, or no smaller size.
    pub ignored_messages: u64,
    /// Probes sent.
    pub probes: u64,
    /// Probes that were acknowledged, each of which has made segments larger.
    pub successes: u64,
    /// Probes that were lost.
    pub failures: u64,
    /// Timeouts that were taken for a black hole.
    pub black_holes: u64,
    /// Connections that started with the size that another one had found.
    pub cache_hits: u64,
}

/// State of the sender when it may send a probe.
#[derive(Clone, Copy, Debug)]
pub struct Opportunity {
    /// Time.
    pub now: Time,
    /// Bytes that wait to be sent for the first time.
    pub unsent: u64,
    /// Bytes that the receiver's window has room for.
    pub window_room: u64,
    /// The receiver's window.
    pub window: u64,
    /// cwnd in segments.
    pub cwnd: u64,
    /// Segments in the network.
    pub in_flight: u64,
    /// Duplicate ACKs that mean a loss. One segment more than these has to follow a probe.
    pub reordering: u64,
}

/// The next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The segment that would be sent anyway.
    Segment,
    /// Nothing, until there is room for a probe and another segment.
    Wait,
    /// A probe of this size in bytes.
    Probe(u64),
}

/// A segment that is larger than those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    size: u64,
    range: Range,
}

/// The path MTU as one end of a connection knows it.
#[derive(Clone, Debug)]
pub struct PathMtu {
    probing: MtuProbing,
    /// The search goes on, or has found a size. Otherwise only routers limit segments.
    searches: bool,
    /// The size that both ends have agreed on.
    agreed: u64,
    /// The smallest that is sent.
    least: u64,
    /// The size that routers have reported, at most `agreed`.
    reported: u64,
    /// When that is forgotten.
    expires: Time,
    /// The path takes segments of `low`, and none above `high`.
    low: u64,
    high: u64,
    probe: Option<Probe>,
    searching_since: Time,
    counters: PathMtuCounters,
}

impl PathMtu {
    /// Both ends have agreed on segments of `agreed` bytes, each with `options` bytes of TCP
    /// options.
    pub fn new(now: Time, probing: MtuProbing, agreed: u64, options: u64) -> Self {
        Self {
            probing,
            searches: probing == MtuProbing::Always,
            agreed,
            least: (LEAST - options).min(agreed),
            reported: agreed,
            expires: Time::NEVER,
            low: BASE.min(agreed),
            high: agreed,
            probe: None,
            searching_since: now,
            counters: PathMtuCounters::default(),
        }
    }

    /// Bytes of a full segment (`tcp_sync_mss`).
    pub fn segment(&self) -> u64 {
        if self.searches { self.reported.min(self.low) } else { self.reported }
    }

    /// Counts so far.
    pub fn counters(&self) -> PathMtuCounters {
        self.counters
    }

    /// A router reports that its link takes segments of `size` bytes. Returns true if that is less
    /// than was known, and so what is outstanding and larger was dropped.
    ///
    /// A report of more is ignored (RFC 8201 section 4), and one of less than any link takes counts
    /// as the least segment that is sent.
    pub fn on_report(&mut self, now: Time, size: u64) -> bool {
        let size = size.max(self.least);
        if size >= self.reported {
            self.counters.ignored_messages += 1;
            return false;
        }
        self.counters.reductions += 1;
        self.reported = size;
        self.high = self.high.min(size);
        self.expires = now + EXPIRY;
        true
    }

    /// Another connection of this host has got reports about the path. Returns true if they make
    /// segments smaller. `options` bytes of each are no payload.
    pub fn take_over(&mut self, known: KnownPath, options: u64) -> bool {
        let size = known.mss.saturating_sub(options).max(self.least);
        let is_smaller = size < self.reported;
        if is_smaller {
            self.reported = size;
            self.high = self.high.min(size);
            self.expires = known.expires;
        }
        is_smaller
    }

    /// A connection starts with what another one has found.
    pub fn start_with(&mut self, known: KnownPath, options: u64) {
        self.counters.cache_hits += u64::from(self.take_over(known, options));
    }

    /// Reports of routers about the path, if there are any. `options` bytes of each segment are no
    /// payload.
    pub fn known(&self, options: u64) -> Option<KnownPath> {
        let Self { reported, expires, .. } = *self;
        (expires != Time::NEVER).then_some(KnownPath { mss: reported + options, expires })
    }

    /// A report does not fit the connection: it may be forged (RFC 5927 section 4.1).
    pub fn on_forged_report(&mut self) {
        self.counters.ignored_messages += 1;
    }

    /// Returns true if what routers have reported is forgotten now: the path may have changed.
    pub fn forgets(&mut self, now: Time) -> bool {
        let is_due = now >= self.expires;
        if is_due {
            self.expires = Time::NEVER;
            self.reported = self.agreed;
        }
        is_due
    }

    /// The retransmission timer has expired, and the first retransmission without an answer was
    /// `since` then. Returns true if the path is taken for a black hole, and segments may be
    /// smaller now (`tcp_mtu_probing`).
    pub fn on_timeout(&mut self, now: Time, since: Span) -> bool {
        if self.probing == MtuProbing::Off || since < BLACK_HOLE {
            return false;
        }
        self.counters.black_holes += 1;
        self.probe = None;
        if self.searches {
            self.low = BASE.min(self.low / 2).max(LEAST).min(self.agreed);
        } else {
            self.searches = true;
            self.searching_since = now;
        }
        true
    }

    /// Decides about a probe (`tcp_mtu_probe`). Called while no loss is being repaired.
    pub fn advise(&mut self, seen: &Opportunity) -> Advice {
        if !self.searches || self.probe.is_some() || seen.cwnd < LEAST_WINDOW {
            return Advice::Segment;
        }
        if self.high < self.low + LEAST_INTERVAL {
            self.search_again(seen.now);
            return Advice::Segment;
        }
        let size = u64::midpoint(self.low, self.high);
        let needed = size + (seen.reordering + 1) * self.segment();
        if seen.unsent < needed || seen.window < needed {
            return Advice::Segment;
        }
        if seen.window_room < needed {
            return Advice::Wait;
        }
        match seen.in_flight {
            all if all + 2 <= seen.cwnd => Advice::Probe(size),
            0 => Advice::Segment,
            _ => Advice::Wait,
        }
    }

    /// The search is over. After ten minutes it begins once more, from what is known to pass
    /// (`tcp_mtu_check_reprobe`).
    fn search_again(&mut self, now: Time) {
        if now.since(self.searching_since) >= SEARCH_AGAIN {
            self.low = self.segment();
            self.high = self.agreed;
            self.searching_since = now;
        }
    }

    /// A probe leaves.
    pub fn on_probe_sent(&mut self, range: Range) {
        self.counters.probes += 1;
        self.probe = Some(Probe { size: range.len(), range });
    }

    /// Everything up to `una` is acknowledged. Returns true if a probe is, so that segments are
    /// larger now.
    pub fn on_acknowledged(&mut self, una: u64) -> bool {
        let Some(probe) = self.probe.filter(|probe| probe.range.end <= una) else { return false };
        self.counters.successes += 1;
        self.low = probe.size;
        self.probe = None;
        true
    }

    /// A loss was found, and everything up to `una` is acknowledged. If what is lost is a probe,
    /// returns its range: it was too large, and nothing says that the path is congested (RFC 4821
    /// section 7.6.2).
    pub fn on_loss(&mut self, una: u64) -> Option<Range> {
        let probe = self.probe.filter(|probe| probe.range.start == una)?;
        self.counters.failures += 1;
        self.high = probe.size - 1;
        self.probe = None;
        Some(probe.range)
    }

    /// Data is retransmitted while a probe is out. The probe then measures nothing (RFC 4821
    /// section 7.6.3). Returns true if one was out.
    pub fn on_retransmission(&mut self) -> bool {
        self.probe.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: u64 = 12;
    const AGREED: u64 = 1448;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn path(probing: MtuProbing) -> PathMtu {
        PathMtu::new(Time::ZERO, probing, AGREED, OPTIONS)
    }

    /// Everything that a probe needs, with room for it.
    fn plenty(now: Time) -> Opportunity {
        Opportunity {
            now,
            unsent: 100_000,
            window_room: 100_000,
            window: 100_000,
            cwnd: 20,
            in_flight: 18,
            reordering: 3,
        }
    }

    /// The sizes that are probed on a path that takes segments of `limit` bytes.
    fn search(path: &mut PathMtu, limit: u64) -> Vec<u64> {
        let mut sizes = Vec::new();
        let mut una = 0;
        while let Advice::Probe(size) = path.advise(&plenty(Time::ZERO)) {
            sizes.push(size);
            path.on_probe_sent(Range { start: una, end: una + size });
            if size <= limit {
                una += size;
                assert!(path.on_acknowledged(una));
            } else {
                assert_eq!(path.on_loss(una), Some(Range { start: una, end: una + size }));
            }
        }
        sizes
    }

    #[test]
    fn a_report_makes_segments_smaller_and_none_larger() {
        let mut path = path(MtuProbing::Off);
        assert_eq!(path.segment(), AGREED);
        assert!(path.on_report(at(1), 1348));
        assert!(!path.on_report(at(1), 1348), "told before");
        assert!(!path.on_report(at(1), 9000));
        assert_eq!(path.segment(), 1348);
        let PathMtuCounters { reductions, ignored_messages, .. } = path.counters();
        assert_eq!((reductions, ignored_messages), (1, 2));
    }

    #[test]
    fn no_report_makes_segments_smaller_than_the_least() {
        let mut path = path(MtuProbing::Off);
        assert!(path.on_report(at(1), 0));
        assert_eq!(path.segment(), LEAST - OPTIONS);
    }

    /// RFC 1191 section 6.3.
    #[test]
    fn a_report_is_forgotten_after_ten_minutes() {
        let mut path = path(MtuProbing::Off);
        assert!(!path.forgets(at(10_000)), "there was none");
        assert!(path.on_report(at(1), 1000));
        assert!(!path.forgets(at(600)));
        assert!(path.forgets(at(601)));
        assert_eq!(path.segment(), AGREED);
        assert!(!path.forgets(at(602)));
    }

    /// RFC 1191 section 6.2: what one connection finds, others need not.
    #[test]
    fn another_connection_starts_with_the_size_and_forgets_it_at_the_same_time() {
        let mut first = path(MtuProbing::Off);
        assert_eq!(first.known(OPTIONS), None);
        assert!(first.on_report(at(1), 1348));
        let known = first.known(OPTIONS).unwrap();
        assert_eq!(known, KnownPath { mss: 1360, expires: at(601) });
        // The next one has no timestamps.
        let mut second = PathMtu::new(at(300), MtuProbing::Off, 1460, 0);
        second.start_with(known, 0);
        assert_eq!(second.segment(), 1360);
        assert_eq!(second.counters(), PathMtuCounters { cache_hits: 1, ..Default::default() });
        assert!(!second.on_report(at(301), 1360), "that is known");
        assert!(!second.forgets(at(600)));
        assert!(second.forgets(at(601)));
        assert_eq!((second.segment(), second.known(0)), (1460, None));
    }

    #[test]
    fn what_another_connection_has_found_limits_the_search_and_makes_no_segment_larger() {
        let known = KnownPath { mss: 1212, expires: at(600) };
        let mut searching = path(MtuProbing::Always);
        searching.start_with(known, OPTIONS);
        assert!(search(&mut searching, 1200).into_iter().all(|size| size <= 1200));
        let mut small = PathMtu::new(Time::ZERO, MtuProbing::Off, 500, OPTIONS);
        small.start_with(known, OPTIONS);
        assert_eq!((small.segment(), small.counters().cache_hits), (500, 0));
    }

    #[test]
    fn the_search_halves_the_interval_until_it_is_below_eight_bytes() {
        let mut path = path(MtuProbing::Always);
        assert_eq!(path.segment(), BASE);
        assert_eq!(search(&mut path, 1348), [1236, 1342, 1395, 1368, 1354, 1347]);
        assert_eq!(path.segment(), 1347);
        let PathMtuCounters { probes, successes, failures, .. } = path.counters();
        assert_eq!((probes, successes, failures), (6, 3, 3));
    }

    #[test]
    fn a_wide_path_is_found_from_below() {
        let mut path = path(MtuProbing::Always);
        search(&mut path, u64::MAX);
        assert!((AGREED - LEAST_INTERVAL..=AGREED).contains(&path.segment()));
    }

    #[test]
    fn the_search_begins_again_after_ten_minutes() {
        let mut path = path(MtuProbing::Always);
        search(&mut path, 1348);
        assert_eq!(path.advise(&plenty(at(599))), Advice::Segment);
        assert_eq!(path.advise(&plenty(at(600))), Advice::Segment, "it widens the interval");
        assert_eq!(path.advise(&plenty(at(600))), Advice::Probe(u64::midpoint(1347, AGREED)));
    }

    #[test]
    fn a_report_limits_the_search() {
        let mut path = path(MtuProbing::Always);
        assert!(path.on_report(at(1), 1200));
        assert_eq!(path.segment(), BASE, "the search goes on from below");
        assert!(search(&mut path, 1200).into_iter().all(|size| size <= 1200));
        assert!(path.segment() > 1192);
    }

    #[test]
    fn a_probe_needs_data_behind_it_a_window_and_room() {
        let mut path = path(MtuProbing::Always);
        let size = u64::midpoint(BASE, AGREED);
        let needed = size + 4 * BASE;
        let all = plenty(Time::ZERO);
        for (seen, expected) in [
            (Opportunity { unsent: needed, ..all }, Advice::Probe(size)),
            (Opportunity { unsent: needed - 1, ..all }, Advice::Segment),
            (Opportunity { window: needed - 1, ..all }, Advice::Segment),
            (Opportunity { window_room: needed - 1, ..all }, Advice::Wait),
            (Opportunity { cwnd: 10, in_flight: 0, ..all }, Advice::Segment),
            (Opportunity { cwnd: 11, in_flight: 9, ..all }, Advice::Probe(size)),
            (Opportunity { cwnd: 11, in_flight: 10, ..all }, Advice::Wait),
        ] {
            assert_eq!(path.advise(&seen), expected, "{seen:?}");
        }
        path.on_probe_sent(Range { start: 0, end: size });
        assert_eq!(path.advise(&all), Advice::Segment, "one at a time");
    }

    #[test]
    fn only_the_loss_of_the_probe_itself_is_its_failure() {
        let mut path = path(MtuProbing::Always);
        path.on_probe_sent(Range { start: 1000, end: 2236 });
        assert_eq!(path.on_loss(500), None, "data before it is lost too");
        assert!(!path.on_acknowledged(2235));
        assert!(path.on_retransmission());
        assert_eq!(path.on_loss(1000), None, "it tells nothing any more");
        assert_eq!(path.advise(&plenty(Time::ZERO)), Advice::Probe(1236), "the same again");
    }

    #[test]
    fn a_black_hole_starts_the_search_and_halves_the_segment_after_that() {
        let mut path = path(MtuProbing::BlackHole);
        assert_eq!(path.segment(), AGREED);
        assert_eq!(path.advise(&plenty(at(1))), Advice::Segment);
        assert!(!path.on_timeout(at(2), Span::from_millis(2999)));
        let mut sizes = Vec::new();
        for _ in 0..6 {
            assert!(path.on_timeout(at(3), BLACK_HOLE));
            sizes.push(path.segment());
        }
        assert_eq!(sizes, [1024, 512, 256, 128, 64, 48]);
        assert_eq!(path.counters().black_holes, 6);
    }

    #[test]
    fn without_probing_no_timeout_means_a_black_hole() {
        let mut path = path(MtuProbing::Off);
        assert!(!path.on_timeout(at(100), Span::from_secs(90)));
        assert_eq!(path.segment(), AGREED);
    }

    #[test]
    fn ends_that_agree_on_less_than_the_base_never_probe() {
        let mut path = PathMtu::new(Time::ZERO, MtuProbing::Always, 500, OPTIONS);
        assert_eq!((path.segment(), path.advise(&plenty(at(1)))), (500, Advice::Segment));
        let tiny = PathMtu::new(Time::ZERO, MtuProbing::Off, 20, OPTIONS);
        assert_eq!(tiny.segment(), 20);
    }

    /// RFC 5927 section 4.1: what names no outstanding data is ignored, and counted.
    #[test]
    fn a_forged_report_changes_nothing_but_its_count() {
        let mut path = path(MtuProbing::Off);
        path.on_forged_report();
        assert_eq!((path.segment(), path.counters().ignored_messages), (AGREED, 1));
        assert_eq!(path.known(OPTIONS), None);
    }
}
