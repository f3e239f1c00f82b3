// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Veno: Reno that distinguishes random losses from congestion by the backlog in the queue.
 *
 * Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access
 * networks", IEEE Journal on Selected Areas in Communications 21(2), 2003.
 *
 *   backlog: N = W (RTT - BaseRTT) / RTT
 *   ACK:     in congestion avoidance W += 1 / W, with every other ACK only when N >= beta
 *   loss:    ssthresh = 4/5 of the flight size when N < beta, else 1/2
 *   timeout: ssthresh = 1/2 of the flight size
 *
 * BaseRTT is measured again after each loss. The definition is crates/congestion/src/controllers/veno.rs; the
 * part of it that is reconstructed is named there.
 */
#include "bentpipe.h"

struct parameters {
	u64 beta;	/* 2^-16 segments */
};

BP_PARAMETERS = {
	.beta = 3 * BP_ONE,
};

struct veno {
	struct bp_window window;
	/* N as of the last ACK outside of recovery. */
	u64 backlog;
	/* BaseRTT in microseconds; zero right after a loss. */
	u32 base;
	bool measured;
	/* On a congested path the last ACK did not count. */
	bool skipped;
};
BP_FITS(struct veno);

BP_INIT(veno)

SEC("struct_ops")
void BPF_PROG(veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *ca = bp_state(sk);

	if (sample->rtt_us > 0 && (!ca->base || (u32)sample->rtt_us < ca->base))
		ca->base = sample->rtt_us;
}

BP_INLINE void veno_measure(struct veno *ca, const struct tcp_sock *tp)
{
	u64 rtt = bp_srtt(tp);

	if (!rtt || !ca->base)
		return;
	ca->backlog = bp_mul_div(ca->window.cwnd, bp_saturating_sub(rtt, ca->base), rtt);
	ca->measured = 1;
}

SEC("struct_ops")
void BPF_PROG(veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct veno *ca = bp_state(sk);
	u64 rest;

	bp_sync(tp, &ca->window);
	veno_measure(ca, tp);
	rest = bp_slow_start(tp, &ca->window, acked);
	if (rest) {
		veno_measure(ca, tp);
		ca->skipped = ca->measured && ca->backlog >= parameters.beta && !ca->skipped;
		if (!ca->skipped)
			bp_grow_by_fraction(&ca->window, bp_per_window(BP_ONE, bp_counted(rest)));
	}
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
u32 BPF_PROG(veno_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct veno *ca = bp_state(sk);

	ca->base = 0;
	if (ca->measured && ca->backlog < parameters.beta)
		return bp_reduce(&ca->window, bp_max(bp_flight(tp) * 4 / 5, 2 * BP_ONE));
	return bp_reduce(&ca->window, bp_half(tp));
}

BP_HALVE_ON_TIMEOUT(veno)

SEC("struct_ops")
void BPF_PROG(veno_set_state, struct sock *sk, u8 state)
{
	struct veno *ca = bp_state(sk);

	if (state == TCP_CA_Loss)
		ca->base = 0;
}

BP_UNDO(veno)

BP_CONTROLLER(veno) = {
	.init = (void *)veno_init,
	.pkts_acked = (void *)veno_pkts_acked,
	.cong_avoid = (void *)veno_cong_avoid,
	.ssthresh = (void *)veno_ssthresh,
	.cwnd_event = (void *)veno_cwnd_event,
	.set_state = (void *)veno_set_state,
	.undo_cwnd = (void *)veno_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_veno",
};
