# Bentpipe's satellite download, in ns-2.35: the second peer of the side-by-side benchmark.
# The scenario is that of ns3_download.cc beside this file; rules that differ are in README.md.
#
#   ns ns2_download.tcl [key=value]...        prints one line of JSON
#
# ns-2 counts in packets. Windows and the download are rounded to whole segments (the window down,
# the download up), and a packet on the wire has payload + 40 bytes, an ACK 40 bytes.

array set option {
    bytes 50000000  mss 1460  window 65535  initialCwnd 2  ssthresh 4294967295
    delack 2  delackTimeout 0.2  recovery sack  timestamps 0  minRto 1.0  initialRto 1.0
    accessRate 10Mb  accessDelay 10ms  rate 2Mb  returnRate 256kb  delay 250ms  queue 64
    per 0  perBack 0  seed 1  duration 3600
}
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists option($key)]} {
        puts stderr "ns2_download: \"$argument\": expected key=value, with a key of:\
                     [lsort [array names option]]"
        exit 2
    }
    set option($key) $value
}
if {$option(recovery) ni {newreno sack}} {
    puts stderr "ns2_download: recovery is newreno or sack"
    exit 2
}
set never_full 1000000
set mss $option(mss)
set segments [expr {($option(bytes) + $mss - 1) / $mss}]
set unlimited [expr {$segments == 0}]
if {$unlimited} { set segments 1000000000 }

# Headers nobody reads would cost memory and time in each packet.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
set server [$ns node]
set gateway [$ns node]
set client [$ns node]

# A drop-tail queue of ns-2 refuses the packet that would make it hold `limit_`, so N may wait
# with a limit of N + 1. The packet being sent does not count.
proc add_link {from to rate delay queue} {
    global ns
    $ns simplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to [expr {$queue + 1}]
}
# After the queue, as on the channel itself.
# Each generator is a stream of its own, and the seed the number of a substream: seeds 1, 2, 3...
# put to the generator itself would be proportional states.
proc add_errors {from to per} {
    global ns option
    set generator [new RNG]
    for {set i 1} {$i < $option(seed)} {incr i} { $generator next-substream }
    if {$per <= 0} return
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $generator
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $per
    $errors ranvar $uniform
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $from $to
}
add_link $server $gateway $option(accessRate) $option(accessDelay) $never_full
add_link $gateway $server $option(accessRate) $option(accessDelay) $never_full
add_link $gateway $client $option(rate) $option(delay) $option(queue)
add_link $client $gateway $option(returnRate) $option(delay) $never_full
add_errors $gateway $client $option(per)
add_errors $client $gateway $option(perBack)

set sack [string equal $option(recovery) sack]
set tcp [new Agent/TCP/[expr {$sack ? "Sack1" : "Newreno"}]]
set sink [new Agent/TCPSink[expr {$sack ? "/Sack1" : ""}][expr {$option(delack) == 2 ? "/DelAck" : ""}]]
if {$option(delack) == 2} { $sink set interval_ $option(delackTimeout) }
$tcp set packetSize_ $mss
$tcp set window_ [expr {$option(window) / $mss}]
$tcp set windowInit_ $option(initialCwnd)
$tcp set timestamps_ [expr {$option(timestamps) ? "true" : "false"}]
$tcp set tcpTick_ 0.001
$tcp set minrto_ $option(minRto)
$tcp set rtxcur_init_ $option(initialRto)
$ns attach-agent $server $tcp
$ns attach-agent $client $sink
$ns connect $tcp $sink

# The sink counts wire bytes, and the SYN with its 40.
proc received {} {
    global sink mss option
    set segment [expr {$mss + 40 + ($option(timestamps) ? [Agent/TCP set ts_option_size_] : 0)}]
    return [expr {max(0, (int([$sink set bytes_]) - 40) / $segment)}]
}

# The time at which the last segment arrived is known only to an application above the sink, which
# costs a Tcl call for each packet. So it listens only when the end may come before the next look.
set reader [new Application]
$reader attach-agent $sink
Application instproc recv {size} {
    global segments
    if {[received] >= $segments} { report true }
}
proc look {} {
    global ns segments reader gateway client mss
    set most [expr {[[[$ns link $gateway $client] link] set bandwidth_] / 8.0 / $mss + 1}]
    # A hole filled delivers a whole window at once.
    if {$segments - [received] <= $most + [$::tcp set window_]} {
        $reader start
    } else {
        $ns after 1.0 look
    }
}

proc report {completed} {
    global ns tcp option start segments
    set wall [expr {([clock microseconds] - $start) / 1e6}]
    set now [$ns now]
    set bytes [expr {[received] * $option(mss)}]
    if {$option(bytes) > 0} { set bytes [expr {min($bytes, $option(bytes))}] }
    # Packet 0 is the SYN, and ns-2 counts it as data.
    set sent [expr {[$tcp set ndatapack_] - 1}]
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $status] -> rss
    puts [format {{"simulator":"ns-2.35","completed":%s,"completion_s":%s,"bytes":%.0f,"goodput_bps":%.3f,"segments_sent":%d,"segments_retransmitted":%d,"timeouts":%d,"events":null,"packet_hops":null,"wall_s":%.6f,"max_rss_kb":%d}} \
        $completed [if {$completed} {format %.9f $now} else {list null}] $bytes [expr {8.0 * $bytes / $now}] \
        $sent [$tcp set nrexmitpack_] [$tcp set nrexmit_] $wall $rss]
    exit 0
}

# The start of the simulator resets the threshold to the window; this must come after it.
$ns at 0.0 "$tcp set ssthresh_ [expr {min($option(ssthresh) / $mss, $never_full)}]"
$ns at 0.0 "$tcp advanceby $segments"
if {!$unlimited} { $ns at 0.0 look }
$ns at $option(duration) "report false"
set start [clock microseconds]
$ns run
