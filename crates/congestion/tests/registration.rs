//! Controllers of other crates are registered under names of their own.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{
    Controller, Entry, Listed, NameTaken, Repair, Settings, Specification, Status, TcpPolicy,
    Values, Window, find, register,
};

const fn entry(name: &'static str) -> Entry {
    Entry {
        name,
        summary: "Standard TCP",
        source: "RFC 5681",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: &[],
    }
}

macro_rules! standard {
    ($name:ident, $($entry:literal),+) => {
        #[derive(Debug)]
        struct $name(Window);

        impl Controller for $name {
            fn window(&self) -> &Window {
                &self.0
            }

            fn window_mut(&mut self) -> &mut Window {
                &mut self.0
            }
        }

        impl TcpPolicy for $name {}

        impl Listed for $name {
            const LISTED: &'static [Entry] = &[$(entry($entry)),+];

            fn build(settings: &Settings, _values: &Values) -> Self {
                Self(Window::new(settings))
            }
        }
    };
}

standard!(New, "first-of-mine", "second-of-mine");
standard!(Taken, "third-of-mine", "cubic");
standard!(Again, "second-of-mine");
standard!(Twice, "fourth-of-mine", "fourth-of-mine");

#[test]
fn a_name_is_given_once() {
    register::<New>().unwrap();
    for name in ["first-of-mine", "second-of-mine"] {
        assert_eq!(Specification::named(name).unwrap().entry().name, name);
    }
    assert_eq!(register::<Taken>(), Err(NameTaken { name: "cubic" }));
    assert!(find("third-of-mine").is_none(), "none is added");
    assert_eq!(register::<Again>(), Err(NameTaken { name: "second-of-mine" }));
    assert_eq!(register::<Twice>(), Err(NameTaken { name: "fourth-of-mine" }));
}
