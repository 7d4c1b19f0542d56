//! Simulates how a batch speeds up with the number of workers, from task times measured here, compared with the paper's
//! figures.

use std::time::Duration;

use evergrove_commit::BackendChoice;
use evergrove_commit::batch::Batch;
use evergrove_jobs::{Task, TaskGraph};
use evergrove_plonky2::{BACKEND_NAME, backend_spec};
use evergrove_store::cluster::graph;
use evergrove_verifier::{Profile, Scheme};
use serde::Serialize;

use super::schedule::{Overheads, Simulated, simulate};
use crate::reckle::world::World;
use crate::turns::print_json;

/// Workers of the paper's cluster, times the proofs that each worker makes at a time (section 5.2).
const PAPER_WORKERS: usize = 192 * 3;
/// The paper's smallest and largest speed-up over one process, for batches of 2^2 and of 2^12.
const PAPER_SPEEDUP: [f64; 2] = [3.15, 270.0];

/// Seconds of one proof of each kind on one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds {
    pub(crate) bucket: f64,
    pub(crate) merge: f64,
    pub(crate) wrap: f64,
}

/// One line of results.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    profile: &'static str,
    log_size: u8,
    /// Members of the batch.
    size: usize,
    proofs: usize,
    workers: usize,
    /// Same as `workers`: each has one thread.
    threads: usize,
    seconds: Option<f64>,
    speedup: f64,
    /// Busy time of the workers divided by their total time.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<f64>,
    simulated: bool,
}

/// The graph of a batch, and the times of its tasks on one worker.
struct Case {
    name: &'static str,
    members: usize,
    graph: TaskGraph,
    seconds: Seconds,
    overheads: Overheads,
}

impl Case {
    fn run(&self, workers: usize) -> Simulated {
        let of = |task: &Task| match task.kind {
            "bucket" => self.seconds.bucket,
            "merge" => self.seconds.merge,
            _ => self.seconds.wrap,
        };
        simulate(&self.graph, workers, self.overheads, |task| Duration::from_secs_f64(of(task)))
    }
}

/// Parameters of the simulation.
pub(crate) struct Simulation<'a> {
    pub(crate) world: &'a World,
    pub(crate) profile: Profile,
    pub(crate) seconds: Seconds,
    pub(crate) overheads: Overheads,
    /// Powers of two from 1 up to this.
    pub(crate) workers: usize,
}

impl Simulation<'_> {
    fn case(&self, scheme: Scheme, members: usize) -> anyhow::Result<Case> {
        let (world, profile) = (self.world, self.profile);
        let capacity = match scheme {
            Scheme::RecklePaper => 1 << Scheme::BLOCK_HEIGHT,
            _ => profile.bucket_capacity(world.class),
        };
        let spec = backend_spec(BackendChoice::new(BACKEND_NAME, profile).with_scheme(scheme), world.class, capacity);
        let batch = Batch::build_as(&world.vector, &world.members[..members], spec.structure())?;
        let graph = graph(&batch.plan(spec.wraps, |_, _| false), &spec)?;
        // A block takes a tenth of the time of a level, and a level has as many rows as our merge.
        let seconds = match scheme {
            Scheme::RecklePaper => Seconds { bucket: self.seconds.merge / 10.0, ..self.seconds },
            _ => self.seconds,
        };
        let name = if scheme == Scheme::RecklePaper { "reckle-paper" } else { "evergrove" };
        Ok(Case { name, members, graph, seconds, overheads: self.overheads })
    }

    /// Prints a row of the largest batch for each number of workers, and a row of each smaller batch of 2^2, 2^4, ..
    /// members with as many workers as in the paper.
    pub(crate) fn print(&self, batch_log: u8, json: bool) -> anyhow::Result<()> {
        for scheme in [Scheme::Evergrove, Scheme::RecklePaper] {
            let whole = self.case(scheme, 1 << batch_log)?;
            let mut workers = 1;
            while workers <= self.workers {
                self.row(&whole, workers, json)?;
                workers *= 2;
            }
            for log in (2..=batch_log).step_by(2) {
                self.row(&self.case(scheme, 1 << log)?, PAPER_WORKERS, json)?;
            }
        }
        for (speedup, members) in PAPER_SPEEDUP.into_iter().zip([1 << 2, 1 << 12]) {
            let row = Row {
                kernel: "cluster-published",
                r#impl: "reckle-paper",
                profile: Profile::Paper.name(),
                log_size: 27,
                size: members,
                proofs: 0,
                workers: PAPER_WORKERS,
                threads: PAPER_WORKERS,
                seconds: None,
                speedup,
                utilization: None,
                simulated: false,
            };
            row.print(json)?;
        }
        Ok(())
    }

    fn row(&self, case: &Case, workers: usize, json: bool) -> anyhow::Result<()> {
        let (one, many) = (case.run(1), case.run(workers));
        let (alone, together) = (one.makespan.as_secs_f64(), many.makespan.as_secs_f64());
        let row = Row {
            kernel: "cluster-simulated",
            r#impl: case.name,
            profile: self.profile.name(),
            log_size: self.world.height,
            size: case.members,
            proofs: case.graph.len(),
            workers,
            threads: workers,
            seconds: Some(together),
            speedup: alone / together,
            utilization: Some(many.busy.as_secs_f64() / (workers as f64 * together)),
            simulated: true,
        };
        row.print(json)
    }
}

impl Row {
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let Self { r#impl, size, proofs, workers, speedup, .. } = self;
        match self.seconds {
            Some(seconds) => println!(
                "simulated {:12} batch {size:5}, {proofs:6} proofs, {workers:4} workers: {seconds:9.2} s, {speedup:7.2} times one worker",
                r#impl
            ),
            None => println!(
                "published {:12} batches of 4 to 4096, {workers:4} proofs at a time: {speedup:7.2} times the sequential one",
                r#impl
            ),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_are_never_slower_and_the_longest_chain_bounds_them() {
        let world = World::build(Profile::Paper, 20, 11, 10).unwrap();
        let seconds = Seconds { bucket: 0.4, merge: 0.5, wrap: 0.3 };
        let overheads = Overheads { worker: Duration::from_millis(5), queue: Duration::from_micros(400) };
        let simulation = Simulation { world: &world, profile: Profile::Paper, seconds, overheads, workers: 64 };
        for scheme in [Scheme::Evergrove, Scheme::RecklePaper] {
            let case = simulation.case(scheme, 1 << 10).unwrap();
            let times: Vec<f64> = (0..8).map(|k| case.run(1 << k).makespan.as_secs_f64()).collect();
            assert!(times.windows(2).all(|t| t[1] <= 1.02 * t[0]), "{scheme}: {times:?}");
            let levels = if scheme == Scheme::RecklePaper { 15 } else { 2 };
            assert!(times[7] >= f64::from(levels) * 0.5, "{scheme}: {times:?}");
            // In a small batch of ours the last proofs wait for each other; the paper's scheme has thousands of proofs.
            let two = if scheme == Scheme::RecklePaper { 1.9 } else { 1.5 };
            assert!(times[0] / times[1] > two, "{scheme}: {times:?}");
        }
        simulation.print(4, true).unwrap();
    }
}
