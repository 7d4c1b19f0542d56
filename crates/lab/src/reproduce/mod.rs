//! Published values beside those of the models: reference, [`Origin`], our value, deviation and verdict.
//!
//! [`Tally`] counts the printed values that a run of a model reproduces. If a paper contradicts itself or leaves
//! something out, the section has a one-line note.

mod figures;
mod hardware;
mod mtu;
mod multiplier;
mod origin;
mod poseidon;
mod tally;

pub use origin::Origin;
pub use tally::Tally;

use serde::Serialize;

use crate::LabError;
use crate::cost::Costs;
use crate::cpu::Baseline;
use evergrove_plot::{Figure, quote};
use origin::{Ours, Printed, Reference};

/// A published table, figure or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// Table 1 of the MTU paper: properties of traversals.
    MtuTable1,
    /// Table 2: the accumulator's schedule for an inverted tree.
    MtuTable2,
    /// Table 3: the accumulator's schedule for a forward tree.
    MtuTable3,
    /// Table 4: area and power.
    MtuTable4,
    /// Fig. 4: run time on a CPU.
    MtuFig4,
    /// Fig. 5: run time of the unit.
    MtuFig5,
    /// Fig. 6: speed-up over the CPU.
    MtuFig6,
    /// Fig. 7: run time by area.
    MtuFig7,
    /// Hashes and seconds of the Poseidon engine.
    PoseidonThroughput,
    /// Latencies of its cores.
    PoseidonLatency,
    /// Energy of its hashes.
    PoseidonEnergy,
    /// Its adders, multipliers and slices.
    PoseidonResources,
    /// The engine on several boards.
    PoseidonMultifpga,
    /// Table I of the paper on multi-scalar multiplication: area and power by window.
    MsmTable1,
    /// Table II: latency by points and PEs.
    MsmTable2,
    /// Table III: throughput beside Gypsophila.
    MsmTable3,
    /// Fig. 3: area, passes and area-time product by window.
    MsmFig3,
    /// Fig. 4: loads of points with and without unrolling.
    MsmFig4,
    /// Stages and areas of the papers' parts beside those of `rtl/`.
    Hardware,
}

impl Item {
    /// All items.
    pub const ALL: [Self; 19] = [
        Self::MtuTable1,
        Self::MtuTable2,
        Self::MtuTable3,
        Self::MtuTable4,
        Self::MtuFig4,
        Self::MtuFig5,
        Self::MtuFig6,
        Self::MtuFig7,
        Self::PoseidonThroughput,
        Self::PoseidonLatency,
        Self::PoseidonEnergy,
        Self::PoseidonResources,
        Self::PoseidonMultifpga,
        Self::MsmTable1,
        Self::MsmTable2,
        Self::MsmTable3,
        Self::MsmFig3,
        Self::MsmFig4,
        Self::Hardware,
    ];
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::MtuTable1 => "mtu-table1",
            Self::MtuTable2 => "mtu-table2",
            Self::MtuTable3 => "mtu-table3",
            Self::MtuTable4 => "mtu-table4",
            Self::MtuFig4 => "mtu-fig4",
            Self::MtuFig5 => "mtu-fig5",
            Self::MtuFig6 => "mtu-fig6",
            Self::MtuFig7 => "mtu-fig7",
            Self::PoseidonThroughput => "poseidon-throughput",
            Self::PoseidonLatency => "poseidon-latency",
            Self::PoseidonEnergy => "poseidon-energy",
            Self::PoseidonResources => "poseidon-resources",
            Self::PoseidonMultifpga => "poseidon-multifpga",
            Self::MsmTable1 => "msm-table1",
            Self::MsmTable2 => "msm-table2",
            Self::MsmTable3 => "msm-table3",
            Self::MsmFig3 => "msm-fig3",
            Self::MsmFig4 => "msm-fig4",
            Self::Hardware => "hardware",
        }
    }
    /// The item with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|i| i.name() == name)
    }
    /// Whether the item compares with times of a CPU.
    pub fn needs_cpu(self) -> bool {
        matches!(self, Self::MtuFig4 | Self::MtuFig6)
    }
}

