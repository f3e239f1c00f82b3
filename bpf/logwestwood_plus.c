// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * LogWestwood+: Westwood+ whose window climbs back along a logarithm.
 *
 * Source: D. Kliazovich, F. Granelli, D. Miorandi, "Logarithmic window increase for TCP Westwood+
 * for improvement in high speed, long distance networks", Computer Networks 52(12), 2008. With
 * Wmax the window at the last loss:
 *
 *   ACK:           W += max((Wmax - W) / (alpha W), 1 / W)   in congestion avoidance
 *   loss, timeout: as Westwood+
 *
 * The definition is crates/congestion/src/controllers/logwestwood_plus.rs; the part of it that is
 * reconstructed is named there.
 */
#include "rate.h"

struct parameters {
	u64 alpha;	/* 2^-16 */
	u64 memory;	/* 2^-32 */
};

BP_PARAMETERS = {
	.alpha = 2 * BP_ONE,
	.memory = 3865470566,
};

struct logwestwood_plus {
	struct bp_window window;
	struct bp_rate rate;
	/* Zero before the first loss. */
	u64 w_max;
};
BP_FITS(struct logwestwood_plus);

BP_INIT(logwestwood_plus)

SEC("struct_ops")
void BPF_PROG(logwestwood_plus_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct logwestwood_plus *ca = bp_state(sk);

	bp_rate_on_ack(&ca->rate, bp_tcp(sk), sample, parameters.memory);
}

SEC("struct_ops")
void BPF_PROG(logwestwood_plus_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct logwestwood_plus *ca = bp_state(sk);
	u64 rest = bp_slow_start(tp, &ca->window, acked);
	u64 gap = bp_saturating_sub(ca->w_max, ca->window.cwnd);
	u64 growth = bp_max(bp_mul_div(gap, BP_ONE, parameters.alpha), BP_ONE);

	if (rest)
		bp_grow_by_fraction(&ca->window, bp_per_window(growth, bp_counted(rest)));
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(logwestwood_plus_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct logwestwood_plus *ca = bp_state(sk);

	bp_sync(tp, &ca->window);
	ca->w_max = ca->window.cwnd;
	return bp_reduce(&ca->window, bp_rate_threshold(&ca->rate, tp));
}

BP_MARK_RAISES_NOTHING(logwestwood_plus)
BP_UNDO(logwestwood_plus)

BP_CONTROLLER(logwestwood_plus) = {
	.init = (void *)logwestwood_plus_init,
	.pkts_acked = (void *)logwestwood_plus_pkts_acked,
	.cong_avoid = (void *)logwestwood_plus_cong_avoid,
	.ssthresh = (void *)logwestwood_plus_ssthresh,
	.set_state = (void *)logwestwood_plus_set_state,
	.undo_cwnd = (void *)logwestwood_plus_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_logwestplus",
};
