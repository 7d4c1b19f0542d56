//! The clock of a machine, and the parts that all machines share.
//!
//! **Two phases.** In each cycle every component first *evaluates*: it reads the committed state and stages its
//! outputs. Then all components *commit*. The order of evaluation does not matter, as in hardware with registers
//! between components.
//!
//! **Skip-ahead.** A machine tells the next cycle in which something can happen ([`Clocked::next_event`]). [`run`]
//! jumps there and tells the machine how many cycles it skipped ([`Clocked::skip`]), so the machine counts them under
//! the reason for its stall. A test runs machines with and without skip-ahead and compares all statistics.
//!
//! | part | is |
//! |---|---|
//! | [`Link`] | a bounded queue with valid and ready |
//! | [`Pipeline`] | a latency and an initiation interval |
//! | [`TokenBucket`], [`Port`] | a memory of a given bandwidth; the same in nodes |
//! | [`dram::Dram`] | banks and channels with open rows and refresh |
//! | [`Memory`] | either of the two, by name |
//! | [`Activity`] | busy cycles and stalls by reason, which add up to all cycles |
//! | [`trace::Trace`] | operations with their cycles, as Chrome JSON or VCD |

mod bucket;
pub mod dram;
mod link;
mod memory;
mod pipeline;
mod port;
mod stats;
pub mod trace;

pub use bucket::TokenBucket;
pub use link::Link;
pub use memory::{Memory, MemoryKind, Stream};
pub use pipeline::Pipeline;
pub use port::Port;
pub use stats::{Activity, Stall};

/// A machine that is stepped cycle by cycle.
pub trait Clocked {
    /// Reads the committed state and stages the changes of this cycle.
    fn eval(&mut self, cycle: u64);
    /// Makes the staged changes visible.
    fn commit(&mut self, cycle: u64);
    /// The first cycle after `cycle` in which something can happen; `None` if nothing ever will.
    fn next_event(&self, cycle: u64) -> Option<u64>;
    /// Counts the `cycles` cycles after `cycle` in which nothing happens.
    fn skip(&mut self, cycle: u64, cycles: u64);
    /// Whether all work is done.
    fn is_done(&self) -> bool;
}

/// The reason why a machine did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Work is left, but nothing can happen any more.
    #[error("the machine is stuck after cycle {cycle}: work is left and nothing can happen any more")]
    Stuck {
        /// The last cycle.
        cycle: u64,
    },
    /// The machine reached the limit of cycles.
    #[error("the machine did not finish within {limit} cycles: raise the limit or choose a smaller workload")]
    Limit {
        /// The limit.
        limit: u64,
    },
}

/// Steps a machine until it is done. Returns the number of cycles.
///
/// # Errors
/// If nothing can happen any more, or after `limit` cycles.
pub fn run<M: Clocked>(machine: &mut M, limit: u64) -> Result<u64, EngineError> {
    drive(machine, limit, true)
}

/// [`run`] without skip-ahead, for comparison in tests.
///
/// # Errors
/// As [`run`].
pub fn run_every_cycle<M: Clocked>(machine: &mut M, limit: u64) -> Result<u64, EngineError> {
    drive(machine, limit, false)
}

#[inline]
fn drive<M: Clocked>(machine: &mut M, limit: u64, skip: bool) -> Result<u64, EngineError> {
    let mut cycle = 0;
    if machine.is_done() {
        return Ok(0);
    }
    loop {
        if cycle >= limit {
            return Err(EngineError::Limit { limit });
        }
        machine.eval(cycle);
        machine.commit(cycle);
        if machine.is_done() {
            return Ok(cycle + 1);
        }
        let next = machine.next_event(cycle).ok_or(EngineError::Stuck { cycle })?;
        let idle = next.saturating_sub(cycle + 1).min(limit - cycle - 1);
        if skip && idle > 0 {
            machine.skip(cycle, idle);
            cycle += idle;
        }
        cycle += 1;
    }
}
