//! Where the numbers of a reproduction are from. The type of a value says it, so that no line can claim more.
//!
//! A reference is [`Printed`], [`Derived`], [`Fitted`] or [`Assumed`]. Ours is a plain number, or one that [`Ours::of`] reads
//! from the report of a run. Only a printed value beside that of a run counts as reproduced by simulation.

use serde::Serialize;

use crate::{msm, mtu, poseidon};

/// Where a reference is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The paper prints it.
    Printed,
    /// It follows from what the paper prints, by arithmetic.
    Derived,
    /// The paper prints it, and a parameter of ours was chosen so that ours comes near it.
    Fitted,
    /// Nobody has published it: ours rests on an input that is assumed.
    Assumed,
}

impl Origin {
    /// All origins.
    pub const ALL: [Self; 4] = [Self::Printed, Self::Derived, Self::Fitted, Self::Assumed];
    /// The name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Derived => "derived",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

/// A value as the paper prints it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printed(pub(super) f64);

/// A value that follows from the paper's text by arithmetic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived(pub(super) f64);

/// A printed value that a parameter of ours is fitted to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted(pub(super) f64);

/// A value with its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) value: f64,
    pub(super) origin: Origin,
}

impl From<Printed> for Reference {
    fn from(Printed(value): Printed) -> Self {
        Self { value, origin: Origin::Printed }
    }
}

impl From<Derived> for Reference {
    fn from(Derived(value): Derived) -> Self {
        Self { value, origin: Origin::Derived }
    }
}

impl From<Fitted> for Reference {
    fn from(Fitted(value): Fitted) -> Self {
        Self { value, origin: Origin::Fitted }
    }
}

/// What only a run of a model makes.
pub(super) trait Run {}

impl Run for mtu::Report {}
impl Run for msm::Report {}
impl Run for poseidon::Report {}
impl Run for mtu::tables::Agreement {}

/// Our value, and whether a run of a model gave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ours {
    value: f64,
    simulated: bool,
}

impl Ours {
    /// Read from the report of a run.
    pub(super) fn of<R: Run>(report: &R, value: impl FnOnce(&R) -> f64) -> Self {
        Self { value: value(report), simulated: true }
    }
    /// With another run's value, as a ratio.
    pub(super) fn by(self, other: Self) -> Self {
        Self { value: self.value / other.value, simulated: self.simulated && other.simulated }
    }
    pub(super) fn value(self) -> f64 {
        self.value
    }
    pub(super) fn is_simulated(self) -> bool {
        self.simulated
    }
}

impl From<f64> for Ours {
    /// By a closed form, or by arithmetic.
    fn from(value: f64) -> Self {
        Self { value, simulated: false }
    }
}
