//! Which congestion controllers this machine's kernel has, and what each scenario's becomes there.

use std::fs;

use congestion::{Parameter, Specification, Value};
use deploy::{Controller, Likeness, OfLinux};

use crate::error::{Doing, KernelError};
use crate::settings::{Entry, Verdict};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Variants of controllers of the kernel where the definition leaves a choice and Linux has
/// another default.
const KERNEL_CHOICES: [(&str, &str, &str); 1] = [("cubic", "slow_start", "hystart")];

/// The controllers of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Controllers {
    /// All that sockets can choose.
    names: Vec<String>,
    /// Those of this project that are loaded, with the parameters that they were given.
    ours: Vec<(&'static Controller, Vec<u64>)>,
}

impl Controllers {
    /// Those that are loaded. Others are not asked for: the kernel would load a module then.
    pub(crate) fn of_this_kernel() -> Result<Self, KernelError> {
        let names = fs::read_to_string(AVAILABLE).doing(|| format!("read {AVAILABLE}"))?;
        let names: Vec<_> = names.split_whitespace().map(str::to_owned).collect();
        let loaded = deploy::CONTROLLERS
            .iter()
            .filter(|ours| names.iter().any(|name| name == ours.kernel_name));
        // One whose parameters cannot be read was not loaded by this project.
        let ours = loaded.filter_map(|ours| Some((ours, deploy::loaded_map(ours).ok()?)));
        Ok(Self { ours: ours.collect(), names })
    }

    /// The name in the kernel of what is asked for, empty when there is none, and verdicts: one of
    /// this project's own if it is loaded, else the one that the kernel brings.
    pub(crate) fn choose(&self, asked: &Specification) -> (String, Vec<Entry>) {
        let name = asked.entry().name;
        if asked.variant() == congestion::LINUX {
            return self.own(asked);
        }
        if asked.variant() != congestion::ORIGINAL {
            let wanted = format!("{name}, variant = {}", asked.variant());
            let has_linux = congestion::variants(name).any(|(word, _)| word == congestion::LINUX);
            let or_linux =
                if has_linux { format!(" or {}", congestion::LINUX) } else { String::new() };
            let possible = format!("original{or_linux}: no kernel has another variant");
            return (String::new(), vec![entry(wanted, Verdict::Rejected, possible)]);
        }
        if let Some((ours, map)) = self.ours.iter().find(|(ours, _)| ours.name == name) {
            return (ours.kernel_name.to_owned(), as_loaded(ours, map, asked));
        }
        let rejected = |reason: &str| {
            let load = deploy::defined_by(name)
                .map(|ours| format!("; `bentpipe kernel load {}` loads it", ours.name));
            let all = self.names.join(", ");
            let possible =
                format!("one that this kernel has: {all}{reason}{}", load.unwrap_or_default());
            (String::new(), vec![entry(name.to_owned(), Verdict::Rejected, possible)])
        };
        match deploy::of_linux(name) {
            Some(row) if row.likeness == Likeness::Different => {
                rejected(&format!("; {}", row.differs))
            }
            Some(row) if self.names.iter().any(|known| known == row.kernel_name) => {
                (row.kernel_name.to_owned(), as_brought(row, asked))
            }
            _ => rejected(""),
        }
    }

    /// The kernel's own controller of this name, which `variant = "linux"` is.
    fn own(&self, chosen: &Specification) -> (String, Vec<Entry>) {
        let name = chosen.entry().name;
        let asked = format!("{name}, variant = {}", congestion::LINUX);
        if self.names.iter().any(|known| known == name) {
            let mut entries = vec![entry(asked, Verdict::Applied, name.to_owned())];
            entries.extend(of_the_module(chosen));
            return (name.to_owned(), entries);
        }
        let possible = format!(
            "one that this kernel has: {}; `modprobe tcp_{name}` loads its own {name}, if it was built",
            self.names.join(", ")
        );
        (String::new(), vec![entry(asked, Verdict::Rejected, possible)])
    }
}

