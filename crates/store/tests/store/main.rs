//! The store: its life cycle, failures, schemes, and work on other machines.

mod apps;
mod backup;
mod cluster;
mod common;
mod crash;
mod damage;
mod errors;
mod full_disk;
mod life_cycle;
mod mutation;
mod schemes;
mod sequences;
mod tree;
mod upkeep;
