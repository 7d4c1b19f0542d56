//! The origins of the numbers in a reproduction. Each value has a type for its origin, so a line cannot claim a better
//! one.
//!
//! A reference is [`Printed`], [`Derived`], [`Fitted`] or assumed. Our value is a plain number, or one that
//! [`Ours::of`] reads from the report of a run. Only a printed reference with a value from a run counts as reproduced
//! by simulation.

use serde::Serialize;

use crate::{msm, mtu, poseidon};

/// The origin of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Printed in the paper.
    Printed,
    /// Derived by arithmetic from values that the paper prints; without a reference, from `rtl/`.
    Derived,
    /// Printed in the paper, but a parameter of the model was chosen to come near it.
    Fitted,
    /// Not published: our value rests on an assumed input.
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

/// A value that the paper prints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printed(pub(super) f64);

/// A value derived by arithmetic from the paper's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived(pub(super) f64);

/// A printed value to which a parameter of the model is fitted.
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

/// Reports that only a run of a model produces.
pub(super) trait Run {}

impl Run for mtu::Report {}
impl Run for msm::Report {}
impl Run for poseidon::Report {}
impl Run for mtu::tables::Agreement {}

/// Our value, and whether it is from a run of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ours {
    value: f64,
    simulated: bool,
}

impl Ours {
    /// A value read from the report of a run.
    pub(super) fn of<R: Run>(report: &R, value: impl FnOnce(&R) -> f64) -> Self {
        Self { value: value(report), simulated: true }
    }
    /// The ratio to another value. It counts as simulated if both do.
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
    /// A value of a closed form or of arithmetic.
    fn from(value: f64) -> Self {
        Self { value, simulated: false }
    }
}
