//! Beams with their terminals.

pub(super) mod background;
mod ends;
mod plans;
mod rain;

use std::collections::BTreeMap;
use std::ops::Range;

use beam::Classes;
use beam::access::{self, Retries, Scheme, acknowledgement_frames};
use beam::forward::frames::{Frame, FrameLength};
use beam::forward::gse::Gse;
use beam::forward::{self, Scheduler, Share};
use beam::returning::requests::{Category, Policy};
use beam::returning::waveforms::Waveform;
use beam::returning::{self, rle};
use language::error::Problem;
use language::path::Path;
use link::{Modcod, Modem};
use transport::Protocol;
use units::{Rate, Span};

use super::channels::Channels;
use super::{Numbers, flows};
use crate::document::{self, BeamForward, BeamReturn, Document, Load, Requests, SchemeName};
use crate::model::{Beam, BeamGroup, Flow, Node, Scenario};
pub(super) use ends::Ends;
use rain::Choices;

/// Terminals of all beams: nodes have numbers of 16 bits, and a run keeps all terminals in memory.
const MOST_TERMINALS: usize = 20_000;
const _: () = assert!(super::graph::MOST_NODES + MOST_TERMINALS < u16::MAX as usize);

/// Slots of a frame of random access: a run keeps each of them in memory.
const MOST_RANDOM_SLOTS: u32 = 100_000;

/// The label of GSE that names a terminal.
const LABEL: u32 = 3;

/// The group that a name is of, or whose terminal it names.
pub(super) fn group_of<'a>(document: &'a Document, name: &str) -> Option<&'a document::Group> {
    let groups = document.beam.iter().flat_map(|beam| &beam.group);
    let named = |wanted: &str| groups.clone().find(|group| group.name.0 == wanted);
    named(name).or_else(|| named(group_of_terminal(name)?))
}

/// The name of the group whose terminal this is, if it is one: `home` of `home-3`.
pub fn group_of_terminal(name: &str) -> Option<&str> {
    let (group, number) = name.rsplit_once('-')?;
    number.parse::<u32>().is_ok().then_some(group)
}

/// All beams. Their terminals become the last nodes.
pub(super) fn beams<'a>(
    document: &Document,
    numbers: &'a Numbers,
    channels: &Channels<'_>,
    nodes: &mut Vec<Node>,
    problems: &mut Vec<Problem>,
) -> (Vec<Beam>, Ends<'a>) {
    let mut ends = Ends::new(numbers);
    let mut beams: Vec<Beam> = Vec::new();
    let linked = nodes.len();
    for (i, written) in document.beam.iter().enumerate() {
        let path = Path::entry("beam", i);
        if document.beam[..i].iter().any(|other| other.name == written.name) {
            let found = format!("{:?} for the second time", written.name.0);
            problems.push(Problem::new(path.key("name"), "a unique name", found));
        }
        let place = path.key("gateway");
        let gateway = flows::node(&written.gateway.0, numbers, place, problems);
        let first = nodes.len();
        let groups = members(written, &path, linked, nodes, &mut ends, problems);
        let (classes, class_names) = plans::classes(written, &path, problems);
        plans::needs_queues(written, &path, problems);
        let carrier = carrier(written, classes.clone(), &path, problems);
        let Carrier { modem, modcods, settings } = carrier;
        let back = returning::Settings { classes, ..back(written, &path, problems) };
        let cells = rain::cells(written, channels, &path, problems);
        let choices = Choices { modem, modcods: &modcods, duration: document.duration };
        let mut all = Vec::new();
        let (mut of_forward, mut of_back) = (Vec::new(), Vec::new());
        for (group, path, terminals) in groups {
            problems.extend(too_weak(group, &modcods, &modem, &path));
            let place = (written, group);
            let signals =
                rain::signals(place, cells.as_deref(), &choices, channels, &path, problems);
            let file = channels.file_of(group.attenuation.as_ref());
            let file = file.or_else(|| written.rain.as_ref().map(|name| name.0.clone()));
            of_back.extend(access(written, group, &back, &path, problems));
            let down = group.plan.and_then(|plan| plan.down);
            of_forward.push(plans::plan(down, &path.key("plan").key("down"), problems));
            let name = group.name.0.clone();
            let is_background = group.background.is_on();
            all.push(BeamGroup { name, terminals, is_background, signals, file });
        }
        let settings = forward::Settings { plans: of_forward, ..settings };
        let back = returning::Settings { groups: of_back, ..back };
        if problems.is_empty() {
            problems.extend(too_many_slots(written, &back, &path));
        }
        unused(written, channels, &path, problems);
        let Some(gateway) = gateway else { continue };
        let name = written.name.0.clone();
        let terminals = first..nodes.len();
        beams.push(Beam {
            name,
            gateway,
            terminals,
            forward: settings,
            back,
            groups: all,
            classes: class_names,
            class_of_flows: BTreeMap::new(),
            background: Vec::new(),
        });
    }
    (beams, ends)
}

