//! Configurations that no machine has.

use std::ops::RangeInclusive;

use crate::engine::EngineError;

/// Why a model did not run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A value out of its range.
    #[error("{field} = {found}: choose {range}")]
    Field {
        /// The field, as configuration files name it.
        field: &'static str,
        /// The value.
        found: String,
        /// What is allowed.
        range: String,
    },
    /// The machine did not finish.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// An error that names the field, its value and its range.
pub(crate) fn field(field: &'static str, found: impl ToString, range: impl ToString) -> LabError {
    LabError::Field { field, found: found.to_string(), range: range.to_string() }
}

/// Checks a whole number.
pub(crate) fn within(name: &'static str, found: u64, range: RangeInclusive<u64>) -> Result<(), LabError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a whole number from {} to {}", range.start(), range.end())))
}

/// Checks a number.
pub(crate) fn within_f64(name: &'static str, found: f64, range: RangeInclusive<f64>) -> Result<(), LabError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a number from {} to {}", range.start(), range.end())))
}

/// Checks a power of two.
pub(crate) fn power_of_two(name: &'static str, found: u64, range: RangeInclusive<u64>) -> Result<(), LabError> {
    if found.is_power_of_two() && range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a power of two from {} to {}", range.start(), range.end())))
}
