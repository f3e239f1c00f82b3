//! The meaning of `traffic.page`.

use std::path::Path as FilePath;

use language::error::{Errors, Problem};
use language::path::Path;
use language::tree::Tree;
use language::{Refused, TypedFile};
use transport::Protocol;
use units::{Bytes, Span};

use super::document::{
    Endless, HttpVersion, KeyShare, Model, Page as Written, PageFile, Pages, Resolver, Resumption,
    TlsVersion, Visits,
};
use super::handshake;
use super::objects::{self, Fault};
use crate::given::{located, of_file};
use crate::model::{Handshake, Headers, Http, Page, PageModel, PageObject};

/// Connections of browsers to a host with HTTP/1.1.
const CONNECTIONS: u32 = 6;
/// Bytes of certificates.
const CERTIFICATES: Bytes = Bytes(2600);
/// Time between loads.
const INTERVAL: Span = Span::from_secs(30);

type Objects = (Vec<PageObject>, Vec<String>);

/// The objects of a page, and what its file says of connections.
struct Source {
    name: String,
    objects: Objects,
    preconnect: Option<u32>,
}

/// The place of a page in its scenario.
pub(crate) struct Place<'a> {
    /// The scenario.
    pub tree: &'a Tree,
    /// The folder of its file.
    pub directory: &'a FilePath,
    /// The path of `traffic.page`.
    pub path: &'a Path,
    /// The protocol of the flow.
    pub protocol: Protocol,
}

