/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stands in for the kernel around its congestion controllers, so that net/ipv4/tcp_*.c of a kernel's
 * sources compile as a library of this machine (examples/replay_kernel).
 *
 * It is included before each of those files. Their own includes find empty files. Kept by hand: the
 * structures have the fields that controllers use, and no others. Functions are restated; those of
 * net/ipv4/tcp_cong.c come from the sources themselves.
 */
#ifndef SHIM_H
#define SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s64 ktime_t;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S32_MAX INT32_MAX
#define S64_MIN INT64_MIN
#define U32_C(number) UINT32_C(number)

#define __init
#define __exit
#define __read_mostly
#define __ro_after_init
#define __always_unused __attribute__((unused))
#define __maybe_unused __attribute__((unused))
#define __pure __attribute__((pure))
#define __bpf_kfunc
#define __printf(a, b)
#define fallthrough
#define noinline
#define likely(condition) (condition)
#define unlikely(condition) (condition)
#define READ_ONCE(variable) (variable)
#define WRITE_ONCE(variable, value) ((variable) = (value))
#define WARN_ON_ONCE(condition) (!!(condition))
#define WARN_ONCE(condition, ...) (!!(condition))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define BUILD_BUG_ON_NOT_POWER_OF_2(number) BUILD_BUG_ON((number) & ((number) - 1))
#define cmpxchg(pointer, old, new) shim_exchange(pointer, old, new)
#define pr_debug(...)
#define pr_warn(...)
#define printk(...) ((void)0)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define THIS_MODULE NULL

#define MODULE_AUTHOR(text) _Static_assert(1, "")
#define MODULE_LICENSE(text) _Static_assert(1, "")
#define MODULE_DESCRIPTION(text) _Static_assert(1, "")
#define MODULE_VERSION(text) _Static_assert(1, "")
#define MODULE_PARM_DESC(name, text) _Static_assert(1, "")
#define module_param(name, type, mode) _Static_assert(1, "")
#define module_param_cb(name, operations, variable, mode) _Static_assert(1, "")
/* Loading the library registers all of its controllers. */
#define module_init(function)                                                                      \
	static __attribute__((constructor)) void construct_##function(void)                        \
	{                                                                                          \
		function();                                                                        \
	}
#define module_exit(function)                                                                      \
	static __attribute__((unused)) void *unused_##function = function

/* Arithmetic. */
#define min(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) min_a = (a);                                                         \
		__typeof__(b) min_b = (b);                                                         \
		min_a < min_b ? min_a : min_b;                                                     \
	})
#define max(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) max_a = (a);                                                         \
		__typeof__(b) max_b = (b);                                                         \
		max_a > max_b ? max_a : max_b;                                                     \
	})
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define max3(a, b, c) max(max(a, b), c)
#define min_not_zero(a, b)                                                                         \
	({                                                                                         \
		__typeof__(a) nonzero_a = (a);                                                     \
		__typeof__(b) nonzero_b = (b);                                                     \
		nonzero_a == 0   ? nonzero_b                                                       \
		: nonzero_b == 0 ? nonzero_a                                                       \
				 : min(nonzero_a, nonzero_b);                                      \
	})
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) clamp((type)(value), (type)(low), (type)(high))
#define abs(value)                                                                                 \
	({                                                                                         \
		__typeof__(value) abs_value = (value);                                             \
		abs_value < 0 ? -abs_value : abs_value;                                            \
	})
#define do_div(number, base)                                                                       \
	({                                                                                         \
		u32 do_div_base = (base);                                                          \
		u32 do_div_rest = (number) % do_div_base;                                          \
		(number) /= do_div_base;                                                           \
		do_div_rest;                                                                       \
	})
