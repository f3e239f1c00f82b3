//! Random directions of links without a scenario around them, for tests of the network engines.
//!
//! [`RandomDirection::settings`] names every field of the settings without `..`: a new one does not
//! compile until it is drawn here, or is left as it is on purpose.

use link::{
    Aqm, ArqSettings, Cells, Change, CodelSettings, DemandSettings, Distribution, DualPi2Settings,
    Duplication, Errors, FecSettings, FqCodelSettings, Framing, Jitter, LowPriority, Peak,
    PieSettings, QueueLimit, RedSettings, Reordering, Repeat, Settings, Slots, TokenBucket, Trace,
    Variation,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Span};

/// A direction.
#[derive(Clone, Debug)]
pub struct RandomDirection {
    /// Rate in kbit/s.
    pub rate_kbps: u32,
    /// Delay in microseconds.
    pub delay_us: u32,
    /// Limit of its queue.
    pub limit: QueueLimit,
    /// Treatment of packets of low priority.
    pub low_priority: LowPriority,
    /// Probability that a packet is corrupted.
    pub per: f64,
    /// The changes.
    pub changes: Vec<Change>,
    /// Active queue management.
    pub aqm: Option<Aqm>,
    /// Automatic repeat request.
    pub arq: Option<ArqSettings>,
    /// Forward error correction.
    pub fec: Option<FecSettings>,
    /// Demand assignment.
    pub demand: Option<DemandSettings>,
    /// True if packets overtake others where the delay falls.
    pub reorder: bool,
    /// Random changes of the delay.
    pub jitter: Jitter,
    /// Packets that are sent at once.
    pub reordering: Option<Reordering>,
    /// Packets that arrive twice.
    pub duplication: Option<Duplication>,
    /// Slots in which packets arrive.
    pub slots: Option<Slots>,
    /// Token buckets between the queue and the line, and before the queue.
    pub buckets: [Option<TokenBucket>; 2],
    framing: Framing,
}

impl RandomDirection {
    /// The same without jitter and framing.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { jitter: Jitter::NONE, framing: Framing::default(), ..self }
    }

    /// The settings of the direction.
    pub fn settings(&self) -> Settings {
        let Self {
            rate_kbps,
            delay_us,
            limit,
            low_priority,
            per,
            changes,
            aqm,
            arq,
            fec,
            demand,
            reorder,
            jitter,
            reordering,
            duplication,
            slots,
            buckets: [shaper, policer],
            framing,
        } = self;
        Settings {
            rate: rate(*rate_kbps),
            delay: micros(*delay_us),
            jitter: jitter.clone(),
            queue: *limit,
            low_priority: *low_priority,
            // A mark changes no arrival; the packets of these tests have no ECN.
            ecn_marking: None,
            aqm: *aqm,
            arq: *arq,
            fec: *fec,
            // Packets of these tests have no field.
            feedback: None,
            demand: *demand,
            framing: *framing,
            shaper: *shaper,
            policer: *policer,
            channel: Errors::PacketErrors { per: *per },
            // Half of the changes are those of a trace.
            trace: Trace {
                timeline: changes.iter().copied().skip(1).step_by(2).collect(),
                ..Trace::default()
            },
            timeline: changes.iter().copied().step_by(2).collect(),
            reorder: *reorder,
            reordering: *reordering,
            duplication: *duplication,
            slots: *slots,
        }
    }
}

fn rate(kbps: u32) -> Rate {
    Rate::from_bits_per_second(u64::from(kbps) * 1000)
}

/// A span in microseconds.
pub fn micros(micros: u32) -> Span {
    Span::from_nanos(u64::from(micros) * 1000)
}

// Round numbers on purpose in what follows: they make events coincide.

fn rate_kbps() -> impl Strategy<Value = u32> {
    prop_oneof![Just(8000u32), 500u32..9000]
}

fn delay_us() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), Just(1000), 0u32..5000]
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1u32..10).prop_map(QueueLimit::Packets),
        (1000u64..10_000).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ]
}

fn per() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.3)]
}

