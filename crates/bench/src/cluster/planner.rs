//! Measures the planning of the largest graph. It takes the memory of the graph alone, whatever the size of the
//! payloads.

use std::time::Instant;

use evergrove_commit::RecursionBackend;
use evergrove_commit::batch::Batch;
use evergrove_commit::{MemoryStore, NativeBackend, Vector};
use evergrove_primitives::Goldilocks;
use evergrove_store::cluster::graph;
use evergrove_verifier::{HeightClass, Profile};
use serde::Serialize;

use crate::memory;
use crate::turns::print_json;

/// With two members per bucket, 2^17 members give 2^16 buckets and 2^16 - 1 merges.
const MEMBERS_LOG: u8 = 17;

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    /// Tasks.
    size: usize,
    threads: usize,
    seconds: f64,
    ns_per_element: f64,
    /// Growth of the peak resident set: batch structure, plan and graph.
    bytes: u64,
    bytes_per_task: f64,
}

/// Plans 131,071 tasks and prints the row.
pub(crate) fn print(json: bool) -> anyhow::Result<()> {
    let mut vector = Vector::new(MEMBERS_LOG, MemoryStore::new())?;
    let filled: Vec<_> = (0..1u64 << MEMBERS_LOG).map(|i| (i, Some([Goldilocks::new(i); 4]))).collect();
    vector.apply(&filled)?;
    let indices: Vec<u64> = filled.iter().map(|(i, _)| *i).collect();
    drop(filled);
    let native = NativeBackend::new(Profile::Proven, HeightClass::H27).with_capacity(2);
    let spec = native.spec().clone();

    let before = memory::start_peak();
    let start = Instant::now();
    let batch = Batch::build_as(&vector, &indices, spec.structure())?;
    let plan = batch.plan(spec.wraps, |_, _| false);
    let graph = graph(&plan, &spec)?;
    let seconds = start.elapsed().as_secs_f64();
    let bytes = memory::resident().1.saturating_sub(before);
    let size = graph.len();
    let row = Row {
        kernel: "cluster-plan",
        r#impl: "evergrove",
        size,
        threads: rayon::current_num_threads(),
        seconds,
        ns_per_element: seconds * 1e9 / size as f64,
        bytes,
        bytes_per_task: bytes as f64 / size as f64,
    };
    if json {
        print_json(&row)?;
    } else {
        let mib = bytes as f64 / f64::from(1 << 20);
        println!("a plan of {size} tasks: {seconds:.2} s, {mib:.0} MiB, {:.0} bytes a task", row.bytes_per_task);
    }
    Ok(())
}
