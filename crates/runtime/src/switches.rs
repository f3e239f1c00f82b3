//! Switches in a network: routers that lead packets over one of several paths.
//!
//! A router gives a packet the address of the other one on the chosen path, which the packet keeps
//! until there. So what is on the way when the packets move to another path still arrives over the
//! old one.

use link::{Purpose, Seed, uniform};
use middlebox::{BfdControl, BfdSession, BfdSettings, CONTROL_BYTES};
use network::{Counted, Ecn, NodeId, NodeReport, Packet};
use rand_xoshiro::Xoshiro256PlusPlus;
use scenario::model::{Scenario, Switch, SwitchRule};
use scenario::{PathMove, Routes, routes, switch_moves};
use units::{Span, Time};

use crate::nodes::Passing;
use crate::topology::number;
use crate::tunnels::Outgoing;

/// The way of a packet on a path: an address of the other router, and its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Via {
    pub address: NodeId,
    pub node: NodeId,
}

/// A Control packet of BFD, and the path of the router that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    router: u16,
    path: u16,
    control: BfdControl,
}

/// Returns true if the scenario has a switch.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    !scenario.switches.is_empty()
}

/// The nodes that switches name: their routers, and those that their paths lead through.
pub(crate) fn named(scenario: &Scenario) -> impl Iterator<Item = NodeId> {
    let of = |switch: &Switch| switch.ends.iter().chain(&switch.via).copied().collect::<Vec<_>>();
    scenario.switches.iter().flat_map(of).map(|node| NodeId(number(node)))
}

/// Totals of a path of a router.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    packets: u64,
    bytes: u64,
    /// Moves to the path, and the time of the last one in nanoseconds.
    moves: u64,
    moved_ns: u64,
    sent_probes: u64,
    received_probes: u64,
}

/// How a router chooses.
#[derive(Clone, Debug)]
enum Chooser {
    /// The moves to come, the next one last.
    Known(Vec<PathMove>),
    /// A session for each path, with its random numbers.
    Bfd(Vec<(BfdSession, Xoshiro256PlusPlus)>),
}

/// A router of a switch.
#[derive(Clone, Debug)]
struct Router {
    node: NodeId,
    /// The other one, and its place among the routers.
    other: (NodeId, u16),
    /// By destination: packets for it are led over a path.
    serves: Vec<bool>,
    /// Destinations on the paths.
    towards: Vec<NodeId>,
    /// Bytes of a Control packet with the header of IP.
    probe_bytes: u16,
    chooser: Chooser,
    current: usize,
    counters: Vec<Counters>,
}

impl Router {
    fn deadline(&self) -> Time {
        match &self.chooser {
            Chooser::Known(moves) => moves.last().map_or(Time::NEVER, |(at, _)| *at),
            Chooser::Bfd(sessions) => {
                let deadlines = sessions.iter().map(|(session, _)| session.deadline());
                deadlines.min().unwrap_or(Time::NEVER)
            }
        }
    }

    /// The packets take this path from `now` on.
    fn move_to(&mut self, now: Time, path: usize) {
        if path != self.current {
            self.current = path;
            self.counters[path].moves += 1;
            self.counters[path].moved_ns = now.as_nanos();
        }
    }

    /// Chooses by the sessions. If none is usable, the packets stay.
    fn choose(&mut self, now: Time) {
        let Chooser::Bfd(sessions) = &self.chooser else { return };
        if let Some(path) = sessions.iter().position(|(session, _)| session.is_usable()) {
            self.move_to(now, path);
        }
    }

    /// The deadline has come. The Control packets that are sent are given to `send`.
    fn on_timer(&mut self, now: Time, mut send: impl FnMut(usize, BfdControl)) {
        match &mut self.chooser {
            Chooser::Known(moves) => {
                let mut latest = None;
                while let Some((_, path)) = moves.pop_if(|(at, _)| *at <= now) {
                    latest = Some(path);
                }
                if let Some(path) = latest {
                    self.move_to(now, path);
                }
            }
            Chooser::Bfd(sessions) => {
                for (path, (session, random)) in sessions.iter_mut().enumerate() {
                    if session.deadline() <= now
                        && let Some(control) = session.on_deadline(now, uniform(random))
                    {
                        self.counters[path].sent_probes += 1;
                        send(path, control);
                    }
                }
                self.choose(now);
            }
        }
    }
}

/// All switches of a network.
#[derive(Clone, Debug)]
pub(crate) struct Switches<B> {
    routers: Vec<Router>,
    /// The earliest deadline, and whose it is.
    timer: (Time, usize),
    pub out: Vec<Outgoing<B>>,
}

impl<B: Clone> Switches<B> {
    /// The switches of a scenario in a run with `seed`.
    pub fn new(scenario: &Scenario, seed: &Seed) -> Self {
        let mut all = Self { routers: Vec::new(), timer: (Time::NEVER, 0), out: Vec::new() };
        if !is_in_use(scenario) {
            return all;
        }
        let routes = routes(scenario);
        for switch in &scenario.switches {
            let moves = switch_moves(scenario, &routes, switch, seed);
            for end in [0, 1] {
                let moves = moves.as_ref().map(|moves| moves[end].as_slice());
                let place = all.routers.len();
                all.routers.push(router(scenario, &routes, (switch, end), (place, moves), seed));
            }
        }
        all.set_timer();
        all
    }

