//! Tests of the backend `grove`.

mod bucket;
mod common;
mod laws;
mod merge;
mod mutation;
mod python;
mod soundcalc;
mod translation;
mod verifier;
