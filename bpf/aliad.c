// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * A-LIAD: after a loss the window climbs back along a logarithm.
 *
 * Source: M. Shin, M. Park, D. Oh, B. Kim, J. Lee, "Adaptive logarithmic increase congestion control
 * algorithm for satellite networks", KSII Transactions on Internet and Information Systems 8(8),
 * 2014. Its equations, with W_k the window when round trip k begins:
 *
 *   slow start (1, 2): doubles up to gamma / 2, then W += (gamma - W_k) / 2; gamma is Hoe's estimate
 *   probing (3):       to the window at which RTT / RTTmin is delta; beyond, one segment
 *   loss (7):          W = (1 - beta) Wmax, beta = 1 - RTTmin / RTTmax
 *   climb (6):         W += (1 - 1 / alpha) (Wmax - W_k)
 *   alpha (8, 11):     from Wmax and RTT, so that each climb takes as long as on the reference path
 *
 * each for a round trip. A phase ends at a byte of the definition's, and where it ends decides on what
 * follows; so windows are whole bytes here. The definition is crates/congestion/src/controllers/aliad.rs; much of it is
 * reconstructed, and named there.
 */
#include "hoe.h"
#include "log.h"

/* Windows at the start of a round trip have 12 bits behind the point: a million segments fit. */
#define ALIAD_BITS 12
#define ALIAD_UNKNOWN_BETA (BP_SHARE_ONE / 2)

enum { ALPHA_ONLINE, ALPHA_POWER, ALPHA_EXPONENTIAL, ALPHA_AFFINE, ALPHA_FIXED };
enum { PROBE_DELAY, PROBE_DELAY_SENT, PROBE_DOUBLING };
enum { AT_WMAX_PROBE, AT_WMAX_STAY };
enum { RTT_MAX_EPOCH, RTT_MAX_CONNECTION };
enum { PHASE_EXPONENTIAL, PHASE_LOGARITHMIC, PHASE_PROBE, PHASE_CLIMB };

struct parameters {
	u64 alpha;		/* ALPHA_... */
	u64 alpha_ref;		/* 2^-16 */
	u64 rtt_ref;		/* microseconds */
	u64 alpha_exponent;	/* 2^-32 */
	u64 alpha_min;		/* 2^-16 */
	u64 delta;		/* 2^-32 */
	u64 probe;		/* PROBE_... */
	u64 at_wmax;		/* AT_WMAX_... */
	u64 rtt_max;		/* RTT_MAX_... */
	u64 beta_min;		/* 2^-32 */
	u64 beta_max;		/* 2^-32 */
};

BP_PARAMETERS = {
	.alpha = ALPHA_ONLINE,
	.alpha_ref = 2 * BP_ONE,
	.rtt_ref = 75000,
	.alpha_exponent = 4586595575,
	.alpha_min = BP_ONE,
	.delta = 8289286881,
	.probe = PROBE_DELAY_SENT,
	.at_wmax = AT_WMAX_PROBE,
	.rtt_max = RTT_MAX_EPOCH,
	.beta_min = 0,
	.beta_max = BP_SHARE_ONE / 2,
};

struct aliad {
	struct bp_window window;
	/* In the first slow start the estimator, later the climb: they never meet. */
	union {
		struct bp_hoe hoe;
		struct {
			/* Window at the last loss, 2^-16; zero before it. */
			u64 w_max;
			/* 1 - 1 / alpha as a share. */
			u32 rise;
		};
	};
	/* W_k, the window of the round trip before, and the step of doubling; 2^-12. */
	u32 frozen;
	u32 before;
	u32 step;
	/* The first ACK beyond this position of the stream begins the next round trip. */
	u32 end;
	/* Position behind the last byte sent when the last ACK came, before it let anything out. As in
	 * the definition, a phase that begins at a mark, a timeout or after a pause waits for this. */
	u32 sent;
	/* Round-trip times in microseconds, zero before there is one: smallest, last, the smaller of
	 * the last two, and the largest of those. */
	u32 rtt_min;
	u32 rtt_last;
	u32 rtt;
	u32 rtt_max;
	u8 phase;
	/* After the first slow start, or a loss in it. */
	bool started;
	/* The kernel has cut the window because nothing was sent for a while. */
	bool restarted;
};
BP_FITS(struct aliad);

