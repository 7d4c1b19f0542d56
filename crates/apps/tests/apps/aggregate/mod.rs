//! Aggregates: the semantics of SQL and code against circuits.

mod laws;
mod sqlite;
mod table;
mod text;
