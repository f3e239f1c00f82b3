//! Web pages with their objects, as browsers load them.

mod drawn;

use units::{Bytes, Span};

pub use self::drawn::{DrawnPages, PageModel};

/// How pages are loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Name of the site, or of its file.
    pub site: String,
    /// The objects. The first one is the document with which loading starts. With a model, those
    /// of the page with the most objects.
    pub objects: Box<[PageObject]>,
    /// The model that draws each page.
    pub model: Option<PageModel>,
    /// Names of the origins.
    pub origins: Box<[String]>,
    /// Version of HTTP.
    pub http: Http,
    /// Messages of TLS before the first request; `None` sends requests in the clear. QUIC has a
    /// handshake of its own.
    pub tls: Option<Handshake>,
    /// Time of the lookup of the name of an origin: of a local resolver from the need to the name,
    /// of a remote one from the query to the answer.
    pub dns: Span,
    /// True if the resolver is at the node `from`, so that queries and answers are packets of UDP.
    pub has_remote_resolver: bool,
    /// Parallel connections to an origin with HTTP/1.1.
    pub connections: u32,
    /// Of them those to the origin of the document that are opened before requests wait for them.
    pub preconnect: u32,
    /// Pages to load; `None` goes on until the run ends.
    pub pages: Option<u32>,
    /// Time from the start of one page to the start of the next.
    pub interval: Span,
    /// True if connections and names of the page before are still there.
    pub is_warm: bool,
    /// Bytes of requests.
    pub request: Headers,
    /// Bytes of the headers of answers.
    pub header: Headers,
}

/// Bytes of the headers of messages, without the framing of HTTP/2 and TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Of the first message on a connection.
    pub first: u64,
    /// Of later ones, which the compression of HTTP/2 and HTTP/3 makes shorter.
    pub later: u64,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1 (RFC 9112): one request at a time on each of several connections.
    One,
    /// HTTP/2 (RFC 9113): all requests on streams within one connection of TCP.
    Two,
    /// HTTP/3 (RFC 9114): all requests on streams of one connection of QUIC.
    Three,
}

impl Http {
    /// The version in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1.1",
            Self::Two => "2",
            Self::Three => "3",
        }
    }
}

/// The messages of a handshake of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Bytes of each flight on the wire, the browser's first; they alternate.
    pub flights: Box<[u64]>,
    /// Number of flights that must have arrived before the browser sends requests. A flight of the
    /// browser that is then due goes out before them.
    pub before_requests: usize,
    /// Bytes that a record adds.
    pub record: u64,
}

/// An object of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageObject {
    /// Its name.
    pub name: String,
    /// Number of its origin in [`Page::origins`].
    pub origin: usize,
    /// Bytes of its content.
    pub bytes: Bytes,
    /// Time from the arrival of the request to the answer.
    pub server_time: Span,
    /// Time for which it occupies the browser's main thread once it has arrived.
    pub compute: Span,
    /// Urgency from 0 to 7 (RFC 9218 section 4.1); smaller ones are served first.
    pub urgency: u8,
    /// True if answers of the same urgency share the connection (RFC 9218 section 4.2).
    pub incremental: bool,
    /// Conditions for its request; none for the document.
    pub after: Box<[After]>,
}

/// A condition for the request of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Number of the object that it depends on.
    pub object: usize,
    /// Milestone that the object must have reached.
    pub at: Milestone,
    /// Time from then on.
    pub delay: Span,
}

/// Something that happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// Its first byte has arrived.
    FirstByte,
    /// Its last byte has arrived.
    Done,
    /// The browser has computed it.
    Computed,
}

impl Page {
    /// Bytes of the content of all objects; with a model their mean.
    pub fn bytes(&self) -> u64 {
        if let Some(model) = self.model {
            return model.mean_bytes().get();
        }
        self.objects.iter().map(|object| object.bytes.get()).sum()
    }

    /// Time from the start of one page to the start of the next. With a model, which draws the time
    /// from the end of one page on, its mean.
    pub fn mean_interval(&self) -> Span {
        self.model.map_or(self.interval, PageModel::mean_reading)
    }

    /// Description of the objects of a page.
    pub fn objects_in_words(&self) -> String {
        let objects = self.objects.len();
        match self.model {
            Some(_) => format!("1 to {objects} objects and {} on average", Bytes(self.bytes())),
            None => format!("{objects} objects and {}", Bytes(self.bytes())),
        }
    }

    /// Parallel connections, at most.
    pub fn most_connections(&self) -> u32 {
        let mut objects = vec![0; self.origins.len()];
        for object in &self.objects {
            objects[object.origin] += 1;
        }
        let of_origin = |objects: &u32| match self.http {
            Http::One => self.connections.min(*objects),
            Http::Two | Http::Three => 1.min(*objects),
        };
        objects.iter().map(of_origin).sum()
    }
}
