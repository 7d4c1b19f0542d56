//! Tests of the backend `grove`.

mod bucket;
mod common;
mod laws;
mod merge;
mod mutation;
mod soundcalc;
mod translation;