    /// Returns true if there is no switch.
    pub fn is_empty(&self) -> bool {
        self.routers.is_empty()
    }

    fn set_timer(&mut self) {
        let deadlines = self.routers.iter().map(Router::deadline).zip(0..);
        self.timer = deadlines.min().unwrap_or((Time::NEVER, 0));
    }

    /// The earliest time at which a router has something to do.
    pub fn next_timer(&self) -> Time {
        self.timer.0
    }

    /// The time of [`next_timer`](Self::next_timer) has come. Packets are in `out` then.
    pub fn on_timer(&mut self, now: Time) {
        let (_, place) = self.timer;
        let router = &mut self.routers[place];
        let (node, probe_bytes) = (router.node, router.probe_bytes);
        let ((to, other), towards) = (router.other, router.towards.clone());
        let out = &mut self.out;
        router.on_timer(now, |path, control| {
            let probe = Probe { router: other, path: number(path), control };
            let via = Via { address: towards[path], node: to };
            let packet = Packet {
                body: Passing::of_probe(probe, probe_bytes, (node, to), via),
                // A flow of its own.
                flow: u32::MAX,
                to,
                bytes: probe_bytes,
                priority: link::Priority::Normal,
                ecn: Ecn::NotCapable,
            };
            out.push(Outgoing { node, packet, is_own: true });
        });
        self.set_timer();
    }

    /// A Control packet has arrived.
    pub fn on_probe(&mut self, now: Time, probe: Probe) {
        let Probe { router, path, control } = probe;
        let router = &mut self.routers[usize::from(router)];
        let path = usize::from(path);
        router.counters[path].received_probes += 1;
        if let Chooser::Bfd(sessions) = &mut router.chooser {
            sessions[path].0.on_packet(now, control);
        }
        router.choose(now);
        self.set_timer();
    }

    /// A packet leaves `node`. If that is a router which leads it, the packet gets its path.
    pub fn lead(&mut self, node: NodeId, packet: &mut Packet<Passing<B>>) {
        if packet.body.via.is_some() {
            return;
        }
        let to = usize::from(packet.body.to.0);
        let leads = |router: &&mut Router| router.node == node && router.serves[to];
        let Some(router) = self.routers.iter_mut().find(leads) else { return };
        let counters = &mut router.counters[router.current];
        counters.packets += 1;
        counters.bytes += u64::from(packet.bytes);
        let address = router.towards[router.current];
        packet.body.via = Some(Via { address, node: router.other.0 });
    }

    /// Counts of each path of each router.
    pub fn reports(&self) -> impl Iterator<Item = NodeReport> {
        let paths = self.routers.iter().flat_map(|router| {
            let current = router.current;
            router.counters.iter().enumerate().map(move |(path, one)| (path == current, one))
        });
        paths.enumerate().map(|(place, (is_current, counters))| {
            // Without `..`, so that a new counter has to stand in the table.
            let &Counters { packets, bytes, moves, moved_ns, sent_probes, received_probes } =
                counters;
            let counts = vec![
                ("packets", packets),
                ("bytes", bytes),
                ("moves", moves),
                ("moved_ns", moved_ns),
                ("sent_probes", sent_probes),
                ("received_probes", received_probes),
                ("carries", u64::from(is_current)),
            ];
            NodeReport { place: Counted::Path(number(place)), counts }
        })
    }
}

/// Router `end` of a switch, number `place` among all.
fn router(
    scenario: &Scenario,
    routes: &Routes,
    (switch, end): (&Switch, usize),
    (place, moves): (usize, Option<&[PathMove]>),
    seed: &Seed,
) -> Router {
    let node = |number_of: usize| NodeId(number(number_of));
    let serves = (0..scenario.destinations()).map(|to| {
        // Addresses are those of flows that choose their paths, and those of switches.
        let way = (switch.ends[end], to);
        to < scenario.nodes.len() && switch.crossed(scenario, routes, way) == Some(end)
    });
    let chooser = match (&switch.rule, moves) {
        (SwitchRule::Bfd { interval, multiplier, hold }, _) => {
            let (interval, multiplier, hold) = (*interval, *multiplier, *hold);
            let settings = BfdSettings { interval, multiplier, hold };
            let session = |path: usize| {
                let entity = (place as u64) << 32 | path as u64;
                let mut random = seed.stream(Purpose::Probes, entity);
                let within = BfdSession::first_within().as_secs_f64();
                let first = Time::ZERO + Span::from_secs_f64(within * uniform(&mut random));
                (BfdSession::new(settings, first), random)
            };
            Chooser::Bfd((0..switch.via.len()).map(session).collect())
        }
        (_, moves) => Chooser::Known(moves.unwrap_or_default().iter().rev().copied().collect()),
    };
    Router {
        node: node(switch.ends[end]),
        other: (node(switch.ends[1 - end]), number(place ^ 1)),
        serves: serves.collect(),
        towards: switch.towards[end].iter().map(|address| node(*address)).collect(),
        probe_bytes: scenario.ip.header_bytes() + CONTROL_BYTES,
        chooser,
        current: 0,
        counters: vec![Counters::default(); switch.via.len()],
    }
}
