// Gives the events of standard input to Copa of genericCC, with the configuration of the first
// argument. After each acknowledgement it prints the window in bytes, the pacing rate in bytes per
// second, and whether packets are paced. Times are in microseconds; the first packet is sent a
// microsecond after the start of the program's clock.

#include <cstdint>
#include <cstdio>
#include <iostream>

#include "markoviancc.hh"

namespace {
constexpr double packet = 1000;
}

int main(int, char **arguments) {
    // The program reports on standard output.
    std::cout.rdbuf(nullptr);
    MarkovianCC copa(1.0);
    copa.interpret_config_str(arguments[1]);
    copa.init();
    unsigned long long now, sent, pipe, srtt, start = 0;
    char kind;
    while (std::scanf(" %c %llu %llu %llu %llu", &kind, &now, &sent, &pipe, &srtt) == 5) {
        if (start == 0)
            start = now - 1;
        const auto milliseconds = [start](unsigned long long at) { return static_cast<double>(at - start) / 1000.0; };
        copa.set_timestamp(milliseconds(now));
        if (kind == 'S') {
            copa.onPktSent(static_cast<int>(sent));
        } else if (kind == 'A') {
            unsigned long long acked, delivered, rtt, least, rate, prior, limited, sent_at, number;
            if (std::scanf("%llu %llu %llu %llu %llu %llu %llu %llu %llu", &acked, &delivered, &rtt, &least, &rate, &prior,
                           &limited, &sent_at, &number) != 9)
                return 1;
            copa.onACK(static_cast<int>(number) + 1, 0, milliseconds(sent_at));
            const double between = copa.get_intersend_time();
            const bool is_paced = between > 0;
            std::printf("%.3f %.3f %d\n", copa.get_the_window() * packet, is_paced ? packet / between * 1000 : 0, is_paced);
        } else {
            unsigned long long number;
            if (std::scanf("%llu", &number) != 1)
                return 1;
            // ctcp.hh begins again after a timeout, and finds other losses by acknowledgements.
            if (kind == 'T')
                copa.init();
        }
    }
    return 0;
}
