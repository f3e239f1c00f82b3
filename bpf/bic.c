// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * BIC: a binary search for the window that the path carries.
 *
 * Source: L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast
 * long-distance networks", IEEE INFOCOM 2004. With Wmax the window at the last loss:
 *
 *   each round trip: W += (Wmax - W) / 2 below Wmax, W - Wmax beyond it, from s_min to s_max
 *   loss:            W = (1 - beta) W
 *   fast convergence: a loss below the last Wmax makes Wmax = (2 - beta) / 2 W, not W
 *   timeout:         ssthresh = half of the flight size; Wmax is forgotten
 *
 * Below `low_window` it is standard TCP. The definition is crates/congestion/src/controllers/bic.rs; the part
 * of it that is reconstructed is named there.
 */
#include "bentpipe.h"

struct parameters {
	u64 beta;		/* 2^-32 */
	u64 s_max;		/* 2^-32 segments */
	u64 s_min;		/* 2^-32 segments */
	u64 low_window;		/* 2^-16 segments */
	u64 fast_convergence;	/* 0 on, 1 off */
};

BP_PARAMETERS = {
	.beta = BP_SHARE_ONE / 8,
	.s_max = 32 * BP_SHARE_ONE,
	.s_min = 42949673,
	.low_window = 14 * BP_ONE,
	.fast_convergence = 0,
};

struct bic {
	struct bp_window window;
	/* Zero when there was no loss, or a timeout since. */
	u64 w_max;
	/* The step of this round trip, 32 bits behind the point. */
	u64 step;
	/* What is to be acknowledged until the next step is chosen. */
	u64 round_left;
};
BP_FITS(struct bic);

BP_INIT(bic)

BP_INLINE u64 bic_step(const struct bic *ca)
{
	u64 cwnd = ca->window.cwnd;
	u64 distance = ca->w_max > cwnd ? (ca->w_max - cwnd) << 15 : (cwnd - ca->w_max) << 16;

	if (cwnd < parameters.low_window)
		return BP_SHARE_ONE;
	return bp_clamp(distance, bp_min(parameters.s_min, parameters.s_max), parameters.s_max);
}

SEC("struct_ops")
void BPF_PROG(bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct bic *ca = bp_state(sk);
	u64 rest = bp_slow_start(tp, &ca->window, acked);

	if (rest) {
		if (!ca->round_left) {
			ca->step = bic_step(ca);
			ca->round_left = ca->window.cwnd;
		}
		rest = bp_min(rest, ca->window.cwnd);
		ca->round_left = bp_saturating_sub(ca->round_left, rest);
		bp_grow_by_fraction(&ca->window, bp_mul_shift(ca->step, rest, BP_BITS));
	}
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct bic *ca = bp_state(sk);
	u64 cwnd, taken;

	bp_sync(tp, &ca->window);
	cwnd = ca->window.cwnd;
	taken = cwnd < parameters.low_window ? cwnd / 2 : bp_share(cwnd, parameters.beta);
	if (!parameters.fast_convergence && cwnd < ca->w_max)
		ca->w_max = cwnd - bp_share(cwnd, parameters.beta) / 2;
	else
		ca->w_max = cwnd;
	ca->round_left = 0;
	return bp_reduce(&ca->window, bp_max(cwnd - taken, 2 * BP_ONE));
}

SEC("struct_ops")
void BPF_PROG(bic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct bic *ca = bp_state(sk);

	if (event == CA_EVENT_LOSS)
		bp_set_ssthresh(tp, &ca->window, bp_half(tp));
	if (event == CA_EVENT_CWND_RESTART)
		ca->round_left = 0;
}

SEC("struct_ops")
void BPF_PROG(bic_set_state, struct sock *sk, u8 state)
{
	struct bic *ca = bp_state(sk);

	if (state == TCP_CA_Loss) {
		ca->w_max = 0;
		ca->round_left = 0;
	}
}

BP_UNDO(bic)

BP_CONTROLLER(bic) = {
	.init = (void *)bic_init,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.cwnd_event = (void *)bic_cwnd_event,
	.set_state = (void *)bic_set_state,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_bic",
};
