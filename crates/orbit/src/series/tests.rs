use super::*;
use crate::{Bound, Phasing, Shell};

fn epoch() -> Utc {
    Utc::parse("2026-11-27T10:00:00Z").unwrap()
}

fn starlink() -> Shell {
    Shell::circular("s", 550.0, 53.0, 72, 22, Phasing::Hypatia)
}

fn place(name: &str, latitude_deg: f64, longitude_deg: f64) -> Place {
    Place { name: name.into(), latitude_deg, longitude_deg, altitude_km: 0.0 }
}

fn elevation(least: f64) -> Sight {
    Sight { bound: Bound::Elevation(least), arc_deg: None }
}

fn lasers(shell: &Shell) -> Relay {
    Relay::Lasers(Lasers { grid: Grid::plus(std::slice::from_ref(shell), true, None) })
}

/// A bent pipe for five minutes in steps of a second, from Paris to a gateway.
fn request<'a>(satellites: &'a [Satellite], from: &'a Place, to: &'a [Place]) -> Request<'a> {
    Request {
        satellites,
        from,
        to,
        tracks: &[],
        sight: elevation(25.0),
        to_sight: elevation(25.0),
        relay: Relay::BentPipe,
        rule: Rule::Highest,
        when: When::Step,
        outage: Outage::None,
        epoch: epoch(),
        duration: Span::from_secs(300),
        step: Span::from_secs(1),
        seed: 1,
        full: false,
    }
}

fn both() -> (Place, [Place; 1]) {
    (place("Paris", 48.85, 2.35), [place("Frankfurt", 50.1, 8.7)])
}

fn ends(row: &Row) -> [u32; 2] {
    row.path.as_ref().unwrap().ends()
}

#[test]
fn the_filtered_series_is_the_full_one() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let from = place("Paris", 48.85, 2.35);
    let to = [place("Frankfurt", 50.1, 8.7), place("Sydney", -33.87, 151.2)];
    // Ten minutes at times without a pattern over a day.
    for minute in 0..10u64 {
        let start = epoch().plus(Span::from_millis(minute * 8_641_373));
        for relay in [Relay::BentPipe, lasers(&starlink())] {
            let rules = [Rule::Shortest, Rule::Highest];
            for (rule, arc_deg) in rules.into_iter().zip([None, Some(22.0)]) {
                let sight = Sight { arc_deg, ..elevation(25.0) };
                let short = Request {
                    epoch: start,
                    duration: Span::from_secs(60),
                    step: Span::from_secs(3),
                    relay: relay.clone(),
                    rule,
                    sight,
                    ..request(&satellites, &from, &to)
                };
                let full = Request { full: true, ..short.clone() };
                let [short, full] = [short, full].map(|one| series(&one).unwrap());
                assert_eq!(short, full);
                assert!(short.rows.iter().any(|row| row.path.is_some()));
            }
        }
    }
}

/// An aircraft from Paris to Dakar in five hours, and a ship.
#[test]
fn the_filtered_series_of_places_that_move_is_the_full_one() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let at = |at_s, latitude_deg, longitude_deg, altitude_km| crate::Waypoint {
        at_s,
        latitude_deg,
        longitude_deg,
        altitude_km,
    };
    let aircraft = vec![
        at(-60.0, 48.85, 2.35, 0.1),
        at(900.0, 47.2, 0.3, 11.0),
        at(18_000.0, 14.7, -17.4, 11.0),
    ];
    let ship = vec![at(0.0, 36.0, -20.0, 0.0), at(20_000.0, 36.0, -21.0, 0.0)];
    let tracks = [("aircraft", aircraft), ("ship", ship)];
    let tracks = tracks.map(|(name, points)| Track::new(name, points).unwrap());
    let from = tracks[0].at(0.0);
    let to = [tracks[1].at(0.0)];
    let range = Sight { bound: Bound::Range(1400.0), ..elevation(25.0) };
    for (relay, sight) in [(Relay::BentPipe, elevation(25.0)), (lasers(&starlink()), range)] {
        let short = Request {
            tracks: &tracks,
            duration: Span::from_secs(18_000),
            step: Span::from_secs(11),
            relay,
            sight,
            ..request(&satellites, &from, &to)
        };
        let full = Request { full: true, ..short.clone() };
        let still = Request { tracks: &[], ..short.clone() };
        let [short, full, still] = [short, full, still].map(|one| series(&one).unwrap());
        assert_eq!(short, full);
        let seen = |found: &Series| found.rows.iter().filter(|row| row.path.is_some()).count();
        assert!(seen(&short) > 50, "{}", seen(&short));
        assert_ne!(short.rows[1000], still.rows[1000], "the place moves");
    }
}

