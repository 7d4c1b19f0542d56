//! Aggregates: the semantics of SQL and code against circuits.

mod laws;
mod sqlite;
pub(crate) mod table;
mod text;
