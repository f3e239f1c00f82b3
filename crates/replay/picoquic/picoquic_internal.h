/* What bbr1.c, cc_common.c and pacing.c of picoquic need of the rest of picoquic: the fields of a
 * path and of a connection that they use. `replay_programs` compiles them with this header. */

#include <stddef.h>
#include <stdint.h>

#define PICOQUIC_MAX_PACKET_SIZE 1000
#define PICOQUIC_CWIN_INITIAL (10 * PICOQUIC_MAX_PACKET_SIZE)
#define PICOQUIC_CWIN_MINIMUM (2 * PICOQUIC_MAX_PACKET_SIZE)
#define PICOQUIC_TARGET_RENO_RTT 100000ull
#define PICOQUIC_TARGET_SATELLITE_RTT 610000ull
#define PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MIN 1000
#define PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MAX 15000
#define PICOQUIC_RATE_FROM_BYTES(bytes, microseconds) ((uint64_t)(bytes) * 1000000 / (uint64_t)(microseconds))
#define PICOQUIC_BYTES_FROM_RATE(microseconds, rate) ((uint64_t)(microseconds) * (uint64_t)(rate) / 1000000)
#define PICOQUIC_CC_ALGO_NUMBER_BBR1 0
#define PICOQUIC_ECN_ECT_0 2
#define SET_LAST_WAKE(quic, source)

typedef enum {
    picoquic_congestion_notification_acknowledgement,
    picoquic_congestion_notification_repeat,
    picoquic_congestion_notification_timeout,
    picoquic_congestion_notification_spurious_repeat,
    picoquic_congestion_notification_ecn_ec,
    picoquic_congestion_notification_cwin_blocked,
    picoquic_congestion_notification_seed_cwin,
    picoquic_congestion_notification_reset
} picoquic_congestion_notification_t;

enum { picoquic_packet_context_application, picoquic_callback_pacing_changed, picoquic_callback_path_quality_changed };

typedef struct {
    uint64_t rtt_measurement, one_way_delay, nb_bytes_acknowledged, lost_packet_number;
} picoquic_per_ack_state_t;

typedef struct {
    struct {
        uint64_t sequence_number;
    } *pending_first;
    uint64_t send_sequence, highest_acknowledged, latest_time_acknowledged;
} picoquic_packet_context_t;

typedef struct {
    uint64_t evaluation_time, rate, rate_max, quantum_max, packet_time_microsec;
    int64_t bucket_nanosec, bucket_max, packet_time_nanosec;
    int bandwidth_pause;
} picoquic_pacing_t;

typedef struct {
    unsigned int packet_train_mode;
} picoquic_quic_t;

struct cnx;
typedef struct {
    struct cnx *cnx;
    void *congestion_alg_state, *app_path_ctx;
    picoquic_packet_context_t pkt_ctx;
    picoquic_pacing_t pacing;
    size_t send_mtu;
    int is_cc_data_updated, is_ssthresh_initialized, last_bw_estimate_path_limited;
    uint64_t unique_path_id, cwin, rtt_min, smoothed_rtt, delivered, delivered_last_packet;
    uint64_t total_bytes_lost, bytes_in_transit;
    uint64_t bandwidth_estimate, bandwidth_estimate_max, peak_bandwidth_estimate;
    uint64_t last_time_acked_data_frame_sent, last_sender_limited_time;
    uint64_t max_sample_sent_time, max_sample_acked_time, max_sample_delivered;
    uint64_t rtt_threshold_low, rtt_threshold_high, pacing_rate_threshold_low, pacing_rate_threshold_high;
} picoquic_path_t;

typedef struct cnx {
    picoquic_quic_t *quic;
    picoquic_path_t *path[1];
    picoquic_packet_context_t pkt_ctx[1];
    int (*callback_fn)(struct cnx *, uint64_t, void *, size_t, int, void *, void *);
    void *callback_ctx;
    int is_multipath_enabled, is_time_stamp_enabled, cwin_blocked;
    int is_pacing_update_requested, is_path_quality_update_requested;
    uint64_t pacing_rate_signalled, pacing_increase_threshold, pacing_decrease_threshold;
} picoquic_cnx_t;

typedef struct {
    char const *congestion_algorithm_id;
    uint8_t congestion_algorithm_number, ecn_mark;
    void (*alg_init)(picoquic_path_t *, char const *, uint64_t);
    void (*alg_notify)(picoquic_cnx_t *, picoquic_path_t *, picoquic_congestion_notification_t,
                       picoquic_per_ack_state_t *, uint64_t);
    void (*alg_delete)(picoquic_path_t *);
    void (*alg_observe)(picoquic_path_t *, uint64_t *, uint64_t *);
} picoquic_congestion_algorithm_t;

void picoquic_refresh_path_quality_thresholds(picoquic_path_t *path);
void picoquic_update_pacing_rate(picoquic_path_t *path, double rate, uint64_t quantum);
void picoquic_update_pacing_data(picoquic_path_t *path, int slow_start);
void picoquic_estimate_max_path_bandwidth(picoquic_path_t *path, uint64_t send_time, uint64_t delivery_time);
