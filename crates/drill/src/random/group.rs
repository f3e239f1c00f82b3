//! Groups of differences, from what two hosts do with the same script (`trace`).

/// A group of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The hosts do the same when the script runs alone.
    Clock,
    /// A timer expires at another time.
    Timer,
    /// New data leaves in other packets, from the same window.
    Packets,
    /// Another window, whose rule is not known.
    Window,
    /// Another segment is retransmitted, by a rule that is not known.
    Recovery,
}

impl Group {
    /// Its name, and the rule of Linux if that is known.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Clock => "clock: the same when it runs alone, the kernel was late",
            Self::Timer => "timer: the kernel's expire with a tick (HZ), later than here",
            Self::Packets => {
                "packets: a buffer of the kernel ends elsewhere (tcp_sendmsg), or waits less than \
                 1 ms longer (tcp_tso_should_defer)"
            }
            Self::Window => "window: no rule is known, cwnd or ssthresh differs",
            Self::Recovery => "recovery: no rule is known, another segment is retransmitted",
        }
    }
}

/// The longest time between an ACK and the segments that answer it, in seconds.
const AT_ONCE: f64 = 0.003;

/// The group of the first difference between the traces of two hosts.
pub fn group(one: &str, other: &str) -> Group {
    let (one, other) = (lines(one), lines(other));
    let both = one.iter().zip(&other).position(|(a, b)| a.text != b.text);
    let first = both.unwrap_or(one.len().min(other.len()));
    let (a, b) = (one.get(first), other.get(first));
    if a.is_none() && b.is_none() {
        return Group::Clock;
    }
    let next = |lines: &[Line]| lines[first..].iter().find_map(|line| line.window.clone());
    if let (Some(a), Some(b)) = (next(&one), next(&other))
        && a != b
    {
        return Group::Window;
    }
    let before = first.checked_sub(1).map_or(0.0, |before| one[before].at);
    let highest = one[..first].iter().filter_map(|line| line.sent).map(|(_, end)| end).max();
    let sent = [a, b].into_iter().flatten().filter(|line| line.sent.is_some());
    let Some(line) = sent.min_by(|a, b| a.at.total_cmp(&b.at)) else { return Group::Recovery };
    match line.sent {
        _ if line.at - before > AT_ONCE => Group::Timer,
        Some((start, _)) if highest.is_none_or(|highest| start >= highest) => Group::Packets,
        _ => Group::Recovery,
    }
}

/// A line of a trace.
struct Line {
    at: f64,
    /// Without what differs in any case: times, the receive window, ticks of the RTO, the push bit.
    text: String,
    /// cwnd and ssthresh, in lines that have them.
    window: Option<String>,
    /// First number and end of a segment that was sent.
    sent: Option<(u64, u64)>,
}

/// The lines from the first write on.
fn lines(trace: &str) -> Vec<Line> {
    let mut at = 0.0;
    let lines = trace.lines().map(|line| line.trim());
    let from = lines.skip_while(|line| !line.contains("write(")).filter(|line| !line.is_empty());
    let read = from.map(|line| {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let time = first.parse().ok();
        at = time.unwrap_or(at);
        let rest = if time.is_some() { rest.trim() } else { line };
        let window = rest.starts_with("cwnd ").then(|| rest.split(", state").next());
        let is_sent = rest.starts_with('>');
        Line {
            at,
            text: without_times(rest, is_sent),
            window: window.flatten().map(str::to_owned),
            sent: if is_sent { numbers(rest) } else { None },
        }
    });
    read.collect()
}

fn without_times(line: &str, is_sent: bool) -> String {
    let mut words = Vec::new();
    let mut skips = false;
    for word in line.split_whitespace() {
        let names_time = matches!(word, "rto" | "val") || (is_sent && word == "win");
        if !std::mem::replace(&mut skips, names_time) {
            words.push(if is_sent { word.replace('P', "") } else { word.to_owned() });
        }
    }
    words.join(" ")
}

/// The numbers of `first:end(length)`.
fn numbers(line: &str) -> Option<(u64, u64)> {
    let range = line.split_whitespace().find(|word| word.contains(':'))?;
    let (start, rest) = range.split_once(':')?;
    let (end, _) = rest.split_once('(')?;
    Some((start.parse().ok()?, end.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "0.1000 write(Some(3000))
0.1000       > . 1:1001(1000) ack 1 win 10
0.1000       > P. 1001:2001(1000) ack 1 win 10
0.2000 < . 1:1(0) ack 1001 win 257
";

    fn of(one: &str, other: &str) -> Group {
        group(&format!("{START}{one}"), &format!("{START}{other}"))
    }

    #[test]
    fn times_windows_and_the_push_bit_are_no_difference() {
        let one = "0.2000       > . 2001:3001(1000) ack 1 win 10 <TS val 7 ecr 1>
       cwnd 11, ssthresh 9, state 0, unacked 2, rto 300000";
        let other = "0.2003       > P. 2001:3001(1000) ack 1 win 512 <TS val 900 ecr 1>
       cwnd 11, ssthresh 9, state 0, unacked 2, rto 304000";
        assert_eq!(of(one, other), Group::Clock);
    }

    #[test]
    fn a_difference_is_that_of_the_window_if_the_windows_differ() {
        let sent = "0.2001       > . 2001:3001(1000) ack 1 win 10\n";
        let state = |cwnd| format!("       cwnd {cwnd}, ssthresh 9, state 0, unacked 2\n");
        assert_eq!(of(&format!("{sent}{}", state(11)), &state(10)), Group::Window);
        assert_eq!(of(&format!("{sent}{}", state(11)), &state(11)), Group::Packets);
    }

    #[test]
    fn a_segment_that_no_ack_calls_for_is_one_of_a_timer() {
        let ack = "0.4000 < . 1:1(0) ack 2001 win 257\n";
        for sent in ["1001:2001(1000)", "2001:3001(1000)"] {
            let sent = format!("0.3990       > . {sent} ack 1 win 10\n{ack}");
            assert_eq!(of(&sent, ack), Group::Timer);
        }
    }

    #[test]
    fn another_retransmission_has_no_rule() {
        let again = "0.2000       > . 1001:2001(1000) ack 1 win 10\n";
        let new = "0.2000       > . 2001:3001(1000) ack 1 win 10\n";
        assert_eq!(of(&format!("{again}{new}"), new), Group::Recovery);
    }
}