#[test]
fn a_satellite_of_a_slot_is_kept_until_the_next_slot() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let (from, to) = both();
    let slots = Request { when: When::Slot, ..request(&satellites, &from, &to) };
    let found = series(&slots).unwrap();
    assert!(found.handovers.len() >= 5, "{}", found.handovers.len());
    for handover in &found.handovers {
        let second = handover.at.as_nanos() / 1_000_000_000 % 15;
        let [lost, _] = handover.before.ends();
        // 10:00:00 is the epoch, so slots begin at seconds 12, 27, 42, ... of the series.
        let row = &found.rows[(handover.at.as_nanos() / 1_000_000_000) as usize];
        let at = epoch().plus(row.at);
        let position = satellites[lost as usize].propagate(at).unwrap();
        let turn = crate::station::turn(at);
        let is_lost = [&from, &to[0]].into_iter().any(|place| {
            let station = crate::Station::new(place.clone());
            !elevation(25.0).admits(&station.here(turn), position)
        });
        assert!(second == 12 || is_lost, "{handover:?}");
    }
    // At the start of each slot it is the highest one.
    let each = series(&Request { when: When::Step, ..slots.clone() }).unwrap();
    for second in [12, 27, 42, 57, 72] {
        assert_eq!(ends(&found.rows[second]), ends(&each.rows[second]));
    }
    // Without slots it changes at other times too.
    let second = |one: &Handover| one.at.as_nanos() / 1_000_000_000 % 15;
    assert!(each.handovers.iter().any(|one| second(one) != 12));
}

/// True if the first or the last satellite is another one, and not only those between them.
fn is_at_an_end(handover: &&Handover) -> bool {
    let Handover { before, after, .. } = handover;
    before.ends() != after.ends() || before.to != after.to
}

#[test]
fn a_satellite_is_kept_until_it_is_lost() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let (from, to) = both();
    let by_loss = |relay, rule| {
        let request = Request { when: When::Loss, relay, rule, ..request(&satellites, &from, &to) };
        series(&request).unwrap()
    };
    for relay in [Relay::BentPipe, lasers(&starlink())] {
        let longest = by_loss(relay.clone(), Rule::Longest).handovers;
        let highest = by_loss(relay.clone(), Rule::Highest).handovers;
        let at_end = |handovers: &[Handover]| handovers.iter().filter(is_at_an_end).count();
        assert!(at_end(&longest) >= 1 && at_end(&longest) <= at_end(&highest));
    }
}

#[test]
fn the_longest_in_sight_stays_as_long_as_any() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let (from, to) = both();
    let request =
        Request { rule: Rule::Longest, when: When::Loss, ..request(&satellites, &from, &to) };
    let found = series(&request).unwrap();
    let first = found.rows.iter().take_while(|row| ends(row) == ends(&found.rows[0])).count();
    // No satellite that both see at the start is in sight of both for longer.
    let stations = [&from, &to[0]].map(|place| crate::Station::new(place.clone()));
    let stays = |satellite: &Satellite| {
        let sees = |second: &u64| {
            let at = epoch().plus(Span::from_secs(*second));
            let turn = crate::station::turn(at);
            let position = satellite.propagate(at).unwrap();
            stations.iter().all(|one| elevation(25.0).admits(&one.here(turn), position))
        };
        (0..).take_while(sees).count()
    };
    let most = satellites.iter().map(stays).max().unwrap();
    assert_eq!(first, most);
}

