/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the controllers share: parameters, windows in fixed point, standard growth and reduction.
 *
 * A window is counted in 2^-16 segments. The kernel's snd_cwnd has whole segments only; what is
 * less than one is kept with it, as crates/congestion keeps bytes. The kernel moves snd_cwnd
 * itself in recovery, after a timeout, when the sender was idle and when a reduction was needless:
 * bp_sync() takes in what it did.
 *
 * Largest numbers: windows up to 2^31 segments take 47 bits, so that the product with an RTT in
 * microseconds or with another window does not fit into 64; such products go through
 * bp_mul_shift() and bp_mul_div(), which saturate.
 */
#ifndef BENTPIPE_H
#define BENTPIPE_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define BP_BITS 16
#define BP_ONE (1ULL << BP_BITS)
/* Shares such as a smoothing factor have 32 bits behind the point. */
#define BP_SHARE_BITS 32
#define BP_SHARE_ONE (1ULL << BP_SHARE_BITS)
#define BP_SECOND 1000000ULL
#define BP_LARGEST (~0ULL)

#define BP_INLINE static __attribute__((always_inline)) inline
/* The verifier looks at such a function once, whoever calls it. */
#define BP_FUNCTION __attribute__((weak, noinline))
/* Nothing is known of the variable from here on. */
#define bp_opaque(variable) __asm__ volatile("" : "+r"(variable))

/*
 * The parameters of a controller: 64-bit numbers in a map of their own, written before the program
 * is loaded. crates/deploy knows name, unit and range of each, in this order; what stands here is
 * the default.
 */
#define BP_PARAMETERS volatile struct parameters parameters SEC(".data.parameters")

/* One bit of the socket: where it is differs from kernel to kernel. */
#ifdef __bpf__
#define BP_BIT(pointer, field) BPF_CORE_READ_BITFIELD(pointer, field)
#else
#define BP_BIT(pointer, field) ((pointer)->field)
#endif

/* The state of a controller must fit into what the kernel keeps for it in each socket. */
#define BP_FITS(type)                                                                              \
	_Static_assert(sizeof(type) <= sizeof(u64) * CA_PRIVATE_WORDS, "state is too large")

struct bp_window {
	u64 cwnd;
	/* What the last loss left; the kernel's snd_ssthresh is the whole segments of it. */
	u64 ssthresh;
	/* What bp_grow_by_fraction() could not yet add, times the window. */
	u64 remainder;
};

