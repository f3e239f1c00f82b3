//! Packets of scripts and segments of the simulated TCP, and the fields of `tcp_info`.

use std::collections::BTreeMap;

use drill::{Ecn, Flags, Packet};
use tcp::{Block, Info, Phase, Segment, State};
use units::Span;

use super::{OWN, PEER, Try};

pub(super) fn packet_of(segment: &Segment) -> Packet {
    let syn = segment.flags.contains(tcp::Flags::SYN);
    let block = |block: &Block| (block.start.wrapping_sub(PEER), block.end.wrapping_sub(PEER));
    let is_ack = segment.flags.contains(tcp::Flags::ACK);
    let scale = (syn && segment.window_scale != Segment::NO_SCALE).then_some(segment.window_scale);
    Packet {
        ecn: Some(if segment.is_ecn_capable() { Ecn::Ect0 } else { Ecn::None }),
        flags: Flags(segment.flags.in_one_byte().0),
        start: segment.sequence.wrapping_sub(OWN),
        length: u32::from(segment.payload),
        ack: is_ack.then(|| segment.acknowledgement.wrapping_sub(PEER)),
        window: Some(segment.window),
        options: Some(drill::Options {
            mss: (segment.mss > 0).then_some(segment.mss),
            window_scale: scale,
            sack_permitted: segment.sack_permitted(),
            timestamp: segment.has_timestamps().then_some((segment.timestamp, segment.echo)),
            sack: segment.blocks().iter().map(block).collect(),
        }),
    }
}

pub(super) fn segment_of(packet: &Packet) -> Try<Segment> {
    let options = packet.options.clone().unwrap_or_default();
    let mut segment = Segment {
        sequence: packet.start.wrapping_add(PEER),
        acknowledgement: packet.ack.map_or(0, |ack| ack.wrapping_add(OWN)),
        flags: tcp::Flags(packet.flags.0),
        window: packet.window.unwrap_or(0),
        payload: u16::try_from(packet.length).map_err(|_| "a segment of more than 64 KiB")?,
        mss: options.mss.unwrap_or(0),
        window_scale: options.window_scale.unwrap_or(Segment::NO_SCALE),
        options: tcp::Options::default()
            .with_if(options.timestamp.is_some(), tcp::Options::TIMESTAMPS)
            .with_if(options.sack_permitted, tcp::Options::SACK_PERMITTED)
            .with_if(packet.ecn.is_some_and(|ecn| ecn != Ecn::None), tcp::Options::ECN_CAPABLE),
        ..Segment::default()
    };
    if let Some((value, echo)) = options.timestamp {
        (segment.timestamp, segment.echo) = (value, echo);
    }
    if options.sack.len() > segment.sack.len() {
        return Err("more than four SACK blocks".to_owned());
    }
    for (to, (start, end)) in segment.sack.iter_mut().zip(&options.sack) {
        *to = Block { start: start.wrapping_add(OWN), end: end.wrapping_add(OWN) };
        segment.sack_blocks += 1;
    }
    Ok(segment)
}

/// The names of linux/tcp.h, with its units: segments and microseconds.
pub(super) fn fields(info: &Info) -> BTreeMap<&'static str, i64> {
    let segments = |bytes: u64| bytes.div_ceil(info.mss.max(1)) as i64;
    let micros = |span: Span| (span.as_nanos() / 1000) as i64;
    let bit = |set: bool, bit: i64| if set { bit } else { 0 };
    let recovery = match info.phase {
        Phase::FastRecovery => 3,
        Phase::Timeout => 4,
        Phase::Open if info.reduced_by_mark => 2,
        Phase::Open if info.sacked > 0 => 1,
        Phase::Open => 0,
    };
    let state = match info.state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    };
    let ssthresh = if info.ssthresh == u64::MAX {
        0x7fff_ffff
    } else {
        (info.ssthresh / info.mss.max(1)) as i64
    };
    let mut fields = BTreeMap::from([
        ("tcpi_state", state),
        ("tcpi_ca_state", recovery),
        ("tcpi_retransmits", i64::from(info.timeouts_in_a_row)),
        ("tcpi_probes", i64::from(info.window_probes)),
        (
            "tcpi_options",
            bit(info.timestamps, 1)
                + bit(info.sack, 2)
                + bit(info.own_scale.is_some(), 4)
                + bit(info.ecn, 8),
        ),
        ("tcpi_snd_wscale", info.peer_scale.map_or(0, i64::from)),
        ("tcpi_rcv_wscale", info.own_scale.map_or(0, i64::from)),
        ("tcpi_rto", micros(info.rto)),
        ("tcpi_snd_mss", info.mss as i64),
        ("tcpi_unacked", segments(info.unacked)),
        ("tcpi_sacked", segments(info.sacked)),
        ("tcpi_lost", segments(info.lost)),
        ("tcpi_retrans", segments(info.retransmitted)),
        ("tcpi_rtt", info.srtt.map_or(0, micros)),
        ("tcpi_rttvar", micros(info.rttvar)),
        ("tcpi_min_rtt", info.min_rtt.map_or(-1, micros)),
        ("tcpi_snd_ssthresh", ssthresh),
        ("tcpi_snd_cwnd", (info.cwnd / info.mss.max(1)) as i64),
        ("tcpi_total_retrans", info.retransmissions as i64),
        ("tcpi_bytes_acked", info.acknowledged as i64),
        ("tcpi_bytes_received", info.received as i64),
        ("tcpi_notsent_bytes", info.not_sent as i64),
        ("tcpi_snd_wnd", info.advertised as i64),
    ]);
    if let Some(buffer) = info.receive_tuning {
        fields.insert("tcpi_rcv_ssthresh", buffer.soft_limit as i64);
        fields.insert("tcpi_rcv_space", buffer.in_round_trip as i64);
    }
    fields
}
