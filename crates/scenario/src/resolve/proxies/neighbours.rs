//! The neighbours of a node with a split proxy, on each of its sides.

use language::error::Problem;
use language::path::Path;
use units::Span;

use super::super::{Numbers, flows};
use crate::document::{self, Document};
use crate::model::{Link, Neighbour, SideName};

/// The shortest delay to a geostationary satellite: 35 786 km at the speed of light are 119.4 ms.
const GEO_HOP: Span = Span::from_millis(119);

/// The graph that a proxy is in, and its node.
pub(super) struct Around<'a> {
    pub document: &'a Document,
    pub numbers: &'a Numbers,
    pub links: &'a [Link],
    pub node: usize,
}

impl Around<'_> {
    /// The neighbours over links, and the beams of the gateway.
    fn neighbours(&self) -> Vec<Neighbour> {
        let nodes = self.links.iter().filter_map(|link| other_end(link, self.node));
        let mut all: Vec<_> = nodes.map(Neighbour::Node).collect();
        all.sort_unstable();
        all.dedup();
        let beams = self.document.beam.iter().enumerate();
        let own = beams.filter(|(_, beam)| self.numbers.get(&beam.gateway.0) == Some(&self.node));
        all.extend(own.map(|(beam, _)| Neighbour::Beam(beam)));
        all
    }

    /// The neighbour with a name. A node comes before a beam of the same name.
    fn named(
        &self,
        name: &str,
        path: Path,
        all: &[Neighbour],
        problems: &mut Vec<Problem>,
    ) -> Option<Neighbour> {
        let beam = self.document.beam.iter().position(|beam| beam.name.0 == name);
        let found = match (self.numbers.get(name), beam) {
            (Some(node), _) => Neighbour::Node(*node),
            (None, Some(beam)) => Neighbour::Beam(beam),
            (None, None) => return flows::unknown(name, self.names(), path, problems),
        };
        if !all.contains(&found) {
            let expected = match found {
                Neighbour::Node(_) => "a node that a link joins with this one",
                Neighbour::Beam(_) | Neighbour::Host => "a beam whose gateway this node is",
            };
            problems.push(Problem::new(path, expected, format!("{name:?}")));
        }
        Some(found)
    }

    /// The names of all nodes and of the beams of this one.
    fn names(&self) -> Vec<&str> {
        let beams = self.document.beam.iter();
        let own = beams.filter(|beam| self.numbers.get(&beam.gateway.0) == Some(&self.node));
        let nodes = self.numbers.keys().map(String::as_str);
        nodes.chain(own.map(|beam| beam.name.0.as_str())).collect()
    }

    /// The name of a neighbour.
    fn name(&self, neighbour: Neighbour) -> &str {
        match neighbour {
            Neighbour::Beam(beam) => &self.document.beam[beam].name.0,
            Neighbour::Host => Neighbour::OF_HOST,
            Neighbour::Node(node) => self
                .numbers
                .iter()
                .find(|(_, number)| **number == node)
                .map_or("", |(name, _)| name),
        }
    }

    /// Those of the neighbours `all` that must be on the side of the satellite, where no side is
    /// written; the reason if there is none.
    fn satellite(&self, all: &[Neighbour]) -> Result<Vec<Neighbour>, String> {
        let node = self.node;
        let has_proxy = |neighbour: &Neighbour| {
            let Neighbour::Node(number) = neighbour else { return false };
            let of_number = |one: &&document::Node| self.numbers.get(&one.name.0) == Some(number);
            let written = self.document.node.iter().find(of_number);
            written.and_then(|one| one.proxy.as_ref()?.resolve()).is_some()
        };
        let is_far = |neighbour: &Neighbour| {
            let Neighbour::Node(number) = neighbour else { return false };
            let between = |link: &&Link| other_end(link, node) == Some(*number);
            let links = self.links.iter().filter(between);
            links.flat_map(|link| [&link.forward, &link.backward]).any(|one| one.delay >= GEO_HOP)
        };
        let is_beam = |neighbour: &Neighbour| matches!(neighbour, Neighbour::Beam(_));
        let of = |wanted: &dyn Fn(&Neighbour) -> bool| -> Vec<Neighbour> {
            all.iter().copied().filter(|one| wanted(one)).collect()
        };
        let (with_proxy, far, beams) = (of(&has_proxy), of(&is_far), of(&is_beam));
        match (with_proxy.as_slice(), far.as_slice(), beams.as_slice()) {
            ([], [], [_, ..]) => Ok(beams),
            (_, _, [_, ..]) => Err("the node is the gateway of a beam, and has another neighbour \
                                    with a proxy of its own or over a satellite"
                .to_owned()),
            ([only], _, []) | ([], [only], []) if all.len() > 1 => Ok(vec![*only]),
            ([], [], []) => Err(format!(
                "no neighbour has a proxy of its own, and no link of the node has a delay of {GEO_HOP} or more"
            )),
            ([], _, []) => {
                Err(format!("{} links of the node have a delay of {GEO_HOP} or more", far.len()))
            }
            _ => Err(format!("{} neighbours have a proxy of their own", with_proxy.len())),
        }
    }
}

/// The node at the other end of a link of `node`.
fn other_end(link: &Link, node: usize) -> Option<usize> {
    match link.ends {
        [a, b] if a == node => Some(b),
        [a, b] if b == node => Some(a),
        _ => None,
    }
}

/// The neighbours of the node on each side.
pub(super) fn neighbours(
    proxy: &document::Proxy,
    around: &Around<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<[Vec<Neighbour>; 2]> {
    let all = around.neighbours();
    let before = problems.len();
    let named = SideName::ALL.map(|side| {
        let towards = proxy.side(side).towards.as_ref()?;
        let path = path.key(side.key()).key("towards");
        let names = towards.iter().enumerate();
        let of_side =
            names.filter_map(|(i, name)| around.named(&name.0, path.index(i), &all, problems));
        Some(of_side.collect::<Vec<_>>())
    });
    let rest = |taken: &[Neighbour]| -> Vec<_> {
        all.iter().copied().filter(|one| !taken.contains(one)).collect()
    };
    let found: [Vec<Neighbour>; 2] = match named {
        [Some(terrestrial), Some(satellite)] => [terrestrial, satellite],
        [Some(terrestrial), None] => {
            let satellite = rest(&terrestrial);
            [terrestrial, satellite]
        }
        [None, Some(satellite)] => [rest(&satellite), satellite],
        [None, None] => match around.satellite(&all) {
            Ok(satellite) => [rest(&satellite), satellite],
            Err(reason) => {
                let path = path.key(SideName::Satellite.key()).key("towards");
                let expected = "the neighbours on the side of the satellite";
                problems.push(Problem::new(path, expected, "nothing").because(reason));
                return None;
            }
        },
    };
    if problems.len() > before {
        return None;
    }
    let twice = found[1].iter().position(|one| found[0].contains(one));
    if let Some(place) = twice {
        let path = path.key(SideName::Satellite.key()).key("towards").index(place);
        let found = format!("{:?}", around.name(found[1][place]));
        problems.push(Problem::new(path, "a neighbour that is not on the other side", found));
        return None;
    }
    let (empty, full) = match (found[0].is_empty(), found[1].is_empty()) {
        (true, _) => (SideName::Terrestrial, SideName::Satellite),
        (_, true) => (SideName::Satellite, SideName::Terrestrial),
        _ => return Some(found),
    };
    let expected = format!("a neighbour for the {} side", empty.key());
    let problem = Problem::new(path.key(full.key()).key("towards"), expected, "all neighbours");
    problems.push(problem);
    None
}