/// The groups of a beam with their places and the numbers of their terminals, which become nodes
/// behind the `linked` ones.
fn members<'a>(
    written: &'a document::Beam,
    path: &Path,
    linked: usize,
    nodes: &mut Vec<Node>,
    ends: &mut Ends<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(&'a document::Group, Path, Range<usize>)> {
    let mut groups = Vec::new();
    for (j, group) in written.group.iter().enumerate() {
        let path = path.key("group").index(j);
        problems.extend(taken(&group.name.0, ends, &path));
        let start = nodes.len();
        let more = group.terminals as usize;
        if start - linked + more > MOST_TERMINALS {
            let most = MOST_TERMINALS - (start - linked);
            let place = path.key("terminals");
            let problem = Problem::new(place, format!("at most {most}"), more.to_string());
            let reason = format!("all beams together have at most {MOST_TERMINALS} terminals");
            problems.push(problem.because(reason));
            continue;
        }
        nodes.extend((1..=more).map(|number| Node {
            name: format!("{}-{number}", group.name.0),
            forwarding: None,
            middlebox: None,
            proxy: None,
            entry: None,
        }));
        ends.add_group(group.name.0.clone(), start..nodes.len());
        groups.push((group, path, start..nodes.len()));
    }
    groups
}

/// A name that another group or node has.
fn taken(name: &str, ends: &Ends<'_>, path: &Path) -> Option<Problem> {
    let is_of_terminal = |node: &str| {
        let number = node.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let other = ends.names().into_iter().find(|other| *other == name || is_of_terminal(other));
    let other = other.or_else(|| ends.terminal(name).map(|_| name))?;
    let expected = "a name that no node, group or terminal has";
    let found =
        if other == name { format!("{name:?}") } else { format!("{name:?} with {other:?}") };
    Some(Problem::new(path.key("name"), expected, found))
}

/// A forward carrier with its modem.
struct Carrier {
    modem: Modem,
    /// The possible choices of the modem.
    modcods: Vec<Modcod>,
    settings: forward::Settings,
}

fn carrier(
    written: &document::Beam,
    classes: Classes,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Carrier {
    let BeamForward { modem, frames, pilots, dummy_frames, fragmentation, hold, scheduler, .. } =
        &written.forward;
    let modem = modem.resolve();
    if *frames == FrameLength::Short && matches!(modem, Modem::DvbS2x(_)) {
        let place = path.key("forward").key("frames");
        let problem = Problem::new(place, "\"normal\" with the modem \"dvb-s2x\"", "\"short\"");
        problems.push(problem.because("short frames are those of DVB-S2"));
    }
    let of = |modcod: Modcod| Some((modcod, Frame::of(&modcod, *frames, *pilots)?));
    let (modcods, frames) = modem.modcods().into_iter().filter_map(of).unzip();
    let settings = forward::Settings {
        frames,
        symbol_rate: modem.settings().symbol_rate(),
        gse: Gse { label: LABEL },
        fragmentation: *fragmentation,
        hold: *hold,
        dummy_frames: *dummy_frames,
        delay: written.delay,
        scheduler: match scheduler {
            document::Scheduler::Fifo => Scheduler::Fifo,
            document::Scheduler::EqualRate => Scheduler::DeficitRoundRobin(Share::Bytes),
            document::Scheduler::EqualAirtime => Scheduler::DeficitRoundRobin(Share::Symbols),
        },
        classes,
        buffer: written.forward.buffer.get(),
        aqm: plans::aqm(&written.forward, path, problems),
        plans: Vec::new(),
    };
    Carrier { modem, modcods, settings }
}

/// A signal that no modulation fits, not even in clear sky.
fn too_weak(
    group: &document::Group,
    modcods: &[Modcod],
    modem: &Modem,
    path: &Path,
) -> Option<Problem> {
    let first = modcods.first()?;
    let least = first.threshold + modem.settings().margin;
    (group.es_n0 < least).then(|| {
        let expected = format!("at least {least:.2} dB");
        let problem = Problem::new(path.key("es_n0"), expected, format!("{:?}", group.es_n0));
        problem.because(format!("{} needs that, with the margin of the modem", first.name))
    })
}

/// A return channel without its groups.
fn back(written: &document::Beam, path: &Path, problems: &mut Vec<Problem>) -> returning::Settings {
    let BeamReturn { carriers, bandwidth, roll_off, spacing, bursts, frame, .. } = written.back;
    let settings = returning::Settings {
        frame,
        carriers,
        symbol_rate: bandwidth / (1.0 + roll_off) / (1.0 + spacing),
        bursts,
        delay: written.delay,
        control_delay: written.back.control_delay.unwrap_or(written.delay.times(2)),
        access: None,
        classes: Classes::default(),
        groups: Vec::new(),
    };
    if settings.slots_of_carrier() == 0 {
        let expected = format!("at least \"{}\", the length of a burst", settings.slot());
        let place = path.key("return").key("frame");
        problems.push(Problem::new(place, expected, format!("\"{frame}\"")));
        return settings;
    }
    let access = random_access(written, &settings, path, problems);
    returning::Settings { access, ..settings }
}

/// The channel for random access.
fn random_access(
    written: &document::Beam,
    back: &returning::Settings,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<access::Settings> {
    let access = written.back.access.as_ref()?;
    let path = path.key("return").key("access");
    let document::Access { replicas, iterations, carriers, timeout, .. } = *access;
    let mut problem = |key: &str, expected: String, found: String| {
        problems.push(Problem::new(path.key(key), expected, found));
    };
    if let (SchemeName::SlottedAloha, Some(number)) = (access.scheme, replicas) {
        let expected = "no `replicas` with \"slotted-aloha\"".to_owned();
        problem("replicas", expected, number.to_string());
    }
    if let (SchemeName::SlottedAloha | SchemeName::Dsa, Some(number)) = (access.scheme, iterations)
    {
        let expected = "no `iterations` without \"crdsa\"".to_owned();
        problem("iterations", expected, number.to_string());
    }
    let replicas = replicas.unwrap_or(3);
    let scheme = match access.scheme {
        SchemeName::SlottedAloha => Scheme::SlottedAloha,
        SchemeName::Dsa => Scheme::Dsa { replicas },
        SchemeName::Crdsa => Scheme::Crdsa { replicas, iterations: iterations.unwrap_or(16) },
    };
    let slots = back.slots_of_carrier().saturating_mul(carriers);
    if slots > MOST_RANDOM_SLOTS {
        let expected = format!("carriers with at most {MOST_RANDOM_SLOTS} slots in a frame");
        problem("carriers", expected, format!("{carriers} with {slots} slots"));
        return None;
    }
    if slots < scheme.replicas() {
        let expected = format!("at least {} slots in a frame, one for each replica", replicas);
        problem("carriers", expected, format!("{carriers} with {slots} slots"));
        return None;
    }
    let frames = |span: Span| {
        u32::try_from(span.as_nanos().div_ceil(back.frame.as_nanos())).unwrap_or(u32::MAX)
    };
    let answer = acknowledgement_frames(back.delay, back.frame);
    if let Some(early) = timeout.filter(|timeout| frames(*timeout) < answer) {
        let least = back.frame.times(answer.into());
        let expected = format!("at least \"{least}\", when an acknowledgement can be there");
        problem("timeout", expected, format!("\"{early}\""));
    }
    if !written.group.iter().any(|group| group.random_access) {
        let expected = "a group with `random_access = true`".to_owned();
        problem("scheme", expected, "none".to_owned());
    }
    Some(access::Settings {
        scheme,
        slots,
        retries: Retries {
            timeout: timeout.map_or(answer, frames).max(answer),
            window: frames(access.back_off),
            doublings: access.doublings,
            most: access.tries,
        },
        load: match access.load {
            Load::Target(load) => Some(load),
            Load::None(_) => None,
        },
        packets: access.packets,
    })
}

/// The access of the terminals of a group to the return channel.
fn access(
    written: &document::Beam,
    group: &document::Group,
    back: &returning::Settings,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<returning::Group> {
    let BeamReturn { margin, bursts, .. } = written.back;
    let Some(waveform) = bursts.best(group.return_es_n0 - margin).copied() else {
        let first = bursts.waveforms()[0];
        let expected = format!("at least {:.2} dB with these bursts", first.threshold + margin);
        let found = format!("{:?}", group.return_es_n0);
        let problem = Problem::new(path.key("return_es_n0"), expected, found);
        let reason = format!("waveform {}, {}, needs that with the margin", first.id, first.name);
        problems.push(problem.because(reason));
        return None;
    };
    let policy = policy(written, group, back, waveform);
    let has_requests = policy.is_some();
    let is_rate = policy.is_some_and(|policy| policy.category == Category::Rbdc);
    let mut without_effect = |key: &str, expected: &str, found: String| {
        problems.push(Problem::new(path.key(key), expected, found));
    };
    if let Some(rate) = group.max_rate.filter(|_| !is_rate) {
        without_effect("max_rate", "`requests = \"rbdc\"` with it", format!("\"{rate}\" alone"));
    }
    if group.weight != 1 && !has_requests {
        let found = format!("{} without requests", group.weight);
        without_effect("weight", "1 without `requests`", found);
    }
    let at_random = written.back.access.as_ref().filter(|_| group.random_access);
    if group.random_access && written.back.access.is_none() {
        let expected = "`access` in the return channel of the beam with it";
        without_effect("random_access", expected, "true without".to_owned());
    }
    let has_random = at_random.is_some_and(|access| access.packets);
    let up = group.plan.and_then(|plan| plan.up);
    if group.plan.is_some_and(|plan| plan.down.is_none() && plan.up.is_none()) {
        without_effect("plan", "`down`, `up` or both", "neither".to_owned());
    }
    if !has_requests && !group.fca && group.cra.is_none() && !has_random {
        let expected = "a category of `requests`, with neither `cra` nor `fca`";
        without_effect("requests", expected, "\"none\"".to_owned());
    }
    Some(returning::Group {
        waveform,
        constant: group.cra.map_or(0, Rate::bits_per_second),
        policy,
        free: group.fca,
        access: group.random_access,
        weight: group.weight,
        buffer: written.back.buffer.get(),
        plan: plans::plan(up, &path.key("plan").key("up"), problems),
    })
}

/// How the terminals of a group request capacity.
fn policy(
    written: &document::Beam,
    group: &document::Group,
    back: &returning::Settings,
    waveform: Waveform,
) -> Option<Policy> {
    let Requests::Category(category) = group.requests else { return None };
    let net = f64::from(8 * waveform.net_bytes()) * f64::from(back.slots_of_carrier());
    let carrier = net / back.frame.as_secs_f64();
    Some(Policy {
        category,
        period: written.back.period.unwrap_or(back.frame),
        over_request: written.back.over_request,
        memory: written.back.memory.unwrap_or(back.control_delay),
        max_rate: group.max_rate.map_or(carrier, |rate| rate.bits_per_second() as f64),
        constant: group.cra.map_or(0, Rate::bits_per_second) as f64,
    })
}

/// Constant assignment of more than there is.
fn too_many_slots(
    written: &document::Beam,
    back: &returning::Settings,
    path: &Path,
) -> Option<Problem> {
    let slots = |(group, settings): (&document::Group, &returning::Group)| {
        back.slots_of_rate(settings.constant as f64, settings) * f64::from(group.terminals)
    };
    let each: Vec<_> = written.group.iter().zip(&back.groups).map(slots).collect();
    let (sum, all) = (each.iter().sum::<f64>(), f64::from(back.slots()));
    let largest = (0..each.len()).max_by(|a, b| each[*a].total_cmp(&each[*b]))?;
    let group = &back.groups[largest];
    let carrier = f64::from(back.slots_of_carrier());
    let of_one = back.slots_of_rate(group.constant as f64, group);
    let (expected, reason) = if sum > all {
        let left = all - (sum - each[largest]);
        let most = group.constant as f64 * left.max(0.0) / each[largest];
        let reason = format!(
            "constant assignment of all terminals takes {sum:.0} slots of a frame, and it has {all}"
        );
        (most, reason)
    } else if of_one > carrier {
        let most = group.constant as f64 * carrier / of_one;
        (most, "a terminal sends on one carrier at a time".to_owned())
    } else {
        return None;
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than cra")]
    let most = Rate::from_bits_per_second(expected.floor() as u64);
    let place = path.key("group").index(largest).key("cra");
    let found = Rate::from_bits_per_second(group.constant);
    let problem = Problem::new(place, format!("at most \"{most}\""), format!("\"{found}\""));
    Some(problem.because(reason))
}

/// Keys of the return channel that no group makes use of.
fn unused(
    written: &document::Beam,
    channels: &Channels<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    let has = |wanted: Option<Category>| {
        written.group.iter().any(|group| match group.requests {
            Requests::Category(found) => wanted.is_none_or(|wanted| wanted == found),
            Requests::None(_) => false,
        })
    };
    for (key, wanted, expected) in [
        ("memory", Some(Category::Rbdc), "a group with `requests = \"rbdc\"`"),
        ("period", None, "a group with `requests`"),
        ("over_request", None, "a group with `requests`"),
        ("control_delay", None, "a group with `requests`"),
    ] {
        let place = path.key("return").key(key);
        if channels.tree.at(&place).is_some() && !has(wanted) {
            problems.push(Problem::new(place, expected, "no such group"));
        }
    }
}

/// Checks what concerns flows and the network, and gives flows their classes.
pub(super) fn check(
    document: &Document,
    scenario: &mut Scenario,
    entries: &[usize],
    problems: &mut Vec<Problem>,
) {
    if scenario.beams.is_empty() {
        return;
    }
    for number in 0..scenario.beams.len() {
        let classes = plans::class_of_flows(document, number, scenario, entries, problems);
        scenario.beams[number].class_of_flows = classes;
    }
    let scenario = &*scenario;
    problems.extend(classes_of_tunnels(scenario, entries));
    for (i, beam) in scenario.beams.iter().enumerate() {
        let longest = scenario.flows.iter().map(|flow| scenario.longest_outside(flow)).max();
        check_buffers(document, (i, beam), longest.unwrap_or(0), problems);
        for (j, group) in beam.groups.iter().enumerate() {
            let leads = |flow: &Flow| {
                group.terminals.contains(&flow.from) || group.terminals.contains(&flow.to)
            };
            let is_tcp = |flow: &Flow| leads(flow) && flow.protocol() == Protocol::Tcp;
            let place = Path::entry("beam", i).key("group").index(j);
            let host = document.beam[i].group[j].host.as_ref().and_then(|host| host.profile());
            if let Some(profile) = host.filter(|_| !scenario.flows.iter().any(is_tcp)) {
                let expected = "a group with a flow over TCP";
                let found = format!("{:?}", profile.name);
                problems.push(Problem::new(place.key("host"), expected, found));
            }
            if !scenario.flows.iter().any(leads) {
                let place = place.key("name");
                let problem =
                    Problem::new(place, "a group with traffic", format!("{:?}", group.name));
                problems.push(problem.because("no flow has `from` or `to` in this group"));
            }
        }
    }
    for (flow, &entry) in scenario.flows.iter().zip(entries) {
        let path = Path::entry("flow", entry).key("transport");
        let is_in_beam = [flow.from, flow.to].iter().any(|end| scenario.beam_of(*end).is_some());
        let has_rate = flow.transport.scps().is_some_and(|scps| scps.rate.is_some());
        if has_rate && is_in_beam {
            let place = path.key("scps").key("rate");
            let problem = Problem::new(place, "no `rate` at a terminal of a beam", "the key");
            problems.push(problem.because("the rate is that of a route over links"));
            break;
        }
        if !flow.paths.is_empty() {
            let place = path.key("sctp").key("paths");
            let expected = "no `paths` in a scenario with a beam";
            problems.push(Problem::new(place, expected, "the key"));
            break;
        }
    }
}

/// Flows of several classes in a tunnel over a beam, whose packets have one header outside.
fn classes_of_tunnels(scenario: &Scenario, entries: &[usize]) -> Option<Problem> {
    let mut known: BTreeMap<usize, usize> = BTreeMap::new();
    scenario.flows.iter().enumerate().find_map(|(number, flow)| {
        let place = flow.tunnel?;
        let ends = scenario.tunnels[place].ends.into_iter();
        let (_, beam) = ends.filter_map(|end| scenario.beam_of(end)).next()?;
        let last = beam.classes.len() - 1;
        let class = beam.class_of_flows.get(&number).map_or(last, |class| usize::from(*class));
        let first = *known.entry(place).or_insert(class);
        (first != class).then(|| {
            let [first, class] = [first, class].map(|class| &beam.classes[class]);
            let place = Path::entry("flow", entries[number]).key("tunnel");
            let found = format!("flows of {first:?} and {class:?}");
            let problem = Problem::new(place, "a tunnel with flows of one class", found);
            problem.because("the beam sees one flow, which has one class")
        })
    })
}

/// Queues and plans that never let a packet pass.
fn check_buffers(
    document: &Document,
    (number, beam): (usize, &Beam),
    longest: u64,
    problems: &mut Vec<Problem>,
) {
    let written = &document.beam[number];
    let path = Path::entry("beam", number);
    let sides = [("forward", written.forward.buffer), ("return", written.back.buffer)];
    for (side, buffer) in sides {
        if buffer.get() < longest {
            let expected = format!("room for a packet of {longest} bytes");
            let place = path.key(side).key("buffer");
            problems.push(Problem::new(place, expected, format!("\"{buffer}\"")));
        }
    }
    for (j, (down, settings)) in beam.forward.plans.iter().zip(&beam.back.groups).enumerate() {
        let path = path.key("group").index(j).key("plan");
        for (key, plan) in [("down", down), ("up", &settings.plan)] {
            if let Some(plan) = plan {
                plans::check_bursts((&path.key(key), plan), longest, problems);
            }
        }
    }
    // A burst carries at least a byte of a packet.
    debug_assert!(written.back.bursts.waveforms().iter().all(|one| one.payload > rle::FIRST + 1));
}
