use std::path::Path;

use crate::Scenario;

/// The errors of a scenario with a page, one a line, without the place.
fn errors(transport: &str, page: &str) -> Vec<String> {
    errors_with("", transport, page)
}

/// The same with more keys of the link.
fn errors_with(link: &str, transport: &str, page: &str) -> Vec<String> {
    let text = format!(
        r#"duration = "60s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
between = ["a", "b"]
rate = "10Mbit/s"
delay = "300ms"
queue = "unlimited"
{link}
[[flow]]
from = "a"
to = "b"
controller = "cubic"
transport = {{ {transport} }}
traffic = {{ page = {{ {page} }} }}
"#
    );
    let Err(errors) = Scenario::parse(&text, "page.toml", &[]) else { return Vec::new() };
    errors.0.iter().map(|error| error.to_string().lines().next().unwrap().to_owned()).collect()
}

/// Each page has one error, which has these parts.
fn refused(transport: &str, cases: &[(&str, &[&str])]) {
    for (page, parts) in cases {
        let errors = errors(transport, page);
        assert_eq!(errors.len(), 1, "{page}: {errors:?}");
        for part in *parts {
            assert!(errors[0].contains(part), "{page}: {part} is not in {}", errors[0]);
        }
    }
}

#[test]
fn a_page_that_waits_for_itself_or_for_nothing_is_refused() {
    let index = r#"{ name = "index", bytes = "1kB" }"#;
    let of = |others: &str| format!("objects = [{index}, {others}]");
    let cycle = of(r#"{ name = "a", bytes = "1kB", after = "c" },
        { name = "b", bytes = "1kB", after = "a" }, { name = "c", bytes = "1kB", after = "b" }"#);
    let slip = of(r#"{ name = "a", bytes = "1kB", after = "indx" }"#);
    let twice = of(r#"{ name = "index", bytes = "1kB" }"#);
    let many = of(r#"{ name = "a", bytes = "1kB", count = 2 },
        { name = "b", bytes = "1kB", after = "a" }"#);
    let none = of(r#"{ name = "a", bytes = "1kB", after = [] }"#);
    let cases: [(&str, &[&str]); 7] = [
        (&cycle, &["objects[1].after", "found a cycle", "a, c, b, a"]),
        (&slip, &["objects[1].after", "found \"indx\"", "index"]),
        (&twice, &["objects[1].name", "a second time"]),
        (&many, &["objects[2].after", "of which there are several"]),
        (&none, &["objects[1].after", "an empty list"]),
        (
            r#"objects = [{ name = "index", bytes = "1kB", after = "index" }]"#,
            &["objects[0].after", "loading starts with it"],
        ),
        (
            r#"objects = [{ name = "index", bytes = "1kB", count = 3 }]"#,
            &["objects[0].count", "1 for the first object"],
        ),
    ];
    let flat = cases.map(|(page, parts)| (page.replace('\n', " "), parts));
    let flat: Vec<_> = flat.iter().map(|(page, parts)| (page.as_str(), *parts)).collect();
    refused("", &flat);
}

#[test]
fn keys_without_effect_are_refused_with_the_reason() {
    refused(
        "",
        &[
            ("pages = 2", &["traffic.page", "found none of them"]),
            (
                "site = \"news\", file = \"a.toml\"",
                &["one of `site`, `file`, `objects` and `model`"],
            ),
            ("site = \"news\", model = \"3gpp\"", &["`objects` and `model`", "found several"]),
            ("model = \"3gp\"", &["page.model", "\"3gpp\""]),
            ("model = \"3gpp\", interval = \"5s\"", &["page.interval", "loaded once"]),
            (
                "model = \"3gpp\", pages = 3, interval = \"5s\"",
                &["page.interval", "draws the time from one page to the next"],
            ),
            ("site = \"nws\"", &["\"news\""]),
            ("file = \"absent.toml\"", &["traffic.page.file", "absent.toml"]),
            ("site = \"news\", http = \"3\"", &["page.http", "transport.protocol = \"quic\""]),
            ("site = \"news\", connections = 4", &["page.connections", "one connection"]),
            ("site = \"news\", preconnect = 2", &["page.preconnect", "one connection"]),
            (
                "site = \"news\", http = \"1.1\", preconnect = 7",
                &["page.preconnect", "at most 6, the connections to an origin"],
            ),
            (
                "site = \"news\", tls = \"1.2\", resumption = \"early-data\"",
                &["page.resumption", "TLS 1.2 has no early data"],
            ),
            (
                "site = \"news\", tls = \"1.2\", key_share = \"x25519mlkem768\"",
                &["page.key_share", "TLS 1.3"],
            ),
            ("site = \"news\", tls = \"off\", certificates = \"3kB\"", &["no handshake"]),
            (
                "site = \"news\", resumption = \"session\", certificates = \"3kB\"",
                &["page.certificates", "sends no certificates"],
            ),
            ("site = \"news\", interval = \"5s\"", &["page.interval", "loaded once"]),
            ("site = \"news\", visits = \"warm\"", &["page.visits", "loaded once"]),
            (
                "site = \"news\", resolver = \"terminal\"",
                &["page.resolver", "names are known without `dns`"],
            ),
            ("site = \"news\", resolver = \"remot\"", &["page.resolver", "\"remote\""]),
        ],
    );
    refused(
        "protocol = \"quic\"",
        &[
            ("site = \"news\", http = \"2\"", &["page.http", "\"3\" over QUIC"]),
            ("site = \"news\", tls = \"off\"", &["page.tls", "handshake of its own"]),
            ("site = \"news\", key_share = \"x25519\"", &["page.key_share"]),
            ("site = \"news\", resumption = \"session\"", &["transport.zero_rtt"]),
        ],
    );
}

#[test]
fn lookups_by_a_remote_resolver_are_refused_where_udp_is() {
    let page = "site = \"news\", resolver = \"remote\"";
    assert_eq!(errors("", page), Vec::<String>::new());
    for link in ["mtu = 1400", "header_compression = \"rohc\""] {
        let errors = errors_with(link, "", page);
        assert_eq!(errors.len(), 1, "{errors:?}");
        for part in ["page.resolver", "\"terminal\"", "knows packets of TCP only"] {
            assert!(errors[0].contains(part), "{part} is not in {}", errors[0]);
        }
    }
}

#[test]
fn built_in_pages_are_valid_and_say_that_they_are_made() {
    for site in ["news", "shop", "search", "application"] {
        assert_eq!(errors("", &format!("site = \"{site}\"")), Vec::<String>::new());
    }
}

#[test]
fn errors_of_a_file_have_their_places_in_it() {
    let folder = std::env::temp_dir().join(format!("bentpipe-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("page.toml");
    let text = "[[objects]]\nname = \"index\"\nbytes = \"1kB\"\n\n[[objects]]\nname = \"a\"\n\
                bytes = \"1kB\"\nafter = \"indx\"\n";
    std::fs::write(&file, text).unwrap();
    let errors = super::check(&file).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = errors.to_string();
    assert!(text.contains("page.toml:8:"), "{text}");
    assert!(text.contains("index"), "{text}");
    assert!(super::check(Path::new("absent.toml")).is_err());
}
