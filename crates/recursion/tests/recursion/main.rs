//! Circuits, provers and verifiers against plonky2 and starky.

mod backend;
mod baselines;
mod common;
mod foreign;
mod mutation;
mod paper;
mod poseidon;
mod prover;
mod soundness;
mod stark;
