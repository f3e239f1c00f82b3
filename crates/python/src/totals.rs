//! Totals of a recording as objects. Their attributes are the fields of the engine's records.

use std::borrow::Cow;

use pyo3::prelude::*;
use recording::{
    FlowRecord, KernelRecord, LinkRecord, ObjectRecord, PageRecord, ProtocolRecord, QuicRecord,
    RateRecord, SctpRecord, SettingRecord, StpRecord, TcpRecord, UdpRecord, XtpRecord,
};

use crate::record::{Native, class};

recording::flow_record!(class {
    Flow;
    /// Totals of TCP and SCPS-TP; None for another protocol.
    tcp: Option<TcpTotals> = |flow| flow.protocol.tcp().map(TcpTotals::from),
    /// Totals that only QUIC has; None for another protocol.
    quic: Option<QuicTotals> = |flow| flow.protocol.quic().map(QuicTotals::from),
    /// Totals that only STP has; None for another protocol.
    stp: Option<StpTotals> = |flow| flow.protocol.stp().map(StpTotals::from),
    /// Totals that only XTP has; None for another protocol.
    xtp: Option<XtpTotals> = |flow| flow.protocol.xtp().map(XtpTotals::from),
    /// Totals that only SCTP has; None for another protocol.
    sctp: Option<SctpTotals> = |flow| flow.protocol.sctp().map(SctpTotals::from),
    /// Totals that only UDP has; None for another protocol.
    udp: Option<UdpTotals> = |flow| flow.protocol.udp().map(UdpTotals::from),
});
recording::tcp_record!(class { TcpTotals; });
recording::quic_record!(class { QuicTotals; });
recording::stp_record!(class { StpTotals; });
recording::xtp_record!(class { XtpTotals; });
recording::udp_record!(class { UdpTotals; });
recording::sctp_record!(class { SctpTotals; });
recording::page_record!(class { Page; });
recording::object_record!(class { PageObject; });
recording::link_record!(class { Link; });
recording::kernel_record!(class { KernelQuality; });
recording::rate_record!(class { LinkRate; });
recording::setting_record!(class { KernelSetting; });

impl Native for ProtocolRecord {
    type Attribute = &'static str;

    fn attribute(&self) -> &'static str {
        self.name()
    }
}
