//! Configuration files of the machines: one design, or a sweep over many.
//!
//! ```toml
//! machine = "mtu"
//!
//! [params]
//! workload = "merkle-tree"
//! pes = 8
//!
//! [axes]                       # a sweep: every combination
//! pes = [2, 4, 8]
//! bandwidth_gb_s = [64, 1024]
//! ```
//!
//! A missing field has its value in the machine's `Params::default()`; an unknown field is an error.

use std::collections::BTreeMap;

use evergrove_primitives::hash::keccak::sha3_256;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::LabError;
use crate::cost::{Breakdown, Costs};
use crate::data::Check;
use crate::engine::Activity;
use crate::error::field;
use crate::{data, msm, mtu, poseidon};

/// One of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// The tree unit.
    Mtu,
    /// The Poseidon Merkle engine.
    Poseidon,
    /// The chiplet multiplier.
    Msm,
}

/// A configuration file: a design, and the axes of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The machine.
    pub machine: Machine,
    /// Its parameters.
    #[serde(default)]
    pub params: Table,
    /// Values of parameters. A sweep runs every combination.
    #[serde(default)]
    pub axes: BTreeMap<String, Vec<Value>>,
    /// Where the design is published. Models ignore it.
    #[serde(default)]
    pub source: String,
}

/// Most runs of a sweep.
const MAX_RUNS: usize = 100_000;

/// One design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Design {
    /// The machine.
    pub machine: Machine,
    /// All parameters, including defaults.
    pub params: Table,
}

/// A cell of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number. The column's name ends in the unit.
    Number(f64),
    /// A name.
    Text(String),
}

/// The result of a run, with its columns in reading order.
pub type Row = Vec<(String, Cell)>;

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// If the text is not TOML, or has an unknown key.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        toml::from_str(text).map_err(|e| field("file", e.message(), "a machine, its params and axes"))
    }
    /// The designs of the file: one, or every combination of the axes. Axes are in the order of their names, and the
    /// last one changes fastest.
    ///
    /// # Errors
    /// If a parameter is unknown, has another type or is out of range, if an axis is empty, or if there are more than
    /// 100,000 runs.
    pub fn designs(&self) -> Result<Vec<Design>, LabError> {
        let mut tables = vec![self.params.clone()];
        for (name, values) in &self.axes {
            if values.is_empty() || tables.len() * values.len() > MAX_RUNS {
                let found = format!("{name}: {} values after {} combinations", values.len(), tables.len());
                return Err(field("axes", found, format_args!("at least a value, and at most {MAX_RUNS} runs")));
            }
            tables = tables
                .into_iter()
                .flat_map(|table| {
                    values.iter().map(move |value| {
                        let mut table = table.clone();
                        table.insert(name.clone(), value.clone());
                        table
                    })
                })
                .collect();
        }
        tables.into_iter().map(|table| Design::new(self.machine, table)).collect()
    }
}

fn read<P: for<'a> Deserialize<'a>>(table: &Table) -> Result<P, LabError> {
    Value::Table(table.clone()).try_into().map_err(|e: toml::de::Error| field("params", e.message(), "its fields"))
}

/// All parameters of a machine, checked.
fn filled<P: Serialize + for<'a> Deserialize<'a>>(
    table: &Table,
    check: impl Fn(&P) -> Result<(), LabError>,
) -> Result<Table, LabError> {
    let params = read(table)?;
    check(&params)?;
    Table::try_from(&params).map_err(|e| field("params", e, "values that TOML has"))
}

