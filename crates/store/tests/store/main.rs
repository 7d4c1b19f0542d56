//! The store: its life, its failures, its schemes and its work elsewhere.

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