#define div_u64(number, divisor) ((u64)(number) / (u32)(divisor))
#define div64_u64(number, divisor) ((u64)(number) / (u64)(divisor))
#define div64_ul(number, divisor) ((u64)(number) / (unsigned long)(divisor))
#define div64_long(number, divisor) ((s64)(number) / (long)(divisor))
#define DIV_ROUND_UP(number, divisor) (((number) + (divisor) - 1) / (divisor))
#define DIV_ROUND_CLOSEST(number, divisor)                                                         \
	(((number) > 0) == ((divisor) > 0) ? ((number) + (divisor) / 2) / (divisor)                \
					   : ((number) - (divisor) / 2) / (divisor))
#define is_power_of_2(number) ((number) && !((number) & ((number) - 1)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(bit) (1UL << (bit))
#define BITS_PER_TYPE(type) (8 * sizeof(type))
#define ilog2(number) (63 - __builtin_clzll(number))

static inline int fls64(u64 number)
{
	return number ? 64 - __builtin_clzll(number) : 0;
}

static inline int fls(u32 number)
{
	return number ? 32 - __builtin_clz(number) : 0;
}

/*
 * Clocks: all of them follow the event that is being replayed. Debian's kernel has 250 ticks. Public modules
 * are compiled with 1000, so that what depends on ticks differs less from the definition's exact times.
 */
#ifndef HZ
#define HZ 250
#endif
#define TCP_TS_HZ 1000
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_SEC 1000000000L
#define MSEC_PER_SEC 1000L
/* As in the kernel, ticks overflow five minutes after the start. */
#define INITIAL_JIFFIES ((unsigned long)(u32)(-300 * HZ))
#define jiffies (INITIAL_JIFFIES + (unsigned long)(replay_clock_us() * HZ / USEC_PER_SEC))
#define tcp_jiffies32 ((u32)jiffies)
#define msecs_to_jiffies(milliseconds) (((milliseconds) * HZ + 999) / 1000)
#define usecs_to_jiffies(microseconds) (((microseconds) * HZ + 999999) / 1000000)
#define jiffies_to_msecs(ticks) ((ticks) * (1000 / HZ))
#define jiffies_to_usecs(ticks) ((ticks) * (1000000 / HZ))
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before(a, b) time_after(b, a)
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b) before(b, a)
#define between(number, low, high) ((u32)(high) - (u32)(low) >= (u32)(number) - (u32)(low))
#define local_clock() (replay_clock_us() * 1000)
#define tcp_clock_us() replay_clock_us()
#define tcp_clock_ns() (replay_clock_us() * 1000)

u64 replay_clock_us(void);

/* Random numbers: those that the definition draws. */
u32 replay_random(void);
#define get_random_u32() replay_random()
#define prandom_u32() replay_random()
#define get_random_u32_below(limit) ((u32)(((u64)replay_random() * (limit)) >> 32))
#define prandom_u32_max(limit) get_random_u32_below(limit)
#define get_random_bytes(buffer, length) replay_random_bytes(buffer, length)

static inline void replay_random_bytes(void *buffer, int length)
{
	u8 *bytes = buffer;

	while (length-- > 0)
		*bytes++ = replay_random() >> 24;
}

/* Memory. */
#define GFP_NOWAIT 0
#define GFP_KERNEL 0
#define __GFP_NOWARN 0
#define kcalloc(count, size, flags) calloc(count, size)
#define kzalloc(size, flags) calloc(1, size)
#define kfree(pointer) free(pointer)

/* Sockets. */
enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1 << 0,
	CA_ACK_WIN_UPDATE = 1 << 1,
	CA_ACK_ECE = 1 << 2,
};

enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2,
};

enum {
	INET_DIAG_VEGASINFO = 3,
	INET_DIAG_DCTCPINFO = 9,
	INET_DIAG_BBRINFO = 16,
};

/* As in the kernel of BBRv3, for which the module of LeoCC is made; Linux has 13. */
#define ICSK_CA_PRIV_SIZE (18 * sizeof(u64))
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define BPF_SOCK_OPS_BASE_RTT 0
#define GSO_LEGACY_MAX_SIZE 65536
#define GSO_MAX_SIZE 65536
#define MAX_TCP_HEADER 320