/// How close our value must be to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closeness {
    /// Equal.
    Exact,
    /// Equal when rounded to this number of decimals.
    Decimals(u32),
    /// Deviation of at most [`CLOSE`].
    Close,
}

/// The greatest deviation that counts as close.
pub const CLOSE: f64 = 0.03;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Equal to the reference, exactly or to the printed digit.
    Equal,
    /// Deviation of at most [`CLOSE`].
    Close,
    /// Not as published; a note gives the reason.
    Differs,
    /// Our value without a reference.
    Ours,
}

impl Verdict {
    /// The name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Close => "close",
            Self::Differs => "differs",
            Self::Ours => "ours",
        }
    }
}

/// A quantity with its reference and our value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The name of the quantity.
    pub quantity: String,
    /// Its unit.
    pub unit: &'static str,
    /// The origin of the reference. Without a reference: [`Origin::Assumed`] if our value rests on an assumed input,
    /// [`Origin::Derived`] if it follows from `rtl/`, and `None` for a question of our own.
    pub origin: Option<Origin>,
    /// The reference value.
    pub published: Option<f64>,
    /// Our value.
    pub ours: f64,
    /// Whether our value is from a run of a model, rather than from a closed form or arithmetic.
    pub simulated: bool,
    /// Printed cells that the line covers.
    pub cells: u32,
    /// Cells of these that equal ours.
    pub reproduced: u32,
    /// ours / published - 1.
    pub deviation: Option<f64>,
    /// The result of the comparison.
    pub verdict: Verdict,
}

/// A reproduced item.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// The name of the item.
    pub item: &'static str,
    /// The title of the section.
    pub title: &'static str,
    /// The quantities.
    pub lines: Vec<Line>,
    /// Contradictions, assumptions and extrapolations, one per note.
    pub notes: Vec<String>,
    /// Figures by file name. Published points are crosses.
    #[serde(skip)]
    pub figures: Vec<(String, Figure)>,
}

impl Line {
    /// The source of our value: `run` of a model, or `formula`.
    pub fn by(&self) -> &'static str {
        if self.simulated { "run" } else { "formula" }
    }
}

