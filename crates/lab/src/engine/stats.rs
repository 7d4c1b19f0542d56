//! Busy cycles and stalls of a component.

use serde::Serialize;

/// The reason why a component did nothing in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// Operands have not arrived.
    Input,
    /// The result has no room.
    Output,
    /// The memory has no bandwidth left.
    Memory,
    /// An operand is still being computed.
    Hazard,
    /// The fixed schedule gives the cycle to other work, which is not ready.
    Slot,
    /// The component has no work left.
    Drained,
}

impl Stall {
    /// All reasons.
    pub const ALL: [Self; 6] = [Self::Input, Self::Output, Self::Memory, Self::Hazard, Self::Slot, Self::Drained];
    /// The name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Memory => "memory",
            Self::Hazard => "hazard",
            Self::Slot => "slot",
            Self::Drained => "drained",
        }
    }
}

/// The cycles of a component: busy ones, and stalls by reason. Each cycle counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Cycles with work.
    pub busy: u64,
    stalls: [u64; Stall::ALL.len()],
}

impl Activity {
    /// Counts `cycles` busy cycles.
    #[inline]
    pub fn work(&mut self, cycles: u64) {
        self.busy += cycles;
    }
    /// Counts `cycles` cycles without work.
    #[inline]
    pub fn stall(&mut self, reason: Stall, cycles: u64) {
        self.stalls[reason as usize] += cycles;
    }
    /// Cycles lost for `reason`.
    pub fn stalled(&self, reason: Stall) -> u64 {
        self.stalls[reason as usize]
    }
    /// All cycles.
    pub fn total(&self) -> u64 {
        self.busy + self.stalls.iter().sum::<u64>()
    }
}
