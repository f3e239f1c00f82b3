//! Controllers of public modules for Linux, each with the one of `crates/congestion` that it is
//! compared with.
//!
//! Users clone a repository and name the folder with the files of C. A new module is an entry in
//! [`MODULES`].

use std::path::Path;
use std::process::Command;

use crate::pairs::Pair;
use crate::sources::{files_of, read};

/// A public module.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Its name, as the table has it.
    pub name: &'static str,
    /// Where it is published: repository, branch and folder.
    pub published: &'static str,
    /// Text that its files have, and those of no other module.
    known_by: &'static str,
    /// Each controller of the module with the definition that it is compared with. The parameters
    /// of the C code are global, so each pair sets every parameter that another pair sets.
    pub pairs: &'static [Pair],
}

/// As BBR, from which both have integers and even windows.
const LEOCC: Pair = Pair { paced: true, bound: 2, clock: true, ..Pair::new("leocc", "leocc") };
/// Both have the same integers.
const PCC: Pair = Pair { paced: true, outages: true, bound: 0, ..Pair::new("vivace", "pcc") };

const START: &str = "the start doubles while the utility per rate is above 3/4 of that before, and then all \
                     rates are others; the module's start ends with the second interval";

/// The modules, in the order of the table.
pub const MODULES: &[Module] = &[
    Module {
        name: "LeoCC",
        published: "SpaceNetLab/LeoCC, leocc/simulation",
        known_by: "module_param(offset, uint",
        pairs: &[
            Pair { numbers: &[("min_rtt_fluctuation", 10_000)], ..LEOCC },
            Pair { numbers: &[("min_rtt_fluctuation", 1_000_000_000)], ..LEOCC }
                .with(&[("fluctuation", "0")]),
        ],
    },
    Module {
        name: "PCC Vivace",
        published: "PCCproject/PCC-Kernel, branch vivace, src",
        known_by: "pcc_calc_utility_vivace",
        pairs: &[PCC],
    },
    Module {
        name: "PCC Allegro",
        published: "PCCproject/PCC-Kernel, branch master, src",
        known_by: "pcc_decide_rate_adjusment",
        pairs: &[
            Pair { controller: "allegro", ..PCC }.with(&[("start", "module")]),
            Pair { controller: "allegro", ..PCC }.but(START),
        ],
    },
];

impl Module {
    /// The module in a folder.
    ///
    /// # Errors
    /// When the folder has no files of C, or those of another module, with a message.
    pub fn of(folder: &Path) -> Result<&'static Self, String> {
        let files = files_of(folder)?;
        let texts = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
        let known = |module: &&Self| texts.iter().any(|text| text.contains(module.known_by));
        MODULES.iter().find(known).ok_or_else(|| {
            let published: Vec<_> = MODULES.iter().map(|module| module.published).collect();
            format!("{} has none of these modules: {}", folder.display(), published.join("; "))
        })
    }
}

/// The commit of the repository that a folder belongs to, in seven digits; `None` for a folder that
/// is no clone.
pub fn revision(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    let done = git.arg("-C").arg(folder).args(["rev-parse", "--short=7", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(done.stdout).ok()?;
    (done.status.success() && !commit.trim().is_empty()).then(|| commit.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Library;

    #[test]
    fn every_pair_names_a_controller_and_parameters_of_the_registry() {
        for pair in MODULES.iter().flat_map(|module| module.pairs) {
            let plain = Pair { numbers: &[], ..*pair };
            assert!(plain.comparison(Library::LINKED).is_some(), "{pair:?}");
        }
    }

    #[test]
    fn the_page_has_a_row_for_each_pair() {
        let page = include_str!("../../../docs/kernel-replay.md");
        for module in MODULES {
            for pair in module.pairs {
                let name = [pair.controller, &pair.parameters()].join(" ");
                let row = format!("| `{}` | {} ", name.trim(), module.name);
                assert!(page.contains(&row), "run replay_kernel --module: {row}");
            }
        }
    }

    #[test]
    fn a_folder_without_a_module_says_which_there_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
        let message = Module::of(&folder).unwrap_err();
        assert!(message.contains("PCCproject/PCC-Kernel, branch vivace"), "{message}");
        let message = Module::of(&folder.join("replay/include")).unwrap_err();
        assert!(message.contains("replay/include"), "{message}");
    }
}
