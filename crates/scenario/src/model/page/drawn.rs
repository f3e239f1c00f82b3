//! Pages that a model draws, as a pure function of the seed, of the flow and of its session. So all
//! controllers load the same pages with one seed.

use applications::three_gpp::{
    Drawn, EMBEDDED, MAIN, OBJECTS, PARSING, READING, REQUEST, mean_bytes,
};
use link::{Purpose, Seed, uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Bytes, Span};

use super::{After, Milestone, Page, PageObject};

/// A model of web pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageModel {
    /// That of 3GPP2 and 3GPP, with the values of ns-3.
    ThreeGpp,
}

impl PageModel {
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeGpp => "3gpp",
        }
    }

    /// Mean bytes of the content of a page.
    pub fn mean_bytes(self) -> Bytes {
        mean_bytes()
    }

    /// Mean time from the end of a page to the start of the next one.
    pub fn mean_reading(self) -> Span {
        READING
    }

    /// Bytes of a request.
    pub(crate) fn request(self) -> Bytes {
        REQUEST
    }

    /// The page with the most objects, each with its mean size.
    pub(crate) fn largest(self) -> Vec<PageObject> {
        let sizes = [EMBEDDED.mean(); OBJECTS.most() as usize];
        objects(MAIN.mean(), PARSING, &sizes)
    }
}

/// The pages that a model draws for one session of a flow, one after the other.
#[derive(Clone, Debug)]
pub struct DrawnPages {
    random: Xoshiro256PlusPlus,
}

impl DrawnPages {
    /// The pages of a session of flow number `flow` in a run with `seed`.
    pub fn new(seed: &Seed, flow: u32, session: u32) -> Self {
        let entity = (u64::from(flow) << 32) | u64::from(session);
        Self { random: seed.stream(Purpose::Pages, entity) }
    }

    /// The next page, with the keys of `page`, and the time from its end to the start of the one
    /// after it.
    pub fn draw(&mut self, page: &Page) -> (Page, Span) {
        let Drawn { main, parsing, embedded, reading } =
            Drawn::new(&mut || uniform(&mut self.random));
        let objects = objects(main, parsing, &embedded).into();
        (Page { objects, model: None, ..page.clone() }, reading)
    }
}

fn objects(main: Bytes, parsing: Span, embedded: &[Bytes]) -> Vec<PageObject> {
    let object = |name: String, bytes: Bytes, compute: Span| PageObject {
        name,
        origin: 0,
        bytes,
        server_time: Span::ZERO,
        compute,
        urgency: 0,
        incremental: false,
        after: Box::default(),
    };
    let mut all = vec![object("main".to_owned(), main, parsing)];
    let parsed = After { object: 0, at: Milestone::Computed, delay: Span::ZERO };
    all.extend((0..).zip(embedded).map(|(number, bytes): (u32, &Bytes)| PageObject {
        urgency: 4,
        incremental: true,
        after: [parsed].into(),
        ..object(format!("embedded.{number}"), *bytes, Span::ZERO)
    }));
    all
}
