//! Series of beams: airtime by modulation and code, slots by category, and weather cells.

use beam::BeamCounts;
use beam::forward::Airtime;
use beam::returning::SlotCounters;
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::Scenario;
use scenario::model::Beam;
use units::Time;

use super::tables::share;

extra_table! {
    /// Beams over time. Slots are those since the row before.
    pub(crate) Samples("beam_series") of Sample {
        /// Name of the beam.
        beam: String,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Share of the symbols of the forward carrier in frames with packets, since the row
        /// before; from 0 to 1.
        airtime: f64,
        /// Bytes that wait at the gateway.
        waiting_bytes: u64,
        /// Slots of the return channel.
        slots: u64,
        /// Slots of constant assignment (CRA) that carried something.
        cra_used_slots: u64,
        /// Slots assigned to requests of rates (RBDC).
        rate_slots: u64,
        /// Those of them that carried something.
        rate_used_slots: u64,
        /// Slots assigned to requests of volumes (VBDC, AVBDC).
        volume_slots: u64,
        /// Those of them that carried something.
        volume_used_slots: u64,
        /// Slots of free capacity (FCA) that carried something.
        fca_used_slots: u64,
        /// Bursts by random access; all replicas of one are counted once.
        random_bursts: u64,
        /// Those of them that the gateway decoded.
        random_decoded: u64,
    }
}

extra_table! {
    /// Airtime of forward carriers over time, one row for each modulation and code that was in use
    /// since the row before.
    pub(crate) Airtimes("beam_modcod_series") of AirtimeSample {
        /// Name of the beam.
        beam: String,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Modulation and code.
        modcod: String,
        /// Share of the carrier's time since the row before; from 0 to 1.
        airtime: f64,
    }
}

extra_table! {
    /// Weather cells over time, one row for each group of terminals in a cell.
    pub(crate) Cells("beam_cell_series") of CellSample {
        /// Name of the beam.
        beam: String,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Name of the cell.
        cell: String,
        /// Name of the group.
        group: String,
        /// Terminals of the group in the cell.
        terminals: u32,
        /// Attenuation in dB.
        attenuation_db: f64,
        /// Modulation and code.
        modcod: String,
    }
}

/// The series of beams.
pub(super) const DEFINITIONS: [TableDefinition; 3] =
    [Samples::DEFINITION, Airtimes::DEFINITION, Cells::DEFINITION];

/// Takes samples of beams.
#[derive(Default)]
pub struct BeamSampler {
    /// The beams, if series are recorded.
    beams: Vec<Beam>,
    samples: Samples,
    airtimes: Airtimes,
    cells: Cells,
    /// The counts of the last sample, and its time.
    last: Option<(Time, Vec<BeamCounts>)>,
}

impl BeamSampler {
    /// No samples yet.
    pub fn new(scenario: &Scenario) -> Self {
        let has_series = scenario.record.interval.is_some();
        let beams = if has_series { scenario.beams.clone() } else { Vec::new() };
        Self { beams, ..Self::default() }
    }

    /// A sample at `at`.
    pub fn sample(&mut self, at: Time, counts: Vec<BeamCounts>) {
        let before = self.last.take();
        let beams = std::mem::take(&mut self.beams);
        for (number, (beam, now)) in beams.iter().zip(&counts).enumerate() {
            let before = before.as_ref().map(|(last, all)| (*last, &all[number]));
            if let Some((last, before)) = before {
                self.add(beam, (last, at), before, now);
            }
            self.add_cells(beam, at);
        }
        self.beams = beams;
        self.last = Some((at, counts));
    }

    /// Rows of a beam with the counts between two times.
    fn add(
        &mut self,
        beam: &Beam,
        (last, at): (Time, Time),
        before: &BeamCounts,
        now: &BeamCounts,
    ) {
        let symbols = beam.forward.symbol_rate * at.since(last).as_secs_f64();
        let spent: Vec<_> = now.airtime.iter().zip(&before.airtime).map(symbols_since).collect();
        let sent: u64 = spent.iter().sum();
        let (now_slots, old) = (&now.slots, &before.slots);
        let since = |of: fn(&SlotCounters) -> u64| of(now_slots) - of(old);
        self.samples.push(Sample {
            beam: beam.name.clone(),
            t_s: at.as_secs_f64(),
            airtime: share(sent as f64, symbols),
            waiting_bytes: now.waiting_bytes,
            slots: since(|one| one.all),
            cra_used_slots: since(|one| one.constant_used),
            rate_slots: since(|one| one.rate),
            rate_used_slots: since(|one| one.rate_used),
            volume_slots: since(|one| one.volume),
            volume_used_slots: since(|one| one.volume_used),
            fca_used_slots: since(|one| one.free_used),
            random_bursts: since(|one| one.random),
            random_decoded: since(|one| one.random_decoded),
        });
        let modcods = beam.groups.first().map_or(&[][..], |one| one.signals[0].acm.modcods());
        for (modcod, spent) in modcods.iter().zip(spent).filter(|(_, spent)| *spent > 0) {
            self.airtimes.push(AirtimeSample {
                beam: beam.name.clone(),
                t_s: at.as_secs_f64(),
                modcod: modcod.name.to_owned(),
                airtime: share(spent as f64, symbols),
            });
        }
    }

    fn add_cells(&mut self, beam: &Beam, at: Time) {
        for group in &beam.groups {
            for (part, signal) in group.shares() {
                let Some(cell) = &signal.cell else { continue };
                let terminals = (part * group.terminals.len() as f64).round();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "terminals of a group"
                )]
                let terminals = terminals as u32;
                self.cells.push(CellSample {
                    beam: beam.name.clone(),
                    t_s: at.as_secs_f64(),
                    cell: cell.clone(),
                    group: group.name.clone(),
                    terminals,
                    attenuation_db: signal.acm.signal().fade.at_any(at),
                    modcod: signal.acm.choice(at).name.to_owned(),
                });
            }
        }
    }

    /// The tables that have rows.
    pub fn into_tables(self) -> impl Iterator<Item = ExtraTable> {
        let tables =
            [self.samples.into_table(), self.airtimes.into_table(), self.cells.into_table()];
        tables.into_iter().filter_map(ExtraTable::filled)
    }
}

/// Symbols of frames since the counts before.
fn symbols_since((now, before): (&Airtime, &Airtime)) -> u64 {
    now.symbols - before.symbols
}
