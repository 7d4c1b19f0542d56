//! Statements, policies, keys and formats.

mod bundle;
mod common;
mod ethereum;
mod frozen;
mod keys;
mod multiproof;
mod mutation;
mod openzeppelin;
mod policy;
mod schema;
mod soundness;
mod vectors;
mod verify;
mod wire;
