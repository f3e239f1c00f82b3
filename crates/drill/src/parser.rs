//! From text to a script.

use crate::error::Failure;
use crate::packet::{Ecn, Flags, Options, Packet};
use crate::script::{Action, Argument, Call, Event, Expected, Follows, Script, When};

/// Reads a script. `path` is for messages.
///
/// # Errors
/// The first thing that is not understood, with its line.
pub fn parse(path: &str, text: &str) -> Result<Script, Failure> {
    let mut reader = Reader { text, at: 0, tolerance: None };
    let (follows, version, rule) = header(text);
    match reader.script() {
        Ok(events) => {
            let (path, tolerance) = (path.to_owned(), reader.tolerance);
            Ok(Script { path, follows, version, rule, tolerance, events })
        }
        Err(what) => Err(Failure::Syntax {
            path: path.to_owned(),
            line: 1 + text[..reader.at].matches('\n').count(),
            what,
        }),
    }
}

/// The first comment: which rules the script is about, of which version, and which one it is.
fn header(text: &str) -> (Option<Follows>, Option<String>, String) {
    let comment = text.lines().take_while(|line| line.starts_with("//"));
    let words: Vec<_> = comment.map(|line| line.trim_start_matches('/').trim()).collect();
    let rule = words.join(" ");
    for (word, follows) in
        [("rfc:", Follows::Rfc), ("linux:", Follows::Linux), ("both:", Follows::Both)]
    {
        if let Some(rest) = rule.strip_prefix(word) {
            return (Some(follows), None, rest.trim().to_owned());
        }
    }
    if let Some((version, rest)) = rule.strip_prefix("linux-").and_then(|rest| rest.split_once(':'))
    {
        return (Some(Follows::Linux), Some(version.to_owned()), rest.trim().to_owned());
    }
    (None, None, rule)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    tolerance: Option<i64>,
}

