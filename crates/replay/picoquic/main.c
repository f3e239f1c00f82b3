/* Gives the events of standard input to picoquic's BBR, version 1. After each acknowledgement it
 * prints the window in bytes, the pacing rate in bytes per second, and whether packets are paced.
 * Times are in microseconds. */

#include <inttypes.h>
#include <stdio.h>

#include "picoquic_internal.h"

extern picoquic_congestion_algorithm_t *picoquic_bbr1_algorithm;

void picoquic_refresh_path_quality_thresholds(picoquic_path_t *path) { (void)path; }

int main(void) {
    static picoquic_quic_t quic;
    static picoquic_path_t path;
    static picoquic_cnx_t cnx;
    picoquic_congestion_algorithm_t *bbr = picoquic_bbr1_algorithm;
    uint64_t now, sent, pipe, srtt;
    char kind;

    cnx.quic = &quic;
    cnx.path[0] = &path;
    path.cnx = &cnx;
    path.send_mtu = PICOQUIC_MAX_PACKET_SIZE;
    path.rtt_min = path.smoothed_rtt = 250000;
    path.pacing.packet_time_nanosec = path.pacing.packet_time_microsec = 1;
    bbr->alg_init(&path, NULL, 0);
    while (scanf(" %c %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &kind, &now, &sent, &pipe, &srtt) == 5) {
        picoquic_per_ack_state_t state = {0};
        path.bytes_in_transit = pipe;
        path.smoothed_rtt = srtt;
        cnx.pkt_ctx[0].send_sequence = sent + 1;
        if (kind == 'A') {
            uint64_t rate, prior, limited, sent_at, number;
            if (scanf("%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                      " %" SCNu64,
                      &state.nb_bytes_acknowledged, &path.delivered, &state.rtt_measurement, &path.rtt_min, &rate,
                      &prior, &limited, &sent_at, &number) != 9)
                return 1;
            picoquic_estimate_max_path_bandwidth(&path, sent_at, now);
            if (rate > 0) {
                path.bandwidth_estimate = rate;
                path.delivered_last_packet = prior;
                path.last_bw_estimate_path_limited = (int)limited;
            }
            path.last_time_acked_data_frame_sent = now;
            cnx.cwin_blocked = !limited;
            bbr->alg_notify(&cnx, &path, picoquic_congestion_notification_acknowledgement, &state, now);
            printf("%" PRIu64 " %" PRIu64 " %d\n", path.cwin, path.pacing.rate, path.pacing.packet_time_nanosec != 1);
        } else if (kind != 'S') {
            if (scanf("%" SCNu64, &state.lost_packet_number) != 1)
                return 1;
            path.total_bytes_lost += PICOQUIC_MAX_PACKET_SIZE;
            bbr->alg_notify(&cnx, &path,
                            kind == 'L' ? picoquic_congestion_notification_repeat : picoquic_congestion_notification_timeout,
                            &state, now);
        }
    }
    bbr->alg_delete(&path);
    return 0;
}
