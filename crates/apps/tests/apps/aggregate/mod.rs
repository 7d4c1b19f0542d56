//! Aggregates: the semantics of SQL and code against circuits.

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

/// What the laws hold the code against.
use evergrove_apps::laws as circuits;
