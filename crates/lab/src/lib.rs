//! Cycle-accurate models of three machines: a tree unit, a Poseidon Merkle engine and a multi-scalar multiplier of chiplets.
//!
//! **What.** [`mtu`] is the Multifunction Tree Unit. Each model is stepped cycle by cycle on the real workload, counts cycles,
//! bytes and stalls, and runs in two modes: timing only, or on data, whose results are those of `evergrove-kernels`. Beside
//! each stands a closed form in its `formula`; tests compare the two.
//!
//! **When.** To reproduce what the machines' papers publish ([`reproduce`]), next to the published value and with a verdict;
//! and to ask what another design would do.
//!
//! **Key types.** [`engine`] has the clock and the parts: links, pipelines, memories, statistics, traces.
//!
//! **Neighbours.** `evergrove-kernels` computes the same trees on a CPU and defines what the machines compute. Nothing here
//! reads a clock or the environment: the command line does.

#![forbid(unsafe_code)]

pub mod accumulator;
pub mod config;
pub mod cost;
pub mod cpu;
pub mod data;
pub mod engine;
mod error;
pub mod expander;
pub mod msm;
pub mod mtu;
pub mod plot;
pub mod poseidon;
pub mod reproduce;
pub mod results;
pub mod whatif;

pub use error::LabError;
