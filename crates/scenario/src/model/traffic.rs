//! Applications of flows. All that the laboratory needs to know of one stands here: its amount of
//! data, its connections, its writes, and its description.

use std::sync::Arc;

use applications::{call, messages, speedtest, video};
use units::{Bytes, Rate, Span};

use super::page::{Http, Page};

/// An application.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// `to` opens the connection, sends a request and receives `size` bytes from `from`.
    Download {
        /// Bytes to receive.
        size: Bytes,
        /// Bytes of the request; zero sends as soon as the connection stands.
        request: Bytes,
    },
    /// `from` opens the connection and sends.
    Bulk {
        /// Bytes to send; `None` sends until the run ends.
        size: Option<Bytes>,
    },
    /// `to` fetches pages from `from` by HTTP/1.1.
    Web(Web),
    /// `to` loads pages from `from` as a browser does.
    Page(Arc<Page>),
    /// `from` opens the connection and writes at a constant rate.
    Constant {
        /// Rate, counted without headers.
        rate: Rate,
        /// Bytes of each write.
        message: Bytes,
    },
    /// `from` opens the connection and writes in bursts.
    OnOff {
        /// Rate during a burst, counted without headers.
        rate: Rate,
        /// Bytes of each write.
        message: Bytes,
        /// When it writes.
        pattern: OnOff,
    },
    /// Both talk.
    Call(call::Settings),
    /// `to` asks, and `from` answers.
    Messages(messages::Settings),
    /// `to` plays a video of `from`.
    Video(Arc<video::Settings>),
    /// `to` tests its connection to `from`.
    Speedtest(speedtest::Settings),
}

/// Bursts and silences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean length of a burst.
    pub on: Span,
    /// Mean length of a silence.
    pub off: Span,
    /// Distribution of both.
    pub distribution: Distribution,
}

impl OnOff {
    /// The share of the time that bursts take in the long run.
    pub fn share(&self) -> f64 {
        self.on.as_secs_f64() / (self.on.as_secs_f64() + self.off.as_secs_f64())
    }
}

/// A distribution of lengths, given their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Exponential.
    Exponential,
    /// Pareto, of this shape.
    Pareto {
        /// Above 1: below it there is no mean.
        shape: f64,
    },
    /// Always the mean.
    Constant,
}

/// Web pages over HTTP/1.1 (RFC 9112), or over streams as with HTTP/3 (RFC 9114).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Web {
    /// Pages to fetch; `None` goes on until the run ends.
    pub pages: Option<u32>,
    /// Time from the start of one page to the start of the next.
    pub interval: Span,
    /// Bytes of the main object.
    pub main_object: Bytes,
    /// Number of embedded objects.
    pub embedded_objects: u32,
    /// Bytes of each embedded object.
    pub embedded_object: Bytes,
    /// Bytes of each request.
    pub request: Bytes,
    /// Parallel connections.
    pub connections: u32,
    /// Send requests without waiting for the response to the one before.
    pub pipelining: bool,
    /// Close a connection that has been idle for so long; `None` keeps it open.
    pub keep_alive: Option<Span>,
}

/// Writes of an application with a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writes {
    /// Rate while it writes, counted without headers.
    pub rate: Rate,
    /// Bytes of each write.
    pub message: Bytes,
    /// Bursts and silences; `None` writes all the time.
    pub pattern: Option<OnOff>,
}

impl Writes {
    /// Share of the time during which it writes, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.pattern.map_or(1.0, |pattern| pattern.share())
    }
}

/// Loads of pages, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loading {
    /// Number of loads; `None` goes on until the run ends.
    pub pages: Option<u32>,
    /// Time from the start of one to the start of the next. Of drawn ones the mean from the end of
    /// one.
    pub interval: Span,
    /// Bytes of the content of a page. Of drawn ones the mean.
    pub bytes: u64,
    /// Objects of a page. Of drawn ones the most.
    pub objects: u64,
    /// True if a model draws each page and each interval.
    pub is_drawn: bool,
}

impl Web {
    /// Bytes of all objects of a page.
    pub fn page(&self) -> u64 {
        self.main_object.get() + u64::from(self.embedded_objects) * self.embedded_object.get()
    }
}