fn framing() -> impl Strategy<Value = Framing> {
    let overhead = || prop_oneof![2 => Just(0u32), 1 => 0u32..100];
    let cells = prop::option::of((40u32..100, 0u32..10));
    let all = (overhead(), 0u32..200, cells).prop_map(|(overhead, min_packet, cells)| {
        let cells = cells.map(|(payload, header)| Cells { payload, header });
        Framing { overhead, min_packet, cells }
    });
    prop_oneof![3 => overhead().prop_map(Framing::overhead), 1 => all]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let outage = prop_oneof![Just(1000u32), 1u32..9000];
    let change = (
        prop_oneof![1 => Just(0u32), 2 => Just(1000), 2 => 0u32..9000],
        prop::option::of(rate_kbps().prop_map(rate)),
        prop::option::of(delay_us().prop_map(micros)),
        prop::option::weighted(0.3, outage.prop_map(micros)),
        prop::option::weighted(0.2, prop_oneof![Just(0.0), Just(0.3)]),
    );
    prop::collection::vec(change, 1..20).prop_map(|changes| {
        let mut at = Span::ZERO;
        let change = |(wait, rate, delay, outage, loss)| {
            at = at + micros(wait);
            Change { at, every: None, rate, delay, outage, loss }
        };
        changes.into_iter().map(change).collect()
    })
}

/// No jitter, some up to a bound, or some around the delay that keeps the order of packets.
fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        2 => Just(Jitter::NONE),
        1 => (0u32..3000).prop_map(|most| Jitter::UpTo(micros(most))),
        1 => variation().prop_map(Jitter::Around),
    ]
}

fn variation() -> impl Strategy<Value = Variation> {
    let file = || Distribution::Table { file: "two.dist".to_owned(), values: [-8192, 8192].into() };
    let distribution = prop::sample::select(vec![
        Distribution::Uniform,
        Distribution::Normal,
        Distribution::Pareto,
        Distribution::ParetoNormal,
        file(),
    ]);
    let variation = prop_oneof![Just(1000u32), 1u32..3000].prop_map(micros);
    (variation, distribution, correlation()).prop_map(|(variation, distribution, correlation)| {
        Variation { variation, distribution, correlation, reorder: false }
    })
}

/// A direction that changes, and pushes nothing out.
pub fn changing() -> BoxedStrategy<RandomDirection> {
    let rule = prop::sample::select(vec![LowPriority::Ignore, LowPriority::Refuse]);
    (rate_kbps(), delay_us(), limit(), rule, per(), changes(), jitter(), framing())
        .prop_map(|(rate_kbps, delay_us, limit, low_priority, per, changes, jitter, framing)| {
            RandomDirection {
                rate_kbps,
                delay_us,
                limit,
                low_priority,
                per,
                changes,
                aqm: None,
                arq: None,
                fec: None,
                demand: None,
                reorder: false,
                jitter,
                reordering: None,
                duplication: None,
                slots: None,
                buckets: [None; 2],
                framing,
            }
        })
        .boxed()
}

/// A direction that changes, in which packets overtake each other, with or without active queue
/// management and demand assignment.
pub fn reordering() -> BoxedStrategy<RandomDirection> {
    let direction = prop_oneof![changing(), managed(), assigned()];
    let jitter = prop_oneof![
        1 => Just(None),
        1 => variation()
            .prop_map(|variation| Some(Jitter::Around(Variation { reorder: true, ..variation }))),
    ];
    let reordering = (probability(), correlation(), 1u32..5)
        .prop_map(|(probability, correlation, gap)| Reordering { probability, correlation, gap });
    let reordering = prop::option::of(reordering);
    (direction, jitter, any::<bool>(), reordering, prop::option::of(duplication()))
        .prop_map(|(direction, jitter, reorder, reordering, duplication)| {
            let reorder = reorder || (jitter.is_none() && reordering.is_none());
            let jitter = jitter.unwrap_or_else(|| direction.jitter.clone());
            RandomDirection { reorder, jitter, reordering, duplication, ..direction }
        })
        .boxed()
}

/// A direction that changes, in which packets keep their order and some arrive twice.
pub fn duplicating() -> BoxedStrategy<RandomDirection> {
    (prop_oneof![changing(), managed(), assigned()], duplication())
        .prop_map(|(direction, duplication)| RandomDirection {
            duplication: Some(duplication),
            ..direction
        })
        .boxed()
}

/// A direction that changes, in which packets arrive in slots.
pub fn slotted() -> BoxedStrategy<RandomDirection> {
    (prop_oneof![changing(), managed(), assigned(), coding()], slots())
        .prop_map(|(direction, slots)| RandomDirection { slots: Some(slots), ..direction })
        .boxed()
}

fn slots() -> impl Strategy<Value = Slots> {
    let delay = prop_oneof![Just(1000u32), 1u32..5000];
    let limits = (prop::option::of(1u32..5), prop::option::of(1u64..5000));
    (delay, prop_oneof![Just(0u32), 0u32..3000], limits).prop_map(
        |(least, more, (packets, bytes))| Slots {
            min_delay: micros(least),
            max_delay: micros(least + more),
            packets,
            bytes,
        },
    )
}

