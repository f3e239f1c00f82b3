/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The bandwidth estimate of Westwood+ and the window that it stands for: one sample of what was
 * delivered for each round-trip time, an exponential average of the samples, and its product with
 * the smallest round-trip time. The definition is crates/congestion/src/parts/bandwidth/per_round.rs.
 *
 * What was delivered the kernel counts itself, selective acknowledgements included.
 */
#ifndef BENTPIPE_RATE_H
#define BENTPIPE_RATE_H

#include "bentpipe.h"

struct bp_rate {
	/* Segments in a second, 16 bits behind the point. */
	u64 rate;
	/* When the running sample began, and what was delivered until then. */
	u64 since;
	u32 delivered;
	/* Smallest round-trip time in microseconds; zero before the first sample. */
	u32 min_rtt;
	bool started;
	bool known;
};

/* Any ACK. `memory` is the weight of the old estimate. */
BP_INLINE void bp_rate_on_ack(struct bp_rate *rate, const struct tcp_sock *tp,
			      const struct ack_sample *sample, u64 memory)
{
	u64 now = tp->tcp_mstamp;
	u64 rtt = bp_srtt(tp);
	u64 length = bp_saturating_sub(now, rate->since);
	u64 measured;

	if (sample->rtt_us > 0 && (!rate->min_rtt || (u32)sample->rtt_us < rate->min_rtt))
		rate->min_rtt = sample->rtt_us;
	if (rate->started) {
		if (!length || !rtt || length < rtt)
			return;
		measured = (u64)(tp->delivered - rate->delivered) << BP_BITS;
		measured = bp_mul_div(measured, BP_SECOND, length);
		if (rate->known)
			measured = bp_share(rate->rate, memory) +
				   bp_share(measured, BP_SHARE_ONE - memory);
		rate->rate = measured;
		rate->known = 1;
	}
	rate->started = 1;
	rate->since = now;
	rate->delivered = tp->delivered;
}

/* ssthresh after a loss: half of the flight size before there is an estimate. */
BP_INLINE u64 bp_rate_threshold(const struct bp_rate *rate, const struct tcp_sock *tp)
{
	if (!rate->known || !rate->min_rtt)
		return bp_half(tp);
	return bp_max(bp_mul_div(rate->rate, rate->min_rtt, BP_SECOND), 2 * BP_ONE);
}

#endif
