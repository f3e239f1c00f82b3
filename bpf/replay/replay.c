// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Replays what the kernel's TCP does to a controller, in the order of net/ipv4/tcp_input.c, on a
 * socket that has only the fields that controllers read. The window in recovery is the kernel's own
 * (proportional rate reduction): here it is at its end at once.
 *
 * It is compiled twice: with the controllers of bpf/, and with those of a kernel's sources, where
 * crates/replay/kernel/shim.h is included before it.
 */
#include <stdlib.h>
#include <string.h>

#ifndef REPLAY_KERNEL
#include "kernel.h"
#endif

struct view {
	u64 now;
	u32 srtt;
	u32 acknowledged;
	u32 sent;
	u32 advertised;
	u32 delivered;
	u32 packets_out;
	u32 sacked_out;
	u32 limited;
	u32 min_rtt;
	u32 peer_clock;
	u32 echo;
	u32 segments;
};

struct rate {
	s64 interval;
	s64 rtt;
	u32 prior_delivered;
	s32 delivered;
	s32 losses;
	u32 acked;
	u32 in_flight;
	u32 limited;
	u32 lost;
	u32 recovers;
};

struct replay {
	/* First, so that a socket's address is that of its replay. */
	struct tcp_sock socket;
	const struct tcp_congestion_ops *ops;
	u32 prior_ssthresh;
	/* The controller reduces its window by itself: until more than this is acknowledged. */
	u32 high_seq;
	u8 reducing;
	/* Segments delivered when the last ACK was counted. */
	u32 counted;
	/* Samples of what is sent between these counts of delivered segments are limited by the controller. */
	u32 held_from;
	u32 held_to;
};

#ifdef REPLAY_KERNEL

static const struct tcp_congestion_ops *registered[64];
static u64 clock_us;
static u32 (*draw)(void);

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	size_t i = 0;

	while (registered[i])
		i++;
	registered[i] = ops;
	return 0;
}

static const struct tcp_congestion_ops *find(const char *name)
{
	for (size_t i = 0; registered[i]; i++)
		if (!strcmp(name, registered[i]->name))
			return registered[i];
	return NULL;
}

/* Parameters of modules stay as they are. */
u64 *replay_parameters(const char *name)
{
	static u64 none;

	return find(name) ? &none : NULL;
}

u64 replay_clock_us(void)
{
	return clock_us;
}

u32 replay_random(void)
{
	return draw ? draw() : 0;
}

/* Where random numbers come from. */
void replay_draw(u32 (*source)(void))
{
	draw = source;
}

static void view_more(struct tcp_sock *tp, const struct view *view)
{
	clock_us = view->now;
	tp->min_rtt_us = view->min_rtt;
	tp->data_segs_out = view->segments;
	tp->rx_opt.rcv_tsval = view->peer_clock;
	tp->rx_opt.rcv_tsecr = view->echo;
}

static void start(struct tcp_sock *tp, const struct tcp_congestion_ops *ops)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;

	tp->inet_conn.icsk_ca_ops = ops;
	tp->ecn_flags = TCP_ECN_OK;
	sk->sk_state = TCP_ESTABLISHED;
	/* Below 262 MB/s, HyStart allows for 1 ms at the receiver's interface. */
	sk->sk_pacing_rate = 1000000;
	sk->sk_max_pacing_rate = ~0UL;
	sk->sk_pacing_shift = 10;
	sk->sk_gso_max_size = 65536;
}

static void count_again(struct tcp_sock *tp)
{
	tp->snd_cwnd_cnt = 0;
}

/*
 * tcp_count_delivered() and tcp_in_ack_event(): the long way for ACKs that say more than that all is well.
 * As of Linux 6.15 and the stable releases of that time it comes after pkts_acked().
 */