fn duplication() -> impl Strategy<Value = Duplication> {
    (probability(), correlation())
        .prop_map(|(probability, correlation)| Duplication { probability, correlation })
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(0.3), 0.0..1.0f64]
}

fn correlation() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 1 => 0.0..0.99f64]
}

/// Active queue management that has something to do within some milliseconds.
fn aqm() -> impl Strategy<Value = Aqm> {
    let span = |most: u32| (1..most).prop_map(micros);
    let codel = (span(3000), span(9000), any::<bool>(), prop::option::of(span(3000)));
    prop_oneof![
        codel.clone().prop_map(|(target, interval, ecn, ce_threshold)| {
            Aqm::Codel(CodelSettings { target, interval, ecn, ce_threshold })
        }),
        (codel, 1u32..4, 100u64..3000).prop_map(
            |((target, interval, ecn, ce_threshold), flows, quantum)| {
                let quantum = Bytes(quantum);
                Aqm::FqCodel(FqCodelSettings {
                    target,
                    interval,
                    flows,
                    quantum,
                    ecn,
                    ce_threshold,
                })
            }
        ),
        (span(5000), 1u64..9, span(5000), 0.0..50.0f64, any::<bool>()).prop_map(
            |(target, interval, max_burst, alpha, ecn)| {
                let update_interval = Span::from_millis(interval);
                let (beta, ecn_threshold) = (10.0 * alpha, 0.1);
                Aqm::Pie(PieSettings {
                    target,
                    update_interval,
                    max_burst,
                    alpha,
                    beta,
                    ecn,
                    ecn_threshold,
                })
            }
        ),
        (1u64..9, 10u64..50, 1.0..4.0f64, span(2000), 0.01..0.5f64).prop_map(
            |(target, max_rtt, coupling, l4s_threshold, classic_share)| {
                let [target, max_rtt] = [target, max_rtt].map(Span::from_millis);
                Aqm::DualPi2(DualPi2Settings {
                    target,
                    max_rtt,
                    coupling,
                    l4s_threshold,
                    l4s_range: micros(400),
                    classic_share,
                })
            }
        ),
        (0.0..3.0f64, 0.1..5.0f64, 0.01..1.0f64, 0.01..1.0f64, any::<[bool; 2]>()).prop_map(
            |(min_threshold, range, max_probability, weight, [gentle, ecn])| {
                let max_threshold = min_threshold + range;
                Aqm::Red(RedSettings {
                    min_threshold,
                    max_threshold,
                    max_probability,
                    weight,
                    gentle,
                    ecn,
                })
            }
        ),
    ]
}

/// A direction that changes, with active queue management.
pub fn managed() -> BoxedStrategy<RandomDirection> {
    (changing(), aqm())
        .prop_map(|(direction, aqm)| RandomDirection {
            low_priority: LowPriority::Ignore,
            aqm: Some(aqm),
            ..direction
        })
        .boxed()
}

/// ARQ with windows and timers that matter within some milliseconds.
fn arq() -> impl Strategy<Value = ArqSettings> {
    let repeat = prop_oneof![
        Just(Repeat::GoBackN),
        any::<bool>().prop_map(|in_order| Repeat::Selective { in_order })
    ];
    let timer = prop_oneof![Just(1000u32), 100u32..30_000].prop_map(micros);
    (repeat, 0u32..4, 1u32..6, any::<prop::sample::Index>(), timer, 0u32..30).prop_map(
        |(repeat, persistence, sequence_bits, window, timer, header)| {
            let largest = repeat.largest_window(sequence_bits) as usize;
            let window = 1 + window.index(largest) as u32;
            ArqSettings { repeat, persistence, window, sequence_bits, timer, header }
        },
    )
}

/// A direction that changes, with ARQ, and with or without active queue management.
pub fn repeating() -> BoxedStrategy<RandomDirection> {
    (prop_oneof![changing(), managed()], arq())
        .prop_map(|(direction, arq)| RandomDirection { arq: Some(arq), ..direction })
        .boxed()
}

/// FEC with short blocks, and timers that matter within some milliseconds.
fn fec() -> impl Strategy<Value = FecSettings> {
    let timer = prop_oneof![Just(1000u32), 100u32..30_000].prop_map(micros);
    (1u32..7, 1u32..4, 1u32..4, timer, any::<bool>(), 0u32..30).prop_map(
        |(data, parity, depth, timer, in_order, header)| FecSettings {
            data,
            parity,
            depth,
            timer,
            in_order,
            header,
        },
    )
}

