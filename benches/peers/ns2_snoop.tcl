# A download over a wired path and a lossy last hop with Snoop, in ns-2.35: the peer of
# benches/path_ns2.py.
#
#   ns ns2_snoop.tcl per=0.01 snoop=1 seed=1
#
# Prints one line of JSON: goodput in bit/s from second 10 on, timeouts, and segments that the sender
# has retransmitted.
#
# Three known faults of ns-2's Snoop have no effect here: a counter of duplicate ACKs that all
# connections share (there is one connection), a full cache that stays full (its size is never
# reached), and an inverted gain of the mean RTT (the gain is given inverted).

array set option {
    rate 2Mb delay 5ms wiredRate 10Mb wiredDelay 100ms window 50 mss 1460
    per 0.01 snoop 1 seed 1 duration 310
}
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists option($key)]} {
        puts stderr "ns2_snoop: \"$argument\": expected key=value, with a key of:\
                     [lsort [array names option]]"
        exit 2
    }
    set option($key) $value
}
Snoop set g_ 0.875
Snoop set maxbufs_ 0
set ns [new Simulator]
set server [$ns node]
set gateway [$ns node]
set client [$ns node]
$ns duplex-link $server $gateway $option(wiredRate) $option(wiredDelay) DropTail
foreach {one other} [list $server $gateway $gateway $server] { $ns queue-limit $one $other 1000 }
set link [expr {$option(snoop) ? "LL/LLSnoop" : "LL"}]
set lan [$ns newLan "$gateway" $option(rate) $option(delay) -llType $link -ifqType Queue/DropTail \
    -macType Mac -ifqLen 1000]
$lan addNode "$client" $option(rate) $option(delay) LL Queue/DropTail Mac

# Losses of data between the hop and the client.
set generator [new RNG]
for {set i 1} {$i < $option(seed)} {incr i} { $generator next-substream }
set uniform [new RandomVariable/Uniform]
$uniform use-rng $generator
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $option(per)
$errors ranvar $uniform
$errors drop-target [new Agent/Null]
set interface [$lan set lanIface_($client)]
$errors target [$interface set ll_]
[$interface set mac_] up-target $errors

set tcp [new Agent/TCP/Newreno]
set sink [new Agent/TCPSink]
$tcp set packetSize_ $option(mss)
$tcp set window_ $option(window)
$tcp set tcpTick_ 0.001
$tcp set minrto_ 1.0
$ns attach-agent $server $tcp
$ns attach-agent $client $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at 10.0 {set before [$tcp set ack_]}
proc report {} {
    global tcp before option
    set bits [expr {([$tcp set ack_] - $before) * $option(mss) * 8.0 / ($option(duration) - 10)}]
    puts [format {{"goodput_bps":%.0f,"timeouts":%d,"retransmitted":%d}} $bits \
        [$tcp set nrexmit_] [$tcp set nrexmitpack_]]
    exit 0
}
$ns at $option(duration) report
$ns run
