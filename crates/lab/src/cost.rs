//! Areas, powers and factors, each with its unit, process node and source.
//!
//! The crate's table is `data/costs.toml`. A caller can replace entries by those of another table.

use std::collections::BTreeMap;

use evergrove_primitives::hash::keccak::sha3_256;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::error::field;
use crate::synth;

/// A cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The value, in `unit`.
    pub value: f64,
    /// The unit.
    pub unit: String,
    /// The process node and other conditions.
    pub node: String,
    /// The source.
    pub source: String,
}

/// A table of costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    version: u32,
    entries: BTreeMap<String, Entry>,
}

/// The only version of the format.
const VERSION: u32 = 1;

impl Costs {
    /// The crate's own table.
    ///
    /// # Panics
    /// Never: a test reads the table.
    pub fn published() -> Self {
        Self::parse(include_str!("../data/costs.toml")).expect("the crate's own table is well formed")
    }
    /// Parses a table in TOML.
    ///
    /// # Errors
    /// If the text is not a table of this version, or a value is not finite.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let costs: Self = toml::from_str(text).map_err(|e| field("costs", e.message(), "a table of costs"))?;
        if costs.version != VERSION {
            return Err(field("version", costs.version, VERSION));
        }
        match costs.entries.iter().find(|(_, e)| !e.value.is_finite()) {
            Some((name, e)) => Err(field("value", format_args!("{} ({name})", e.value), "a finite number")),
            None => Ok(costs),
        }
    }
    /// Replaces or adds the entries of another table.
    pub fn overlay(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }
    /// The entry with this name.
    ///
    /// # Errors
    /// If the table lacks the entry.
    pub fn entry(&self, name: &'static str) -> Result<&Entry, LabError> {
        self.entries.get(name).ok_or_else(|| field("costs", format_args!("no {name}"), "a table with this entry"))
    }
    /// The value of an entry.
    ///
    /// # Errors
    /// If the table lacks the entry.
    pub fn get(&self, name: &'static str) -> Result<f64, LabError> {
        self.entry(name).map(|e| e.value)
    }
    /// Area of a module of `rtl/` in mm2, by assumed gate equivalents and the area of one, without memories.
    ///
    /// # Errors
    /// If the table lacks an entry.
    pub fn area(&self, module: synth::Costs, gate: &'static str) -> Result<f64, LabError> {
        let equivalents = module.gates as f64 * self.get("gate.equivalents")?
            + module.registers as f64 * self.get("register.equivalents")?;
        Ok(equivalents * self.get(gate)? / 1e6)
    }
    /// Identifies a table: a digest of all entries.
    pub fn id(&self) -> String {
        let text = self.entries.iter().map(|(name, e)| format!("{name} {e:?}\n"));
        sha3_256(text.collect::<String>().as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
    /// All entries, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }
}

/// Area and power of one part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The part.
    pub name: String,
    /// Area in mm2.
    pub area_mm2: f64,
    /// Power in W.
    pub power_w: f64,
}

/// The parts of a design. Reports show them beside every total.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Breakdown {
    /// The parts.
    pub parts: Vec<Part>,
}

impl Breakdown {
    /// Adds to the part with this name, or adds a new part.
    pub fn add(&mut self, name: &str, area_mm2: f64, power_w: f64) {
        match self.parts.iter_mut().find(|p| p.name == name) {
            Some(part) => (part.area_mm2, part.power_w) = (part.area_mm2 + area_mm2, part.power_w + power_w),
            None => self.parts.push(Part { name: name.to_owned(), area_mm2, power_w }),
        }
    }
    /// Total area in mm2.
    pub fn area_mm2(&self) -> f64 {
        self.parts.iter().map(|p| p.area_mm2).sum()
    }
    /// Total power in W.
    pub fn power_w(&self) -> f64 {
        self.parts.iter().map(|p| p.power_w).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_refuses_what_it_does_not_know() {
        let mut costs = Costs::published();
        assert!(costs.entries().all(|(_, e)| !e.source.is_empty() && !e.unit.is_empty() && !e.node.is_empty()));
        assert!(costs.get("nothing").is_err());
        assert!(Costs::parse("version = 2\n[entries]").is_err());
        assert!(Costs::parse("version = 1\nentries.a = { value = nan, unit = '1', node = '', source = 's' }").is_err());
        let other = "version = 1\nentries.\"hbm2.phy.area\" = { value = 1, unit = 'mm2', node = 'n', source = 's' }";
        let before = costs.id();
        costs.overlay(Costs::parse(other).expect("a table"));
        assert_ne!(costs.id(), before);
        assert_eq!(costs.get("hbm2.phy.area"), Ok(1.0));
    }
}
