# A dumbbell of XCP flows in ns-2.35: the peer of benches/path_ns2.py.
#
#   ns ns2_xcp.tcl rate=20Mb delay=40ms queue=200 duration=60 measure=20 access="5ms 5ms"
#
# Prints one line of JSON: goodput of each flow from `measure` on, bytes that wait at the bottleneck
# (sampled each 10 ms), and its drops.

array set option {rate 20Mb delay 40ms queue 200 duration 60 measure 20 mss 1460 access "5ms 5ms"}
foreach argument $argv {
    if {![regexp {^(\w+)=(.+)$} $argument -> key value] || ![info exists option($key)]} {
        puts stderr "ns2_xcp: \"$argument\": expected key=value, with a key of:\
                     [lsort [array names option]]"
        exit 2
    }
    set option($key) $value
}
set mss $option(mss)
set ns [new Simulator]
set left [$ns node]
set right [$ns node]

# A router that computes feedback, in both directions. It has to be told its rate.
proc add_link {from to rate delay queue} {
    global ns
    $ns duplex-link $from $to $rate $delay XCP
    foreach {one other} [list $from $to $to $from] {
        $ns queue-limit $one $other $queue
        set bits [[[$ns link $one $other] link] set bandwidth_]
        [[$ns link $one $other] queue] set-link-capacity $bits
    }
}
add_link $left $right $option(rate) $option(delay) $option(queue)
set flows {}
set number 0
foreach delay $option(access) {
    set server [$ns node]
    add_link $server $left 100Mb $delay 1000
    set tcp [new Agent/TCP/Reno/XCP]
    set sink [new Agent/TCPSink/XCPSink]
    $tcp set packetSize_ $mss
    $tcp set window_ 10000
    $tcp set fid_ $number
    $ns attach-agent $server $tcp
    $ns attach-agent $right $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $number.0 "$ftp start"
    lappend flows $tcp
    incr number
}
set monitor [$ns monitor-queue $left $right ""]
set samples {}
proc sample {} {
    global ns monitor samples
    lappend samples [$monitor set size_]
    $ns after 0.01 sample
}
proc acknowledged {} {
    global flows
    set result {}
    foreach tcp $flows { lappend result [$tcp set ack_] }
    return $result
}
proc begin {} {
    global before monitor drops
    set before [acknowledged]
    set drops [$monitor set pdrops_]
    sample
}
proc report {} {
    global before drops monitor samples option mss
    set seconds [expr {$option(duration) - $option(measure)}]
    set goodputs {}
    foreach first $before last [acknowledged] {
        lappend goodputs [format %.0f [expr {($last - $first) * $mss * 8.0 / $seconds}]]
    }
    puts [format {{"goodputs_bps":[%s],"waiting_bytes":[%s],"dropped":%d,"dropped_before":%d}} \
        [join $goodputs ,] [join $samples ,] [expr {[$monitor set pdrops_] - $drops}] $drops]
    exit 0
}
$ns at $option(measure) begin
$ns at $option(duration) report
$ns run