#[test]
fn random_choices_repeat_with_the_seed() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let (from, to) = both();
    let draw = |seed| {
        let request = Request { rule: Rule::Random, seed, ..request(&satellites, &from, &to) };
        series(&request).unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn an_outage_follows_each_handover_of_an_end() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let (from, to) = both();
    let with = |outage| series(&Request { outage, ..request(&satellites, &from, &to) }).unwrap();
    let none = with(Outage::None);
    assert!(none.rows.iter().all(|row| !row.silent));
    let half = with(Outage::Time(Span::from_millis(500)));
    let number = half.handovers.len();
    assert!(number > 3);
    assert_eq!(half.rows.iter().filter(|row| row.silent).count(), number);
    // One row for each step, and one half a second after each hand-over.
    assert_eq!(half.rows.len(), 300 + number);
    for handover in &half.handovers {
        let place = half.rows.iter().position(|row| row.at == handover.at).unwrap();
        assert!(half.rows[place].silent && !half.rows[place + 1].silent);
        assert_eq!(half.rows[place + 1].at, handover.at + Span::from_millis(500));
    }
    assert!(half.rows.windows(2).all(|pair| pair[0].at < pair[1].at));
    // LeoEM: both hops change in a bent pipe, each from one range to another.
    for handover in with(Outage::LeoEm).handovers {
        let time = |old: Look, new: Look| 3.0 * (old.range_km + new.range_km) / LIGHT_KM_PER_S;
        let Handover { before, after, .. } = &handover;
        let longest = time(before.look, after.look).max(time(before.to_look, after.to_look));
        assert!((handover.outage.as_secs_f64() - longest).abs() < 1e-8);
    }
    // Longer than a step: outages overlap, and end once.
    let long = with(Outage::Time(Span::from_millis(2_500)));
    let silent = long.rows.iter().filter(|row| row.silent).count();
    assert!(silent >= 2 * number, "{silent}");
    assert!(long.rows.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[test]
fn reasons_for_no_path() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let paris = place("Paris", 48.85, 2.35);
    // Too far north for 53 degrees of inclination.
    let pole = [place("Pole", 89.0, 0.0)];
    let found = series(&request(&satellites, &paris, &pole)).unwrap();
    let [gap] = &found.gaps[..] else { panic!("{:?}", found.gaps) };
    assert_eq!((gap.start, gap.end), (Span::ZERO, Span::from_secs(300)));
    let [Unseen { place: name, miss: crate::sight::Miss::Below(degrees), .. }] = &gap.unseen[..]
    else {
        panic!("{gap:?}")
    };
    assert_eq!(name, "Pole");
    // 53 degrees north from 89: 36 degrees apart, and 550 km are below the horizon beyond 23.
    assert!((25.0..60.0).contains(degrees), "{degrees}");
    // Sydney sees satellites, but not those of Paris.
    let sydney = [place("Sydney", -33.87, 151.2)];
    let found = series(&request(&satellites, &paris, &sydney)).unwrap();
    assert_eq!((found.gaps.len(), found.gaps[0].no_common), (1, 300));
    // Lasers that are too short.
    let grid = Grid::plus(&[starlink()], true, Some(100.0));
    let relay = Relay::Lasers(Lasers { grid });
    let found = series(&Request { relay, ..request(&satellites, &paris, &sydney) }).unwrap();
    assert_eq!((found.gaps.len(), found.gaps[0].no_route), (1, 300));
}

#[test]
fn the_path_ends_at_the_best_of_several_places() {
    let satellites = starlink().satellites(epoch()).unwrap();
    let paris = place("Paris", 48.85, 2.35);
    let to = [
        place("Sydney", -33.87, 151.2),
        place("Frankfurt", 50.1, 8.7),
        place("Dublin", 53.3, -6.3),
    ];
    for rule in [Rule::Shortest, Rule::Highest] {
        let lengths = |to: &[Place]| -> Vec<f64> {
            let relay = lasers(&starlink());
            let request = Request { rule, relay, ..request(&satellites, &paris, to) };
            let rows = series(&request).unwrap().rows.into_iter();
            rows.map(|row| row.path.unwrap().length_km).collect()
        };
        let each = [0, 1, 2].map(|place| lengths(&to[place..=place]));
        for (step, length) in lengths(&to).into_iter().enumerate() {
            let best = each.iter().map(|one| one[step]).fold(f64::INFINITY, f64::min);
            assert!((length - best).abs() < 1e-9, "{rule:?}, step {step}: {length} {best}");
        }
    }
}

#[test]
fn the_delay_of_a_geostationary_satellite_is_that_of_the_closed_form() {
    let satellites = [crate::walker::geostationary(13.0, epoch()).unwrap()];
    let to = [place("below", 0.0, 13.0)];
    let from = place("side", 0.0, 43.0);
    let found = series(&request(&satellites, &from, &to)).unwrap();
    let (radius, orbit) = (6378.137, 42_164.17f64);
    let slant =
        (radius * radius + orbit * orbit - 2.0 * radius * orbit * 30f64.to_radians().cos()).sqrt();
    let expected = (slant + orbit - radius) / LIGHT_KM_PER_S;
    let delay = found.rows[0].path.as_ref().unwrap().delay_s();
    // The mean radius of SGP4's orbit is some km from that of a circle without other forces.
    assert!((delay - expected).abs() < 1e-4, "{delay} {expected}");
    assert!(found.handovers.is_empty() && found.gaps.is_empty());
}
