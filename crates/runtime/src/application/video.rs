//! Adaptive video: a player that fetches segments over one connection at a time, by HTTP/1.1 or
//! over streams as with HTTP/3.
//!
//! A download that is given up ends its connection, as browsers end one of HTTP/1.1, and the next
//! request has a new connection.

use std::sync::Arc;

use applications::video::{Download, Fetch, Next, Played, Player, Segment, Settings};
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::model::Traffic;
use units::{Span, Time};

use super::channel::Channel;
use super::machine::{Driver, Entity, Task};
use super::{Context, EndpointId};

/// Time between two looks at a download, as in Sabre.
const LOOK: Span = Span::from_millis(50);

extra_table! {
    /// Videos: one row for each.
    pub(super) Videos("video") of VideoRow {
        /// Name of the flow.
        flow: String,
        /// Rule that chose bit rates.
        rule: String,
        /// Time from the first request to the first picture in seconds, with the set-up of the
        /// connection. Null if there was none.
        start_up_s: f64,
        /// Video that was played, in seconds.
        played_s: f64,
        /// Stalls after the first picture.
        stalls: u64,
        /// Duration of all stalls in seconds.
        stalled_s: f64,
        /// Share of stalls in the time after the first picture, from 0 to 1.
        stall_ratio: f64,
        /// Mean bit rate of the segments that were played, in bit/s.
        mean_bitrate_bps: f64,
        /// Changes of the bit rate.
        switches: u64,
        /// Reward of robust MPC for each segment: Mbit/s, less 4.3 for each second of stalls, less
        /// changes in Mbit/s.
        reward: f64,
        /// Segments that were fetched.
        fetched: u64,
        /// Downloads that were given up.
        given_up: u64,
        /// Number of times that the congestion window started again after idle time. Null where the
        /// transport does not count them.
        [count] window_restarts: f64,
    }
}

extra_table! {
    /// Segments of videos, in the order of their arrival.
    pub(super) Segments("video_segment_series") of SegmentRow {
        /// Number of the flow.
        flow: u32,
        /// Time of arrival in seconds.
        t_s: f64,
        /// Number of the segment.
        segment: u32,
        /// Bit rate in bit/s.
        bitrate_bps: f64,
        /// Bytes of the segment.
        bytes: u64,
        /// Time from the request to the first byte in milliseconds.
        first_byte_ms: f64,
        /// Time from the request to the last byte in milliseconds.
        download_ms: f64,
        /// Video in the buffer after it in seconds.
        buffer_s: f64,
    }
}

extra_table! {
    /// Stalls of videos.
    pub(super) Stalls("video_stall_series") of StallRow {
        /// Number of the flow.
        flow: u32,
        /// Video that was played before it, in seconds.
        at_s: f64,
        /// Its duration in seconds.
        duration_s: f64,
    }
}

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
struct Underway {
    fetch: Fetch,
    asked: Time,
    /// Bytes that had arrived on the connection before.
    before: u64,
    first_byte: Option<Time>,
}

/// A video with its connection.
#[derive(Clone, Debug)]
pub(super) struct Viewer {
    settings: Arc<Settings>,
    player: Player,
    channel: Option<Channel>,
    /// Time up to which the player has played.
    played_to: Time,
    underway: Option<Underway>,
    /// When there is something to do without an event of the network.
    due: Time,
    segments: Vec<(Time, Segment)>,
    /// Restarts of the windows of connections that have ended, and of the present one.
    restarts: [Option<u32>; 2],
    is_stopped: bool,
    is_over: bool,
}

impl Viewer {
    fn play_to(&mut self, now: Time) {
        self.player.advance(now.since(self.played_to).as_millis_f64());
        self.played_to = now;
    }

    fn wake(&mut self, context: &mut Context<'_>, at: Time) {
        self.due = at;
        context.connections.wake_application(at);
    }