/// Parameters of a module of the kernel that are not as by default. They would change all sockets
/// of the machine.
fn of_the_module(chosen: &Specification) -> impl Iterator<Item = Entry> {
    let changed =
        chosen.values().iter().filter(|(parameter, value)| parameter.default != value.to_string());
    changed.map(|(parameter, value)| {
        let possible =
            format!("{}: the parameters of a module are not set here", parameter.default);
        entry(format!("{} = {value}", parameter.name), Verdict::Rejected, possible)
    })
}

fn entry(asked: String, verdict: Verdict, kernel: String) -> Entry {
    Entry { setting: "controller", asked, verdict, kernel }
}

/// The kernel's own controllers take no parameters here: all must be as by default, or as the
/// kernel has them anyway.
fn as_brought(row: &OfLinux, asked: &Specification) -> Vec<Entry> {
    let name = asked.entry().name;
    let (verdict, kernel) = match row.likeness {
        Likeness::Same => (Verdict::Applied, row.kernel_name.to_owned()),
        _ => {
            (Verdict::Approximated, format!("{} of Linux, which {}", row.kernel_name, row.differs))
        }
    };
    let mut entries = vec![entry(name.to_owned(), verdict, kernel)];
    for (parameter, value) in asked.values().iter() {
        let kernel = KERNEL_CHOICES.iter().find(|(n, p, _)| (*n, *p) == (name, parameter.name));
        let (verdict, possible) = match kernel {
            Some((.., has)) if value.to_string() == *has => continue,
            Some((.., has)) if is_default(asked, parameter, value) => {
                (Verdict::Approximated, format!("{} = {has}", parameter.name))
            }
            Some((.., has)) => (Verdict::Rejected, format!("{} = {has}", parameter.name)),
            None if is_default(asked, parameter, value) => continue,
            None => {
                let reason = "the default: the kernel's own takes no parameters here";
                (Verdict::Rejected, reason.to_owned())
            }
        };
        entries.push(entry(format!("{} = {value}", parameter.name), verdict, possible));
    }
    entries
}

fn is_default(asked: &Specification, parameter: &Parameter, value: &Value) -> bool {
    Specification::named(asked.entry().name).is_ok_and(|defaults| {
        defaults.values().iter().any(|(p, v)| p.name == parameter.name && v == value)
    })
}

