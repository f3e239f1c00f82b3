//! Values of the keys of `traffic.page` that a scenario leaves out.

use scenario::model::{Flow, Headers, Http, Page};

use crate::settings::Amount;

/// The value of a key; of a flow without a page, the one that a page over its protocol would have.
pub(crate) fn absent(name: &str, flow: &Flow) -> Option<(Amount, String)> {
    let key = name.strip_prefix("traffic.page.")?;
    let page = flow.traffic.page();
    let text = match key {
        "site" | "file" | "objects" | "model" => "none".to_owned(),
        "http" => page.map_or("2", |page| page.http.name()).to_owned(),
        "tls" => "1.3".to_owned(),
        "resumption" => "none".to_owned(),
        "key_share" | "certificates" => match page.and_then(|page| page.tls.as_ref()) {
            None => "none, there is no handshake of TLS besides QUIC's".to_owned(),
            Some(_) if key == "key_share" => "x25519mlkem768, and x25519 with TLS 1.2".to_owned(),
            Some(_) => "2600B, none in a resumed session".to_owned(),
        },
        "dns" => match page.is_some_and(|page| page.has_remote_resolver) {
            true => "0s, the resolver answers at once".to_owned(),
            false => "0s, the names are known".to_owned(),
        },
        "resolver" => "terminal".to_owned(),
        "connections" => connections(page),
        "preconnect" => page.map_or(1, |page| page.preconnect).to_string(),
        "request" => page.map_or_else(none, |page| headers(page.request)),
        "header" => page.map_or_else(none, |page| headers(page.header)),
        "pages" => "1".to_owned(),
        "interval" => match page.and_then(|page| page.model) {
            Some(model) => format!("{} on average, from end to start", model.mean_reading()),
            None => "30s, if there are several pages".to_owned(),
        },
        "visits" => "cold, if there are several pages".to_owned(),
        "objects.origin" => "that of the first object".to_owned(),
        "objects.kind" => "document, and image of all but the first object".to_owned(),
        "objects.after" => "the first object, computed".to_owned(),
        _ => return None,
    };
    Some((Amount::plain(serde_json::Value::Null), text))
}

fn none() -> String {
    "none".to_owned()
}

fn connections(page: Option<&Page>) -> String {
    match page.map(|page| page.http) {
        Some(Http::One) => "6".to_owned(),
        _ => "1".to_owned(),
    }
}

fn headers(Headers { first, later }: Headers) -> String {
    if first == later { format!("{first}B") } else { format!("{first}B, then {later}B") }
}