type Read<T> = Result<T, String>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over white space and comments.
    fn space(&mut self) -> Read<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                self.at += trimmed.find("*/").ok_or("a comment without end")? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// White space, then `token` if it is there.
    fn next(&mut self, token: &str) -> Read<bool> {
        self.space()?;
        Ok(self.take(token))
    }

    fn need(&mut self, token: &str) -> Read<()> {
        if self.next(token)? { Ok(()) } else { Err(self.instead_of(&format!("`{token}`"))) }
    }

    fn instead_of(&self, wanted: &str) -> String {
        let found: String = self.rest().chars().take_while(|c| *c != '\n').take(30).collect();
        format!("expected {wanted}, found `{found}`")
    }

    fn while_in(&mut self, allowed: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !allowed(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn script(&mut self) -> Read<Vec<Event>> {
        let mut events = Vec::new();
        self.space()?;
        while self.rest().starts_with("--") {
            self.option()?;
            self.space()?;
        }
        while !self.rest().is_empty() {
            let line = 1 + self.text[..self.at].matches('\n').count();
            events.push(self.event(line)?);
            self.space()?;
        }
        Ok(events)
    }

    /// An option of packetdrill's command line that has no effect on one connection of IPv4.
    fn option(&mut self) -> Read<()> {
        let start = self.at;
        let option = self.while_in(|c| !c.is_whitespace());
        let name = option.split('=').next().unwrap_or("");
        let known = match name {
            // Full segments are compared one by one in any case.
            "--strict_segments" => true,
            "--local_ip" | "--remote_ip" | "--gateway_ip" | "--netmask_ip" => !option.contains(':'),
            "--ip_version" => option.ends_with("=ipv4"),
            _ => false,
        };
        if let Some(value) = option.strip_prefix("--tolerance_usecs=") {
            self.tolerance = value.parse().ok();
            return self.tolerance.map(drop).ok_or_else(|| format!("the option {option}"));
        }
        if known {
            return Ok(());
        }
        self.at = start;
        Err(format!("the option {option}"))
    }

    fn event(&mut self, line: usize) -> Read<Event> {
        // A command without a time comes as soon as it can: it is an initialisation.
        let when = if self.peek() == Some('`') { When::After(0) } else { self.when()? };
        self.space()?;
        let action = match self.peek() {
            Some('<') => Action::Inject(self.packet(true)?),
            Some('>') => Action::Expect(self.packet(false)?),
            Some('`') => Action::Command(self.enclosed("`", "`")?),
            Some('%') => Action::Check(self.enclosed("%{", "}%")?),
            _ => Action::Call(self.call(when)?),
        };
        Ok(Event { line, when, action })
    }

    fn enclosed(&mut self, open: &str, close: &str) -> Read<String> {
        self.need(open)?;
        let length = self.rest().find(close).ok_or_else(|| format!("`{open}` without end"))?;
        let inside = self.rest()[..length].to_owned();
        self.at += length + close.len();
        Ok(inside)
    }

    fn when(&mut self) -> Read<When> {
        if self.take("*") {
            return Ok(When::Any);
        }
        let relative = self.take("+");
        let from = self.time()?;
        if !self.next("~")? {
            return Ok(if relative { When::After(from) } else { When::At(from) });
        }
        if relative {
            self.need("+")?;
        }
        let to = self.time()?;
        if to < from {
            return Err("a range of times that ends before it begins".to_owned());
        }
        Ok(if relative { When::AfterBetween(from, to) } else { When::AtBetween(from, to) })
    }

    /// Seconds, in microseconds.
    fn time(&mut self) -> Read<i64> {
        self.space()?;
        let seconds = self.decimal()?;
        Ok((seconds * 1e6).round() as i64)
    }

    /// A number with or without a fraction; `...` behind it is no part of it.
    fn decimal(&mut self) -> Read<f64> {
        let start = self.at;
        self.while_in(|c| c.is_ascii_digit());
        if self.rest().starts_with('.') && !self.rest().starts_with("..") {
            self.at += 1;
            self.while_in(|c| c.is_ascii_digit());
        }
        let number = self.text[start..self.at].parse();
        number.map_err(|_| {
            self.at = start;
            self.instead_of("a time")
        })
    }

    fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        self.space()?;
        let start = self.at;
        let digits = self.while_in(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| {
            self.at = start;
            self.instead_of("a number")
        })
    }

    fn word(&mut self) -> Read<&'a str> {
        self.space()?;
        let word = self.while_in(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.is_empty() { Err(self.instead_of("a name")) } else { Ok(word) }
    }

    fn packet(&mut self, inbound: bool) -> Read<Packet> {
        self.at += 1;
        self.space()?;
        let mut ecn = None;
        if self.take("[") {
            let word = self.word()?;
            let known = Ecn::WORDS.iter().find(|(name, _)| *name == word);
            ecn = Some(known.ok_or_else(|| format!("`[{word}]`"))?.1);
            self.need("]")?;
            self.space()?;
        }
        let start = self.at;
        let letters = self.while_in(|c| !c.is_whitespace());
        // `-` is a segment without any.
        let none = (letters == "-").then(Flags::default);
        let flags = none.or_else(|| Flags::read(letters)).ok_or_else(|| {
            self.at = start;
            self.instead_of("TCP flags")
        })?;
        let first: u32 = self.number()?;
        self.need(":")?;
        let last: u32 = self.number()?;
        self.need("(")?;
        let length: u32 = self.number()?;
        self.need(")")?;
        if last.wrapping_sub(first) != length {
            return Err(format!("{first}:{last}({length}) has another length"));
        }
        let (mut ack, mut window) = (None, None);
        if self.keyword("ack")? {
            ack = Some(self.number()?);
        }
        if self.keyword("win")? {
            window = Some(self.number()?);
        }
        if flags.has(Flags::ACK) != ack.is_some() {
            return Err("the flag `.` needs an `ack`, and an `ack` the flag".to_owned());
        }
        self.space()?;
        // On the same line: the next one may begin with a segment that arrives.
        let options =
            if self.rest().starts_with('<') { self.options()? } else { Some(Options::default()) };
        if inbound && options.is_none() {
            return Err("a segment that arrives needs its options".to_owned());
        }
        Ok(Packet { ecn, flags, start: first, length, ack, window, options })
    }

    fn keyword(&mut self, word: &str) -> Read<bool> {
        self.space()?;
        let rest = self.rest();
        let found = rest.starts_with(word)
            && !rest[word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
        self.at += if found { word.len() } else { 0 };
        Ok(found)
    }

    fn options(&mut self) -> Read<Option<Options>> {
        self.need("<")?;
        if self.next("...")? {
            self.need(">")?;
            return Ok(None);
        }
        let mut options = Options::default();
        if self.next(">")? {
            return Ok(Some(options));
        }
        loop {
            match self.word()? {
                "nop" | "eol" => {}
                "mss" => options.mss = Some(self.number()?),
                "wscale" => options.window_scale = Some(self.number()?),
                "sackOK" => options.sack_permitted = true,
                "TS" => {
                    self.need("val")?;
                    let value = self.number()?;
                    self.need("ecr")?;
                    options.timestamp = Some((value, self.number()?));
                }
                "sack" => {
                    self.space()?;
                    while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                        let start = self.number()?;
                        self.need(":")?;
                        options.sack.push((start, self.number()?));
                        self.space()?;
                    }
                }
                other => return Err(format!("the TCP option `{other}`")),
            }
            if self.next(">")? {
                return Ok(Some(options));
            }
            self.need(",")?;
        }
    }

    fn call(&mut self, when: When) -> Read<Call> {
        let until = if self.next("...")? { Some(self.time()?) } else { None };
        if until.is_some() && !matches!(when, When::At(_) | When::After(_)) {
            return Err("a call that ends later needs a single time of its start".to_owned());
        }
        let name = self.word()?.to_owned();
        self.need("(")?;
        let mut arguments = Vec::new();
        while !self.next(")")? {
            arguments.push(self.argument()?);
            self.space()?;
            if !self.rest().starts_with(')') {
                self.need(",")?;
            }
        }
        self.need("=")?;
        let result = self.result()?;
        Ok(Call { name, arguments, until, result })
    }

    fn result(&mut self) -> Read<Expected> {
        if self.next("...")? {
            return Ok(Expected::Any);
        }
        let number = self.integer()?;
        let blank = self.while_in(|c| c == ' ' || c == '\t').len();
        let result = if number == -1 && blank > 0 && self.peek().is_some_and(|c| c == 'E') {
            Expected::Error(self.word()?.to_owned())
        } else {
            Expected::Number(number)
        };
        self.while_in(|c| c == ' ' || c == '\t');
        // An explanation in parentheses.
        if self.rest().starts_with('(') {
            let line = self.rest().lines().next().unwrap_or("");
            let length = line.find(')').ok_or("an explanation without end")? + 1;
            self.at += length;
        }
        Ok(result)
    }

    fn integer(&mut self) -> Read<i64> {
        self.space()?;
        let start = self.at;
        let negative = self.take("-");
        let read = if self.take("0x") {
            i64::from_str_radix(self.while_in(|c| c.is_ascii_hexdigit()), 16).ok()
        } else {
            self.while_in(|c| c.is_ascii_digit()).parse().ok()
        };
        let sign = if negative { -1 } else { 1 };
        read.map(|number| sign * number).ok_or_else(|| {
            self.at = start;
            self.instead_of("a number")
        })
    }

    fn argument(&mut self) -> Read<Argument> {
        self.space()?;
        match self.peek() {
            Some('.') => self.need("...").map(|()| Argument::Ellipsis),
            Some('"') => {
                self.at += 1;
                let text = self.while_in(|c| c != '"').to_owned();
                self.need("\"").map(|()| Argument::Text(text))
            }
            Some('[') => {
                self.at += 1;
                let mut list = Vec::new();
                while !self.next("]")? {
                    list.push(self.argument()?);
                    self.space()?;
                    if !self.rest().starts_with(']') {
                        self.need(",")?;
                    }
                }
                Ok(Argument::List(list))
            }
            Some('{') => self.fields(),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let number = self.integer()?;
                // A product, such as 4*1000.
                if self.next("*")? {
                    return Ok(Argument::Number(number * self.integer()?));
                }
                Ok(Argument::Number(number))
            }
            _ => {
                let mut names = vec![self.word()?.to_owned()];
                while self.next("|")? {
                    names.push(self.word()?.to_owned());
                }
                Ok(Argument::Names(names))
            }
        }
    }

    fn fields(&mut self) -> Read<Argument> {
        self.need("{")?;
        let mut fields = Vec::new();
        while !self.next("}")? {
            let name = self.word()?.to_owned();
            self.need("=")?;
            fields.push((name, self.argument()?));
            self.space()?;
            if !self.rest().starts_with('}') {
                self.need(",")?;
            }
        }
        Ok(Argument::Fields(fields))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test may panic")]
mod tests {
    use super::*;

    fn one(text: &str) -> Event {
        let script = parse("x", text).unwrap();
        assert_eq!(script.events.len(), 1);
        script.events[0].clone()
    }

    fn error(text: &str) -> String {
        parse("x.pkt", text).unwrap_err().to_string()
    }

    #[test]
    fn times_have_all_forms() {
        let when = |text: &str| one(&format!("{text} > . 1:1(0) ack 1")).when;
        assert_eq!(when("*"), When::Any);
        assert_eq!(when("0.25"), When::At(250_000));
        assert_eq!(when("+.1"), When::After(100_000));
        assert_eq!(when("1~2.5"), When::AtBetween(1_000_000, 2_500_000));
        assert_eq!(when("+.2~+.3"), When::AfterBetween(200_000, 300_000));
    }

    #[test]
    fn a_segment_is_read_with_all_its_parts() {
        let event =
            one("+0 < [ce] P.E 1:1001(1000) ack 5 win 257 <nop,nop,TS val 7 ecr 9,sack 2:3 4:5>");
        let Action::Inject(packet) = event.action else { panic!("{event:?}") };
        assert_eq!(
            packet.to_string(),
            "P.E 1:1001(1000) ack 5 win 257 <TS val 7 ecr 9,sack 2:3 4:5>"
        );
        assert_eq!(packet.ecn, Some(Ecn::Ce));
    }

    #[test]
    fn a_call_may_block_and_fail() {
        let event = one("+0...0.250 read(4, ..., 100) = -1 ECONNRESET (Connection reset by peer)");
        let Action::Call(call) = event.action else { panic!("{event:?}") };
        assert_eq!((call.until, call.number(0)), (Some(250_000), Some(4)));
        assert_eq!(call.result, Expected::Error("ECONNRESET".to_owned()));
        let event = one("0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0");
        let Action::Call(call) = event.action else { panic!("{event:?}") };
        assert_eq!(call.name(2), Some("SO_LINGER"));
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        assert!(error("// a\n\n+0 < X 0:0(0) win 1").starts_with("x.pkt:3: not understood"));
        assert!(error("+0 > . 1:5(3) ack 1").contains("another length"));
        assert!(error("+0 > . 1:1(0) ack 1 <md5>").contains("`md5`"));
        assert!(error("+0 > [tos0] . 1:1(0) ack 1").contains("[tos0]"));
        assert!(error("+0 icmp unreachable").contains("expected `(`"));
        assert!(error("--mss=1000\n").contains("the option --mss=1000"));
    }

    #[test]
    fn the_first_comment_names_what_the_script_follows() {
        let script = parse("x", "// both: RFC 1 section 2:\n// this.\n\n// That.\n").unwrap();
        assert_eq!(script.follows, Some(Follows::Both));
        assert_eq!(script.rule, "RFC 1 section 2: this.");
    }
}