static void arrive(struct replay *replay, u32 acked, bool echo)
{
	struct tcp_sock *tp = &replay->socket;
	bool expected = acked > 0 && tp->sacked_out == 0 && !echo &&
			tp->inet_conn.icsk_ca_state == TCP_CA_Open;
	u32 flags = expected ? CA_ACK_WIN_UPDATE : CA_ACK_SLOWPATH;

	if (echo) {
		tp->delivered_ce += tp->delivered - replay->counted;
		flags |= CA_ACK_ECE;
	}
	replay->counted = tp->delivered;
	if (replay->ops->in_ack_event)
		replay->ops->in_ack_event(&tp->inet_conn.icsk_inet.sk, flags);
}

#else

static void view_more(struct tcp_sock *tp, const struct view *view)
{
	(void)tp;
	(void)view;
}

static void start(struct tcp_sock *tp, const struct tcp_congestion_ops *ops)
{
	(void)tp;
	(void)ops;
}

static void count_again(struct tcp_sock *tp)
{
	(void)tp;
}

static void arrive(struct replay *replay, u32 acked, bool echo)
{
	(void)replay;
	(void)acked;
	(void)echo;
}

void replay_draw(u32 (*source)(void))
{
	(void)source;
}

#define EACH(one)                                                                                  \
	one(adalr) one(aliad) one(bic) one(ck_stp) one(highspeed) one(htcp) one(hybla)              \
	one(logwestwood_plus) one(scalable) one(veno) one(westwood_plus)

#define DECLARE(controller)                                                                        \
	extern const struct tcp_congestion_ops controller;                                         \
	extern u64 controller##_parameters[];
EACH(DECLARE)

