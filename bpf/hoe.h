/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Hoe's estimate: how much the path holds, from the spacing of the ACKs, as the end of the first
 * slow start.
 *
 * Source: J. C. Hoe, "Improving the start-up behavior of a congestion control scheme for TCP",
 * SIGCOMM 1996. A train is the ACKs of one round trip; its rate times the smallest RTT is the
 * estimate, the median of three trains. What makes a train, and what is reconstructed, is in
 * crates/congestion/src/parts/hoe.rs.
 */
#ifndef BENTPIPE_HOE_H
#define BENTPIPE_HOE_H

#include "bentpipe.h"

/* Hoe's three ACKs: two gaps. */
#define BP_HOE_LEAST_ACKS 3
/* The longest gap in a train, as a divisor of the smallest RTT. */
#define BP_HOE_PAUSE 8
struct bp_hoe {
	/* Bytes per second of the last three complete trains, the latest last: up to 34 Gbit/s. */
	u32 rates[3];
	/* The train that runs: where it ends in the stream, its first and its last ACK in us. */
	u32 end;
	u32 first;
	u32 last;
	/* Segments acknowledged after the first ACK. */
	u32 segments;
	/* From the first to the last ACK that may end the train, and the segments up to it. */
	u32 length;
	u32 measured;
	/* The most segments that one of its ACKs acknowledges. */
	u16 largest;
	/* ACKs of the train, no more than matter; zero without a train. */
	u8 acks;
	u8 complete;
};

/* An ACK as the estimator sees it. */
struct bp_hoe_ack {
	u32 now;
	u32 min_rtt;
	u32 acked;
	bool recovering;
	bool duplicate;
};

/* Rate of the running train; zero when it is unknown. */
BP_INLINE u32 bp_hoe_train_rate(const struct bp_hoe *hoe, const struct tcp_sock *tp, u32 min_rtt)
{
	if (hoe->acks < BP_HOE_LEAST_ACKS || !hoe->length || hoe->length >= min_rtt)
		return 0;
	return bp_min(bp_mul_div((u64)hoe->measured * tp->mss_cache, BP_SECOND, hoe->length), ~0U);
}

BP_INLINE void bp_hoe_complete(struct bp_hoe *hoe, const struct tcp_sock *tp, u32 min_rtt)
{
	u32 rate = bp_hoe_train_rate(hoe, tp, min_rtt);

	hoe->acks = 0;
	if (!rate)
		return;
	hoe->rates[0] = hoe->rates[1];
	hoe->rates[1] = hoe->rates[2];
	hoe->rates[2] = rate;
	if (hoe->complete < 3)
		hoe->complete++;
}

BP_INLINE bool bp_hoe_continues(const struct bp_hoe *hoe, const struct tcp_sock *tp,
				const struct bp_hoe_ack *ack)
{
	u32 gap = ack->now - hoe->last;

	return hoe->acks && (s32)(tp->snd_una - hoe->end) <= 0 &&
	       (!ack->min_rtt || gap <= ack->min_rtt / BP_HOE_PAUSE);
}

/* Takes in an ACK. */
BP_INLINE void bp_hoe_on_ack(struct bp_hoe *hoe, const struct tcp_sock *tp,
			     const struct bp_hoe_ack *ack)
{
	if (ack->recovering || ack->duplicate) {
		hoe->acks = 0;
		return;
	}
	if (!ack->acked)
		return;
	if (bp_hoe_continues(hoe, tp, ack)) {
		hoe->last = ack->now;
		if (hoe->acks < BP_HOE_LEAST_ACKS)
			hoe->acks++;
		hoe->segments += ack->acked;
		if (ack->acked >= hoe->largest) {
			hoe->largest = bp_min(ack->acked, 0xffff);
			hoe->length = ack->now - hoe->first;
			hoe->measured = hoe->segments;
		}
		if (tp->snd_una == hoe->end)
			bp_hoe_complete(hoe, tp, ack->min_rtt);
		return;
	}
	bp_hoe_complete(hoe, tp, ack->min_rtt);
	hoe->end = tp->snd_nxt;
	hoe->first = ack->now;
	hoe->last = ack->now;
	hoe->segments = 0;
	hoe->length = 0;
	hoe->measured = 0;
	hoe->largest = 0;
	hoe->acks = 1;
}

/* What the path holds without a queue, in segments; zero while that is not known. */
BP_INLINE u64 bp_hoe_capacity(const struct bp_hoe *hoe, const struct tcp_sock *tp, u32 min_rtt)
{
	u32 a = hoe->rates[0], b = hoe->rates[1], c = hoe->rates[2];
	u32 rate;

	if (hoe->complete == 0)
		rate = bp_hoe_train_rate(hoe, tp, min_rtt);
	else if (hoe->complete == 1)
		rate = c;
	else if (hoe->complete == 2)
		rate = bp_min(b, c);
	else
		rate = bp_max(bp_min(a, b), bp_min(bp_max(a, b), c));
	return bp_segments(tp, bp_mul_div(rate, min_rtt, BP_SECOND));
}

/* Data of an ACK from the kernel, for the estimator. */
BP_INLINE struct bp_hoe_ack bp_hoe_ack(struct sock *sk, const struct ack_sample *sample,
				       u32 min_rtt)
{
	struct tcp_sock *tp = bp_tcp(sk);

	return (struct bp_hoe_ack){
		.now = tp->tcp_mstamp,
		.min_rtt = min_rtt,
		.acked = sample->pkts_acked,
		.recovering = BP_BIT(&tp->inet_conn, icsk_ca_state) >= TCP_CA_CWR,
		.duplicate = !sample->pkts_acked && tp->sacked_out,
	};
}

#endif