/// A loaded controller has the parameters that it was loaded with, and some not at all.
fn as_loaded(ours: &Controller, map: &[u64], asked: &Specification) -> Vec<Entry> {
    let wanted = deploy::map_of(ours, asked);
    let loaded = deploy::decoded(ours, map).into_iter().zip(map);
    let mut entries: Vec<_> = deploy::decoded(ours, &wanted)
        .into_iter()
        .zip(&wanted)
        .zip(loaded)
        .filter(|((_, wanted), (_, has))| wanted != has)
        .map(|((wanted, _), (has, _))| {
            let (name, asked, has) = (wanted.name, wanted.value, has.value);
            let possible = format!(
                "{name} = {has}, which is loaded; `bentpipe kernel set {} {name}={asked}` changes it",
                ours.name
            );
            entry(format!("{name} = {asked}"), Verdict::Rejected, possible)
        })
        .collect();
    if !entries.is_empty() {
        return entries;
    }
    entries.push(entry(
        asked.entry().name.to_owned(),
        Verdict::Applied,
        ours.kernel_name.to_owned(),
    ));
    entries.extend(ours.beyond.iter().filter_map(|(name, why)| {
        let (_, value) = asked.values().iter().find(|(known, _)| known.name == *name)?;
        Some(entry(format!("{name} = {value}"), Verdict::Approximated, format!("without: {why}")))
    }));
    entries
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A kernel that brings these controllers, and in which those of `ours` were loaded with these
    /// parameters.
    pub(crate) fn kernel_with(names: &[&str], ours: &[(&str, &[&str])]) -> Controllers {
        let mut kernel = Controllers {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ours: Vec::new(),
        };
        for (name, sets) in ours {
            let controller = deploy::find(name).unwrap();
            let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
            kernel.names.push(controller.kernel_name.to_owned());
            kernel.ours.push((controller, deploy::encoded(controller, &sets).unwrap()));
        }
        kernel
    }

    fn asked(name: &str, values: &[(&str, Value)]) -> Specification {
        let mut specification = Specification::named(name).unwrap();
        for (parameter, value) in values {
            specification.set(parameter, value.clone()).unwrap();
        }
        specification
    }

    /// The parameters of the kernel's module are those of all sockets, and stay as they are.
    #[test]
    fn a_module_keeps_its_parameters() {
        let linux = ("variant", Value::Word(congestion::LINUX.to_owned()));
        let verdicts = |values: &[(&str, Value)]| {
            let (_, entries) = kernel_with(&["cubic"], &[]).choose(&asked("cubic", values));
            entries.into_iter().map(|entry| (entry.asked, entry.verdict)).collect::<Vec<_>>()
        };
        let applied = ("cubic, variant = linux".to_owned(), Verdict::Applied);
        let rejected = ("c = 0.8".to_owned(), Verdict::Rejected);
        let both = verdicts(&[linux.clone(), ("c", Value::Number(0.8))]);
        assert_eq!(both, [applied.clone(), rejected]);
        assert_eq!(verdicts(&[linux]), [applied]);
    }

    #[test]
    fn a_controller_of_our_own_comes_before_the_one_of_the_kernel() {
        let name = |kernel: &Controllers, name| kernel.choose(&asked(name, &[])).0;
        assert_eq!(name(&kernel_with(&["reno", "hybla"], &[("hybla", &[])]), "hybla"), "bp_hybla");
        assert_eq!(name(&kernel_with(&["reno", "hybla"], &[]), "hybla"), "hybla");
        assert_eq!(name(&kernel_with(&["reno"], &[]), "newreno"), "reno");
        assert_eq!(
            name(&kernel_with(&[], &[("westwood-plus", &[])]), "westwood-plus"),
            "bp_westwoodplus"
        );
        assert_eq!(name(&kernel_with(&[], &[("ck-stp", &[])]), "ck-stp"), "bp_ck_stp");
    }

    #[test]
    fn one_that_the_kernel_lacks_is_rejected_with_how_to_load_it() {
        let (_, entries) = kernel_with(&["reno", "cubic"], &[]).choose(&asked("adalr", &[]));
        assert_eq!(entries[0].verdict, Verdict::Rejected);
        assert_eq!(
            entries[0].kernel,
            "one that this kernel has: reno, cubic; `bentpipe kernel load adalr` loads it"
        );
    }

    #[test]
    fn parameters_of_a_loaded_controller_must_be_those_it_was_loaded_with() {
        let kernel = kernel_with(&[], &[("veno", &["beta=5"])]);
        let (name, entries) = kernel.choose(&asked("veno", &[("beta", Value::Number(5.0))]));
        assert_eq!((name.as_str(), entries.len()), ("bp_veno", 1));
        assert_eq!(entries[0].verdict, Verdict::Applied);
        let (_, entries) = kernel.choose(&asked("veno", &[]));
        assert_eq!((entries.len(), entries[0].verdict), (1, Verdict::Rejected));
        assert_eq!(entries[0].asked, "beta = 3");
        assert!(entries[0].kernel.contains("kernel set veno beta=3"), "{}", entries[0].kernel);
    }

    #[test]
    fn what_no_controller_can_do_in_a_kernel_is_approximated() {
        let (_, entries) = kernel_with(&[], &[("adalr", &[])]).choose(&asked("adalr", &[]));
        assert_eq!(entries[0].verdict, Verdict::Applied);
        assert!(entries[1..].iter().all(|entry| entry.verdict == Verdict::Approximated));
        assert!(entries.iter().any(|entry| entry.asked == "rwnd = per-segment"), "{entries:?}");
    }

    #[test]
    fn the_kernels_own_take_no_parameters() {
        let off = [("fast_convergence", Value::Word("off".to_owned()))];
        let (_, entries) = kernel_with(&["cubic"], &[]).choose(&asked("cubic", &off));
        let rejected = entries.iter().find(|entry| entry.verdict == Verdict::Rejected).unwrap();
        assert_eq!(rejected.asked, "fast_convergence = off");
    }

    #[test]
    fn a_variant_of_linux_is_the_kernels_own() {
        let linux = [("variant", Value::Word("linux".to_owned()))];
        let with_variant = congestion::entries().map(|entry| entry.name);
        let is_linux = |(variant, _): (&str, _)| variant == congestion::LINUX;
        for name in with_variant.filter(|name| congestion::variants(name).any(is_linux)) {
            // One of our own that is loaded is the algorithm of the paper.
            let kernel = kernel_with(&[name], &[]);
            let (chosen, entries) = kernel.choose(&asked(name, &linux));
            assert_eq!((chosen.as_str(), entries.len()), (name, 1));
            assert_eq!(entries[0].verdict, Verdict::Applied);
            // Each kernel has Reno.
            let other = if name == "reno" { "cubic" } else { "reno" };
            let (chosen, entries) = kernel_with(&[other], &[]).choose(&asked(name, &linux));
            assert_eq!((chosen.as_str(), entries[0].verdict), ("", Verdict::Rejected));
        }
        let kernel = kernel_with(&["hybla"], &[("hybla", &[])]);
        assert_eq!(kernel.choose(&asked("hybla", &linux)).0, "hybla");
        assert_eq!(kernel.choose(&asked("hybla", &[])).0, "bp_hybla");
    }

    #[test]
    fn a_variant_of_another_stack_is_rejected() {
        let picoquic = [("variant", Value::Word(congestion::PICOQUIC.to_owned()))];
        for (name, possible) in [("cubic", "original or linux:"), ("bbr", "original:")] {
            let (chosen, entries) = kernel_with(&[name], &[]).choose(&asked(name, &picoquic));
            assert_eq!((chosen.as_str(), entries.len()), ("", 1));
            assert_eq!(entries[0].verdict, Verdict::Rejected);
            assert_eq!(entries[0].asked, format!("{name}, variant = picoquic"));
            assert!(entries[0].kernel.starts_with(possible), "{}", entries[0].kernel);
        }
    }

    #[test]
    fn a_choice_that_the_kernel_has_made_is_applied_and_another_is_not() {
        let verdicts = |word: &str| {
            let asked = asked("cubic", &[("slow_start", Value::Word(word.to_owned()))]);
            let (_, entries) = kernel_with(&["cubic"], &[]).choose(&asked);
            entries.into_iter().map(|entry| entry.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts("hystart"), [Verdict::Approximated]);
        assert_eq!(verdicts("hystart++"), [Verdict::Approximated, Verdict::Approximated]);
        assert_eq!(verdicts("standard"), [Verdict::Approximated, Verdict::Rejected]);
    }

    #[test]
    fn what_linux_calls_westwood_is_westwood_plus() {
        let kernel = kernel_with(&["reno", "westwood"], &[]);
        let (name, entries) = kernel.choose(&asked("westwood", &[]));
        assert_eq!((name.as_str(), entries[0].verdict), ("", Verdict::Rejected));
        assert!(entries[0].kernel.contains("Westwood+"), "{}", entries[0].kernel);
        let (name, entries) = kernel.choose(&asked("westwood-plus", &[]));
        assert_eq!((name.as_str(), entries[0].verdict), ("westwood", Verdict::Approximated));
    }

    #[test]
    fn every_definition_that_linux_has_is_judged_by_its_likeness() {
        for row in deploy::OF_LINUX {
            let (name, entries) =
                kernel_with(&[row.kernel_name], &[]).choose(&asked(row.definition, &[]));
            let expected = match row.likeness {
                Likeness::Same => Verdict::Applied,
                Likeness::Variant => Verdict::Approximated,
                Likeness::Different => Verdict::Rejected,
            };
            assert_eq!(entries[0].verdict, expected, "{}", row.definition);
            assert_eq!(name.is_empty(), expected == Verdict::Rejected, "{}", row.definition);
        }
    }
}