static const struct tcp_congestion_ops *find(const char *name)
{
#define CHOOSE(controller)                                                                         \
	if (!strcmp(name, #controller))                                                            \
		return &controller;
	EACH(CHOOSE)
	return NULL;
}

/* The map of a controller's parameters; none when there is no such controller. */
u64 *replay_parameters(const char *name)
{
#define PARAMETERS(controller)                                                                     \
	if (!strcmp(name, #controller))                                                            \
		return controller##_parameters;
	EACH(PARAMETERS)
	return NULL;
}

#endif

static struct sock *sock_of(struct replay *replay)
{
	return &replay->socket.inet_conn.icsk_inet.sk;
}

void replay_recovered(struct replay *replay);

static void set_state(struct replay *replay, u8 state)
{
	if (replay->ops->set_state)
		replay->ops->set_state(sock_of(replay), state);
	replay->socket.inet_conn.icsk_ca_state = state;
}

static void event(struct replay *replay, enum tcp_ca_event event)
{
	if (replay->ops->cwnd_event)
		replay->ops->cwnd_event(sock_of(replay), event);
}

void replay_view(struct replay *replay, const struct view *view)
{
	struct tcp_sock *tp = &replay->socket;

	tp->tcp_mstamp = view->now;
	tp->srtt_us = view->srtt << 3;
	tp->snd_una = view->acknowledged;
	tp->snd_nxt = view->sent;
	tp->snd_wnd = view->advertised;
	tp->delivered = view->delivered;
	tp->packets_out = view->packets_out;
	tp->sacked_out = view->sacked_out;
	tp->is_cwnd_limited = view->limited;
	view_more(tp, view);
}

struct replay *replay_open(const char *name, u32 mss, u32 cwnd, u32 ssthresh,
			   const struct view *view)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	replay->ops = find(name);
	if (!replay->ops) {
		free(replay);
		return NULL;
	}
	replay->socket.mss_cache = mss;
	replay->socket.snd_cwnd = cwnd;
	replay->socket.snd_cwnd_clamp = ~0U;
	replay->socket.snd_ssthresh = ssthresh;
	replay_view(replay, view);
	start(&replay->socket, replay->ops);
	if (replay->ops->init)
		replay->ops->init(sock_of(replay));
	return replay;
}

void replay_close(struct replay *replay)
{
#ifdef REPLAY_KERNEL
	if (replay->ops->release)
		replay->ops->release(sock_of(replay));
#endif
	free(replay);
}

/* tcp_clean_rtx_queue() and what follows it; `echo` is ECE. */
void replay_pkts_acked(struct replay *replay, u32 acked, s32 rtt, u32 in_flight, u32 echo)
{
	struct ack_sample sample = { .pkts_acked = acked, .rtt_us = rtt, .in_flight = in_flight };

	if (replay->ops->pkts_acked)
		replay->ops->pkts_acked(sock_of(replay), &sample);
	arrive(replay, acked, echo);
#ifdef REPLAY_KERNEL
	/* tcp_try_to_open() */
	if (acked == 0 && replay->socket.inet_conn.icsk_ca_state == TCP_CA_Open)
		set_state(replay, TCP_CA_Disorder);
#endif
}

/* tcp_cong_avoid(); not while a reduction lasts (tcp_fastretrans_alert()) */
void replay_cong_avoid(struct replay *replay, u32 acked)
{
	if (replay->reducing) {
		if ((s32)(replay->socket.snd_una - replay->high_seq) <= 0)
			return;
		replay->reducing = 0;
		replay_recovered(replay);
	}
	replay->ops->cong_avoid(sock_of(replay), replay->socket.snd_una, acked);
}

/* What tcp_init_undo() and ssthresh() do before a reduction. */
static void reduce(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	replay->prior_ssthresh = tp->snd_ssthresh;
	tp->prior_cwnd = tp->snd_cwnd;
	count_again(tp);
	tp->snd_ssthresh = replay->ops->ssthresh(sock_of(replay));
}

/* tcp_enter_recovery(), and what proportional rate reduction comes to */
void replay_loss(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	if (!replay->reducing)
		reduce(replay);
	replay->reducing = 0;
	set_state(replay, TCP_CA_Recovery);
	tp->snd_cwnd = tp->snd_ssthresh;
}

/* tcp_enter_cwr(), and what proportional rate reduction comes to until it ends */
void replay_mark(struct replay *replay)
{
	if (replay->reducing)
		return;
	reduce(replay);
	set_state(replay, TCP_CA_CWR);
	replay_recovered(replay);
}

#ifdef REPLAY_KERNEL
/* The same for a controller that reduces its window by itself; it lasts for the round trip. */
void tcp_enter_cwr(struct sock *sk)
{
	struct replay *replay = (struct replay *)sk;
	struct tcp_sock *tp = &replay->socket;

	reduce(replay);
	replay->reducing = 1;
	replay->high_seq = tp->snd_nxt;
	set_state(replay, TCP_CA_CWR);
	tp->snd_cwnd = tp->snd_ssthresh;
}
#endif

/* tcp_end_cwnd_reduction() */
void replay_recovered(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	tp->snd_cwnd = tp->snd_ssthresh;
	event(replay, CA_EVENT_COMPLETE_CWR);
	set_state(replay, TCP_CA_Open);
}

/* tcp_enter_loss() */
void replay_timeout(struct replay *replay, u32 repeated)
{
	struct tcp_sock *tp = &replay->socket;

	if (!repeated) {
		if (!replay->reducing)
			reduce(replay);
		event(replay, CA_EVENT_LOSS);
	}
	replay->reducing = 0;
	count_again(tp);
	tp->snd_cwnd = 1;
	set_state(replay, TCP_CA_Loss);
}

/* tcp_undo_cwnd_reduction(), and what its callers do; ssthresh is what it was. */
void replay_undo(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	tp->snd_cwnd = replay->ops->undo_cwnd(sock_of(replay));
	if (replay->prior_ssthresh > tp->snd_ssthresh)
		tp->snd_ssthresh = replay->prior_ssthresh;
	set_state(replay, TCP_CA_Open);
}

/* What was outstanding at the timeout is acknowledged. */
void replay_open_again(struct replay *replay)
{
	set_state(replay, TCP_CA_Open);
}

/* tcp_cwnd_restart(), and then data is sent */
void replay_idle(struct replay *replay, u32 cwnd)
{
	struct tcp_sock *tp = &replay->socket;

	event(replay, CA_EVENT_CWND_RESTART);
	if (tp->snd_cwnd > cwnd)
		tp->snd_cwnd = cwnd;
#ifndef REPLAY_KERNEL
	event(replay, CA_EVENT_TX_START);
#endif
}

/* tcp_event_data_sent() */
void replay_send(struct replay *replay)
{
#ifdef REPLAY_KERNEL
	struct tcp_sock *tp = &replay->socket;

	if (tp->snd_una == tp->snd_nxt)
		event(replay, CA_EVENT_TX_START);
	tp->lsndtime = tcp_jiffies32;
#else
	(void)replay;
#endif
}

#ifdef REPLAY_KERNEL
/*
 * tcp_fastretrans_alert() and tcp_cong_control() of a controller that has everything in its own hands.
 * Nothing is known to be retransmitted: what is lost is not in packets_out, as if it were sacked.
 */
void replay_control(struct replay *replay, const struct rate *rate)
{
	struct tcp_sock *tp = &replay->socket;
	/* In recovery, or after a timeout. */
	bool repairs = tp->inet_conn.icsk_ca_state >= TCP_CA_Recovery;
	bool held = replay->held_to && rate->prior_delivered >= replay->held_from &&
		    rate->prior_delivered <= replay->held_to;
	u32 limit;
	struct rate_sample sample = {
		.prior_mstamp = 1,
		.prior_delivered = rate->prior_delivered,
		.delivered = rate->delivered,
		.interval_us = rate->interval,
		.rtt_us = rate->rtt,
		.losses = rate->losses,
		.acked_sacked = rate->acked,
		.prior_in_flight = rate->in_flight,
		.is_app_limited = rate->limited || held,
	};

	tp->lost = rate->lost;
	tp->delivered_mstamp = tp->tcp_mstamp;
	tp->tcp_clock_cache = tp->tcp_mstamp * 1000;
	/* tcp_rate_gen(): a limit is over when what was sent under it is delivered. */
	if (tp->app_limited && (s32)(tp->delivered - tp->app_limited) > 0)
		tp->app_limited = 0;
	if (rate->recovers && !repairs) {
		replay->ops->ssthresh(sock_of(replay));
		set_state(replay, TCP_CA_Recovery);
	} else if (!rate->recovers && repairs) {
		set_state(replay, TCP_CA_Open);
	}
	limit = tp->app_limited;
	replay->ops->cong_control(sock_of(replay), &sample);
	if (tp->app_limited != limit) {
		if (!replay->held_to || tp->delivered > replay->held_to)
			replay->held_from = tp->delivered;
		replay->held_to = tp->app_limited;
	}
}

/* tcp_rate_check_app_limited() */
void replay_limit(struct replay *replay, u32 in_network)
{
	struct tcp_sock *tp = &replay->socket;

	tp->app_limited = (tp->delivered + in_network) ?: 1;
}

u64 replay_pacing(const struct replay *replay)
{
	return replay->socket.inet_conn.icsk_inet.sk.sk_pacing_rate;
}
#else
/* No controller of bpf/ has that. */
void replay_control(struct replay *replay, const struct rate *rate)
{
	(void)replay;
	(void)rate;
}

void replay_limit(struct replay *replay, u32 in_network)
{
	(void)replay;
	(void)in_network;
}

u64 replay_pacing(const struct replay *replay)
{
	(void)replay;
	return 0;
}
#endif

u32 replay_cwnd(const struct replay *replay)
{
	return replay->socket.snd_cwnd;
}

/*
 * With the part of a segment that the controller keeps: its state begins with struct bp_window, and
 * this is what bp_sync() will make of it.
 */
u64 replay_exact_cwnd(const struct replay *replay)
{
#ifdef REPLAY_KERNEL
	return (u64)replay->socket.snd_cwnd << 16;
#else
	const u64 *state = replay->socket.inet_conn.icsk_ca_priv;
	u64 whole = replay->socket.snd_cwnd;

	if (state[0] >> 16 == whole)
		return state[0];
	return state[1] >> 16 == whole ? state[1] : whole << 16;
#endif
}

u32 replay_ssthresh(const struct replay *replay)
{
	return replay->socket.snd_ssthresh;
}
