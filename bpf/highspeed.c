// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * HighSpeed TCP: standard TCP whose increase and decrease depend on the window.
 *
 * Source: RFC 3649 sections 5 and 7. Above `low_window` segments, with w the window:
 *
 *   p(w) = low_p (w / low_window)^(ln(high_p / low_p) / ln(high_window / low_window))
 *   b(w) = 1/2 + (high_decrease - 1/2) ln(w / low_window) / ln(high_window / low_window)
 *   a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
 *   ACK:  w += a(w) / w        loss: w = (1 - b(w)) w
 *
 * Up to it, in slow start and after a timeout it is standard TCP. The definition, with what is
 * decided there, is crates/congestion/src/controllers/highspeed.rs. The powers are computed (log.h) and not
 * looked up in a table of the RFC's rounded values.
 */
#include "log.h"

struct parameters {
	u64 low_window;		/* 2^-16 segments */
	s64 low_p;		/* log2, 2^-24 */
	u64 high_window;	/* 2^-16 segments */
	s64 high_p;		/* log2, 2^-24 */
	u64 high_decrease;	/* 2^-32 */
};

BP_PARAMETERS = {
	.low_window = 38 * BP_ONE,
	.low_p = -167198116,
	.high_window = 83000 * BP_ONE,
	.high_p = -390128936,
	.high_decrease = 429496730,
};

struct highspeed {
	struct bp_window window;
};
BP_FITS(struct highspeed);

BP_INIT(highspeed)

/* ln(w / low_window) / ln(high_window / low_window), 24 bits behind the point. */
BP_INLINE s64 highspeed_part(s64 log, s64 low)
{
	s64 range = bp_log2(parameters.high_window) - low;

	if (log <= low || range <= 0)
		return 0;
	return ((u64)(log - low) << BP_LOG_BITS) / (u64)range;
}

/* b(w), as a share. */
BP_INLINE u64 highspeed_decrease(s64 part)
{
	u64 inner = bp_min(part, BP_LOG_ONE);

	return BP_SHARE_ONE / 2 -
	       bp_mul_shift(BP_SHARE_ONE / 2 - parameters.high_decrease, inner, BP_LOG_BITS);
}

/* a(w) in segments. */
BP_INLINE u64 highspeed_increase(u64 window)
{
	s64 log = bp_log2(window);
	s64 part = highspeed_part(log, bp_log2(parameters.low_window));
	/* The loss rate falls with the window. */
	u64 fall = bp_mul_shift(parameters.low_p - parameters.high_p, part, BP_LOG_BITS);
	u64 power = bp_exp2(2 * log + parameters.low_p - (s64)fall);
	u64 decrease = highspeed_decrease(part);
	u64 factor = (2 * decrease << 29) / (2 * BP_SHARE_ONE - decrease);

	if (window <= parameters.low_window)
		return BP_ONE;
	/* The power has 16 bits more than a window behind the point. */
	return bp_max(bp_mul_shift(power, factor, 29 + BP_POWER_BITS - BP_BITS), BP_ONE);
}

SEC("struct_ops")
void BPF_PROG(highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct highspeed *ca = bp_state(sk);
	u64 rest = bp_slow_start(tp, &ca->window, acked);

	if (rest)
		bp_grow_by_fraction(&ca->window,
				    bp_per_window(highspeed_increase(ca->window.cwnd),
						  bp_counted(rest)));
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct highspeed *ca = bp_state(sk);
	u64 flight = bp_flight(tp);
	s64 part = highspeed_part(bp_log2(flight), bp_log2(parameters.low_window));
	u64 taken = bp_share(flight, highspeed_decrease(part));

	return bp_reduce(&ca->window, bp_max(flight - taken, 2 * BP_ONE));
}

BP_HALVE_ON_TIMEOUT(highspeed)
BP_UNDO(highspeed)

BP_CONTROLLER(highspeed) = {
	.init = (void *)highspeed_init,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.ssthresh = (void *)highspeed_ssthresh,
	.cwnd_event = (void *)highspeed_cwnd_event,
	.undo_cwnd = (void *)highspeed_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_highspeed",
};
