//! Errors of the models.

use std::ops::RangeInclusive;

use crate::engine::EngineError;

/// The reason why a model did not run.
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
        /// The allowed values.
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

/// Checks that a whole number is in a range.
pub(crate) fn within(name: &'static str, found: u64, range: RangeInclusive<u64>) -> Result<(), LabError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a whole number from {} to {}", range.start(), range.end())))
}

/// Checks that a number is in a range.
pub(crate) fn within_f64(name: &'static str, found: f64, range: RangeInclusive<f64>) -> Result<(), LabError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a number from {} to {}", range.start(), range.end())))
}

/// Checks that a number is a power of two in a range.
pub(crate) fn power_of_two(name: &'static str, found: u64, range: RangeInclusive<u64>) -> Result<(), LabError> {
    if found.is_power_of_two() && range.contains(&found) {
        return Ok(());
    }
    Err(field(name, found, format_args!("a power of two from {} to {}", range.start(), range.end())))
}
