//! Totals of a reproduction.

use std::fmt;

use super::{Origin, Section, Verdict};

/// References that our values agree with, out of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    agree: u32,
    all: u32,
}

/// Counts over several items. Its text is the headline of `reproduce all`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Printed cells that a run reproduces, out of all.
    printed: Share,
    derived: Share,
    /// Values that follow from `rtl/`, without a reference.
    rtl: u32,
    fitted: Share,
    assumed: u32,
    /// Printed cells without a run: the item, and how many cells a closed form or arithmetic reproduces out of all.
    without: Vec<(&'static str, Share)>,
    /// Printed values that ours differ from: item, quantity and deviation.
    differ: Vec<(&'static str, String, f64)>,
}

impl Tally {
    /// Adds an item.
    pub fn add(&mut self, section: &Section) {
        let mut without = Share::default();
        for line in &section.lines {
            let agrees = u32::from(line.verdict != Verdict::Differs);
            match line.origin {
                None => {}
                Some(Origin::Assumed) => self.assumed += 1,
                Some(Origin::Derived) if line.published.is_none() => self.rtl += 1,
                Some(Origin::Derived) => self.derived = self.derived.with(agrees, 1),
                Some(Origin::Fitted) => self.fitted = self.fitted.with(agrees, 1),
                Some(Origin::Printed) => {
                    let by_run = if line.simulated { line.reproduced } else { 0 };
                    self.printed = self.printed.with(by_run, line.cells);
                    if !line.simulated {
                        without = without.with(line.reproduced, line.cells);
                    }
                    if line.reproduced < line.cells {
                        self.differ.push((section.item, line.quantity.clone(), line.deviation.unwrap_or(f64::NAN)));
                    }
                }
            }
        }
        if without.all > 0 {
            self.without.push((section.item, without));
        }
    }
    /// Printed cells that a run of a model reproduces, and all printed cells.
    pub fn printed(&self) -> (u32, u32) {
        (self.printed.agree, self.printed.all)
    }
}

impl Share {
    fn with(self, agree: u32, all: u32) -> Self {
        Self { agree: self.agree + agree, all: self.all + all }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.agree, self.all)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "printed cells reproduced by simulation: {}", self.printed)?;
        for (item, share) in &self.without {
            writeln!(f, "  not simulated: {} in {item}; a closed form or arithmetic gives {}", share.all, share.agree)?;
        }
        for (item, quantity, off) in &self.differ {
            writeln!(f, "  not as printed: {item}, {quantity} ({:+.1} %)", 100.0 * off)?;
        }
        writeln!(f, "derived from the text: {} agree", self.derived)?;
        writeln!(f, "derived from rtl/: {}", self.rtl)?;
        writeln!(f, "fitted to what they are compared with: {} agree", self.fitted)?;
        writeln!(f, "rest on assumed inputs: {}", self.assumed)
    }
}