BP_INLINE u32 aliad_narrow(u64 window)
{
	return bp_min((window + (1 << (BP_BITS - ALIAD_BITS - 1))) >> (BP_BITS - ALIAD_BITS), ~0U);
}

/* In bytes, which have fewer places than that. */
BP_INLINE u64 aliad_wide(const struct tcp_sock *tp, u32 narrow)
{
	return bp_bytes(tp, (u64)narrow << (BP_BITS - ALIAD_BITS));
}

BP_INLINE u64 aliad_w_max(const struct aliad *ca)
{
	return ca->started ? ca->w_max : 0;
}

/* A new phase freezes the window again. The round that it cuts short is no round trip. */
BP_INLINE void aliad_enter(struct aliad *ca, u8 phase)
{
	ca->phase = phase;
	ca->end = ca->sent;
	ca->frozen = aliad_narrow(ca->window.cwnd);
	ca->step = 1 << ALIAD_BITS;
	/* A loss or a mark right after the pause has the last word. */
	ca->restarted = 0;
}

/* The window as it is now; slow start when the kernel has cut it after a pause. */
BP_INLINE void aliad_sync(struct aliad *ca, const struct tcp_sock *tp)
{
	u32 end = ca->end;

	bp_sync(tp, &ca->window);
	if (ca->restarted) {
		aliad_enter(ca, PHASE_EXPONENTIAL);
		/* The round has been running since the pause. */
		ca->end = end;
	}
}

SEC("struct_ops")
void BPF_PROG(aliad_init, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);

	bp_start(tp, &ca->window);
	ca->frozen = aliad_narrow(ca->window.cwnd);
	ca->before = ca->frozen;
	ca->sent = tp->snd_una;
	ca->end = ca->sent;
}

/* The end of the first slow start. */
BP_INLINE void aliad_end_start(struct aliad *ca)
{
	if (ca->started)
		return;
	ca->started = 1;
	ca->w_max = 0;
	ca->rise = 0;
}

/* The phase that the window is in now. */
BP_INLINE bool aliad_follow(struct aliad *ca, const struct tcp_sock *tp)
{
	u64 gamma = bp_bytes(tp, bp_ssthresh(tp, &ca->window));
	u64 w_max = bp_bytes(tp, aliad_w_max(ca));
	u64 cwnd = bp_bytes(tp, ca->window.cwnd);
	u8 next = ca->phase;

	if (ca->phase == PHASE_CLIMB) {
		if (bp_saturating_sub(w_max, cwnd) < tp->mss_cache &&
		    parameters.at_wmax == AT_WMAX_PROBE)
			next = PHASE_PROBE;
	} else if (ca->phase != PHASE_PROBE) {
		if (bp_saturating_sub(gamma, cwnd) < tp->mss_cache) {
			next = w_max ? PHASE_CLIMB : PHASE_PROBE;
			aliad_end_start(ca);
		} else {
			next = cwnd >= gamma / 2 ? PHASE_LOGARITHMIC : PHASE_EXPONENTIAL;
		}
	}
	if (next == ca->phase)
		return 0;
	aliad_enter(ca, next);
	return 1;
}

BP_INLINE void aliad_take_rtt(struct aliad *ca, u32 sample)
{
	ca->rtt = ca->rtt_last ? bp_min(ca->rtt_last, sample) : sample;
	ca->rtt_last = sample;
	ca->rtt_max = bp_max(ca->rtt_max, ca->rtt);
}

SEC("struct_ops")
void BPF_PROG(aliad_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);
	struct bp_hoe_ack ack;
	u64 gamma;

	ca->sent = tp->snd_nxt;
	if (sample->rtt_us > 0 && (!ca->rtt_min || (u32)sample->rtt_us < ca->rtt_min))
		ca->rtt_min = sample->rtt_us;
	ack = bp_hoe_ack(sk, sample, ca->rtt_min);
	if (sample->rtt_us > 0 && !ack.recovering)
		aliad_take_rtt(ca, sample->rtt_us);
	if (!ca->started) {
		bp_hoe_on_ack(&ca->hoe, tp, &ack);
		gamma = bp_hoe_capacity(&ca->hoe, tp, ca->rtt_min);
		if (gamma)
			bp_set_ssthresh(tp, &ca->window, bp_max(gamma, 2 * BP_ONE));
	}
	if ((s32)(tp->snd_una - ca->end) > 0) {
		aliad_sync(ca, tp);
		ca->before = ca->frozen;
		ca->end = ca->sent;
		ca->frozen = aliad_narrow(ca->window.cwnd);
		ca->step = bp_min(2 * (u64)ca->step, ca->frozen);
	}
}

