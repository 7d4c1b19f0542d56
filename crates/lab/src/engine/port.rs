//! A memory port that moves whole nodes.

use super::Memory;

/// A [`Memory`] that counts in nodes. When an operation starts, it books the bandwidth for its operands and for its
/// results. So reads do not run ahead of writes, and no write buffer overflows.
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
    /// Books the transfer of `reads` and `writes` nodes, all or none, and returns whether it did.
    #[inline(always)]
    pub fn book(&mut self, cycle: u64, reads: u64, writes: u64) -> bool {
        let done = self.memory.take(cycle, (reads + writes) * self.node);
        if done {
            self.count(reads, writes);
        }
        done
    }
    /// Counts a few nodes as transferred without booking bandwidth for them.
    #[inline(always)]
    pub fn count(&mut self, reads: u64, writes: u64) {
        self.read += reads * self.node;
        self.written += writes * self.node;
    }
    /// Nodes that the memory could transfer in `cycle`.
    pub fn available(&self, cycle: u64) -> u64 {
        self.memory.available(cycle) / self.node
    }
    /// The first cycle after `cycle` in which `nodes` nodes could be transferred; `None` if they never can.
    pub fn ready_at(&self, cycle: u64, nodes: u64) -> Option<u64> {
        self.memory.ready_at(cycle, nodes * self.node)
    }
    /// Bytes read and bytes written.
    pub fn bytes(&self) -> (u64, u64) {
        (self.read, self.written)
    }
}
