//! The assertions of scripts: the small part of Python that they need.
//!
//! A statement is `assert CONDITION` or `assert CONDITION, MESSAGE`; statements end with a line or
//! with `;`. Conditions have numbers, names, `+ - * / // %`, comparisons, which may be chained,
//! `and`, `or`, `not`, parentheses, `abs`, `min` and `max`.

use std::collections::BTreeMap;

/// Checks all assertions of `text`, with `names` for the fields of `TCP_INFO`.
///
/// # Errors
/// `Err(Ok(message))` for an assertion that does not hold, `Err(Err(message))` for what is not
/// understood.
pub(crate) fn check(
    text: &str,
    names: &BTreeMap<&'static str, i64>,
) -> Result<(), Result<String, String>> {
    let joined = text.replace("\\\n", " ");
    for statement in joined.split(['\n', ';']) {
        let statement = statement.split('#').next().unwrap_or("").trim();
        if statement.is_empty() {
            continue;
        }
        let Some(condition) = statement.strip_prefix("assert ") else {
            return Err(Err(format!("the statement `{statement}`")));
        };
        let tokens = tokens(condition).map_err(Err)?;
        let mut reader = Reader { tokens: &tokens, at: 0, names };
        let holds = reader.condition().map_err(Err)?;
        if reader.peek() == Some(&Token::Sign(",")) {
            reader.at += 1;
            reader.message().map_err(Err)?;
        }
        if reader.at < tokens.len() {
            return Err(Err(format!("`{:?}` in `{statement}`", tokens[reader.at])));
        }
        if holds == 0.0 {
            let used: Vec<_> = tokens.iter().filter_map(|token| token.value(names)).collect();
            return Err(Ok(format!("{statement}: found {}", used.join(", "))));
        }
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Text,
    Sign(&'static str),
}

impl Token {
    /// `name = value`, for messages.
    fn value(&self, names: &BTreeMap<&'static str, i64>) -> Option<String> {
        let Self::Name(name) = self else { return None };
        names.get(name.as_str()).map(|value| format!("{name} = {value}"))
    }
}

const SIGNS: [&str; 18] = [
    "==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "and", "or",
    "not",
];

/// Constants of linux/tcp.h that scripts compare with.
const CONSTANTS: [(&str, i64); 22] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() || first == '.' {
            let hexadecimal = rest.starts_with("0x");
            let inside = |c: char| {
                c.is_ascii_digit()
                    || c == '.'
                    || (hexadecimal && (c.is_ascii_hexdigit() || c == 'x'))
            };
            let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            let number = match rest[..length].strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok().map(|number| number as f64),
                None => rest[..length].parse().ok(),
            };
            tokens.push(Token::Number(number.ok_or(format!("the number `{}`", &rest[..length]))?));
            length
        } else if first.is_ascii_alphabetic() || first == '_' {
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let sign = SIGNS.iter().find(|sign| **sign == word);
            tokens.push(sign.map_or_else(|| Token::Name(word.to_owned()), |s| Token::Sign(s)));
            length
        } else if first == '"' || first == '\'' {
            tokens.push(Token::Text);
            2 + rest[1..].find(first).ok_or("a text without end")?
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("`{first}` in `{text}`"))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    names: &'a BTreeMap<&'static str, i64>,
}