/* `part` of `whole` as a share, which may be above one. */
BP_INLINE u64 aliad_ratio(u64 part, u64 whole)
{
	return bp_mul_div(part, BP_SHARE_ONE, whole);
}

/* Equation 3: half of the way to the window at which the ratio would be delta. */
BP_INLINE u64 aliad_probe(const struct aliad *ca, const struct tcp_sock *tp)
{
	u64 rtt = bp_max(ca->rtt, ca->rtt_min);
	/* delta / ratio, as a share. */
	u64 left = parameters.delta;
	u64 frozen = aliad_wide(tp, ca->frozen);
	u64 from = parameters.probe == PROBE_DELAY ? frozen : aliad_wide(tp, ca->before);

	if (ca->rtt && ca->rtt_min)
		left = bp_mul_div(left, ca->rtt_min, rtt);
	if (left <= BP_SHARE_ONE)
		return 0;
	if (parameters.probe == PROBE_DOUBLING)
		return aliad_ratio(ca->step, ca->frozen);
	return bp_saturating_sub(bp_mul_div(left, from, frozen), BP_SHARE_ONE) / 2;
}

/* Segments by which the window grows for each one acknowledged, as a share. */
BP_INLINE u64 aliad_increase(const struct aliad *ca, const struct tcp_sock *tp)
{
	u64 one = (BP_SHARE_ONE << BP_BITS) / bp_max(ca->window.cwnd, 1);
	u64 frozen = aliad_wide(tp, ca->frozen);
	u64 left;

	switch (ca->phase) {
	case PHASE_EXPONENTIAL:
		return BP_SHARE_ONE;
	case PHASE_LOGARITHMIC:
		left = bp_saturating_sub(bp_bytes(tp, bp_ssthresh(tp, &ca->window)), frozen);
		return bp_max(aliad_ratio(left, 2 * frozen), one);
	case PHASE_PROBE:
		return bp_max(aliad_probe(ca, tp), one);
	default:
		left = bp_saturating_sub(bp_bytes(tp, aliad_w_max(ca)), frozen);
		return bp_share(aliad_ratio(left, frozen), ca->started ? ca->rise : 0);
	}
}

/* How large the window may become. */
BP_INLINE u64 aliad_limit(const struct aliad *ca, const struct tcp_sock *tp)
{
	if (ca->phase == PHASE_LOGARITHMIC)
		return bp_ssthresh(tp, &ca->window);
	return ca->phase == PHASE_CLIMB ? aliad_w_max(ca) : BP_LARGEST;
}

/* A window passes through at most three phases at once. */
BP_INLINE void aliad_settle(struct aliad *ca, const struct tcp_sock *tp)
{
	if (aliad_follow(ca, tp) && aliad_follow(ca, tp))
		aliad_follow(ca, tp);
}

SEC("struct_ops")
void BPF_PROG(aliad_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);
	u64 segments = (u64)acked << BP_BITS;
	u64 limit, growth;

	aliad_sync(ca, tp);
	if (!bp_is_limited(tp))
		return;
	aliad_settle(ca, tp);
	limit = bp_max(aliad_limit(ca, tp), ca->window.cwnd);
	if (ca->phase != PHASE_EXPONENTIAL)
		segments = bp_min(segments, ca->window.cwnd);
	/* What is less than a byte stays for the next ACK. */
	growth = ca->window.remainder +
		 bp_mul_shift(aliad_increase(ca, tp), 2 * bp_bytes(tp, segments), 1);
	ca->window.remainder = growth & (BP_SHARE_ONE - 1);
	growth = bp_bytes(tp, ca->window.cwnd) + (growth >> BP_SHARE_BITS);
	ca->window.cwnd = bp_min(bp_segments(tp, growth), limit);
	aliad_settle(ca, tp);
	bp_store(tp, &ca->window);
}

/* Equation 7, as a share. */
BP_INLINE u64 aliad_beta(const struct aliad *ca)
{
	u64 longest = ca->rtt_max ? ca->rtt_max : ca->rtt;
	u64 beta = ALIAD_UNKNOWN_BETA;

	if (longest && ca->rtt_min)
		beta = bp_saturating_sub(BP_SHARE_ONE, aliad_ratio(ca->rtt_min, longest));
	return bp_clamp(beta, parameters.beta_min, parameters.beta_max);
}

