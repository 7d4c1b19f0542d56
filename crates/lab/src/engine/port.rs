//! A memory port that moves whole nodes.

use super::Memory;

/// A [`Memory`] in nodes. Bandwidth for results is booked together with the operands' when an operation starts, so that
/// reads don't run ahead of writes and no write buffer overflows.
#[derive(Clone, Debug)]
pub struct Port {
    memory: Memory,
    node: u64,
    read: u64,
    written: u64,
}

impl Port {
    /// A port for nodes of `node` bytes.
    pub fn new(memory: Memory, node: u64) -> Self {
        Self { memory, node, read: 0, written: 0 }
    }
    /// Books so many nodes to be read and written, all or none.
    #[inline(always)]
    pub fn book(&mut self, cycle: u64, reads: u64, writes: u64) -> bool {
        let done = self.memory.take(cycle, (reads + writes) * self.node);
        if done {
            self.count(reads, writes);
        }
        done
    }
    /// Counts nodes that are too few to be worth booking.
    #[inline(always)]
    pub fn count(&mut self, reads: u64, writes: u64) {
        self.read += reads * self.node;
        self.written += writes * self.node;
    }
    /// Nodes that could be moved in this cycle.
    pub fn available(&self, cycle: u64) -> u64 {
        self.memory.available(cycle) / self.node
    }
    /// The first cycle after this one in which so many nodes could be moved.
    pub fn ready_at(&self, cycle: u64, nodes: u64) -> Option<u64> {
        self.memory.ready_at(cycle, nodes * self.node)
    }
    /// Bytes read and written.
    pub fn bytes(&self) -> (u64, u64) {
        (self.read, self.written)
    }
}
