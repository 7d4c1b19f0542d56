//! Models of machines: results, cycles, traces and configurations.

mod configs;
mod msm;
mod mtu;
mod mtu_trace;
mod mutation;
mod poseidon;
