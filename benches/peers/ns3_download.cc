// Bentpipe's satellite download, in ns-3 3.44: the peer of the side-by-side benchmark and of the
// agreement tests. Written for speed, so that a comparison of run times is fair to ns-3: no
// packet capture, no flow monitor, no helper application, static routes, IPv4 only.
//
//   server --- access: rate, delay --- gateway --- satellite: rates, delay, queue --- client
//
// The same as in Bentpipe's scenario: two point-to-point links; a drop-tail queue of N waiting
// packets (the one being sent does not count) before the forward satellite link and queues which
// never fill elsewhere; packets damaged independently on the satellite link; one connection,
// opened at t = 0, on which the server always has data to send.
// Not the same, and not to be switched off: PPP adds 2 bytes to each packet on the wire, and the
// TCP rules listed in README.md beside this file.
//
// Prints one line of JSON.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 5001;

void
Require(bool condition, const char* message)
{
    if (!condition)
    {
        std::fprintf(stderr, "ns3_download: %s\n", message);
        std::exit(2);
    }
}

struct Options
{
    uint64_t bytes = 50'000'000;
    uint32_t mss = 1460;
    uint32_t window = 65535;
    bool windowScaling = false;
    uint32_t initialCwnd = 2;
    uint32_t ssthresh = UINT32_MAX;
    uint32_t delack = 2;
    double delackTimeout = 0.2;
    std::string recovery = "sack";
    bool prr = false;
    std::string controller = "NewReno";
    bool timestamps = false;
    double minRto = 1.0;
    double initialRto = 1.0;
    std::string accessRate = "10Mbps";
    std::string accessDelay = "10ms";
    std::string rate = "2Mbps";
    std::string returnRate = "256kbps";
    std::string delay = "250ms";
    uint32_t queue = 64;
    double per = 0;
    double perBack = 0;
    uint32_t seed = 1;
    uint64_t run = 1;
    double duration = 3600;
    bool counts = true;

    void Parse(int argc, char* argv[]);
};

void
Options::Parse(int argc, char* argv[])
{
    CommandLine line(__FILE__);
    line.AddValue("bytes", "bytes to download, 0: as many as the duration allows", bytes);
    line.AddValue("mss", "payload of a full segment without TCP options", mss);
    line.AddValue("window", "send and receive buffer in bytes", window);
    line.AddValue("windowScaling", "negotiate window scaling (RFC 7323)", windowScaling);
    line.AddValue("initialCwnd", "initial window in segments", initialCwnd);
    line.AddValue("ssthresh", "initial slow-start threshold in bytes", ssthresh);
    line.AddValue("delack", "full segments for one ACK: 1 or 2", delack);
    line.AddValue("delackTimeout", "longest delay of an ACK in seconds", delackTimeout);
    line.AddValue("recovery", "newreno or sack", recovery);
    line.AddValue("prr", "proportional rate reduction in place of classic recovery", prr);
    line.AddValue("controller",
                  "NewReno LinuxReno Cubic Bic HighSpeed Scalable Hybla WestwoodPlus Veno Vegas HTcp",
                  controller);
    line.AddValue("timestamps", "negotiate timestamps (RFC 7323)", timestamps);
    line.AddValue("minRto", "smallest retransmission timeout in seconds", minRto);
    line.AddValue("initialRto", "retransmission timeout before the first sample in seconds", initialRto);
    line.AddValue("accessRate", "rate of the access link, both directions", accessRate);
    line.AddValue("accessDelay", "one-way delay of the access link", accessDelay);
    line.AddValue("rate", "rate of the satellite link towards the client", rate);
    line.AddValue("returnRate", "rate of the satellite link towards the server", returnRate);
    line.AddValue("delay", "one-way delay of the satellite link", delay);
    line.AddValue("queue", "packets that may wait for the forward satellite link", queue);
    line.AddValue("per", "packet error rate of the forward satellite link", per);
    line.AddValue("perBack", "packet error rate of the return satellite link", perBack);
    line.AddValue("seed", "seed of the generator", seed);
    line.AddValue("run", "substream of the generator", run);
    line.AddValue("duration", "upper bound in seconds of simulated time", duration);
    line.AddValue("counts", "count segments, retransmissions and timeouts", counts);
    line.Parse(argc, argv);
    Require(recovery == "newreno" || recovery == "sack", "--recovery: newreno or sack");
    Require(delack == 1 || delack == 2, "--delack: 1 or 2");
    Require(window <= 65535 || windowScaling,
            "--window: above 65535 bytes it needs --windowScaling=1");
}

