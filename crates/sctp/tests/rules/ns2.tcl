# SCTP of ns-2.35 over a link on which the packets with given numbers are lost.
# Usage: ns ns2.tcl SECONDS "NUMBERS" TRACE
# The first packet of data has number 3, after those of the set-up. A trace has a line "r" for each packet
# that arrives.
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns duplex-link $a $b 2Mb 250ms DropTail
$ns queue-limit $a $b 10000
set sender [new Agent/SCTP]
set receiver [new Agent/SCTP]
foreach end [list $sender $receiver] {
    $end set mtu_ 1500
    # With the header of the chunk.
    $end set dataChunkSize_ 1468
    $end set initialRwnd_ 4194304
    $end set initialSsthresh_ 4194304
    # RFC 9260 section 7.2.1: 4404 bytes.
    $end set initialCwnd_ 3
    $end set initialRto_ 1
    $end set minRto_ 1
    $end set useDelayedSacks_ 1
    $end set useMaxBurst_ 1
    $end set numOutStreams_ 1
    $end set rtxToAlt_ 0
}
$ns attach-agent $a $sender
$ns attach-agent $b $receiver
$ns connect $sender $receiver
set transfer [new Application/FTP]
$transfer attach-agent $sender
set trace [open [lindex $argv 2] w]
$ns trace-queue $a $b $trace
if {[lindex $argv 1] ne ""} {
    set loss [new ErrorModel/List]
    $loss droplist [lindex $argv 1]
    $loss unit pkt
    $loss drop-target [new Agent/Null]
    $ns link-lossmodel $loss $a $b
}
$ns at 0 "$transfer start"
$ns at [lindex $argv 0] "$ns flush-trace; close $trace; exit 0"
$ns run
