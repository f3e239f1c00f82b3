// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Westwood+: after a loss the window is what the ACKs say that the path carries.
 *
 * Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
 * and Vegas TCP congestion control", ACM SIGCOMM Computer Communication Review 34(2), 2004.
 *
 *   each round trip: BWE = memory BWE + (1 - memory) delivered / duration
 *   loss, timeout:   ssthresh = BWE RTTmin, at least two segments
 *
 * The rest is standard TCP. The definition is crates/congestion/src/controllers/westwood_plus.rs; the part of
 * it that is reconstructed is named there.
 */
#include "rate.h"

struct parameters {
	u64 memory;	/* 2^-32 */
};

BP_PARAMETERS = {
	.memory = 3865470566,
};

struct westwood_plus {
	struct bp_window window;
	struct bp_rate rate;
};
BP_FITS(struct westwood_plus);

BP_INIT(westwood_plus)

SEC("struct_ops")
void BPF_PROG(westwood_plus_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood_plus *ca = bp_state(sk);

	bp_rate_on_ack(&ca->rate, bp_tcp(sk), sample, parameters.memory);
}

SEC("struct_ops")
void BPF_PROG(westwood_plus_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct westwood_plus *ca = bp_state(sk);
	u64 rest = bp_slow_start(tp, &ca->window, acked);

	if (rest)
		bp_grow_by_fraction(&ca->window, bp_per_window(BP_ONE, bp_counted(rest)));
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(westwood_plus_ssthresh, struct sock *sk)
{
	struct westwood_plus *ca = bp_state(sk);

	return bp_reduce(&ca->window, bp_rate_threshold(&ca->rate, bp_tcp(sk)));
}

BP_MARK_RAISES_NOTHING(westwood_plus)
BP_UNDO(westwood_plus)

BP_CONTROLLER(westwood_plus) = {
	.init = (void *)westwood_plus_init,
	.pkts_acked = (void *)westwood_plus_pkts_acked,
	.cong_avoid = (void *)westwood_plus_cong_avoid,
	.ssthresh = (void *)westwood_plus_ssthresh,
	.set_state = (void *)westwood_plus_set_state,
	.undo_cwnd = (void *)westwood_plus_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_westwoodplus",
};
