//! Cycle-accurate models of three machines: a tree unit, a Poseidon Merkle engine and a multi-scalar multiplier of chiplets.
//!
//! **What.** [`mtu`] is the Multifunction Tree Unit, [`poseidon`] the Merkle engine and [`msm`] the multiplier. Each
//! model steps a machine cycle by cycle over the real workload and counts cycles, bytes and stalls. It runs in two
//! modes: timing only, or on data, where its results equal those of `evergrove-kernels`. Each model has closed forms in
//! its module `formula`; tests compare the two.
//!
//! **When.** To reproduce what the machines' papers publish ([`reproduce`]), beside the published values and with a
//! verdict; and to ask what another design would do.
//!
//! **Key types.** [`engine`] has the clock and the parts: links, pipelines, memories, statistics, traces.
//!
//! **Neighbours.** `evergrove-kernels` computes the same trees and sums on a CPU and defines the results of the
//! machines. This crate does not read a clock or the environment; the command line does.

#![forbid(unsafe_code)]

pub mod accumulator;
pub mod config;
pub mod cost;
pub mod cpu;
pub mod data;
pub mod engine;
mod error;
pub mod expander;
pub mod mix;
pub mod msm;
pub mod mtu;
pub mod poseidon;
pub mod reproduce;
pub mod results;
pub mod synth;
pub mod whatif;

pub use error::LabError;
