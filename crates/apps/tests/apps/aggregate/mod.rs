//! Aggregates: SQL's semantics, and code against circuits.

mod conditions;
mod dates;
mod filters;
mod groups;
mod laws;
mod listing;
mod lists;
mod pinned;
mod sqlite;
mod syntax;
pub(crate) mod table;
mod text;

/// The circuits that the laws compare the code with.
use evergrove_apps::laws as circuits;