// Must run before the nodes get their stacks: the sockets copy these defaults.
void
ConfigureTcp(const Options& o)
{
    TypeId controller;
    // The one name which ns-3 writes otherwise than the field.
    const std::string name = o.controller == "HTcp" ? "Htcp" : o.controller;
    Require(TypeId::LookupByNameFailSafe("ns3::Tcp" + name, &controller) &&
                controller.IsChildOf(TcpCongestionOps::GetTypeId()),
            "--controller: ns-3 has no such controller");
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(controller));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(o.prr ? TcpPrrRecovery::GetTypeId()
                                         : TcpClassicRecovery::GetTypeId()));
    // ns-3 does not take the 12 bytes of the timestamp option out of the segment size; left
    // alone, full segments would be fragmented.
    Config::SetDefault("ns3::TcpSocket::SegmentSize",
                       UintegerValue(o.timestamps ? o.mss - 12 : o.mss));
    // The receive buffer is the advertised window: the client reads at once, so it is always
    // offered whole (without scaling at most 65535; with it, rounded down to the scale's unit).
    // The send buffer must be equal: in recovery ns-3 compares the window with its estimate of
    // what is in flight, not with the right edge, and without this bound could overrun it.
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.window));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.initialCwnd));
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(o.ssthresh));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(o.delackTimeout)));
    // The SYN has a timer of its own (3 s unless told), not the estimator's.
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(o.initialRto)));
    // The last segment may be short; Nagle's rule would hold it back by a round trip.
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    // Otherwise ns-3 gives up after six timeouts in a row.
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.recovery == "sack"));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(o.windowScaling));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(o.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(o.minRto)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(o.initialRto)));
}

Ptr<PointToPointNetDevice>
AddDevice(Ptr<Node> node,
          Ptr<PointToPointChannel> channel,
          const std::string& rate,
          uint32_t queue,
          uint32_t mss)
{
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(rate));
    auto waiting = CreateObject<DropTailQueue<Packet>>();
    waiting->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, queue));
    device->SetQueue(waiting);
    device->SetMtu(std::max<uint32_t>(1500, mss + 40));
    device->Attach(channel);
    node->AddDevice(device);
    return device;
}

void
AddErrors(Ptr<PointToPointNetDevice> receiver, double rate, int64_t stream)
{
    if (rate <= 0)
    {
        return;
    }
    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(rate);
    errors->AssignStreams(stream);
    receiver->SetReceiveErrorModel(errors);
}

class Server
{
  public:
    Server(const Options& o, Ptr<Node> node, Address client)
        : m_unlimited(o.bytes == 0),
          m_left(o.bytes),
          m_socket(Socket::CreateSocket(node, TcpSocketFactory::GetTypeId()))
    {
        UintegerValue segment;
        m_socket->GetAttribute("SegmentSize", segment);
        m_segment = segment.Get();
        m_socket->SetConnectCallback(MakeCallback(&Server::Connected, this),
                                     MakeNullCallback<void, Ptr<Socket>>());
        m_socket->SetSendCallback(MakeCallback(&Server::Fill, this));
        if (o.counts)
        {
            m_socket->TraceConnectWithoutContext("Tx", MakeCallback(&Server::Sent, this));
            m_socket->TraceConnectWithoutContext("Retransmission",
                                                 MakeCallback(&Server::Retransmitted, this));
            m_socket->TraceConnectWithoutContext("RTO", MakeCallback(&Server::RtoChanged, this));
        }
        m_socket->Bind();
        m_socket->Connect(client);
    }

    uint64_t segments = 0;
    uint64_t retransmitted = 0;
    uint64_t timeouts = 0;

  private:
    void Connected(Ptr<Socket> socket)
    {
        Fill(socket, socket->GetTxAvailable());
    }

    // Whole segments only, so that ns-3 need not cut and join the items of its send buffer.
    void Fill(Ptr<Socket> socket, uint32_t)
    {
        while (m_unlimited || m_left > 0)
        {
            const uint32_t size =
                m_unlimited ? m_segment
                            : static_cast<uint32_t>(std::min<uint64_t>(m_segment, m_left));
            if (socket->GetTxAvailable() < size || socket->Send(Create<Packet>(size)) < 0)
            {
                return;
            }
            m_left -= m_unlimited ? 0 : size;
        }
    }

    void Sent(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
    {
        segments += packet->GetSize() > 0;
    }

    void Retransmitted(Ptr<const Packet>,
                       const TcpHeader&,
                       const Address&,
                       const Address&,
                       Ptr<const TcpSocketBase>)
    {
        ++retransmitted;
    }

    // ns-3 tells nobody of a timeout, but only a timeout doubles the RTO (up to 60 s; further
    // timeouts at that bound stay uncounted).
    void RtoChanged(Time before, Time after)
    {
        timeouts += after > before && after == Min(before + before, Seconds(60));
    }

    const bool m_unlimited;
    uint64_t m_left;
    uint32_t m_segment;
    Ptr<Socket> m_socket;
};

class Client
{
  public:
    Client(const Options& o, Ptr<Node> node)
        : m_wanted(o.bytes),
          m_listener(Socket::CreateSocket(node, TcpSocketFactory::GetTypeId()))
    {
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Client::Accepted, this));
        m_listener->Listen();
    }

    uint64_t bytes = 0;
    bool completed = false;
    Time completion;

  private:
    void Accepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Client::Read, this));
    }

    void Read(Ptr<Socket> socket)
    {
        while (auto packet = socket->Recv())
        {
            bytes += packet->GetSize();
        }
        if (m_wanted > 0 && bytes >= m_wanted && !completed)
        {
            completed = true;
            completion = Simulator::Now();
            Simulator::Stop();
        }
    }

    const uint64_t m_wanted;
    Ptr<Socket> m_listener;
};

} // namespace