impl Design {
    /// A design with these parameters; the others have the machine's defaults.
    ///
    /// # Errors
    /// If a parameter is unknown, has another type or is out of range.
    pub fn new(machine: Machine, params: Table) -> Result<Self, LabError> {
        let params = match machine {
            Machine::Mtu => filled(&params, mtu::Params::check),
            Machine::Poseidon => filled(&params, poseidon::Params::check),
            Machine::Msm => filled(&params, msm::Params::check),
        }?;
        Ok(Self { machine, params })
    }
    /// Identifies a result: a digest of the machine, all parameters, the costs and the version of the models.
    pub fn id(&self, costs: &Costs) -> String {
        let text = format!("{}\n{:?}\n{}\n{}", env!("CARGO_PKG_VERSION"), self.machine, self.params, costs.id());
        sha3_256(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
    /// Runs the model and records its first `events` operations.
    ///
    /// # Errors
    /// If the model refuses the design, or the machine is a Poseidon engine with several leaf boards.
    pub fn trace(&self, events: usize) -> Result<crate::engine::trace::Trace, LabError> {
        match self.machine {
            Machine::Mtu => Ok(mtu::trace(&read(&self.params)?, events)?.1),
            Machine::Poseidon => Ok(poseidon::trace(&read(&self.params)?, events)?.1),
            Machine::Msm => Ok(msm::trace(&read(&self.params)?, events)?.1),
        }
    }
    /// Runs the model on random data and compares its results with the kernels'.
    ///
    /// # Errors
    /// If the workload is too large to compute here, or the design is for timing only.
    pub fn check(&self) -> Result<Check, LabError> {
        match self.machine {
            Machine::Mtu => data::mtu(&read(&self.params)?),
            Machine::Poseidon => data::poseidon(&read(&self.params)?),
            Machine::Msm => data::msm(&read(&self.params)?),
        }
    }
    /// Runs the model.
    ///
    /// # Errors
    /// If the model refuses the design, or the cost table lacks an entry.
    pub fn run(&self, costs: &Costs) -> Result<Row, LabError> {
        let mut row: Row = vec![("id".into(), Cell::Text(self.id(costs)))];
        let machine = format!("{:?}", self.machine).to_lowercase();
        row.push(("machine".into(), Cell::Text(machine)));
        row.extend(self.params.iter().map(|(name, value)| (name.clone(), cell(value))));
        match self.machine {
            Machine::Mtu => {
                let p: mtu::Params = read(&self.params)?;
                let r = mtu::run(&p)?;
                number(&mut row, "cycles", r.cycles as f64);
                number(&mut row, "time_us", r.seconds * 1e6);
                number(&mut row, "formula_cycles", mtu::formula::cycles(&p));
                number(&mut row, "read_bytes", r.read_bytes as f64);
                number(&mut row, "written_bytes", r.written_bytes as f64);
                number(&mut row, "buffered_nodes", r.buffered_nodes as f64);
                number(&mut row, "spilled_nodes", r.spilled_nodes as f64);
                let operations = p.leaves() as f64 - 1.0;
                let busy = operations / (f64::from(p.pes) * r.cycles as f64);
                spend(&mut row, &mtu::cost::design(costs, &p)?, r.seconds, busy.min(1.0));
                activities(&mut row, &r.activities);
            }
            Machine::Poseidon => {
                let p: poseidon::Params = read(&self.params)?;
                let r = poseidon::run(&p)?;
                number(&mut row, "cycles", r.cycles as f64);
                number(&mut row, "time_us", r.seconds * 1e6);
                number(&mut row, "formula_cycles", poseidon::formula::cycles(&p));
                number(&mut row, "hashes", r.hashes as f64);
                number(&mut row, "hash_rate_mhash_s", r.hashes as f64 / r.seconds / 1e6);
                number(&mut row, "link_bytes", r.link_bytes as f64);
                number(&mut row, "out_bytes", r.out_bytes as f64);
                number(&mut row, "hbm_bytes", r.hbm_bytes as f64);
                number(&mut row, "deepest_queue_digests", r.queues.iter().copied().max().unwrap_or(0) as f64);
                number(&mut row, "leaf_latency_us", p.seconds(1) * r.leaf_latency.mean * 1e6);
                number(&mut row, "dsp_slices", poseidon::resources::dsps(&p) as f64);
                // Power as measured on the boards: it includes idle parts.
                spend(&mut row, &poseidon::resources::design(costs, &p)?, r.seconds, 1.0);
                activities(&mut row, &r.activities);
            }
            Machine::Msm => {
                let p: msm::Params = read(&self.params)?;
                let r = msm::run(&p)?;
                number(&mut row, "cycles", r.cycles as f64);
                number(&mut row, "time_us", r.seconds * 1e6);
                number(&mut row, "formula_cycles", msm::formula::cycles(&p));
                number(&mut row, "stream_cycles", r.stream as f64);
                number(&mut row, "bucket_aggregation_cycles", r.bucket_aggregation as f64);
                number(&mut row, "result_aggregation_cycles", r.result_aggregation as f64);
                number(&mut row, "conflicts", r.conflicts as f64);
                number(&mut row, "read_bytes", r.bytes as f64);
                let cost = msm::cost::elements(costs, &p)?;
                let busy = r.additions as f64 / (f64::from(p.pes()) * r.cycles as f64);
                spend(&mut row, &cost, r.seconds, busy.min(1.0));
                number(
                    &mut row,
                    "system_cost_usd",
                    msm::cost::system(costs, p.chiplets, cost.area_mm2() / f64::from(p.chiplets))?,
                );
                activities(&mut row, &[("stream".into(), r.stream_activity)]);
            }
        }
        Ok(row)
    }
}

fn number(row: &mut Row, name: &str, value: f64) {
    row.push((name.to_owned(), Cell::Number(value)));
}

/// Adds the totals and parts of a cost. Energy is power times `seconds` times `busy`, the share of the time in which
/// the elements are busy. A machine without a published area gets no column for it.
fn spend(row: &mut Row, cost: &Breakdown, seconds: f64, busy: f64) {
    if cost.area_mm2() > 0.0 {
        number(row, "area_mm2", cost.area_mm2());
    }
    number(row, "power_w", cost.power_w());
    for part in &cost.parts {
        let name = part.name.to_lowercase().replace(' ', "_");
        for (what, value) in [("area_mm2", part.area_mm2), ("power_w", part.power_w)] {
            if value > 0.0 {
                number(row, &format!("{name}_{what}"), value);
            }
        }
    }
    number(row, "busy_share", busy);
    number(row, "energy_uj", cost.power_w() * busy * seconds * 1e6);
}

fn activities(row: &mut Row, all: &[(String, Activity)]) {
    for (name, activity) in all {
        let name = name.to_lowercase().replace(' ', "_");
        number(row, &format!("{name}_busy_cycles"), activity.busy as f64);
        for reason in crate::engine::Stall::ALL {
            number(row, &format!("{name}_{}_cycles", reason.name()), activity.stalled(reason) as f64);
        }
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Integer(x) => Cell::Number(*x as f64),
        Value::Float(x) => Cell::Number(*x),
        Value::String(s) => Cell::Text(s.clone()),
        other => Cell::Text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_every_combination_and_ids_tell_designs_apart() {
        let text = "machine = 'mtu'\n[params]\nlog_size = 8\n[axes]\npes = [2, 4]\nbandwidth_gb_s = [64, 128, 256]";
        let designs = File::parse(text).expect("a file").designs().expect("designs");
        assert_eq!(designs.len(), 6);
        let mut costs = Costs::published();
        let mut ids: std::collections::BTreeSet<String> = designs.iter().map(|d| d.id(&costs)).collect();
        let dearer = "version = 1\nentries.\"mtu.sha3.area\" = { value = 9, unit = 'mm2', node = 'n', source = 's' }";
        costs.overlay(Costs::parse(dearer).expect("a table"));
        ids.extend(designs.iter().map(|d| d.id(&costs)));
        assert_eq!(ids.len(), 12);
        // Writing out the defaults gives the same design.
        let same = "machine = 'mtu'\n[params]\nlog_size = 8\npes = 2\nbandwidth_gb_s = 64\nfrequency_mhz = 1000";
        assert_eq!(File::parse(same).expect("a file").designs().expect("designs")[0], designs[0]);
        let row = designs[0].run(&Costs::published()).expect("a run");
        let pes = row.iter().find(|(name, _)| name == "pes").map(|(_, cell)| cell.clone());
        assert_eq!(pes, Some(Cell::Number(2.0)));
    }

    #[test]
    fn what_is_not_a_design_is_refused_by_name() {
        let error = |text: &str| {
            let file = File::parse(text);
            file.and_then(|f| f.designs()).map_or_else(|e| e.to_string(), |d| format!("{} designs", d.len()))
        };
        assert!(error("machine = 'mtu'\n[params]\npes = 3").contains("pes = 3: choose a power of two from 2 to 256"));
        assert!(error("machine = 'mtu'\n[params]\npe = 4").contains("pe"));
        assert!(error("machine = 'cpu'").contains("cpu"));
        assert!(error("machine = 'msm'\n[axes]\nlog_points = []").contains("axes"));
        assert!(error("machine = 'poseidon'\n[params]\nlink_gbit_s = 'fast'").contains("params"));
    }
}
