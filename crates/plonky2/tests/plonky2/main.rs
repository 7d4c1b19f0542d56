//! Circuits, provers and verifiers compared with plonky2 and starky.

mod apps;
mod backend;
mod common;
#[path = "../../../primitives/tests/primitives/forced.rs"]
mod forced;
mod foreign;
mod mutation;
mod poseidon;
mod prover;
mod soundness;
mod stark;
