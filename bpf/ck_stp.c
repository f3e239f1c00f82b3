// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * CK-STP: a constant window for a link whose capacity is known and whose losses are all errors.
 *
 * Source: F. Davoli, G. Spanò, S. Vignola, S. Zappatore, "Performance Measurements and Comparison
 * of Modified TCP Control Algorithms over Rain-Faded Satellite Channels" (slides).
 *
 *   W = rate RTT, at all times
 *
 * No slow start, no growth, no reduction: for the satellite side of a proxy that has the link to
 * itself, never for a path that others share. Rate and RTT are read from the map with each ACK, so
 * that a proxy that knows of a fade changes them while connections run (`bentpipe kernel set`).
 *
 * The definition is crates/congestion/src/controllers/ck_stp.rs. Recovery belongs to the kernel: when it finds a
 * loss, and whether a timeout backs off, is not for a controller to say.
 */
#include "bentpipe.h"

struct parameters {
	u64 rate;	/* bits per second */
	u64 rtt;	/* microseconds */
};

BP_PARAMETERS = {
	.rate = 2048000,
	.rtt = 500000,
};

struct ck_stp {
	struct bp_window window;
};
BP_FITS(struct ck_stp);

/* The bandwidth-delay product, at least one segment. */
BP_INLINE u64 ck_stp_product(const struct tcp_sock *tp)
{
	u64 bytes = bp_mul_div(parameters.rate, parameters.rtt, 8 * BP_SECOND);

	return bp_max(bp_mul_div(bytes, BP_ONE, tp->mss_cache), BP_ONE);
}

BP_INLINE void ck_stp_restore(struct tcp_sock *tp, struct ck_stp *ca)
{
	ca->window.cwnd = ck_stp_product(tp);
	bp_store(tp, &ca->window);
}

SEC("struct_ops")
void BPF_PROG(ck_stp_init, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct ck_stp *ca = bp_state(sk);

	bp_start(tp, &ca->window);
	ck_stp_restore(tp, ca);
}

SEC("struct_ops")
void BPF_PROG(ck_stp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	ck_stp_restore(bp_tcp(sk), bp_state(sk));
}

SEC("struct_ops")
u32 BPF_PROG(ck_stp_ssthresh, struct sock *sk)
{
	struct ck_stp *ca = bp_state(sk);

	return bp_reduce(&ca->window, ck_stp_product(bp_tcp(sk)));
}

/* The kernel has cut the window because nothing was sent for a while. */
SEC("struct_ops")
void BPF_PROG(ck_stp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START || event == CA_EVENT_COMPLETE_CWR)
		ck_stp_restore(bp_tcp(sk), bp_state(sk));
}

BP_UNDO(ck_stp)

BP_CONTROLLER(ck_stp) = {
	.init = (void *)ck_stp_init,
	.cong_avoid = (void *)ck_stp_cong_avoid,
	.ssthresh = (void *)ck_stp_ssthresh,
	.cwnd_event = (void *)ck_stp_cwnd_event,
	.undo_cwnd = (void *)ck_stp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_ck_stp",
};
