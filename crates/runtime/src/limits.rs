//! Limits of flows over time.

use recording::{ExtraTable, extra_table};
use transport::{Limit, Limits};
use units::Time;

extra_table! {
    /// Time of the senders by what held them back, at the times of the series of flows.
    pub(crate) Series("limits_series") of Row {
        /// Number of the flow.
        flow: u32,
        /// Number of the leg, in the order in which the data passes; 0 if no gateway splits the
        /// flow.
        leg: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Seconds since the start that the limits divide.
        limited_s: f64,
        /// Seconds of them that were limited by the set-up of connections; NaN if it is not
        /// measured, as in the other columns.
        set_up_s: f64,
        /// Seconds of them that were limited by the congestion window.
        congestion_window_s: f64,
        /// Seconds of them that were limited by the window of the receiver.
        receive_window_s: f64,
        /// Seconds of them that were limited by the send buffer.
        send_buffer_s: f64,
        /// Seconds of them that were limited by the application.
        application_s: f64,
        /// Seconds of them that were limited by repairs of losses.
        recovery_s: f64,
        /// Seconds of them that were limited by departure times.
        pacing_s: f64,
    }
}

/// Collects the limits of flows and legs over time.
#[derive(Clone, Debug, Default)]
pub struct LimitSeries(Series);

impl LimitSeries {
    /// Adds a row, if the limits are measured.
    pub fn push(&mut self, at: Time, flow: usize, leg: u32, limits: Option<Limits>) {
        let Some(limits) = limits else { return };
        #[expect(clippy::expect_used, reason = "the scenario bounds them")]
        let flow = u32::try_from(flow).expect("a scenario has a million flows at most");
        let seconds = |limit| limits.time(limit).map_or(f64::NAN, |time| time.as_secs_f64());
        self.0.push(Row {
            flow,
            leg,
            t_s: at.as_secs_f64(),
            limited_s: limits.total().as_secs_f64(),
            set_up_s: seconds(Limit::SetUp),
            congestion_window_s: seconds(Limit::CongestionWindow),
            receive_window_s: seconds(Limit::ReceiveWindow),
            send_buffer_s: seconds(Limit::SendBuffer),
            application_s: seconds(Limit::Application),
            recovery_s: seconds(Limit::Recovery),
            pacing_s: seconds(Limit::Pacing),
        });
    }

    /// The table; `None` without rows.
    pub fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }
}
