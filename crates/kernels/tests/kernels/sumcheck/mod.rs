//! SumCheck, ZeroCheck and ProductCheck against their definitions, on every instruction set, and against wrong proofs.

#![cfg(feature = "ark")]

mod common;
mod messages;
mod product;
mod refusals;
mod textbook;