struct sk_buff;
struct module;

/* Settings of a namespace that controllers read. */
struct net {
	struct {
		u8 sysctl_tcp_min_tso_segs;
	} ipv4;
};

static const struct net shim_net __attribute__((unused)) = { .ipv4 = { 2 } };


/* ECN is agreed on in every replay. */
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define INET_ECN_dontxmit(socket) ((void)(socket))
/* What a receiver does is not replayed. */
#define __tcp_send_ack(socket, number) ((void)(number))

enum {
	TCP_ESTABLISHED = 1,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
};

struct kernel_param {
	int none;
};

struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *parameter);
	int (*get)(char *buffer, const struct kernel_param *parameter);
};

#define param_set_uint_minmax(value, parameter, least, most) 0
#define param_get_uint NULL

struct sock {
	unsigned char sk_state;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u8 sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state;
	u8 icsk_retransmits;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u8 ecn_flags;
	u32 rcv_nxt;
	u8 is_cwnd_limited;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 data_segs_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 mss_cache;
	u32 srtt_us;
	u32 mdev_us;
	u32 min_rtt_us;
	u32 total_retrans;
	u32 lsndtime;
	u64 tcp_mstamp;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u64 delivered_mstamp;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};

struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	/* In the kernel of BBRv3. */
	u32 (*tso_segs)(struct sock *sk, unsigned int mss_now);
	/* Newer kernels give it the ACK, too; no module of that time reads it. */
#ifdef SHIM_CONG_CONTROL_HAS_ACK
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[16];
	struct module *owner;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_enter_cwr(struct sock *sk);

#define tcp_unregister_congestion_control(ops) ((void)(ops))
#define tcp_sk(socket) ((struct tcp_sock *)(socket))
#define inet_csk(socket) ((struct inet_connection_sock *)(socket))
#define sock_net(socket) (&shim_net)
#define tcp_call_bpf(socket, ...) (-1)
#define NET_INC_STATS(net, counter)
#define NET_ADD_STATS(net, counter, number)
#define __NET_INC_STATS(net, counter)
#define __NET_ADD_STATS(net, counter, number)

static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* The replay says at each event whether cwnd limits the sender. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return tcp_sk(sk)->is_cwnd_limited;
}

/* Outside of a reduction, no less than three quarters of the window. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if ((TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << inet_csk(sk)->icsk_ca_state))
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->min_rtt_us;
}

/* The sender's clock of RFC 7323, in milliseconds. */
static inline u32 tcp_time_stamp(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / 1000;
}

#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)
#define tcp_time_stamp_ms(tp) tcp_time_stamp(tp)

static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return later > earlier ? later - earlier : 0;
}

static inline u32 tcp_stamp32_us_delta(u32 later, u32 earlier)
{
	return (s32)(later - earlier) > 0 ? later - earlier : 0;
}

#define shim_exchange(pointer, old, new)                                                           \
	({                                                                                         \
		__typeof__(*(pointer)) shim_found = *(pointer);                                    \
		if (shim_found == (old))                                                           \
			*(pointer) = (new);                                                        \
		shim_found;                                                                        \
	})

/* Types of BPF's functions, which the library has none of. */
struct btf_id_set8 {
	int none;
};

struct btf_kfunc_id_set {
	struct module *owner;
	struct btf_id_set8 *set;
};

#define BPF_PROG_TYPE_STRUCT_OPS 0
#define BTF_SET8_START(name) static struct btf_id_set8 name = {
#define BTF_SET8_END(name) };
#define BTF_KFUNCS_START(name) static struct btf_id_set8 name = {
#define BTF_KFUNCS_END(name) };
#define BTF_ID_FLAGS(...)
#define register_btf_kfunc_id_set(type, set) ((void)(set), 0)

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);

/* bpf/replay/replay.c is compiled with this shim instead of bpf/kernel.h. */
#define REPLAY_KERNEL

#endif
