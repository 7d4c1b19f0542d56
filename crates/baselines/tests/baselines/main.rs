//! The paper's scheme and the other baselines, really proven.

mod batch;
mod foreign;
mod paper;
