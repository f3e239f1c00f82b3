/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The part of the kernel's structures that the controllers touch.
 *
 * Kept by hand: a name and a type for each field, no order and no offset. The loader finds the
 * offsets of the running kernel in its BTF (CO-RE), so that one object runs on all kernels that
 * have the fields. Compiled for this machine (bpf/replay) the same structures stand in for a socket.
 */
#ifndef BENTPIPE_KERNEL_H
#define BENTPIPE_KERNEL_H

#ifdef __bpf__
#define CORE __attribute__((preserve_access_index))
#else
#define CORE
#endif

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC = 0,
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

/* The kernel's ICSK_CA_PRIV_SIZE is that of this array. */
#define CA_PRIVATE_WORDS 13

/* Any process may choose it for a socket, and a namespace may have it as its default. */
#define TCP_CONG_NON_RESTRICTED 1

/* Values of sk_pacing_status. */
#define SK_PACING_NEEDED 1

struct sock {
	u32 sk_pacing_status;
} CORE;

struct inet_sock {
	struct sock sk;
} CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[CA_PRIVATE_WORDS];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u8 is_cwnd_limited : 1;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 packets_out;
	u32 sacked_out;
	u32 max_packets_out;
	u32 delivered;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 mss_cache;
	u32 srtt_us;
	u64 tcp_mstamp;
} CORE;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} CORE;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
};

#endif