type Value = Result<f64, String>;

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Takes one of these signs if it comes next.
    fn sign(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        let found = wanted.iter().find(|wanted| *wanted == sign).copied();
        self.at += usize::from(found.is_some());
        found
    }

    /// Whatever may be printed when an assertion does not hold.
    fn message(&mut self) -> Result<(), String> {
        if self.peek() == Some(&Token::Text) {
            self.at += 1;
            // 'text' % value
            if self.sign(&["%"]).is_some() {
                self.condition()?;
            }
            return Ok(());
        }
        self.condition().map(drop)
    }

    fn condition(&mut self) -> Value {
        let mut value = self.conjunction()?;
        while self.sign(&["or"]).is_some() {
            let other = self.conjunction()?;
            value = truth(value != 0.0 || other != 0.0);
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Value {
        let mut value = self.negation()?;
        while self.sign(&["and"]).is_some() {
            let other = self.negation()?;
            value = truth(value != 0.0 && other != 0.0);
        }
        Ok(value)
    }

    fn negation(&mut self) -> Value {
        if self.sign(&["not"]).is_some() {
            return self.negation().map(|value| truth(value == 0.0));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Value {
        let mut left = self.sum()?;
        let mut holds = None;
        while let Some(sign) = self.sign(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.sum()?;
            let this = match sign {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            holds = Some(holds.unwrap_or(true) && this);
            left = right;
        }
        Ok(holds.map_or(left, truth))
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            let other = self.product()?;
            value = if sign == "+" { value + other } else { value - other };
        }
        Ok(value)
    }

    fn product(&mut self) -> Value {
        let mut value = self.factor()?;
        while let Some(sign) = self.sign(&["*", "//", "/", "%"]) {
            let other = self.factor()?;
            value = match sign {
                "*" => value * other,
                "//" => (value / other).floor(),
                "/" => value / other,
                _ => value.rem_euclid(other),
            };
        }
        Ok(value)
    }

    fn factor(&mut self) -> Value {
        if self.sign(&["-"]).is_some() {
            return self.factor().map(|value| -value);
        }
        if self.sign(&["("]).is_some() {
            let value = self.condition()?;
            self.sign(&[")"]).ok_or("`(` without end")?;
            return Ok(value);
        }
        match self.peek().cloned() {
            Some(Token::Number(number)) => {
                self.at += 1;
                Ok(number)
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                if self.sign(&["("]).is_some() {
                    return self.function(&name);
                }
                let known = self.names.get(name.as_str()).copied();
                let constant = || CONSTANTS.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
                let value = known.or_else(constant);
                value.map(|value| value as f64).ok_or_else(|| format!("the name `{name}`"))
            }
            other => Err(format!("{other:?} where a value should be")),
        }
    }

    fn function(&mut self, name: &str) -> Value {
        let mut arguments = vec![self.condition()?];
        while self.sign(&[","]).is_some() {
            arguments.push(self.condition()?);
        }
        self.sign(&[")"]).ok_or("`(` without end")?;
        match (name, arguments.as_slice()) {
            ("abs", [value]) => Ok(value.abs()),
            ("min", values) => Ok(values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("max", values) => Ok(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            _ => Err(format!("the function `{name}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), Result<String, String>> {
        check(text, &BTreeMap::from([("tcpi_snd_cwnd", 10), ("tcpi_ca_state", 3)]))
    }

    #[test]
    fn conditions_have_the_meaning_of_python() {
        for holds in [
            "assert tcpi_snd_cwnd == 10",
            "assert 9 <= tcpi_snd_cwnd <= 11, tcpi_snd_cwnd",
            "assert tcpi_ca_state == TCP_CA_Recovery, 'state %d' % tcpi_ca_state",
            "\n assert 2 * 3 + 4 == tcpi_snd_cwnd ; assert not 7 // 2 != 3\n",
            "assert abs(tcpi_snd_cwnd - 12) <= 2 and max(1, 0x10) == 16 \\\n or 0",
        ] {
            assert_eq!(checked(holds), Ok(()), "{holds}");
        }
    }

    #[test]
    fn what_does_not_hold_is_reported_with_its_values() {
        let found = "assert tcpi_snd_cwnd == 9, tcpi_snd_cwnd: found tcpi_snd_cwnd = 10, \
                     tcpi_snd_cwnd = 10";
        assert_eq!(checked("assert tcpi_snd_cwnd == 9, tcpi_snd_cwnd"), Err(Ok(found.to_owned())));
    }

    #[test]
    fn what_is_not_understood_is_no_success() {
        for text in
            ["assert tcpi_unknown == 1", "import os", "assert 1 1", "assert f(1)", "assert ("]
        {
            assert!(matches!(checked(text), Err(Err(_))), "{text}");
        }
    }
}
