// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Scalable TCP: the window grows and shrinks by fixed shares, whatever its size.
 *
 * Source: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM
 * SIGCOMM Computer Communication Review 33(2), 2003. Above the legacy window
 *
 *   ACK:  W += increase          for each segment acknowledged
 *   loss: W  = (1 - decrease) W
 *
 * and up to it, in slow start and after a timeout it is standard TCP. The definition, with what is
 * decided there, is crates/congestion/src/controllers/scalable.rs.
 */
#include "bentpipe.h"

struct parameters {
	u64 increase;		/* 2^-32 segments */
	u64 decrease;		/* 2^-32 */
	u64 legacy_window;	/* 2^-16 segments */
};

BP_PARAMETERS = {
	.increase = 42949673,
	.decrease = BP_SHARE_ONE / 8,
	.legacy_window = 16 * BP_ONE,
};

struct scalable {
	struct bp_window window;
};
BP_FITS(struct scalable);

BP_INIT(scalable)

SEC("struct_ops")
void BPF_PROG(scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct scalable *ca = bp_state(sk);
	u64 rest = bp_slow_start(tp, &ca->window, acked);
	u64 counted = bp_counted(rest);

	if (rest && ca->window.cwnd <= parameters.legacy_window)
		bp_grow_by_fraction(&ca->window, bp_per_window(BP_ONE, counted));
	else if (rest)
		/* As a fraction of cwnd, so that no part of it is lost. */
		bp_grow_by_fraction(&ca->window, bp_mul_shift(bp_share(counted << BP_BITS,
								       parameters.increase),
							      ca->window.cwnd, BP_BITS));
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(scalable_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct scalable *ca = bp_state(sk);
	u64 flight = bp_flight(tp);

	if (flight <= parameters.legacy_window)
		return bp_reduce(&ca->window, bp_half(tp));
	return bp_reduce(&ca->window, bp_max(flight - bp_share(flight, parameters.decrease),
					     2 * BP_ONE));
}

BP_HALVE_ON_TIMEOUT(scalable)

BP_UNDO(scalable)

BP_CONTROLLER(scalable) = {
	.init = (void *)scalable_init,
	.cong_avoid = (void *)scalable_cong_avoid,
	.ssthresh = (void *)scalable_ssthresh,
	.cwnd_event = (void *)scalable_cwnd_event,
	.undo_cwnd = (void *)scalable_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_scalable",
};
