//! Shell commands in scripts. None is run: those that change settings are read, all others are
//! errors.

/// A setting of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A kernel parameter, such as `net.ipv4.tcp_sack`, and its value.
    Parameter(String, String),
    /// The initial window in segments (`ip route ... initcwnd`).
    InitialWindow(u32),
    /// The queueing discipline of the interface (`tc qdisc replace`).
    Queueing(String),
}

/// Beginning of the public scripts: the settings of their `defaults.sh`, as far as a host
/// without Fast Open has them.
const DEFAULTS: [(&str, &str); 19] = [
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_syn_retries", "5"),
    ("net.ipv4.tcp_synack_retries", "5"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_early_retrans", "4"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_tso_win_divisor", "3"),
    ("net.ipv4.tcp_notsent_lowat", "4294967295"),
];

/// The settings that a command changes.
///
/// # Errors
/// The part of the command that is not understood.
pub fn settings(command: &str) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    let joined = command.replace("\\\n", " ");
    for part in joined.split(['\n', ';']).flat_map(|line| line.split("&&")) {
        let part = part.split('#').next().unwrap_or("").trim();
        if !part.is_empty() {
            read(part, &mut settings).ok_or_else(|| format!("the command `{part}`"))?;
        }
    }
    Ok(settings)
}

fn read(command: &str, settings: &mut Vec<Setting>) -> Option<()> {
    let mut words = command.split_whitespace();
    let program = words.next()?;
    if program.ends_with("/defaults.sh") && words.next().is_none() {
        let own = |&(name, value): &(&str, &str)| Setting::Parameter(name.into(), value.into());
        settings.extend(DEFAULTS.iter().map(own));
        return Some(());
    }
    if program.starts_with("/tmp/sysctl_restore") && words.next().is_none() {
        return Some(());
    }
    if program == "sysctl" || program.ends_with("/set_sysctls.py") {
        return read_parameters(command.split_once(char::is_whitespace)?.1, settings);
    }
    if let Some(queueing) = command.strip_prefix("tc qdisc replace dev tun0 root ") {
        settings.push(Setting::Queueing(queueing.trim().to_owned()));
        return Some(());
    }
    // Offloads only join segments on their way.
    if program == "ethtool" && command.contains("-K tun0") {
        return Some(());
    }
    if command.starts_with("ip tcp_metrics flush") {
        return Some(());
    }
    if command.starts_with("ip route ") {
        let words: Vec<_> = words.collect();
        let at = words.iter().position(|word| *word == "initcwnd")?;
        settings.push(Setting::InitialWindow(words.get(at + 1)?.parse().ok()?));
        return Some(());
    }
    None
}

/// `-q name=value name="a b c"`.
fn read_parameters(text: &str, settings: &mut Vec<Setting>) -> Option<()> {
    let mut rest = text.trim_start_matches("-q").trim_start().trim_start_matches("-w").trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        let name = name.trim().trim_start_matches("/proc/sys/").replace('/', ".");
        settings.push(Setting::Parameter(name, value.to_owned()));
        rest = after.trim();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_all_forms() {
        let read = settings(
            "sysctl -q net.ipv4.tcp_ecn=1 # on\nsysctl -q net.ipv4.tcp_rmem=\"1 2 3\"\n\
             ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0",
        );
        let parameter = |name: &str, value: &str| Setting::Parameter(name.into(), value.into());
        assert_eq!(
            read,
            Ok(vec![
                parameter("net.ipv4.tcp_ecn", "1"),
                parameter("net.ipv4.tcp_rmem", "1 2 3"),
                parameter("net.ipv4.tcp_sack", "0"),
            ])
        );
    }

    #[test]
    fn a_command_that_does_anything_else_is_an_error() {
        assert!(settings("nstat > /dev/null").is_err());
        assert!(settings("sysctl -q net.ipv4.tcp_ecn=1; reboot").is_err());
    }
}
