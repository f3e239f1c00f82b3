/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Logarithm and power to the base 2, and the square root, in whole numbers.
 *
 * Exponents have 24 bits behind the point, powers 32. The logarithm squares its argument once for
 * each bit; the power multiplies the roots 2^(2^-k) of the bits that are set. The error of the
 * logarithm is below 2^-23, that of a power below 2^-26 of it or the last of its bits; the root is
 * exact (crates/replay/tests/arithmetic.rs).
 *
 * Decisions in loops of `bpf/` are arithmetic: the verifier follows both sides of each branch: a
 * logarithm with branches is beyond its million steps.
 */
#ifndef BENTPIPE_LOG_H
#define BENTPIPE_LOG_H

#include "bentpipe.h"

#define BP_LOG_BITS 24
#define BP_LOG_ONE (1LL << BP_LOG_BITS)
#define BP_POWER_BITS 32

/* 2^(1/2), 2^(1/4), ... with 31 bits behind the point. */
static const u32 bp_roots[BP_LOG_BITS] = {
	3037000500u, 2553802834u, 2341847524u, 2242560872u, 2194507417u, 2170868212u,
	2159144272u, 2153306067u, 2150392887u, 2148937775u, 2148210589u, 2147847087u,
	2147665360u, 2147574502u, 2147529075u, 2147506361u, 2147495005u, 2147489326u,
	2147486487u, 2147485068u, 2147484358u, 2147484003u, 2147483825u, 2147483737u,
};

/*
 * Decisions are made with arithmetic and not with branches: the verifier follows both sides of each
 * branch, which in a loop over bits is more than it is willing to do.
 */
BP_INLINE u64 bp_is_not_zero(u64 value)
{
	u64 sign = value | -value;

	bp_opaque(sign);
	return sign >> 63;
}

/* log2 of a number with 16 bits behind the point; that of zero is that of the smallest one. */
BP_FUNCTION s64 bp_log2(u64 value)
{
	u64 mantissa = value | (bp_is_not_zero(value) ^ 1);
	u64 log = 63 - BP_BITS;

	/* Into the range from 1 to 2, first with 63 and then with 31 bits behind the point. */
	for (int step = 32; step; step /= 2) {
		u64 shift = (bp_is_not_zero(mantissa >> (64 - step)) ^ 1) * step;

		mantissa <<= shift & 63;
		log -= shift;
	}
	mantissa >>= 32;
	for (int bit = 0; bit < BP_LOG_BITS; bit++) {
		u64 digit;

		mantissa = mantissa * mantissa >> 31;
		digit = mantissa >> 32;
		mantissa >>= digit & 63;
		log = 2 * log + digit;
	}
	return log;
}

/* 2 to the power of `exponent`; the largest number when it does not fit. */
BP_FUNCTION u64 bp_exp2(s64 exponent)
{
	s64 whole = exponent >> BP_LOG_BITS;
	u64 power = 1ULL << 31;

	if (whole > 30)
		return BP_LARGEST;
	if (whole < -32)
		return 0;
	for (int bit = 0; bit < BP_LOG_BITS; bit++) {
		u64 set = (u64)exponent >> (BP_LOG_BITS - 1 - bit) & 1;

		bp_opaque(set);
		power = power * ((1ULL << 31) + set * (bp_roots[bit] - (1ULL << 31))) >> 31;
	}
	return whole >= -1 ? power << ((whole + 1) & 63) : power >> ((-whole - 1) & 63);
}

/* The largest number whose square is not above `value`, which is below 2^63. */
BP_FUNCTION u64 bp_sqrt(u64 value)
{
	u64 root = 0;

	for (int bit = 31; bit >= 0; bit--) {
		u64 larger = root | 1ULL << bit;
		u64 missing = (value - larger * larger) >> 63;

		bp_opaque(missing);
		root |= (missing ^ 1) << bit;
	}
	return root;
}

#endif