impl Traffic {
    /// Its key in the table `traffic` of a scenario.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Download { .. } => "download",
            Self::Bulk { .. } => "bulk",
            Self::Web(_) => "web",
            Self::Page(_) => "page",
            Self::Constant { .. } => "constant",
            Self::OnOff { .. } => "on_off",
            Self::Call(_) => "call",
            Self::Messages(_) => "messages",
            Self::Video(_) => "video",
            Self::Speedtest(_) => "speedtest",
        }
    }

    /// Bytes of a transfer with an end.
    pub fn size(&self) -> Option<Bytes> {
        match *self {
            Self::Download { size, .. } => Some(size),
            Self::Bulk { size } => size,
            Self::Web(_)
            | Self::Page(_)
            | Self::Constant { .. }
            | Self::OnOff { .. }
            | Self::Call(_)
            | Self::Messages(_)
            | Self::Video(_)
            | Self::Speedtest(_) => None,
        }
    }

    /// Writes of an application with a rate of its own.
    pub fn writes(&self) -> Option<Writes> {
        match *self {
            Self::Constant { rate, message } => Some(Writes { rate, message, pattern: None }),
            Self::OnOff { rate, message, pattern } => {
                Some(Writes { rate, message, pattern: Some(pattern) })
            }
            Self::Call(call) => Some(Writes {
                rate: call.payload_rate(),
                message: Bytes(call.payload()),
                pattern: None,
            }),
            Self::Messages(messages) => {
                Some(Writes { rate: messages.rate(), message: messages.answer, pattern: None })
            }
            Self::Download { .. }
            | Self::Bulk { .. }
            | Self::Web(_)
            | Self::Page(_)
            | Self::Video(_)
            | Self::Speedtest(_) => None,
        }
    }

    /// Pages that it fetches.
    pub fn web(&self) -> Option<&Web> {
        if let Self::Web(web) = self { Some(web) } else { None }
    }

    /// Pages that it loads as a browser does.
    pub fn page(&self) -> Option<&Page> {
        if let Self::Page(page) = self { Some(page) } else { None }
    }

    /// Loads of pages; `None` for other applications.
    pub fn loading(&self) -> Option<Loading> {
        let (pages, interval, bytes, objects, is_drawn) = match self {
            Self::Web(web) => {
                (web.pages, web.interval, web.page(), 1 + u64::from(web.embedded_objects), false)
            }
            Self::Page(page) => {
                let objects = page.objects.len() as u64;
                (page.pages, page.mean_interval(), page.bytes(), objects, page.model.is_some())
            }
            _ => return None,
        };
        Some(Loading { pages, interval, bytes, objects, is_drawn })
    }

    /// Returns true if the receiver of the data, `to`, opens the connections.
    pub fn receiver_opens(&self) -> bool {
        match self {
            Self::Download { .. }
            | Self::Web(_)
            | Self::Page(_)
            | Self::Call(_)
            | Self::Messages(_)
            | Self::Video(_)
            | Self::Speedtest(_) => true,
            Self::Bulk { .. } | Self::Constant { .. } | Self::OnOff { .. } => false,
        }
    }

    /// Returns true if it goes on until the run ends.
    pub fn is_endless(&self) -> bool {
        match self {
            Self::Web(web) => web.pages.is_none(),
            Self::Page(page) => page.pages.is_none(),
            Self::Call(call) => call.duration.is_none(),
            Self::Messages(messages) => messages.count.is_none(),
            Self::Download { .. } | Self::Bulk { .. } => self.size().is_none(),
            Self::Constant { .. } | Self::OnOff { .. } => true,
            Self::Video(_) | Self::Speedtest(_) => false,
        }
    }

    /// Returns true if it can begin again, as a new application each time.
    pub fn has_sessions(&self) -> bool {
        match self {
            Self::Download { .. }
            | Self::Page(_)
            | Self::Call(_)
            | Self::Messages(_)
            | Self::Video(_)
            | Self::Speedtest(_) => true,
            Self::Bulk { .. } | Self::Web(_) | Self::Constant { .. } | Self::OnOff { .. } => false,
        }
    }

    /// Returns true if it draws from the seed of a run. Sessions draw, too.
    pub fn is_drawn(&self) -> bool {
        match self {
            Self::OnOff { .. } => true,
            Self::Page(page) => page.model.is_some(),
            Self::Download { .. }
            | Self::Bulk { .. }
            | Self::Web(_)
            | Self::Constant { .. }
            | Self::Call(_)
            | Self::Messages(_)
            | Self::Video(_)
            | Self::Speedtest(_) => false,
        }
    }

    /// The least time to its end, whatever the path does, and the part of it that takes so long;
    /// `None` if it has no end, or only the path decides.
    pub fn least_time(&self) -> Option<(Span, &'static str)> {
        let every = |interval: Span, times: u32| interval * u64::from(times.saturating_sub(1));
        match self {
            Self::Video(video) => Some((video.played(), "its video")),
            Self::Speedtest(test) => Some((test.idle + test.duration * 2 + test.pause, "the test")),
            Self::Call(call) => Some((call.duration?, "the call")),
            Self::Messages(messages) => {
                Some((every(messages.interval, messages.count?), "the last request"))
            }
            Self::Web(_) | Self::Page(_) => {
                let loading = self.loading().filter(|loading| !loading.is_drawn)?;
                Some((every(loading.interval, loading.pages?), "the start of the last page"))
            }
            Self::Download { .. }
            | Self::Bulk { .. }
            | Self::Constant { .. }
            | Self::OnOff { .. } => None,
        }
    }

    /// Parallel connections.
    pub fn connections(&self) -> u32 {
        match self {
            Self::Web(web) => web.connections,
            Self::Page(page) => page.most_connections(),
            Self::Speedtest(test) => test.connections,
            _ => 1,
        }
    }

    /// Returns true if it cannot do without datagrams.
    pub fn needs_datagrams(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// Payload in bytes of the datagrams of `from` and of `to`, if datagrams carry it.
    pub fn datagrams(&self) -> Option<[u64; 2]> {
        match self {
            Self::Call(call) => Some([call.payload(); 2]),
            Self::Messages(messages) => Some([messages.answer.get(), messages.request.get()]),
            Self::Download { .. }
            | Self::Bulk { .. }
            | Self::Web(_)
            | Self::Page(_)
            | Self::Constant { .. }
            | Self::OnOff { .. }
            | Self::Video(_)
            | Self::Speedtest(_) => None,
        }
    }

    /// Streams of a connection of QUIC that may have data at the same time.
    pub fn streams(&self) -> u64 {
        let objects = match self {
            Self::Web(web) if web.pipelining => {
                u64::from(web.embedded_objects.div_ceil(web.connections.max(1)))
            }
            Self::Page(page) if page.http == Http::Three => page.objects.len() as u64,
            _ => 1,
        };
        objects.clamp(1, quic::Settings::OPEN_REQUESTS)
    }

    /// Description of the application between the nodes `from`, which has the data, and `to`.
    pub fn summary(&self, from: &str, to: &str) -> String {
        match self {
            Self::Download { size, .. } => format!("{to} downloads {size} from {from}"),
            Self::Bulk { size: Some(size) } => format!("{from} sends {size} to {to}"),
            Self::Bulk { size: None } => format!("{from} sends to {to} without end"),
            Self::Web(web) => format!(
                "{to} fetches pages of {} + {} x {} from {from}",
                web.main_object, web.embedded_objects, web.embedded_object
            ),
            Self::Page(page) => format!(
                "{to} loads the page {} of {} from {from} by HTTP/{}",
                page.site,
                page.objects_in_words(),
                page.http.name()
            ),
            Self::Constant { rate, .. } => format!("{from} writes {rate} to {to}"),
            Self::OnOff { rate, pattern, .. } => format!(
                "{from} writes {rate} to {to} for {} at a time, with {} between, on average",
                pattern.on, pattern.off
            ),
            Self::Call(call) => format!(
                "{from} and {to} talk with {} at {}, in packets of {}",
                call.codec.name(),
                call.rate(),
                call.frame
            ),
            Self::Messages(messages) => format!(
                "{to} sends {} to {from} every {}, and gets {} back",
                messages.request, messages.interval, messages.answer
            ),
            Self::Video(video) => format!(
                "{to} plays {} of video from {from}, chosen by {}",
                video.played(),
                video.rule.name()
            ),
            Self::Speedtest(test) => format!(
                "{to} tests the speed from and to {from} for {} each, over {} connections",
                test.duration, test.connections
            ),
        }
    }
}
