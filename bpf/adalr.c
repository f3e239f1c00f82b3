// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * TCP-ADaLR: TCP with adaptive delay and loss response for GEO satellite networks, as far as it is
 * congestion control.
 *
 * Source: M. Omueti, L. Trajkovic, "TCP-ADaLR: TCP with adaptive delay and loss response for
 * broadband GEO satellite networks", conference slides of 26 June 2007 and thesis talk, 2007. With
 * rho = 60 RTT / 1 s, from 1 to 60, on a long path (rho >= 15, an RTT of 250 ms):
 *
 *   slow start: W += sqrt(rho) / 4 for each segment, without a loss so far, in the sub-phases
 *   avoidance:  W += sqrt(rho) / (2 W) for each ACK, after a loss or while less than half of the
 *               advertised window is in flight
 *
 * Elsewhere, and after losses and timeouts, it is standard TCP. The definition, with what the
 * slides leave open, is crates/congestion/src/controllers/adalr.rs.
 *
 * What a controller of the kernel cannot do and this one does not:
 *
 * - The adaptive increase of the advertised window. The sender would send more than the receiver
 *   has promised to take, which breaks flow control, and the kernel rightly keeps the window that
 *   was advertised out of a controller's reach. The increase makes up for receivers whose buffer is
 *   smaller than the bandwidth-delay product; what an operator sets instead is that buffer, at the
 *   receiver: net.ipv4.tcp_rmem (its third number, from bandwidth times RTT up to twice that) with
 *   net.ipv4.tcp_window_scaling = 1, and net.ipv4.tcp_wmem at the sender.
 * - The 0.2 s that are added to each RTO: `ip route change ... rto_min` sets the least one.
 * - The second segment for a partial ACK and the limit of three retransmissions: recovery belongs to
 *   the kernel (RACK-TLP and proportional rate reduction).
 */
#include "log.h"

#define ADALR_RHO_PER_SECOND 60
#define ADALR_RHO_BITS 32
#define ADALR_LARGEST_RHO (60ULL << ADALR_RHO_BITS)
#define ADALR_RHO_OF_A_LONG_PATH (15ULL << ADALR_RHO_BITS)
/* Half of the bits that rho has behind the point, and of those by which it is shifted. */
#define ADALR_ROOT_BITS 28
#define ADALR_ROOT_SHIFT (2 * ADALR_ROOT_BITS - ADALR_RHO_BITS)

struct parameters {
	u64 rtt_tick;	/* microseconds */
};

BP_PARAMETERS = {
	.rtt_tick = 0,
};

struct adalr {
	struct bp_window window;
	/* Zero before the first sample. */
	u64 rho;
	/* sqrt(rho). */
	u64 root;
	bool lossy;
};
BP_FITS(struct adalr);

BP_INIT(adalr)

SEC("struct_ops")
void BPF_PROG(adalr_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct adalr *ca = bp_state(sk);
	u64 tick = parameters.rtt_tick;
	u64 rtt;

	if (sample->rtt_us <= 0)
		return;
	rtt = sample->rtt_us;
	if (tick)
		rtt = (rtt + tick - 1) / tick * tick;
	ca->rho = bp_clamp(bp_mul_div(rtt * ADALR_RHO_PER_SECOND, 1ULL << ADALR_RHO_BITS, BP_SECOND),
			   1ULL << ADALR_RHO_BITS, ADALR_LARGEST_RHO);
	ca->root = bp_sqrt(ca->rho << ADALR_ROOT_SHIFT);
}

/* Slide "Slow start sub-phases": the union of the four. */
BP_INLINE bool adalr_in_a_sub_phase(const struct adalr *ca, const struct tcp_sock *tp)
{
	u64 ssthresh = bp_ssthresh(tp, &ca->window);
	u64 flight = (u64)tp->packets_out * tp->mss_cache;
	u64 advertised = tp->snd_wnd;

	if (flight < advertised / 4)
		return ca->window.cwnd <= ssthresh / 2;
	return flight < advertised / 2 && ca->window.cwnd > ssthresh / 4;
}

BP_INLINE bool adalr_path_is_long(const struct adalr *ca)
{
	return ca->rho >= ADALR_RHO_OF_A_LONG_PATH;
}

/*
 * sqrt(rho) / 4 times so many segments, in whole bytes as the definition has it: over the ACKs of a
 * large window what is less than a byte adds up to segments.
 */
BP_INLINE u64 adalr_scaled(const struct tcp_sock *tp, u64 segments, u64 root)
{
	return bp_segments(tp, bp_mul_shift(segments * tp->mss_cache, root,
					    BP_BITS + ADALR_ROOT_BITS + 2));
}

SEC("struct_ops")
void BPF_PROG(adalr_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct adalr *ca = bp_state(sk);
	u64 segments = (u64)acked << BP_BITS;
	u64 flight = (u64)tp->packets_out * tp->mss_cache;
	u64 below, growth;

	bp_sync(tp, &ca->window);
	if (!bp_is_limited(tp))
		return;
	below = bp_below_ssthresh(tp, &ca->window, segments);
	if (!ca->lossy && adalr_path_is_long(ca) && adalr_in_a_sub_phase(ca, tp))
		ca->window.cwnd += adalr_scaled(tp, below, ca->root);
	else
		ca->window.cwnd += below;
	if (below < segments) {
		/* For an ACK and not for a segment, as in the slides. */
		growth = BP_ONE;
		if (adalr_path_is_long(ca) && (ca->lossy || flight < tp->snd_wnd / 2))
			growth = ca->root >> (ADALR_ROOT_BITS + 1 - BP_BITS);
		bp_grow_by_fraction(&ca->window, bp_per_window(growth, BP_ONE));
	}
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(adalr_ssthresh, struct sock *sk)
{
	struct adalr *ca = bp_state(sk);

	ca->lossy = 1;
	return bp_reduce(&ca->window, bp_half(bp_tcp(sk)));
}

BP_UNDO(adalr)

BP_CONTROLLER(adalr) = {
	.init = (void *)adalr_init,
	.pkts_acked = (void *)adalr_pkts_acked,
	.cong_avoid = (void *)adalr_cong_avoid,
	.ssthresh = (void *)adalr_ssthresh,
	.undo_cwnd = (void *)adalr_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_adalr",
};
