//! Pages as people write them: the types behind the key `traffic.page` and files of pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

use crate::document::FileName;
use crate::model::{Http, Milestone};

/// A page that is loaded as a browser does: names are looked up, connections are opened and
/// secured, and each object is requested once what it depends on is there.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Page {
    /// Name of a built-in page, made for this laboratory after pages of its kind: `"news"`,
    /// `"shop"`, `"search"` or `"application"`. Give one of `site`, `file`, `objects` and `model`.
    pub site: Option<Site>,
    /// File with a page: a list `[[objects]]` with the keys of `objects`, as `bentpipe page import`
    /// writes it.
    #[schemars(extend("examples" = ["page.toml"]))]
    pub file: Option<FileName>,
    /// The objects of the page. The first one is the document with which loading starts.
    #[schemars(length(min = 1))]
    pub objects: Option<Vec<Object>>,
    /// Model that draws each page: `"3gpp"`, that of 3GPP2 and 3GPP for web browsing. A main object
    /// (lognormal, mean 10.7 kB), 0 to 52 embedded ones (Pareto; lognormal, mean 8.2 kB), and an
    /// exponential time of 130 ms between them. The seed of the run and the number of the flow
    /// decide on the pages, so all controllers load the same ones.
    pub model: Option<Model>,
    /// Version of HTTP: `"1.1"` and `"2"` over TCP, `"3"` over QUIC. Default: `"2"`, and `"3"` over
    /// QUIC. That a server speaks HTTP/3 is known before the page, as from a DNS record.
    pub http: Option<HttpVersion>,
    /// Version of TLS, or `"off"`. Over QUIC, which has its own handshake with TLS 1.3, only
    /// `"1.3"`. Default: `"1.3"`.
    pub tls: Option<TlsVersion>,
    /// State that the browser has from an earlier connection: `"none"`, a full handshake;
    /// `"session"`, one without certificates; `"early-data"`, requests in the first flight (TLS 1.3
    /// only, RFC 8446 section 2.3). Over QUIC `transport.zero_rtt` takes its place. Default:
    /// `"none"`.
    pub resumption: Option<Resumption>,
    /// Key share of the browser. `"x25519mlkem768"`, the default of browsers since 2024, makes
    /// each hello about 1.1 kB longer, is that of TLS 1.3 only. Default: `"x25519mlkem768"`, and
    /// `"x25519"` with TLS 1.2.
    pub key_share: Option<KeyShare>,
    /// Bytes of the server's certificates. Default: 2600 B, a reconstructed chain of two with ECDSA
    /// keys; chains with RSA keys have 3 to 5 kB.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MB"))]
    pub certificates: Option<Bytes>,
    /// Time of the lookup of an origin's name, once for each origin and page. With `resolver =
    /// "remote"`, the time of the resolver from the query to the answer. Default: 0s. Without
    /// `resolver` the names are then known.
    #[schemars(extend("x-maximum" = "1h"))]
    pub dns: Option<Span>,
    /// Place of the resolver: `"terminal"`, at the node `to`, so a lookup takes `dns` and sends no
    /// packets; `"remote"`, at the node `from`, so each lookup is a query and an answer over UDP,
    /// which queue and can be lost. A query without an answer is sent again after 5 s, the default
    /// of glibc (resolv.conf(5)). Default: `"terminal"`.
    pub resolver: Option<Resolver>,
    /// Parallel connections to each origin with HTTP/1.1. Default: 6, as browsers have them.
    #[schemars(range(min = 1, max = 1000))]
    pub connections: Option<u32>,
    /// Connections to the origin of the first object that are opened at once with HTTP/1.1, before
    /// requests wait for them. Chromium opens 2. Default: that of the file, or 1.
    #[schemars(range(min = 1, max = 1000))]
    pub preconnect: Option<u32>,
    /// Bytes of a request. Default (reconstructed): 600 B with HTTP/1.1; with HTTP/2 and HTTP/3,
    /// which compress headers, 350 B on a new connection and then 80 B. With `model` 328 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MB"))]
    pub request: Option<Bytes>,
    /// Bytes of the header of an answer. Default (reconstructed): 450 B with HTTP/1.1; with HTTP/2
    /// and HTTP/3 200 B on a new connection and then 80 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MB"))]
    pub header: Option<Bytes>,
    /// Number of loads, or `"unlimited"` until the run ends. Default: 1.
    pub pages: Option<Pages>,
    /// Time from the start of one load to the start of the next. A load that lasts longer is not
    /// interrupted. Default: 30 s. With `model` there is no interval: the next page starts after an
    /// exponential reading time of 30 s from the end of the one before.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Option<Span>,
    /// State of the browser at each load after the first: `"cold"` closes all connections and
    /// forgets all names, `"warm"` keeps them. Objects are never cached. Default: `"cold"`.
    pub visits: Option<Visits>,
}