    /// Does what the player wants next. Returns true when all is played.
    fn go_on(&mut self, context: &mut Context<'_>) -> bool {
        let wait = match self.player.step() {
            Next::Wait(time) => time,
            Next::PlayOut if self.player.level() > 0.0 => self.player.level(),
            Next::PlayOut => {
                self.is_over = true;
                self.hang_up(context);
                return true;
            }
            Next::Fetch(fetch) => {
                self.ask(context, fetch);
                return false;
            }
        };
        // At least a nanosecond, so that rounding does not keep the clock where it is.
        let wait = Span::from_secs_f64(wait / 1e3).max(Span::from_nanos(1));
        self.wake(context, context.now + wait);
        false
    }

    fn ask(&mut self, context: &mut Context<'_>, fetch: Fetch) {
        if self.channel.as_ref().is_some_and(|channel| !channel.is_open(context)) {
            self.channel = None;
        }
        let channel = self.channel.get_or_insert_with(|| Channel::open(context));
        let before = context.connections.delivered(channel.pair.receiver);
        let bytes = bytes(fetch.bits);
        channel.ask(context, self.settings.request.get(), (fetch.segment, bytes));
        context.connections.wake_at(channel.pair.receiver, before + 1);
        self.underway = Some(Underway { fetch, asked: context.now, before, first_byte: None });
        self.wake(context, context.now + LOOK);
    }

    /// The download of the segment that is on its way, so far.
    fn download(&self, context: &Context<'_>, underway: &Underway) -> Option<Download> {
        let pair = self.channel.as_ref()?.pair;
        let arrived = context.connections.delivered(pair.receiver) - underway.before;
        let since = |at: Time| at.since(underway.asked).as_millis_f64();
        Some(Download {
            time: since(context.now),
            first_byte: since(underway.first_byte?),
            bits: (arrived as f64 * 8.0).min(underway.fetch.bits),
            gave_up: None,
        })
    }

    /// Looks whether the rule gives up the download.
    fn look(&mut self, context: &mut Context<'_>) -> bool {
        let Some(underway) = self.underway else { return self.go_on(context) };
        let download = self.download(context, &underway);
        let given_up = download.and_then(|download| {
            let gave_up = self.player.would_give_up(&download);
            gave_up.map(|_| Download { gave_up, ..download })
        });
        let Some(download) = given_up else {
            self.wake(context, context.now + LOOK);
            return false;
        };
        self.hang_up(context);
        self.underway = None;
        self.player.finish(download);
        self.go_on(context)
    }

    /// Ends the connection.
    fn hang_up(&mut self, context: &mut Context<'_>) {
        self.count_restarts(context);
        let Some(channel) = self.channel.take() else { return };
        let [ended, current] = self.restarts;
        self.restarts = [ended.zip(current).map(|(a, b)| a + b), Some(0)];
        context.connections.withdraw(channel.pair.sender);
        context.connections.close(channel.pair.receiver);
        context.connections.close(channel.pair.sender);
        context.connections.wake_at(channel.pair.receiver, u64::MAX);
        context.connections.wake_at(channel.pair.sender, u64::MAX);
    }

    fn count_restarts(&mut self, context: &Context<'_>) {
        let Some(channel) = &self.channel else { return };
        self.restarts[1] = context.connections.window_restarts(channel.pair.sender);
    }

    /// Something has arrived at the player.
    fn on_data(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(underway) = &mut self.underway else { return false };
        if underway.first_byte.is_none()
            && context.connections.delivered(endpoint) > underway.before
        {
            underway.first_byte = Some(context.now);
        }
        let underway = *underway;
        let Some(channel) = &mut self.channel else { return false };
        if channel.take_received(context).is_none() {
            context.connections.wake_at(endpoint, u64::MAX);
            channel.watch(context);
            return false;
        }
        let Some(download) = self.download(context, &underway) else { return false };
        let download = Download { bits: underway.fetch.bits, ..download };
        self.underway = None;
        self.count_restarts(context);
        let segment = self.player.finish(download);
        self.segments.extend(segment.map(|segment| (context.now, segment)));
        self.go_on(context)
    }

