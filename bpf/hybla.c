// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Hybla: growth per second that does not depend on the round-trip time.
 *
 * Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
 * International Journal of Satellite Communications and Networking 22, 2004. With
 * rho = RTTmin / rtt0, at least one, for each segment acknowledged:
 *
 *   slow start: W += 2^rho - 1, up to ssthresh and the advertised window
 *   avoidance:  W += rho^2 / W
 *
 * Losses and timeouts are those of standard TCP. The first slow start ends at Hoe's estimate of what
 * the path holds (hoe.h), and until that is there it is the standard one. The definition, with what
 * is reconstructed, is crates/congestion/src/controllers/hybla.rs.
 *
 * Pacing is switched on and left to the kernel: its rate is W / RTT times net.ipv4.tcp_pacing_ss_ratio
 * or net.ipv4.tcp_pacing_ca_ratio percent (200 and 120), where the paper has W / RTT.
 */
#include "hoe.h"
#include "log.h"

/* 24 bits behind the point, as the power takes its exponent. */
#define HYBLA_LARGEST_RHO (4096ULL << BP_LOG_BITS)

struct parameters {
	u64 rtt0;	/* microseconds */
	u64 ssthresh;	/* 0 packet-pair, 1 scenario: the kernel's own */
	u64 pacing;	/* 0 on, 1 off */
};

BP_PARAMETERS = {
	.rtt0 = 25000,
	.ssthresh = 0,
	.pacing = 0,
};

struct hybla {
	struct bp_window window;
	struct bp_hoe hoe;
	/* Smallest RTT in microseconds; zero before the first sample. */
	u32 min_rtt;
	/* While the estimate of the initial ssthresh is to come. */
	bool estimating;
};
BP_FITS(struct hybla);

SEC("struct_ops")
void BPF_PROG(hybla_init, struct sock *sk)
{
	struct hybla *ca = bp_state(sk);

	bp_start(bp_tcp(sk), &ca->window);
	ca->estimating = !parameters.ssthresh;
}

BP_INLINE void hybla_estimate(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct hybla *ca = bp_state(sk);
	struct bp_hoe_ack ack = bp_hoe_ack(sk, sample, ca->min_rtt);
	u64 capacity;

	bp_hoe_on_ack(&ca->hoe, tp, &ack);
	capacity = bp_hoe_capacity(&ca->hoe, tp, ca->min_rtt);
	if (capacity)
		bp_set_ssthresh(tp, &ca->window, bp_min(bp_ssthresh(tp, &ca->window),
							bp_max(capacity, 2 * BP_ONE)));
	if (capacity || ack.recovering)
		ca->estimating = 0;
}

SEC("struct_ops")
void BPF_PROG(hybla_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hybla *ca = bp_state(sk);

	if (sample->rtt_us > 0 && (!ca->min_rtt || (u32)sample->rtt_us < ca->min_rtt))
		ca->min_rtt = sample->rtt_us;
	if (ca->estimating)
		hybla_estimate(sk, sample);
	/* Segments that are spaced out would show the spacing and not the path. */
	if (!ca->estimating && !parameters.pacing && !bp_tcp(sk)->inet_conn.icsk_inet.sk.sk_pacing_status)
		bp_tcp(sk)->inet_conn.icsk_inet.sk.sk_pacing_status = SK_PACING_NEEDED;
}

BP_INLINE u64 hybla_rho(const struct hybla *ca)
{
	return bp_clamp(bp_mul_div(ca->min_rtt, BP_LOG_ONE, parameters.rtt0), BP_LOG_ONE,
			HYBLA_LARGEST_RHO);
}

SEC("struct_ops")
void BPF_PROG(hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct hybla *ca = bp_state(sk);
	u64 segments = (u64)acked << BP_BITS;
	u64 rho = hybla_rho(ca);
	u64 below, standard, scaled, limit;

	bp_sync(tp, &ca->window);
	if (!bp_is_limited(tp))
		return;
	below = bp_below_ssthresh(tp, &ca->window, segments);
	if (below) {
		scaled = bp_exp2(ca->estimating ? BP_LOG_ONE : (s64)rho);
		/* In whole bytes as the definition has it: over many ACKs the rest adds up. */
		scaled = bp_mul_shift(scaled - (1ULL << BP_POWER_BITS), below * tp->mss_cache,
				      BP_POWER_BITS + BP_BITS);
		scaled = scaled >> 48 ? scaled : bp_segments(tp, scaled);
		standard = ca->window.cwnd + below;
		limit = bp_min(bp_ssthresh(tp, &ca->window), bp_advertised(tp));
		ca->window.cwnd = bp_min(bp_saturating_add(ca->window.cwnd, scaled),
					 bp_max(limit, standard));
	}
	if (below < segments)
		bp_grow_by_fraction(&ca->window,
				    bp_per_window(bp_mul_shift(rho, rho, 2 * BP_LOG_BITS - BP_BITS),
						  bp_counted(segments - below)));
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(hybla_ssthresh, struct sock *sk)
{
	struct hybla *ca = bp_state(sk);

	return bp_reduce(&ca->window, bp_half(bp_tcp(sk)));
}

BP_UNDO(hybla)

BP_CONTROLLER(hybla) = {
	.init = (void *)hybla_init,
	.pkts_acked = (void *)hybla_pkts_acked,
	.cong_avoid = (void *)hybla_cong_avoid,
	.ssthresh = (void *)hybla_ssthresh,
	.undo_cwnd = (void *)hybla_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_hybla",
};
