//! Speed tests over connections with a stream of bytes.

use applications::speedtest::{Figures, PROBE, Settings, SpeedTest, Step, Way};
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::model::Traffic;
use units::Time;

use super::machine::{Driver, Entity, Task};
use super::{Context, EndpointId, Pair};

extra_table! {
    /// Speed tests: one row for each.
    pub(super) SpeedTests("speedtest") of SpeedTestRow {
        /// Name of the flow.
        flow: String,
        /// Parallel connections in each direction.
        connections: u32,
        /// Rate of the download in bit/s, after the warm-up.
        download_bps: f64,
        /// Rate of the upload in bit/s, after the warm-up.
        upload_bps: f64,
        /// Median latency without load in milliseconds.
        idle_latency_ms: f64,
        /// Median latency during the download in milliseconds.
        download_latency_ms: f64,
        /// 95th percentile of the latency during the download in milliseconds.
        p95_download_latency_ms: f64,
        /// Median latency during the upload in milliseconds.
        upload_latency_ms: f64,
        /// 95th percentile of the latency during the upload in milliseconds.
        p95_upload_latency_ms: f64,
        /// Round trips in a minute at the mean latency under load.
        responsiveness_rpm: f64,
    }
}

/// Bytes that no test sends in its time.
const WITHOUT_END: u64 = 1 << 50;

/// A speed test with its connections.
#[derive(Clone, Debug)]
pub(super) struct Tester {
    settings: Settings,
    test: SpeedTest,
    probing: Option<Pair>,
    /// Connections with data of the direction under test.
    loaded: Vec<Pair>,
    /// Probes that have reached the server, and answers that have come back.
    arrived: [u64; 2],
}

/// The ends that send and receive the data of a direction.
fn ends(pair: &Pair, way: Way) -> [EndpointId; 2] {
    match way {
        Way::Download => [pair.sender, pair.receiver],
        Way::Upload => [pair.receiver, pair.sender],
    }
}

impl Tester {
    fn step(&mut self, context: &mut Context<'_>, probing: Pair) -> bool {
        loop {
            match self.test.step(context.now) {
                Step::Load(way) => {
                    let count = self.settings.connections as usize;
                    self.loaded = (0..count).map(|_| context.open()).collect();
                    for pair in &self.loaded {
                        context.connections.write(ends(pair, way)[0], WITHOUT_END);
                    }
                }
                Step::Measure(way) => {
                    let receivers = self.loaded.iter().map(|pair| ends(pair, way)[1]);
                    let bytes = receivers.map(|end| context.connections.delivered(end)).sum();
                    self.test.measure(context.now, way, bytes);
                }
                Step::Unload(way) => {
                    for pair in std::mem::take(&mut self.loaded) {
                        context.connections.withdraw(ends(&pair, way)[0]);
                        for end in ends(&pair, way) {
                            context.connections.close(end);
                        }
                    }
                }
                Step::Probe => context.connections.write(probing.receiver, PROBE),
                Step::Wait(until) => {
                    context.connections.wake_application(until);
                    return false;
                }
                Step::Over => {
                    // Probes and answers on their way arrive at ends that are closed.
                    self.probing = None;
                    context.connections.close(probing.receiver);
                    context.connections.close(probing.sender);
                    return true;
                }
            }
        }
    }

    /// Takes the probes that have reached the server, or the answers that have come back.
    fn take(&mut self, context: &mut Context<'_>, endpoint: EndpointId, probing: Pair) {
        let is_server = endpoint == probing.sender;
        let arrived = &mut self.arrived[usize::from(is_server)];
        let delivered = context.connections.delivered(endpoint);
        while (*arrived + 1) * PROBE <= delivered {
            if is_server {
                context.connections.write(endpoint, PROBE);
            } else {
                self.test.on_answer(context.now, *arrived);
            }
            *arrived += 1;
        }
        context.connections.wake_at(endpoint, (*arrived + 1) * PROBE);
    }
}

impl Driver for Tester {
    const TABLES: &'static [TableDefinition] = &[SpeedTests::DEFINITION];

    fn of(task: &Task, entity: &Entity) -> Option<Self> {
        let Traffic::Speedtest(settings) = task.traffic else { return None };
        let test = SpeedTest::new(settings, entity.start);
        Some(Self { settings, test, probing: None, loaded: Vec::new(), arrived: [0; 2] })
    }

    fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
        let probing = match self.probing {
            Some(pair) => pair,
            None => {
                let pair = *self.probing.insert(context.open());
                for end in [pair.sender, pair.receiver] {
                    self.take(context, end, pair);
                }
                pair
            }
        };
        self.step(context, probing)
    }

    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(probing) = self.probing.filter(|pair| pair.has(endpoint)) else {
            context.connections.wake_at(endpoint, u64::MAX);
            return false;
        };
        self.take(context, endpoint, probing);
        self.test.is_at_its_end() && self.step(context, probing)
    }

    fn stop(&mut self) {
        self.test.stop();
    }

    fn is_cut_short(&self) -> bool {
        self.test.is_cut_short()
    }

    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        _end: Time,
    ) -> Vec<ExtraTable> {
        let mut table = SpeedTests::default();
        for (_, flow, tester) in all {
            let Figures { download_bps, upload_bps, idle, download, upload, responsiveness_rpm } =
                tester.test.figures();
            table.push(SpeedTestRow {
                flow: flow.to_owned(),
                connections: tester.settings.connections,
                download_bps,
                upload_bps,
                idle_latency_ms: idle.p50,
                download_latency_ms: download.p50,
                p95_download_latency_ms: download.p95,
                upload_latency_ms: upload.p50,
                p95_upload_latency_ms: upload.p95,
                responsiveness_rpm,
            });
        }
        vec![table.into_table()]
    }
}