/* log2 of alpha for a climb of `gap` segments, with x = RTT / rtt_ref (equations 8 and 11). */
BP_INLINE u64 aliad_log_alpha(const struct aliad *ca, u64 gap)
{
	u64 rtt = ca->rtt_min ? ca->rtt_min : parameters.rtt_ref;
	u64 x = bp_max(bp_mul_div(rtt, BP_ONE, parameters.rtt_ref), 1);
	u64 log_ref = bp_log2(parameters.alpha_ref);
	s64 log_x = bp_log2(x);
	s64 log_gap = bp_log2(gap);
	bool falls = log_x < 0;
	u64 power, rounds;

	switch (parameters.alpha) {
	case ALPHA_ONLINE:
		if (gap <= BP_ONE)
			return log_ref;
		rounds = BP_ONE;
		if (log_gap > log_x)
			rounds = bp_max(bp_mul_div(log_gap - log_x, BP_ONE, log_ref), BP_ONE);
		rounds = bp_max(bp_mul_div(rounds, BP_ONE, x), BP_ONE);
		return bp_mul_div(log_gap, BP_ONE, rounds);
	case ALPHA_POWER:
		power = bp_mul_shift(falls ? -log_x : log_x, parameters.alpha_exponent,
				     BP_SHARE_BITS);
		return bp_mul_shift(log_ref, bp_exp2(falls ? -(s64)power : (s64)power),
				    BP_POWER_BITS);
	case ALPHA_EXPONENTIAL:
		return bp_mul_shift(log_ref, x, BP_BITS);
	case ALPHA_AFFINE:
		return bp_log2(BP_ONE + bp_mul_shift(parameters.alpha_ref - BP_ONE, x, BP_BITS));
	default:
		return log_ref;
	}
}

/* An epoch ends: its window is Wmax, and from `ssthresh` it is climbed to again. */
SEC("struct_ops")
u32 BPF_PROG(aliad_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);
	u64 cwnd, kept, log_alpha;

	bp_sync(tp, &ca->window);
	cwnd = ca->window.cwnd;
	kept = bp_share(bp_bytes(tp, cwnd), BP_SHARE_ONE - aliad_beta(ca));
	kept = bp_segments(tp, kept);
	kept = bp_max(bp_min(kept, bp_saturating_sub(cwnd, BP_ONE)), 2 * BP_ONE);
	log_alpha = bp_max(aliad_log_alpha(ca, bp_saturating_sub(cwnd, kept)),
			   bp_log2(parameters.alpha_min));
	aliad_end_start(ca);
	ca->w_max = cwnd;
	ca->rise = bp_min(BP_SHARE_ONE - bp_exp2(-(s64)bp_min(log_alpha, 64 * BP_LOG_ONE)), ~0U);
	ca->window.remainder = 0;
	if (parameters.rtt_max == RTT_MAX_EPOCH)
		ca->rtt_max = 0;
	/* The window that recovery leaves. */
	ca->window.cwnd = kept;
	aliad_enter(ca, PHASE_CLIMB);
	return bp_reduce(&ca->window, kept);
}

SEC("struct_ops")
void BPF_PROG(aliad_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		ca->restarted = 1;
		ca->end = ca->sent;
	}
	if (event == CA_EVENT_COMPLETE_CWR) {
		bp_sync(tp, &ca->window);
		aliad_enter(ca, PHASE_CLIMB);
	}
}

SEC("struct_ops")
void BPF_PROG(aliad_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = bp_tcp(sk);
	struct aliad *ca = bp_state(sk);

	if (state == TCP_CA_Loss) {
		bp_sync(tp, &ca->window);
		aliad_enter(ca, PHASE_EXPONENTIAL);
	}
}

BP_UNDO(aliad)

BP_CONTROLLER(aliad) = {
	.init = (void *)aliad_init,
	.pkts_acked = (void *)aliad_pkts_acked,
	.cong_avoid = (void *)aliad_cong_avoid,
	.ssthresh = (void *)aliad_ssthresh,
	.cwnd_event = (void *)aliad_cwnd_event,
	.set_state = (void *)aliad_set_state,
	.undo_cwnd = (void *)aliad_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bp_aliad",
};
