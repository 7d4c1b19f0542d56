//! The steps of one task, from a block counter and a level.

use super::{Band, Run, Step, Tree};

/// An iterator over the steps of one task of a [`Band`].
///
/// Blocks are processed from left to right. In a reduction the number of trailing ones of a block's number is the
/// number of levels of the stack that its root completes. In an expansion the number of trailing zeros says how far
/// up its nearest ancestor waits on the stack. This is the carry of a binary counter.
#[derive(Clone, Debug)]
pub struct Steps {
    band: Band,
    task: usize,
    /// The block being computed.
    block: usize,
    /// The next level of the block, counted from the band's bottom.
    level: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A run must be loaded.
    Load,
    /// Nodes must be computed.
    Compute,
    /// Computed nodes must be copied out.
    Emit,
    /// Nodes must leave the stack.
    Spill,
    Done,
}

impl Steps {
    pub(super) fn new(band: Band, task: usize) -> Self {
        Self { band, task, block: 0, level: 0, stage: Stage::Load }
    }

    /// Blocks of a task.
    #[inline(always)]
    fn blocks(&self) -> usize {
        1 << (self.band.height - self.band.block)
    }

    /// The nodes on level `up` of the band which the present block computes or completes.
    #[inline(always)]
    fn at(&self, up: u32) -> Run {
        let Band { bottom, height, roots, block, .. } = self.band;
        let first = self.task << (height - up + roots);
        match up.checked_sub(block) {
            Some(above @ 1..) => Run { level: bottom + up, start: first + (self.block >> above), len: 1 << roots },
            _ => {
                Run { level: bottom + up, start: first + (self.block << (block - up)), len: 1 << (block - up + roots) }
            }
        }
    }

    /// The level up to which the present block completes nodes.
    #[inline(always)]
    fn completes(&self) -> u32 {
        self.band.block + self.block.trailing_ones()
    }

    #[inline(always)]
    fn next_of_reduction(&mut self) -> Option<Step> {
        loop {
            match self.stage {
                Stage::Load => {
                    (self.level, self.stage) = (1, Stage::Compute);
                    return Some(Step::Load(self.at(0)));
                }
                Stage::Compute if self.level > self.completes() => {
                    self.block += 1;
                    self.stage = Stage::Load;
                }
                Stage::Compute => {
                    let run = self.at(self.level);
                    self.stage = match self.band.tree {
                        _ if self.level == self.band.height => Stage::Spill,
                        Tree::ReduceLevels => Stage::Emit,
                        _ => {
                            self.level += 1;
                            Stage::Compute
                        }
                    };
                    return Some(Step::Combine(run));
                }
                Stage::Emit => {
                    let run = self.at(self.level);
                    self.level += 1;
                    self.stage = Stage::Compute;
                    return Some(Step::Emit(run));
                }
                Stage::Spill => {
                    self.stage = Stage::Done;
                    return Some(Step::Spill(self.at(self.band.height)));
                }
                Stage::Done => return None,
            }
        }
    }

    #[inline(always)]
    fn next_of_expansion(&mut self) -> Option<Step> {
        match self.stage {
            Stage::Load => {
                (self.level, self.stage) = (self.band.height, Stage::Compute);
                Some(Step::Load(self.at(self.band.height)))
            }
            Stage::Compute | Stage::Emit if self.level > 0 => {
                let run = self.at(self.level);
                self.level -= 1;
                Some(Step::Expand(run))
            }
            Stage::Compute | Stage::Emit | Stage::Spill => {
                let run = self.at(0);
                self.block += 1;
                self.level = self.band.block + self.block.trailing_zeros();
                self.stage = if self.block == self.blocks() { Stage::Done } else { Stage::Compute };
                Some(Step::Spill(run))
            }
            Stage::Done => None,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    #[inline(always)]
    fn next(&mut self) -> Option<Step> {
        if self.band.tree == Tree::Expand { self.next_of_expansion() } else { self.next_of_reduction() }
    }
}