    /// Sum of the restarts of all connections.
    fn window_restarts(&self) -> f64 {
        let [ended, current] = self.restarts;
        ended.zip(current).map_or(f64::NAN, |(a, b)| f64::from(a + b))
    }
}

/// Whole bytes of a size in bits.
fn bytes(bits: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are whole, positive and below a terabyte"
    )]
    let bytes = (bits / 8.0).ceil() as u64;
    bytes.max(1)
}

impl Driver for Viewer {
    const TABLES: &'static [TableDefinition] =
        &[Videos::DEFINITION, Segments::DEFINITION, Stalls::DEFINITION];

    fn of(task: &Task, entity: &Entity) -> Option<Self> {
        let Traffic::Video(settings) = &task.traffic else { return None };
        let start = entity.start;
        let buffer = settings.buffer.as_millis_f64();
        Some(Self {
            player: Player::new(settings.movie(), buffer, settings.rule),
            settings: settings.clone(),
            channel: None,
            played_to: start,
            underway: None,
            due: start,
            segments: Vec::new(),
            restarts: [Some(0), Some(0)],
            is_stopped: false,
            is_over: false,
        })
    }

    fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
        self.play_to(context.now);
        if self.is_stopped {
            self.hang_up(context);
            return true;
        }
        // Entries that were overtaken do nothing.
        context.now >= self.due && self.look(context)
    }

    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(channel) = &mut self.channel else { return false };
        if !channel.pair.has(endpoint) {
            context.connections.wake_at(endpoint, u64::MAX);
            return false;
        }
        self.play_to(context.now);
        let Some(channel) = &mut self.channel else { return false };
        if endpoint == channel.pair.receiver {
            return self.on_data(context, endpoint);
        }
        channel.answer(context);
        if let Some(underway) = self.underway.filter(|underway| underway.first_byte.is_none()) {
            context.connections.wake_at(channel.pair.receiver, underway.before + 1);
        }
        false
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }

    fn is_cut_short(&self) -> bool {
        self.is_stopped && !self.is_over
    }

    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        _end: Time,
    ) -> Vec<ExtraTable> {
        let mut videos = Videos::default();
        let (mut segments, mut stalls) = (Segments::default(), Stalls::default());
        for (number, flow, viewer) in all {
            videos.push(viewer.row(flow));
            for (at, segment) in &viewer.segments {
                segments.push(viewer.segment(number, *at, segment));
            }
            for (at, duration) in viewer.player.played().stalls {
                let (at_s, duration_s) = (at / 1e3, duration / 1e3);
                stalls.push(StallRow { flow: number, at_s, duration_s });
            }
        }
        vec![videos.into_table(), segments.into_table(), stalls.into_table()]
    }
}

impl Viewer {
    fn row(&self, flow: &str) -> VideoRow {
        let played = self.player.played();
        let after = played.video() + played.stalled();
        let Played { start_up, switches, given_up, .. } = played;
        VideoRow {
            flow: flow.to_owned(),
            rule: self.settings.rule.name().to_owned(),
            start_up_s: start_up.map_or(f64::NAN, |time| time / 1e3),
            played_s: played.video() / 1e3,
            stalls: played.stalls.len() as u64,
            stalled_s: played.stalled() / 1e3,
            stall_ratio: if after > 0.0 { played.stalled() / after } else { f64::NAN },
            mean_bitrate_bps: 1e3 * played.mean_bitrate(),
            switches,
            reward: played.reward(),
            fetched: self.segments.len() as u64,
            given_up,
            window_restarts: self.window_restarts(),
        }
    }

    fn segment(&self, flow: u32, at: Time, segment: &Segment) -> SegmentRow {
        SegmentRow {
            flow,
            t_s: at.as_secs_f64(),
            segment: u32::try_from(segment.number).unwrap_or(u32::MAX),
            bitrate_bps: 1e3 * self.player.bitrate(segment.quality),
            bytes: bytes(segment.bits),
            first_byte_ms: segment.first_byte,
            download_ms: segment.time,
            buffer_s: segment.level / 1e3,
        }
    }
}
