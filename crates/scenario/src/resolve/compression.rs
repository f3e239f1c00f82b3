//! Header compression of the directions of a link.

use language::error::Problem;
use language::path::Path;
use wire::IpVersion;

use crate::document;
use crate::model::HeaderCompression;

/// Header compression of both directions; `path` is that of the link.
pub(super) fn resolve(
    link: &document::Link,
    ip: IpVersion,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> [Option<HeaderCompression>; 2] {
    let sides = [("forward", &link.forward), ("backward", &link.backward)];
    sides.map(|(side, own)| {
        let own = own.as_ref().and_then(|own| own.header_compression.as_ref());
        let place = if own.is_some() { path.key(side) } else { path.clone() };
        let found = own.or(link.both.header_compression.as_ref())?.resolve()?;
        let problem = unknown_headers(found, ip, &place.key("header_compression"));
        // What both directions have is wrong once.
        problems.extend(problem.filter(|new| problems.iter().all(|old| old.path != new.path)));
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