BP_INLINE struct tcp_sock *bp_tcp(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

BP_INLINE void *bp_state(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

BP_INLINE u64 bp_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

BP_INLINE u64 bp_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

BP_INLINE u64 bp_clamp(u64 value, u64 low, u64 high)
{
	return bp_min(bp_max(value, low), high);
}

BP_INLINE u64 bp_saturating_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

BP_INLINE u64 bp_saturating_add(u64 a, u64 b)
{
	u64 sum = a + b;

	return sum < a ? BP_LARGEST : sum;
}

/* (a * b) >> shift for a shift from 1 to 63, exact; the largest number when it does not fit. */
BP_FUNCTION u64 bp_mul_shift(u64 a, u64 b, u32 shift)
{
	u64 low = (a & 0xffffffff) * (b & 0xffffffff);
	u64 left = (a >> 32) * (b & 0xffffffff);
	u64 right = (a & 0xffffffff) * (b >> 32);
	u64 middle = (low >> 32) + (left & 0xffffffff) + (right & 0xffffffff);
	u64 high = (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);

	low = (middle << 32) | (low & 0xffffffff);
	shift &= 63;
	if (shift == 0 || high >> shift)
		return BP_LARGEST;
	return (high << (64 - shift)) | (low >> shift);
}

/* a * b / c; exact while a * b fits into 64 bits, beyond that to 2^-16 of `a`, and saturated. */
BP_INLINE u64 bp_mul_div(u64 a, u64 b, u64 c)
{
	u64 largest;

	if (b == 0 || c == 0)
		return 0;
	largest = BP_LARGEST / b;
	/* Or the compiler asks for 128 bits to see whether the product overflows. */
	bp_opaque(largest);
	if (a <= largest)
		return a * b / c;
	a >>= 16;
	if (a > largest)
		return BP_LARGEST;
	a = a * b / c;
	return a >> 48 ? BP_LARGEST : a << 16;
}

/* A share of a value. */
BP_INLINE u64 bp_share(u64 value, u64 share)
{
	return bp_mul_shift(value, share, BP_SHARE_BITS);
}

/*
 * FlightSize (RFC 5681 section 2) for a reduction: what was sent and is not acknowledged cumulatively.
 * Limited transmit sends beyond cwnd, and what it has sent does not count (section 3.2).
 */
BP_INLINE u64 bp_flight(const struct tcp_sock *tp)
{
	return bp_min(tp->packets_out, tp->snd_cwnd) << BP_BITS;
}

/* Half of the flight size, at least two segments (RFC 5681 equation 4). */
BP_INLINE u64 bp_half(const struct tcp_sock *tp)
{
	return bp_max(bp_flight(tp) / 2, 2 * BP_ONE);
}

/* What the receiver advertises, in segments. */
BP_INLINE u64 bp_advertised(const struct tcp_sock *tp)
{
	u64 mss = tp->mss_cache;

	return mss ? ((u64)tp->snd_wnd << BP_BITS) / mss : 0;
}

/*
 * Segments as bytes, to the nearest, and back: for a definition whose decisions hang on bytes. A
 * number of bytes comes back as it was while the MSS is below 2^15.
 */
BP_INLINE u64 bp_bytes(const struct tcp_sock *tp, u64 segments)
{
	return (segments * tp->mss_cache + BP_ONE / 2) >> BP_BITS;
}

BP_INLINE u64 bp_segments(const struct tcp_sock *tp, u64 bytes)
{
	u64 mss = tp->mss_cache;

	return mss ? ((bytes << BP_BITS) + mss / 2) / mss : 0;
}

/* Smoothed round-trip time in microseconds; zero before the first sample. */
BP_INLINE u64 bp_srtt(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3;
}

/* ssthresh with the part of a segment that the kernel does not know of. */
BP_INLINE u64 bp_ssthresh(const struct tcp_sock *tp, const struct bp_window *window)
{
	u64 whole = tp->snd_ssthresh;

	return window->ssthresh >> BP_BITS == whole ? window->ssthresh : whole << BP_BITS;
}

/* The window as it is now, whoever has changed it. */
BP_INLINE void bp_sync(const struct tcp_sock *tp, struct bp_window *window)
{
	u64 whole = tp->snd_cwnd;

	if (window->cwnd >> BP_BITS == whole)
		return;
	window->cwnd = window->ssthresh >> BP_BITS == whole ? window->ssthresh : whole << BP_BITS;
}

BP_INLINE void bp_start(const struct tcp_sock *tp, struct bp_window *window)
{
	window->cwnd = (u64)tp->snd_cwnd << BP_BITS;
	window->ssthresh = (u64)tp->snd_ssthresh << BP_BITS;
	window->remainder = 0;
}

/* Hands the window to the kernel. */
BP_INLINE void bp_store(struct tcp_sock *tp, struct bp_window *window)
{
	window->cwnd = bp_clamp(window->cwnd, BP_ONE, (u64)tp->snd_cwnd_clamp << BP_BITS);
	tp->snd_cwnd = window->cwnd >> BP_BITS;
}

/* What a loss leaves: remembered to the fraction, given to the kernel in whole segments. */
BP_INLINE u32 bp_reduce(struct bp_window *window, u64 ssthresh)
{
	window->ssthresh = ssthresh;
	return ssthresh >> BP_BITS;
}

/* As bp_reduce(), in a callback that is not asked for ssthresh. */
BP_INLINE void bp_set_ssthresh(struct tcp_sock *tp, struct bp_window *window, u64 ssthresh)
{
	tp->snd_ssthresh = bp_reduce(window, ssthresh);
}

BP_INLINE bool bp_in_slow_start(const struct tcp_sock *tp, const struct bp_window *window)
{
	return window->cwnd < bp_ssthresh(tp, window);
}

/*
 * Whether cwnd, and not the application, holds the sender back (RFC 7661); in slow start, as the
 * kernel has it, also while half of it is used.
 */
BP_INLINE bool bp_is_limited(const struct tcp_sock *tp)
{
	return BP_BIT(tp, is_cwnd_limited) ||
	       (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/*
 * Of the segments that an ACK acknowledges, those that lead up to ssthresh: they belong to slow
 * start and the rest to congestion avoidance. All count, as in the kernel's own controllers:
 * receivers that merge segments acknowledge dozens at once.
 */
BP_INLINE u64 bp_below_ssthresh(const struct tcp_sock *tp, const struct bp_window *window,
				u64 acked)
{
	return bp_min(acked, bp_saturating_sub(bp_ssthresh(tp, window), window->cwnd));
}

/* An ACK counts for at least one segment in congestion avoidance (RFC 5681 equation 3). */
BP_INLINE u64 bp_counted(u64 acked)
{
	return bp_max(acked, BP_ONE);
}

/* A number of segments for each window of ACKs: what it is for those that this ACK covers. */
BP_INLINE u64 bp_per_window(u64 growth, u64 counted)
{
	return bp_mul_shift(growth, counted << 8, 8);
}

/* Adds numerator / cwnd, where the numerator has 32 bits behind the point; keeps the remainder. */
BP_INLINE void bp_grow_by_fraction(struct bp_window *window, u64 numerator)
{
	u64 whole;

	/* What was left of a larger window is no more than the smallest part of this one. */
	window->remainder = bp_saturating_add(bp_min(window->remainder, window->cwnd), numerator);
	if (window->cwnd == 0 || window->remainder < window->cwnd)
		return;
	whole = window->remainder / window->cwnd;
	window->remainder -= whole * window->cwnd;
	window->cwnd = bp_saturating_add(window->cwnd, whole);
}

/*
 * Standard slow start (RFC 5681 equation 2, RFC 3465 without a limit). Gives the part of the ACK
 * that is left for congestion avoidance; zero also when cwnd did not hold the sender back.
 */
BP_INLINE u64 bp_slow_start(const struct tcp_sock *tp, struct bp_window *window, u32 acked)
{
	u64 segments = (u64)acked << BP_BITS;
	u64 below;

	bp_sync(tp, window);
	if (!bp_is_limited(tp))
		return 0;
	below = bp_below_ssthresh(tp, window, segments);
	window->cwnd += below;
	return segments - below;
}

/* The controller begins with the window that the kernel has; all else of its state is zero. */
#define BP_INIT(controller)                                                                        \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(controller##_init, struct sock *sk)                                          \
	{                                                                                          \
		struct controller *ca = bp_state(sk);                                              \
                                                                                                   \
		bp_start(bp_tcp(sk), &ca->window);                                                 \
	}

/*
 * A timeout halves the flight size (RFC 5681 equation 4), whatever other losses do. The kernel asks
 * for ssthresh before it says that it is a timeout; so what that gave is overwritten.
 */
#define BP_HALVE_ON_TIMEOUT(controller)                                                            \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(controller##_cwnd_event, struct sock *sk, enum tcp_ca_event event)           \
	{                                                                                          \
		struct controller *ca = bp_state(sk);                                              \
                                                                                                   \
		if (event == CA_EVENT_LOSS)                                                        \
			bp_set_ssthresh(bp_tcp(sk), &ca->window, bp_half(bp_tcp(sk)));             \
	}

/*
 * A mark raises nothing (RFC 3168 section 6.1.2), while a loss may where an estimate of the path is
 * above the window. The kernel asks for ssthresh before it says that it is a mark; so what that gave
 * is limited afterwards.
 */
#define BP_MARK_RAISES_NOTHING(controller)                                                         \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(controller##_set_state, struct sock *sk, u8 state)                           \
	{                                                                                          \
		struct controller *ca = bp_state(sk);                                              \
		struct tcp_sock *tp = bp_tcp(sk);                                                  \
                                                                                                   \
		if (state != TCP_CA_CWR)                                                           \
			return;                                                                    \
		bp_sync(tp, &ca->window);                                                          \
		bp_set_ssthresh(tp, &ca->window,                                                   \
				bp_min(bp_ssthresh(tp, &ca->window), ca->window.cwnd));            \
	}

/* A reduction was needless: the window is what it was before (RFC 3522, RFC 5682). */
#define BP_UNDO(controller)                                                                        \
	SEC("struct_ops")                                                                          \
	u32 BPF_PROG(controller##_undo_cwnd, struct sock *sk)                                      \
	{                                                                                          \
		return bp_max(bp_tcp(sk)->snd_cwnd, bp_tcp(sk)->prior_cwnd);                       \
	}

/* What the kernel gets to see of a controller. */
#define BP_CONTROLLER(controller)                                                                  \
	char _license[] SEC("license") = "GPL";                                                    \
	SEC(".struct_ops.link") struct tcp_congestion_ops controller

#endif
