// Active queue management of ns-3 3.44 on its own: packets from a file arrive at a queue disc, and a link of
// constant rate takes them out. No hosts and no devices, so that only the algorithms differ from those
// of Bentpipe (crates/link/examples/open_loop.rs reads the same file).
//
//   ns3_aqm --aqm=codel|fq-codel|pie|red --arrivals=FILE --limit=PACKETS --rate=BIT_PER_S --seed=N
//
// A line of the file is: time in ns, number of the flow, bytes of the IP packet. Prints one line of JSON.
//
// Parameters are Bentpipe's defaults where those of ns-3 differ: RED's largest probability is 0.1, its
// weight belongs to arrivals, and its idle packets have 500 bytes as in ns-2; PIE measures the delay by
// time stamps, and has the target, period and gains of RFC 8033.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <unordered_map>

using namespace ns3;

namespace
{

Ptr<QueueDisc> g_queue;
uint64_t g_rate = 8'000'000;
bool g_busy = false;
std::ifstream g_arrivals;
std::unordered_map<uint64_t, Time> g_since;
uint64_t g_arrived = 0;
uint64_t g_sent = 0;
double g_delay = 0;

void
Serve()
{
    g_busy = false;
    Ptr<QueueDiscItem> item = g_queue->Dequeue();
    if (!item)
    {
        return;
    }
    auto since = g_since.find(item->GetPacket()->GetUid());
    g_delay += (Simulator::Now() - since->second).GetSeconds();
    g_since.erase(since);
    g_sent++;
    g_busy = true;
    Simulator::Schedule(NanoSeconds(item->GetSize() * 8'000'000'000ULL / g_rate), &Serve);
}

void ScheduleNext();

void
Arrive(uint32_t flow, uint32_t bytes)
{
    Ipv4Header header;
    header.SetSource(Ipv4Address(0x0a000001 + flow));
    header.SetDestination(Ipv4Address("10.1.0.1"));
    // Not UDP: a hash would look for its ports.
    header.SetProtocol(253);
    header.SetPayloadSize(bytes - header.GetSerializedSize());
    Ptr<Packet> packet = Create<Packet>(bytes - header.GetSerializedSize());
    g_since[packet->GetUid()] = Simulator::Now();
    g_arrived++;
    g_queue->Enqueue(Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, header));
    if (!g_busy)
    {
        Serve();
    }
    ScheduleNext();
}

void
ScheduleNext()
{
    uint64_t at;
    uint32_t flow;
    uint32_t bytes;
    if (g_arrivals >> at >> flow >> bytes)
    {
        Simulator::Schedule(NanoSeconds(at) - Simulator::Now(), &Arrive, flow, bytes);
    }
    else
    {
        // The updates of PIE never end by themselves.
        Simulator::Stop(Seconds(600));
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string aqm;
    std::string arrivals;
    uint32_t limit = 1000;
    uint32_t seed = 1;
    CommandLine line(__FILE__);
    line.AddValue("aqm", "codel, fq-codel, pie or red", aqm);
    line.AddValue("arrivals", "file of arrivals", arrivals);
    line.AddValue("limit", "packets that may wait", limit);
    line.AddValue("rate", "bit/s of the link", g_rate);
    line.AddValue("seed", "seed of the random numbers", seed);
    line.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);

    ObjectFactory factory;
    if (aqm == "codel")
    {
        factory.SetTypeId("ns3::CoDelQueueDisc");
    }
    else if (aqm == "fq-codel")
    {
        factory.SetTypeId("ns3::FqCoDelQueueDisc");
    }
    else if (aqm == "pie")
    {
        factory.SetTypeId("ns3::PieQueueDisc");
        factory.Set("QueueDelayReference", TimeValue(MilliSeconds(15)));
        factory.Set("Tupdate", TimeValue(MilliSeconds(15)));
        factory.Set("MaxBurstAllowance", TimeValue(MilliSeconds(150)));
        factory.Set("A", DoubleValue(0.125));
        factory.Set("B", DoubleValue(1.25));
        factory.Set("MeanPktSize", UintegerValue(1500));
        factory.Set("UseDerandomization", BooleanValue(true));
        factory.Set("UseCapDropAdjustment", BooleanValue(true));
    }
    else if (aqm == "red")
    {
        factory.SetTypeId("ns3::RedQueueDisc");
        factory.Set("MinTh", DoubleValue(5));
        factory.Set("MaxTh", DoubleValue(15));
        factory.Set("LInterm", DoubleValue(10));
        factory.Set("QW", DoubleValue(0.002));
        factory.Set("Gentle", BooleanValue(true));
        factory.Set("Wait", BooleanValue(false));
        factory.Set("MeanPktSize", UintegerValue(500));
        factory.Set("LinkBandwidth", DataRateValue(DataRate(g_rate)));
    }
    else
    {
        std::fprintf(stderr, "ns3_aqm: --aqm must be codel, fq-codel, pie or red\n");
        return 2;
    }
    factory.Set("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
    g_queue = factory.Create<QueueDisc>();
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(g_queue))
    {
        fair->SetQuantum(1514);
    }
    g_queue->Initialize();
    g_arrivals.open(arrivals);
    if (!g_arrivals)
    {
        std::fprintf(stderr, "ns3_aqm: %s cannot be read\n", arrivals.c_str());
        return 2;
    }
    ScheduleNext();
    Simulator::Run();
    const QueueDisc::Stats& stats = g_queue->GetStats();
    std::printf("{\"arrived\": %" PRIu64 ", \"sent\": %" PRIu64
                ", \"dropped\": %u, \"mean_delay_ms\": %.6f}\n",
                g_arrived,
                g_sent,
                stats.nTotalDroppedPackets,
                g_sent ? g_delay / g_sent * 1e3 : 0.0);
    Simulator::Destroy();
    return 0;
}
