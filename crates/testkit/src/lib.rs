//! Law suites as functions and strict doubles, for `tests/`, benches and fuzz targets alone.

#![forbid(unsafe_code)]

pub mod backend;
pub mod commit;
pub mod engine;
pub mod faults;
pub mod http;
pub mod servers;
pub mod store;
pub mod text;
