// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Replays what the kernel's TCP does to a controller, in the order of net/ipv4/tcp_input.c, on a
 * socket that has only the fields that controllers read. The window in recovery is the kernel's own
 * (proportional rate reduction): here it is at its end at once.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

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
};

struct replay {
	const struct tcp_congestion_ops *ops;
	struct tcp_sock socket;
};

#define EACH(one)                                                                                  \
	one(adalr) one(aliad) one(bic) one(ck_stp) one(highspeed) one(htcp) one(hybla)              \
	one(logwestwood_plus) one(scalable) one(veno) one(westwood_plus)

#define DECLARE(controller)                                                                        \
	extern const struct tcp_congestion_ops controller;                                         \
	extern u64 controller##_parameters[];
EACH(DECLARE)

static struct sock *sock_of(struct replay *replay)
{
	return &replay->socket.inet_conn.icsk_inet.sk;
}

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

/* The map of a controller's parameters; none when there is no such controller. */
u64 *replay_parameters(const char *name)
{
#define PARAMETERS(controller)                                                                     \
	if (!strcmp(name, #controller))                                                            \
		return controller##_parameters;
	EACH(PARAMETERS)
	return NULL;
}

struct replay *replay_open(const char *name, u32 mss, u32 cwnd, u32 ssthresh)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
#define CHOOSE(controller)                                                                         \
	if (!strcmp(name, #controller))                                                            \
		replay->ops = &controller;
	EACH(CHOOSE)
	if (!replay->ops) {
		free(replay);
		return NULL;
	}
	replay->socket.mss_cache = mss;
	replay->socket.snd_cwnd = cwnd;
	replay->socket.snd_cwnd_clamp = ~0U;
	replay->socket.snd_ssthresh = ssthresh;
	replay->ops->init(sock_of(replay));
	return replay;
}

void replay_close(struct replay *replay)
{
	free(replay);
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
}

/* tcp_clean_rtx_queue() */
void replay_pkts_acked(struct replay *replay, u32 acked, s32 rtt)
{
	struct ack_sample sample = { .pkts_acked = acked, .rtt_us = rtt };

	if (replay->ops->pkts_acked)
		replay->ops->pkts_acked(sock_of(replay), &sample);
}

/* tcp_cong_avoid() */
void replay_cong_avoid(struct replay *replay, u32 acked)
{
	replay->ops->cong_avoid(sock_of(replay), replay->socket.snd_una, acked);
}

void replay_recovered(struct replay *replay);

/* tcp_enter_recovery(), and what proportional rate reduction comes to */
void replay_loss(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = replay->ops->ssthresh(sock_of(replay));
	set_state(replay, TCP_CA_Recovery);
	tp->snd_cwnd = tp->snd_ssthresh;
}

/* tcp_enter_cwr(), and what proportional rate reduction comes to until it ends */
void replay_mark(struct replay *replay)
{
	struct tcp_sock *tp = &replay->socket;

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = replay->ops->ssthresh(sock_of(replay));
	set_state(replay, TCP_CA_CWR);
	replay_recovered(replay);
}

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
		tp->prior_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = replay->ops->ssthresh(sock_of(replay));
		event(replay, CA_EVENT_LOSS);
	}
	tp->snd_cwnd = 1;
	set_state(replay, TCP_CA_Loss);
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
	event(replay, CA_EVENT_TX_START);
}

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
	const u64 *state = replay->socket.inet_conn.icsk_ca_priv;
	u64 whole = replay->socket.snd_cwnd;

	if (state[0] >> 16 == whole)
		return state[0];
	return state[1] >> 16 == whole ? state[1] : whole << 16;
}

u32 replay_ssthresh(const struct replay *replay)
{
	return replay->socket.snd_ssthresh;
}
