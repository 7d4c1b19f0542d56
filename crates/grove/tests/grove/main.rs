//! Tests of the backend `grove`.

mod bucket;
mod common;
mod laws;
mod merge;
mod mpt;
mod mpt_attacks;
mod mpt_batch;
mod mpt_data;
mod mpt_entries;
mod mpt_entries_attacks;
mod mpt_header;
mod mpt_joins;
mod mutants;
mod mutation;
mod openzeppelin;
mod python;
mod reshape;
mod soundcalc;
mod translation;
mod verifier;
mod world;

#[global_allocator]
static HEAP: evergrove_testkit::heap::Counting = evergrove_testkit::heap::Counting;