/// A direction that changes, with FEC, and with or without active queue management.
pub fn coding() -> BoxedStrategy<RandomDirection> {
    (prop_oneof![changing(), managed()], fec())
        .prop_map(|(direction, fec)| RandomDirection { fec: Some(fec), ..direction })
        .boxed()
}

/// A direction that changes, with demand assignment in frames of some milliseconds, and with or
/// without active queue management.
pub fn assigned() -> BoxedStrategy<RandomDirection> {
    let demand = (
        prop_oneof![Just(1000u32), Just(5000), 1000u32..9000],
        prop_oneof![Just(1u32), 1u32..9],
        prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64],
        prop_oneof![2 => Just(0u32), 1 => 0u32..=1_000_000],
        prop_oneof![Just(0u32), Just(10_000), 0u32..20_000],
        any::<bool>(),
    );
    (prop_oneof![changing(), managed()], demand)
        .prop_map(|(direction, (frame, slots, constant, fca, control_delay, vbdc))| {
            let rate = rate(direction.rate_kbps);
            // Without any slots, packets would wait forever.
            let is_mute = constant == 0.0 && fca == 0;
            let demand = DemandSettings {
                frame: micros(frame),
                slots,
                cra: (rate.bits_per_second() as f64 * constant) as u64,
                vbdc: vbdc || is_mute,
                fca,
                control_delay: micros(control_delay),
                rate,
            };
            RandomDirection { demand: Some(demand), ..direction }
        })
        .boxed()
}

/// A token bucket that matters within some milliseconds, sometimes with a peak rate.
fn bucket() -> impl Strategy<Value = TokenBucket> {
    let burst = || prop_oneof![Just(5000u64), 5000u64..20_000].prop_map(Bytes);
    let peak = prop::option::weighted(0.3, (1u32..5, burst()));
    (prop_oneof![Just(4000u32), 300u32..9000], burst(), peak).prop_map(|(kbps, burst, peak)| {
        let peak = peak.map(|(times, burst)| Peak { rate: rate(kbps * times), burst });
        TokenBucket { rate: rate(kbps), burst, peak }
    })
}

/// A direction that changes, with a shaper or a policer or both, and with or without active queue
/// management.
pub fn bucketed() -> BoxedStrategy<RandomDirection> {
    let buckets = prop_oneof![
        2 => bucket().prop_map(|shaper| [Some(shaper), None]),
        1 => bucket().prop_map(|policer| [None, Some(policer)]),
        1 => (bucket(), bucket()).prop_map(|(shaper, policer)| [Some(shaper), Some(policer)]),
    ];
    let policed = bucket().prop_map(|policer| [None, Some(policer)]);
    // ARQ, FEC and demand assignment exclude a shaper.
    let others = (
        prop_oneof![
            repeating().boxed(),
            coding().boxed(),
            assigned().boxed(),
            prioritised().boxed()
        ],
        policed,
    );
    let shaped = (
        prop_oneof![
            changing().boxed(),
            managed().boxed(),
            prioritised().boxed(),
            reordering().boxed()
        ],
        buckets,
    );
    prop_oneof![3 => shaped, 1 => others]
        .prop_map(|(direction, buckets)| {
            // What reorders may have demand assignment.
            let demand = direction.demand.filter(|_| buckets[0].is_none());
            RandomDirection { buckets, demand, ..direction }
        })
        .boxed()
}

/// A direction that does not change, with any rule for packets of low priority.
pub fn prioritised() -> BoxedStrategy<RandomDirection> {
    let rule = prop::sample::select(vec![
        LowPriority::Ignore,
        LowPriority::PushOut,
        LowPriority::PushOut,
        LowPriority::Refuse,
    ]);
    (rate_kbps(), delay_us(), limit(), rule, per(), framing())
        .prop_map(|(rate_kbps, delay_us, limit, low_priority, per, framing)| {
            let changes = Vec::new();
            let jitter = Jitter::NONE;
            RandomDirection {
                rate_kbps,
                delay_us,
                limit,
                low_priority,
                per,
                changes,
                aqm: None,
                arq: None,
                fec: None,
                demand: None,
                reorder: false,
                jitter,
                reordering: None,
                duplication: None,
                slots: None,
                buckets: [None; 2],
                framing,
            }
        })
        .boxed()
}
