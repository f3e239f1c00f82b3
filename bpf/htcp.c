// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * H-TCP: the longer ago the last congestion, the faster the window grows.
 *
 * Source: D. Leith, draft-leith-tcp-htcp-06, 2008; D. Leith, R. Shorten, "H-TCP: TCP for high-speed
 * and long-distance networks", PFLDnet 2004 (adaptive backoff). With D the seconds since the last
 * congestion, beyond delta_l:
 *
 *   alpha = 2 (1 - beta) (1 + 10 D + quadratic D^2)
 *   ACK:  W += alpha / W
 *   loss: W = beta W, beta = RTTmin / RTTmax from 1/2 to 4/5; 1/2 when the throughput has changed
 *         by more than bandwidth_switch, now or at the loss before
 *
 * Up to delta_l, D is zero. The definition is crates/congestion/src/controllers/htcp.rs; the part of it
 * that is reconstructed is named there.
 */
#include "bentpipe.h"

#define HTCP_LINEAR 10
#define HTCP_LEAST_BETA (BP_ONE / 2)
#define HTCP_MOST_BETA (BP_ONE * 4 / 5)

struct parameters {
	u64 delta_l;		/* microseconds */
	u64 quadratic;		/* 2^-16 */
	u64 backoff;		/* 0 adaptive, 1 half */
	u64 bandwidth_switch;	/* 2^-32 */
	u64 rtt_scaling;	/* 0 on, 1 off */
	u64 rtt_ref;		/* microseconds */
	u64 rtt_scaling_limit;	/* 2^-16 */
};

BP_PARAMETERS = {
	.delta_l = BP_SECOND,
	.quadratic = BP_ONE / 2,
	.backoff = 0,
	.bandwidth_switch = 858993459,
	.rtt_scaling = 1,
	.rtt_ref = 100000,
	.rtt_scaling_limit = 1000000 * BP_ONE,
};

struct htcp {
	struct bp_window window;
	/* When; zero before the first. */
	u64 last_congestion;
	/* Largest throughput between the last two congestion events and since, 2^-16 segments/s. */
	u64 before;
	u64 now;
	/* The measurement that runs: when it began and the segments acknowledged since, 2^-16. */
	u64 measuring;
	u64 counted;
	/* Smallest and largest round-trip time in 2^-4 microseconds. */
	u64 rtt_min;
	u64 rtt_max;
	u32 rtt_last;
	/* What the last loss left, 2^-16. */
	u32 beta;
	bool has_before;
	bool has_now;
	bool is_measuring;
	/* The last loss came without a change of throughput. */
	bool steady;
};
BP_FITS(struct htcp);

SEC("struct_ops")
void BPF_PROG(htcp_init, struct sock *sk)
{
	struct htcp *ca = bp_state(sk);

	bp_start(bp_tcp(sk), &ca->window);
	ca->beta = HTCP_LEAST_BETA;
}

SEC("struct_ops")
void BPF_PROG(htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = bp_state(sk);
	u64 rtt;

	if (sample->rtt_us <= 0)
		return;
	rtt = (u64)sample->rtt_us << 4;
	if (!ca->last_congestion)
		ca->last_congestion = bp_tcp(sk)->tcp_mstamp;
	ca->rtt_min = ca->rtt_min ? bp_min(ca->rtt_min, rtt) : rtt;
	/* One that waited for the delayed ACK timer is no queue. */
	ca->rtt_max = bp_max(ca->rtt_max, ca->rtt_max ? bp_min(rtt, ca->rtt_last) : rtt);
	ca->rtt_last = rtt;
}

/* Throughput over intervals of at least one smoothed RTT, each from ACK to ACK. */
BP_INLINE void htcp_measure(struct htcp *ca, const struct tcp_sock *tp, u64 acked)
{
	u64 now = tp->tcp_mstamp;
	u64 rtt = bp_srtt(tp);
	u64 elapsed = bp_saturating_sub(now, ca->measuring);

	if (!acked)
		return;
	if (ca->is_measuring) {
		ca->counted += acked;
		if (!elapsed || !rtt || elapsed < rtt)
			return;
		ca->now = bp_max(ca->now, bp_mul_div(ca->counted, BP_SECOND, elapsed));
		ca->has_now = 1;
	}
	ca->is_measuring = 1;
	ca->measuring = now;
	ca->counted = 0;
}