impl Section {
    /// A line of column names, then one line per quantity.
    pub fn csv(&self) -> String {
        let mut out = "quantity,unit,origin,published,ours,by,deviation,verdict\n".to_owned();
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for line in &self.lines {
            let Line { quantity, unit, published, ours, deviation, verdict, .. } = line;
            let (published, deviation) = (number(*published), number(*deviation));
            let (quantity, origin) = (quote(quantity), line.origin.map_or("", Origin::name));
            let (by, verdict) = (line.by(), verdict.name());
            out.push_str(&format!("{quantity},{unit},{origin},{published},{ours},{by},{deviation},{verdict}\n"));
        }
        out
    }
    fn new(item: Item, title: &'static str) -> Self {
        Self { item: item.name(), title, lines: Vec::new(), notes: Vec::new(), figures: Vec::new() }
    }
    fn draw(&mut self, name: impl Into<String>, figure: Figure) {
        self.figures.push((name.into(), figure));
    }
    fn compare(
        &mut self,
        quantity: impl Into<String>,
        unit: &'static str,
        reference: impl Into<Reference>,
        ours: impl Into<Ours>,
        close: Closeness,
    ) {
        let (reference, ours): (Reference, Ours) = (reference.into(), ours.into());
        let (published, value) = (reference.value, ours.value());
        let equal = match close {
            Closeness::Exact => value == published,
            Closeness::Decimals(n) => (value - published).abs() <= 0.5000001 * 10_f64.powi(-(n as i32)),
            Closeness::Close => false,
        };
        let near = close == Closeness::Close && (value - published).abs() <= CLOSE * published.abs();
        let verdict = match (equal, near) {
            (true, _) => Verdict::Equal,
            (_, true) => Verdict::Close,
            _ => Verdict::Differs,
        };
        let printed = u32::from(reference.origin == Origin::Printed);
        self.lines.push(Line {
            quantity: quantity.into(),
            unit,
            origin: Some(reference.origin),
            published: Some(published),
            ours: value,
            simulated: ours.is_simulated(),
            cells: printed,
            reproduced: if verdict == Verdict::Differs { 0 } else { printed },
            deviation: (published != 0.0).then(|| value / published - 1.0),
            verdict,
        });
    }
    /// A table of `printed` cells, with the number of those that a run reproduces.
    fn cells(&mut self, quantity: impl Into<String>, unit: &'static str, printed: u32, equal: Ours) {
        self.compare(quantity, unit, Printed(f64::from(printed)), equal, Closeness::Exact);
        if let Some(line) = self.lines.last_mut() {
            (line.cells, line.reproduced) = (printed, equal.value() as u32);
        }
    }
    fn ours(&mut self, quantity: impl Into<String>, unit: &'static str, ours: impl Into<Ours>) {
        let ours = ours.into();
        self.lines.push(Line {
            quantity: quantity.into(),
            unit,
            origin: None,
            published: None,
            ours: ours.value(),
            simulated: ours.is_simulated(),
            cells: 0,
            reproduced: 0,
            deviation: None,
            verdict: Verdict::Ours,
        });
    }
    /// A value of ours that is an assumed input, or rests on an unpublished one.
    fn assumed(&mut self, quantity: impl Into<String>, unit: &'static str, ours: impl Into<Ours>) {
        self.ours(quantity, unit, ours);
        if let Some(line) = self.lines.last_mut() {
            line.origin = Some(Origin::Assumed);
        }
    }
    /// A value of ours that no paper prints and that is derived from `rtl/`. The quantity names the module.
    fn rtl(&mut self, quantity: impl Into<String>, unit: &'static str, ours: impl Into<Ours>) {
        self.ours(quantity, unit, ours);
        if let Some(line) = self.lines.last_mut() {
            line.origin = Some(Origin::Derived);
        }
    }
    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// Reproduces an item. `cpu` has the times of a CPU, for the items that compare with one.
///
/// # Errors
/// If the cost table lacks an entry, or the item needs times of a CPU and `cpu` is `None`.
pub fn reproduce(item: Item, costs: &Costs, cpu: Option<&Baseline>) -> Result<Section, LabError> {
    let baseline = || cpu.ok_or_else(|| crate::error::field("cpu", "none", "times of a CPU for this item"));
    match item {
        Item::MtuTable1 => mtu::table1(),
        Item::MtuTable2 => Ok(mtu::schedule(item, 2)),
        Item::MtuTable3 => Ok(mtu::schedule(item, 3)),
        Item::MtuTable4 => mtu::table4(costs),
        Item::MtuFig4 => Ok(mtu::fig4(baseline()?)),
        Item::MtuFig5 => mtu::fig5(),
        Item::MtuFig6 => mtu::fig6(baseline()?),
        Item::MtuFig7 => mtu::fig7(costs),
        Item::PoseidonThroughput => poseidon::throughput(),
        Item::PoseidonLatency => poseidon::latency(),
        Item::PoseidonEnergy => Ok(poseidon::energy()),
        Item::PoseidonResources => Ok(poseidon::resources()),
        Item::PoseidonMultifpga => poseidon::boards(),
        Item::MsmTable1 => multiplier::table1(costs),
        Item::MsmTable2 => multiplier::table2(costs),
        Item::MsmTable3 => multiplier::table3(costs),
        Item::MsmFig3 => multiplier::fig3(costs),
        Item::MsmFig4 => multiplier::fig4(),
        Item::Hardware => hardware::hardware(costs),
    }
}