/// A file with a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Page of Bentpipe")]
pub(crate) struct PageFile {
    /// Where the page is from.
    #[serde(default)]
    #[schemars(extend("examples" = ["https://shop.example/ of shop.har"]))]
    pub source: Option<String>,
    /// Connections to the origin of the first object that the browser opens at once with HTTP/1.1,
    /// before requests wait for them. Default: 1.
    #[schemars(range(min = 1, max = 1000))]
    pub preconnect: Option<u32>,
    /// The objects of the page. The first one is the document with which loading starts.
    #[schemars(length(min = 1))]
    pub objects: Vec<Object>,
}

/// An object of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Object {
    /// Name, unique within the page.
    #[schemars(length(min = 1, max = 1000), extend("examples" = ["style"]))]
    pub name: String,
    /// Name of its origin: objects of one origin share connections, and the lookup of its name. All
    /// origins are at the node `from` of the flow. Default: the origin of the first object.
    #[schemars(length(min = 1, max = 1000), extend("examples" = ["images.example"]))]
    pub origin: Option<String>,
    /// Bytes of its content.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub bytes: Bytes,
    /// Kind of object, which decides on its urgency (RFC 9218): `"document"` and `"style"` 0,
    /// `"font"` and `"script"` 1, `"data"` 2, `"image"` 4, whose answers share the connection.
    /// These values are our choice. Default: `"document"` for the first object, then `"image"`.
    pub kind: Option<Kind>,
    /// Time from the arrival of the request at the server to the first byte of the answer.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1h"))]
    pub server_time: Span,
    /// Time that the browser computes once the object has arrived. One object computes at a time.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1h"))]
    pub compute: Span,
    /// The objects that it waits for: the name of one, which must have been computed, or a list of
    /// tables. Default: the first object has been computed.
    pub after: Option<Dependencies>,
    /// Number of objects like this one, called `name.0` and so on. Other objects cannot wait for
    /// them.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// A name, or a list of dependencies.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Dependencies {
    Name(ObjectName),
    List(Vec<Dependency>),
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("examples" = ["style"]))]
pub(crate) struct ObjectName(pub String);

/// A dependency.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Dependency {
    /// Name of the object that must be there first.
    pub object: ObjectName,
    /// Part of it that must have happened: `"first-byte"`, `"done"`, all its bytes have arrived, or
    /// `"computed"`.
    #[serde(default)]
    pub at: At,
    /// Time from then to the request.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1h"))]
    pub delay: Span,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(inline)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }
    };
}

words! {
    /// A built-in page.
    Site {
        #[default]
        News = "news",
        Shop = "shop",
        Search = "search",
        Application = "application",
    }
}

words! {
    /// A model of pages.
    Model {
        #[default]
        ThreeGpp = "3gpp",
    }
}

words! {
    /// A version of HTTP.
    HttpVersion {
        One = "1.1",
        #[default]
        Two = "2",
        Three = "3",
    }
}

words! {
    /// A version of TLS.
    TlsVersion {
        #[default]
        Three = "1.3",
        Two = "1.2",
        Off = "off",
    }
}

words! {
    /// State of an earlier connection.
    Resumption {
        #[default]
        None = "none",
        Session = "session",
        EarlyData = "early-data",
    }
}

words! {
    /// The key share in the hello of the browser.
    KeyShare {
        #[default]
        Hybrid = "x25519mlkem768",
        Classic = "x25519",
    }
}

words! {
    /// Place of the resolver of names.
    Resolver {
        #[default]
        Terminal = "terminal",
        Remote = "remote",
    }
}

words! {
    /// State of the browser at later loads.
    Visits {
        #[default]
        Cold = "cold",
        Warm = "warm",
    }
}

words! {
    /// Kinds of objects.
    Kind {
        Document = "document",
        Style = "style",
        Font = "font",
        Script = "script",
        Data = "data",
        #[default]
        Image = "image",
    }
}

words! {
    /// Something that happens to an object.
    At {
        FirstByte = "first-byte",
        Done = "done",
        #[default]
        Computed = "computed",
    }
}

words! {
    /// Until the run ends.
    Endless {
        #[default]
        Unlimited = "unlimited",
    }
}

/// A number, or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Pages {
    Endless(Endless),
    Number(#[schemars(range(min = 1))] u32),
}

impl Site {
    /// The name of the site, and its file.
    pub(super) fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::News => ("news", include_str!("sites/news.toml")),
            Self::Shop => ("shop", include_str!("sites/shop.toml")),
            Self::Search => ("search", include_str!("sites/search.toml")),
            Self::Application => ("application", include_str!("sites/application.toml")),
        }
    }
}

impl Kind {
    /// Urgency, and true for objects whose answers share the connection (RFC 9218).
    pub(super) fn priority(self) -> (u8, bool) {
        match self {
            Self::Document | Self::Style => (0, false),
            Self::Font | Self::Script => (1, false),
            Self::Data => (2, false),
            Self::Image => (4, true),
        }
    }
}

impl From<HttpVersion> for Http {
    fn from(version: HttpVersion) -> Self {
        match version {
            HttpVersion::One => Self::One,
            HttpVersion::Two => Self::Two,
            HttpVersion::Three => Self::Three,
        }
    }
}

impl From<At> for Milestone {
    fn from(at: At) -> Self {
        match at {
            At::FirstByte => Self::FirstByte,
            At::Done => Self::Done,
            At::Computed => Self::Computed,
        }
    }
}
