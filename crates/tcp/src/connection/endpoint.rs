//! A connection as an endpoint of any transport.

use congestion::Controller;
use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limits, Sample};
use units::Time;
use wire::feedback::Field;

use crate::segment::Segment;

use super::Connection;

impl Endpoint for Connection {
    type Packet = Segment;

    #[inline]
    fn connect(&mut self) {
        Self::connect(self);
    }

    #[inline]
    fn listen(&mut self) {
        Self::listen(self);
    }

    #[inline]
    fn on_congestion_experienced(&mut self) {
        Self::on_congestion_experienced(self);
    }

    #[inline]
    fn may_send(&self) -> bool {
        Self::may_send(self)
    }

    #[inline]
    fn may_have_low_priority(&self) -> bool {
        Self::may_have_low_priority(self)
    }

    #[inline]
    fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
        Self::next_of_low_priority(self, now)
    }

    #[inline]
    fn deadline(&self) -> Time {
        Self::deadline(self)
    }

    #[inline]
    fn on_deadline(&mut self, now: Time) {
        Self::on_deadline(self, now);
    }

    #[inline]
    fn write(&mut self, bytes: u64) {
        Self::write(self, bytes);
    }

    #[inline]
    fn withdraw(&mut self) -> u64 {
        Self::withdraw(self)
    }

    #[inline]
    fn read(&mut self, bytes: u64) {
        Self::read(self, bytes);
    }

    #[inline]
    fn unread(&self) -> u64 {
        Self::unread(self)
    }

    #[inline]
    fn delivered(&self) -> u64 {
        Self::delivered(self)
    }

    #[inline]
    fn close(&mut self) {
        Self::close(self);
    }

    #[inline]
    fn abort_cause(&self) -> Option<AbortCause> {
        Self::abort_cause(self)
    }

    #[inline]
    fn counters(&self) -> &Counters {
        Self::counters(self)
    }

    // The loops of a run over TCP and of one over several protocols call these two. They would be
    // calls in both, with the segment in memory.
    #[inline(always)]
    fn on_packet(&mut self, now: Time, packet: &Segment) {
        self.on_segment(now, packet);
    }

    fn on_marked_packet(&mut self, now: Time, packet: &Segment) {
        self.on_marked_segment(now, packet);
    }

    #[inline(always)]
    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        self.next_segment(now)
    }

    fn take_field(&mut self, packet: &Segment) -> Field {
        Self::take_field(self, packet)
    }

    fn on_field(&mut self, now: Time, field: &Field) {
        Self::on_field(self, now, field);
    }

    fn rtt_samples(&self) -> &Sketch {
        self.rtt().samples()
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.halves.sender.limits(now))
    }

    fn sample(&self) -> Sample {
        let window = self.controller().window();
        Sample {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            flight: self.flight(),
            srtt: self.rtt().srtt(),
            min_rtt: self.rtt().min(),
            rto: self.rtt().rto(),
        }
    }
}