/* Segments by which the window grows in one round trip. */
BP_INLINE u64 htcp_alpha(const struct htcp *ca, const struct tcp_sock *tp)
{
	u64 delta = bp_saturating_sub(tp->tcp_mstamp, ca->last_congestion);
	/* Seconds with 16 bits behind the point, at most nine hours. */
	u64 beyond = bp_min(bp_mul_div(bp_saturating_sub(delta, parameters.delta_l), BP_ONE,
				       BP_SECOND), BP_ONE << 15);
	u64 square = bp_mul_shift(beyond, beyond, BP_BITS);
	u64 alpha = BP_ONE + HTCP_LINEAR * beyond +
		    bp_mul_shift(square, parameters.quadratic, BP_BITS);
	u64 rtt = bp_srtt(tp);

	if (delta > parameters.delta_l && !parameters.rtt_scaling && rtt)
		alpha = bp_mul_shift(alpha, bp_min(bp_mul_div(rtt, BP_ONE, parameters.rtt_ref),
						   parameters.rtt_scaling_limit), BP_BITS);
	return bp_mul_shift(alpha, 2 * (BP_ONE - ca->beta), BP_BITS);
}

SEC("struct_ops")
void BPF_PROG(htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct htcp *ca = bp_state(sk);
	u64 segments = (u64)acked << BP_BITS;
	u64 rest;

	if (!ca->last_congestion)
		ca->last_congestion = tp->tcp_mstamp;
	rest = bp_slow_start(tp, &ca->window, acked);
	htcp_measure(ca, tp, segments - rest);
	htcp_measure(ca, tp, rest);
	if (rest)
		bp_grow_by_fraction(&ca->window,
				    bp_per_window(htcp_alpha(ca, tp), bp_counted(rest)));
	bp_store(tp, &ca->window);
}

/* Whether the throughput is that of the epoch before. */
BP_INLINE bool htcp_is_steady(const struct htcp *ca)
{
	u64 change = ca->now > ca->before ? ca->now - ca->before : ca->before - ca->now;

	return ca->has_before && ca->has_now &&
	       change <= bp_share(ca->before, parameters.bandwidth_switch);
}

/* The share of the window that a loss would leave now. */
BP_INLINE u64 htcp_backoff(const struct htcp *ca, bool steady)
{
	if (parameters.backoff || !ca->rtt_max || !ca->steady || !steady)
		return HTCP_LEAST_BETA;
	return bp_clamp(bp_mul_div(ca->rtt_min, BP_ONE, ca->rtt_max), HTCP_LEAST_BETA,
			HTCP_MOST_BETA);
}

SEC("struct_ops")
u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct htcp *ca = bp_state(sk);
	bool steady = htcp_is_steady(ca);

	ca->beta = htcp_backoff(ca, steady);
	ca->steady = steady;
	ca->last_congestion = tp->tcp_mstamp;
	if (ca->has_now) {
		ca->before = ca->now;
		ca->has_before = 1;
	}
	ca->now = 0;
	ca->has_now = 0;
	ca->is_measuring = 0;
	ca->counted = 0;
	ca->rtt_max -= (ca->rtt_max - ca->rtt_min) / 20;
	return bp_reduce(&ca->window, bp_max(bp_mul_shift(bp_flight(tp), ca->beta, BP_BITS),
					     2 * BP_ONE));
}

SEC("struct_ops")
void BPF_PROG(htcp_set_state, struct sock *sk, u8 state)
{
	struct htcp *ca = bp_state(sk);

	if (state == TCP_CA_Loss)
		ca->last_congestion = bp_tcp(sk)->tcp_mstamp;
}

BP_UNDO(htcp)

BP_CONTROLLER(htcp) = {
	.init = (void *)htcp_init,
	.pkts_acked = (void *)htcp_pkts_acked,
	.cong_avoid = (void *)htcp_cong_avoid,
	.ssthresh = (void *)htcp_ssthresh,
	.set_state = (void *)htcp_set_state,
	.undo_cwnd = (void *)htcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_htcp",
};
