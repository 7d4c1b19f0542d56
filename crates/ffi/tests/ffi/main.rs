//! Tests of the verifier for C and WebAssembly.

mod codes;
mod functions;
mod mutation;
mod python;
mod rows;

#[global_allocator]
static HEAP: evergrove_testkit::heap::Counting = evergrove_testkit::heap::Counting;
