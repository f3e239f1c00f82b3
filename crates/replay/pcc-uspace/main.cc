// Gives the events of standard input to PCC of PCC-Uspace, with the algorithm of the first argument.
// After each acknowledgement it prints -1, as the program has no window, the pacing rate in bytes per
// second, and 1. Times are in microseconds.

#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include "pcc_sender.h"
#include "pcc_vivace_sender.h"

namespace {
constexpr QuicByteCount packet = 1000;
// The time in nanoseconds and the packets sent before, from which the definition draws.
unsigned long long draw_time, draw_sent;

QuicTime at(unsigned long long time) { return QuicTime::Zero() + QuicTime::Delta::FromMicroseconds(static_cast<int64_t>(time)); }
} // namespace

// In the place of the C library's: the draws of the definition (SplitMix64).
extern "C" int rand() noexcept {
    unsigned long long z = draw_time ^ (draw_sent << 32 | draw_sent >> 32);
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return static_cast<int>(z >> 63);
}

int main(int, char **arguments) {
    std::cerr.rdbuf(nullptr);
    const bool is_vivace = std::strcmp(arguments[1], "Vivace") == 0;
    // The numbers of packets that core.cpp gives.
    std::unique_ptr<PccSender> sender(is_vivace ? new PccVivaceSender(10, 10) : new PccSender(10, 10));
    sender->SetUtilityTag(arguments[1]);
    const AckedPacketVector none_acked;
    const LostPacketVector none_lost;
    const QuicTime::Delta none = QuicTime::Delta::Zero();
    unsigned long long now, sent, pipe, srtt, number;
    char kind;
    while (std::scanf(" %c %llu %llu %llu %llu", &kind, &now, &sent, &pipe, &srtt) == 5) {
        if (kind == 'S') {
            draw_time = 1000 * now;
            draw_sent = sent - 1;
            sender->OnPacketSent(at(now), 0, sent, packet, false);
        } else if (kind == 'A') {
            unsigned long long acked, delivered, rtt, least, rate, prior, limited, sent_at;
            if (std::scanf("%llu %llu %llu %llu %llu %llu %llu %llu %llu", &acked, &delivered, &rtt, &least, &rate, &prior,
                           &limited, &sent_at, &number) != 9)
                return 1;
            const AckedPacketVector one{AckedPacket(number, packet, at(now))};
            const auto sample = QuicTime::Delta::FromMicroseconds(static_cast<int64_t>(rtt));
            sender->OnCongestionEvent(true, sample, 0, at(now), one, none_lost);
            std::printf("-1 %.3f 1\n", static_cast<double>(sender->PacingRate(0).ToBitsPerSecond()) / 8);
        } else {
            if (std::scanf("%llu", &number) != 1)
                return 1;
            const LostPacketVector one{LostPacket(number, packet)};
            sender->OnCongestionEvent(false, none, 0, at(now), none_acked, one);
        }
    }
    return 0;
}