int
main(int argc, char* argv[])
{
    Options o;
    o.Parse(argc, argv);
    RngSeedManager::SetSeed(o.seed);
    RngSeedManager::SetRun(o.run);
    ConfigureTcp(o);

    NodeContainer nodes(3);
    const auto server = nodes.Get(0);
    const auto gateway = nodes.Get(1);
    const auto client = nodes.Get(2);

    const auto access = CreateObject<PointToPointChannel>();
    access->SetAttribute("Delay", StringValue(o.accessDelay));
    const auto satellite = CreateObject<PointToPointChannel>();
    satellite->SetAttribute("Delay", StringValue(o.delay));
    constexpr uint32_t kNeverFull = 10'000'000;
    // Made by hand: the helper would add flow control between the device and the traffic-control
    // layer, which nothing here needs.
    NetDeviceContainer accessDevices;
    accessDevices.Add(AddDevice(server, access, o.accessRate, kNeverFull, o.mss));
    accessDevices.Add(AddDevice(gateway, access, o.accessRate, kNeverFull, o.mss));
    const auto down = AddDevice(gateway, satellite, o.rate, o.queue, o.mss);
    const auto up = AddDevice(client, satellite, o.returnRate, kNeverFull, o.mss);
    NetDeviceContainer satelliteDevices;
    satelliteDevices.Add(down);
    satelliteDevices.Add(up);
    AddErrors(up, o.per, 1);
    AddErrors(down, o.perBack, 2);

    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(accessDevices);
    addresses.NewNetwork();
    const auto clientAddress = addresses.Assign(satelliteDevices).GetAddress(1);
    // Assign() puts a queue discipline over each device, which would be a second, longer queue.
    TrafficControlHelper control;
    for (const auto& devices : {accessDevices, satelliteDevices})
    {
        for (auto device = devices.Begin(); device != devices.End(); ++device)
        {
            if ((*device)->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
                    *device))
            {
                control.Uninstall(*device);
            }
        }
    }
    routing.GetStaticRouting(server->GetObject<Ipv4>())->SetDefaultRoute("10.0.1.2", 1);
    routing.GetStaticRouting(client->GetObject<Ipv4>())->SetDefaultRoute("10.0.2.1", 1);

    Client reader(o, client);
    Server sender(o, server, InetSocketAddress(clientAddress, kPort));

    Simulator::Stop(Seconds(o.duration));
    const auto start = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;

    // Each packet sent over a link went through the queue of its device, which counts anyway.
    uint64_t hops = 0;
    for (const auto& devices : {accessDevices, satelliteDevices})
    {
        for (auto device = devices.Begin(); device != devices.End(); ++device)
        {
            const auto queue = DynamicCast<PointToPointNetDevice>(*device)->GetQueue();
            hops += queue->GetTotalReceivedPackets() - queue->GetNPackets();
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char completion[32] = "null";
    if (reader.completed)
    {
        std::snprintf(completion, sizeof completion, "%.9f", reader.completion.GetSeconds());
    }
    const double seconds = reader.completed ? reader.completion.GetSeconds() : o.duration;
    std::printf("{\"simulator\":\"ns-3.44\",\"completed\":%s,\"completion_s\":%s,"
                "\"bytes\":%" PRIu64 ",\"goodput_bps\":%.3f,",
                reader.completed ? "true" : "false",
                completion,
                reader.bytes,
                8.0 * static_cast<double>(reader.bytes) / seconds);
    if (o.counts)
    {
        std::printf("\"segments_sent\":%" PRIu64 ",\"segments_retransmitted\":%" PRIu64
                    ",\"timeouts\":%" PRIu64 ",",
                    sender.segments,
                    sender.retransmitted,
                    sender.timeouts);
    }
    else
    {
        std::printf("\"segments_sent\":null,\"segments_retransmitted\":null,\"timeouts\":null,");
    }
    std::printf("\"events\":%" PRIu64 ",\"packet_hops\":%" PRIu64
                ",\"wall_s\":%.6f,\"max_rss_kb\":%ld}\n",
                Simulator::GetEventCount(),
                hops,
                wall.count(),
                usage.ru_maxrss);
    Simulator::Destroy();
    return 0;
}
