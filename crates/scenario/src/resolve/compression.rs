//! Header compression of the directions of a link.

use language::error::Problem;
use language::path::Path;
use wire::IpVersion;

use super::sides::{Sides, report};
use crate::model::HeaderCompression;

/// Header compression of both directions.
pub(super) fn resolve(
    sides: &Sides<'_>,
    ip: IpVersion,
    problems: &mut Vec<Problem>,
) -> [Option<HeaderCompression>; 2] {
    [0, 1].map(|side| {
        let found = sides.value(side, |one| &one.header_compression)?.resolve()?;
        let place = sides.place(side, "header_compression", |one| &one.header_compression);
        report(unknown_headers(found, ip, &place), problems);
        Some(found)
    })
}

/// A scheme that does not know the headers of this version of IP.
fn unknown_headers(found: HeaderCompression, ip: IpVersion, path: &Path) -> Option<Problem> {
    if found.knows(ip) {
        return None;
    }
    let all = HeaderCompression::all();
    let others = all.iter().filter(|one| one.knows(ip)).map(|one| format!("{:?}", one.name()));
    let others: Vec<_> = others.collect();
    let expected = format!("one of {} with ip = \"ipv6\"", others.join(", "));
    let problem = Problem::new(path.clone(), expected, format!("{:?}", found.name()));
    Some(problem.because("RFC 1144 compresses headers of IPv4 only"))
}
