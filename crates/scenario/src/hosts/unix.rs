//! Profiles of the other systems of Luglio, Roseti and Gerla, "TCP Performance over Satellite in
//! case of Multiple Sessions per Links using Efficient Flow Control and Real OS". The paper names
//! one value of each, the buffer.

use super::Certainty::{Reconstructed, Secondary};
use super::{Profile, System, switch, text};

const ONLY_THE_BUFFER: &str =
    "The paper names the buffer only, so all other keys have their defaults.";

pub(super) const DIGITAL_UNIX_4: Profile = Profile {
    name: "digital-unix-4.0",
    summary: "Digital Unix 4.0 (1996), with a window of 128 kB",
    system: System::Other("Digital Unix"),
    lists: &[&[
        text(
            "transport.receive_buffer",
            "128KiB",
            Secondary,
            "Luglio, Roseti and Gerla, section 5: 128 kB",
        ),
        switch("transport.window_scaling", true, Reconstructed, "a window of 128 kB needs it"),
    ]],
    notes: &[ONLY_THE_BUFFER],
};

pub(super) const BSD_OS: Profile = Profile {
    name: "bsd-os",
    summary: "BSD/OS, with a window of 256 kB",
    system: System::Other("BSD/OS"),
    lists: &[&[
        text(
            "transport.receive_buffer",
            "256KiB",
            Secondary,
            "Luglio, Roseti and Gerla, section 5: 256 kB",
        ),
        switch("transport.window_scaling", true, Reconstructed, "a window of 256 kB needs it"),
    ]],
    notes: &[ONLY_THE_BUFFER],
};