/// The page with its defaults; `None` with problems of its objects.
pub(crate) fn resolve(
    written: &Written,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Page> {
    let http = version(written, place, problems);
    problems.extend(without_effect(written, http, place.path));
    let Source { name: site, objects: (objects, origins), preconnect } =
        source(written, place, problems)?;
    let connections = written.connections.unwrap_or(CONNECTIONS);
    if let Some(number) = written.preconnect.filter(|number| *number > connections) {
        let expected = format!("at most {connections}, the connections to an origin");
        problems.push(Problem::new(place.path.key("preconnect"), expected, number.to_string()));
    }
    let model = written.model.map(|Model::ThreeGpp| PageModel::ThreeGpp);
    let request = written.request.or_else(|| model.map(PageModel::request));
    let headers = |given: Option<Bytes>, plain: u64, first: u64, later: u64| match (given, http) {
        (Some(bytes), _) => Headers { first: bytes.get(), later: bytes.get() },
        (None, Http::One) => Headers { first: plain, later: plain },
        (None, Http::Two | Http::Three) => Headers { first, later },
    };
    Some(Page {
        site,
        objects: objects.into(),
        origins: origins.into(),
        http,
        tls: tls(written, http),
        dns: written.dns.unwrap_or_default(),
        has_remote_resolver: written.resolver == Some(Resolver::Remote),
        connections,
        preconnect: written.preconnect.or(preconnect).unwrap_or(1).min(connections),
        pages: match written.pages {
            None => Some(1),
            Some(Pages::Number(pages)) => Some(pages),
            Some(Pages::Endless(Endless::Unlimited)) => None,
        },
        interval: written.interval.unwrap_or(INTERVAL),
        is_warm: written.visits == Some(Visits::Warm),
        model,
        request: headers(request, 600, 350, 80),
        header: headers(written.header, 450, 200, 80),
    })
}

/// The version of HTTP, which must fit the protocol.
fn version(written: &Written, place: &Place<'_>, problems: &mut Vec<Problem>) -> Http {
    if place.protocol == Protocol::Udp {
        let problem = Problem::new(place.path.clone(), "a protocol with streams", "UDP");
        problems.push(problem.because("HTTP runs over TCP or QUIC"));
    }
    let is_quic = place.protocol == Protocol::Quic;
    let fits = |version: HttpVersion| (version == HttpVersion::Three) == is_quic;
    match written.http {
        Some(version) if fits(version) => version.into(),
        None if is_quic => Http::Three,
        None => Http::Two,
        Some(version) => {
            let expected = if is_quic { "\"3\" over QUIC" } else { "\"1.1\" or \"2\"" };
            let found = format!("\"{}\"", Http::from(version).name());
            let problem = Problem::new(place.path.key("http"), expected, found);
            let reason = if is_quic {
                "HTTP/1.1 and HTTP/2 run over TCP"
            } else {
                "HTTP/3 runs over QUIC: transport.protocol = \"quic\""
            };
            problems.push(problem.because(reason));
            version.into()
        }
    }
}

/// Keys that have no effect with the others.
fn without_effect(written: &Written, http: Http, path: &Path) -> Vec<Problem> {
    let Written {
        site: _,
        file: _,
        objects: _,
        model,
        http: _,
        tls,
        resumption,
        key_share,
        certificates,
        dns,
        resolver,
        connections,
        preconnect,
        request: _,
        header: _,
        pages,
        interval,
        visits,
    } = written;
    let mut problems = Vec::new();
    let mut refuse = |is_given: bool, key: &str, reason: &str| {
        if is_given {
            let problem = Problem::new(path.key(key), format!("no `{key}` here"), "one");
            problems.push(problem.because(reason));
        }
    };
    let is_resumed = resumption.is_some_and(|resumption| resumption != Resumption::None);
    match (http, tls.unwrap_or_default()) {
        (Http::Three, version) => {
            let reason = "QUIC has a handshake of its own, with TLS 1.3";
            refuse(version != TlsVersion::Three, "tls", reason);
            refuse(is_resumed, "resumption", "over QUIC it is transport.zero_rtt");
            refuse(key_share.is_some(), "key_share", reason);
            refuse(certificates.is_some(), "certificates", reason);
        }
        (_, TlsVersion::Off) => {
            let reason = "there is no handshake with tls = \"off\"";
            refuse(is_resumed, "resumption", reason);
            refuse(key_share.is_some(), "key_share", reason);
            refuse(certificates.is_some(), "certificates", reason);
        }
        (_, version) => {
            let reason = "a resumed session sends no certificates";
            refuse(is_resumed && certificates.is_some(), "certificates", reason);
            let is_old = version == TlsVersion::Two;
            let early = *resumption == Some(Resumption::EarlyData);
            refuse(is_old && early, "resumption", "TLS 1.2 has no early data");
            let hybrid = *key_share == Some(KeyShare::Hybrid);
            refuse(is_old && hybrid, "key_share", "x25519mlkem768 is a share of TLS 1.3");
        }
    }
    let several = "HTTP/2 and HTTP/3 have one connection to each origin";
    refuse(http != Http::One && connections.is_some(), "connections", several);
    refuse(http != Http::One && preconnect.is_some(), "preconnect", several);
    let is_single = matches!(pages, None | Some(Pages::Number(1)));
    refuse(is_single && interval.is_some(), "interval", "the page is loaded once");
    let has_reading = model.is_some() && !is_single && interval.is_some();
    refuse(has_reading, "interval", "the model draws the time from one page to the next");
    refuse(is_single && visits.is_some(), "visits", "the page is loaded once");
    let is_idle = *resolver == Some(Resolver::Terminal) && dns.is_none();
    refuse(is_idle, "resolver", "names are known without `dns`");
    problems
}

fn tls(written: &Written, http: Http) -> Option<Handshake> {
    let resumption = written.resumption.unwrap_or_default();
    let certificates = written.certificates.unwrap_or(CERTIFICATES).get();
    match (http, written.tls.unwrap_or_default()) {
        (Http::Three, _) | (_, TlsVersion::Off) => None,
        (_, TlsVersion::Three) => {
            let key = written.key_share.unwrap_or_default();
            Some(handshake::tls_1_3(key, resumption, certificates))
        }
        (_, TlsVersion::Two) => Some(handshake::tls_1_2(resumption, certificates)),
    }
}

/// The objects, and the name of the site or file.
fn source(written: &Written, place: &Place<'_>, problems: &mut Vec<Problem>) -> Option<Source> {
    let plain = |name: String, objects| Source { name, objects, preconnect: None };
    let Place { tree, directory, path, .. } = place;
    match (written.site, &written.file, &written.objects, written.model) {
        (Some(site), None, None, None) => {
            let (name, text) = site.text();
            let file: TypedFile<PageFile> =
                TypedFile::parse(text, FilePath::new(name)).expect("a built-in page is valid");
            let objects = objects::resolve(&file.value.objects).expect("a built-in page is valid");
            Some(plain(name.to_owned(), objects))
        }
        (None, Some(name), None, None) => {
            let path = path.key("file");
            let read = file(&located(tree.nearest(&path), directory, &name.0));
            match read {
                Ok((objects, preconnect)) => {
                    Some(Source { name: name.0.clone(), objects, preconnect })
                }
                Err(errors) => {
                    problems.extend(of_file(errors, &path, "page"));
                    None
                }
            }
        }
        (None, None, Some(written), None) => match objects::resolve(written) {
            Ok(objects) => Some(plain("objects".to_owned(), objects)),
            Err(faults) => {
                problems.extend(faults.into_iter().map(|fault| {
                    let place = path.key("objects").index(fault.object).key(fault.key);
                    let problem = Problem::new(place, fault.expected, fault.found);
                    Problem { reason: fault.reason, suggestion: fault.suggestion, ..problem }
                }));
                None
            }
        },
        (None, None, None, Some(Model::ThreeGpp)) => {
            let model = PageModel::ThreeGpp;
            Some(plain(model.name().to_owned(), (model.largest(), vec!["main".to_owned()])))
        }
        (None, None, None, None) => {
            let expected = "`site`, `file`, `objects` or `model`";
            problems.push(Problem::new((*path).clone(), expected, "none of them"));
            None
        }
        _ => {
            let expected = "one of `site`, `file`, `objects` and `model`";
            problems.push(Problem::new((*path).clone(), expected, "several"));
            None
        }
    }
}

/// The objects of a file, and its `preconnect`.
pub(super) fn file(path: &FilePath) -> Result<(Objects, Option<u32>), Errors> {
    let file: TypedFile<PageFile> = TypedFile::load(path, "a file with a page")?;
    let objects = objects::resolve(&file.value.objects).map_err(|faults| {
        let refused = |fault: Fault| {
            let path = format!("objects.{}.{}", fault.object, fault.key);
            let refused = Refused::new(&path, fault.expected, fault.found);
            let refused = refused.suggest(fault.suggestion);
            match fault.reason {
                Some(reason) => refused.because(reason),
                None => refused,
            }
        };
        file.report(faults.into_iter().map(refused).collect())
    })?;
    Ok((objects, file.value.preconnect))
}
