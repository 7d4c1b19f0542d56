//! The order of the nodes of a balanced binary tree: traversals as plain data.
//!
//! A tree of height h has 2^h leaves on level 0 and its root on level h; node i of level k has the nodes 2i and 2i + 1 of
//! level k - 1 as its children. A *reduction* runs from the leaves to the root (evaluation of a multilinear extension, products,
//! Merkle trees), an *expansion* from the root to the leaves (Build MLE).
//!
//! A [`Plan`] cuts the levels into [`Band`]s, which follow one after the other. The [tasks](Band::tasks) of a band do
//! not depend on each other. Each is a sequence of [`Step`]s between a memory and the local storage of its executor: a
//! lane of a vector, a thread, a processing element, a worker. Local storage is a stack: a step takes its operands from
//! the top and leaves its results there.
//!
//! | [`Schedule`] | bands | local storage | words through memory |
//! |---|---|---|---|
//! | breadth first | one a level | one chunk | 3n - 3 |
//! | depth first | subtrees, then the trees over their roots | one node a level | n + 1, and two for each root below the last band's |
//! | hybrid | the same | one block and one node a level | the same |
//!
//! Depth first and hybrid make different demands on the executor, and the same on memory: the nodes of a block can be
//! computed side by side and its leaves arrive in one run, while depth first delivers single nodes. Source: "MTU: The
//! Multifunction Tree Unit in zkSpeed", sections 3.2 and 4; its machine with eight processing elements is
//! `Hybrid { subtree: h, block: 3 }`.

mod steps;

pub use steps::Steps;

use core::ops::Range;

/// log2 of the lanes of a vector: a level that is wide enough is cut into at least this many tasks.
const LANES_LOG: u32 = 3;

/// The greatest height of a tree whose nodes can be numbered: 2^h leaves and the levels above them fit a `usize`.
pub const MAX_HEIGHT: u32 = usize::BITS - 2;

/// The direction of a tree, and its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// From the root; the leaves are the results.
    Expand,
    /// From the leaves; the root is the result.
    Reduce,
    /// From the leaves; every node above them is a result.
    ReduceLevels,
}

/// The order in which the nodes of a tree are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Level by level; every level goes through memory.
    BreadthFirst {
        /// log2 of the parents of a task. Narrower levels are cut into eight tasks, or into single parents.
        chunk: u32,
    },
    /// Disjoint subtrees, each with a stack that never holds two nodes of a level; then the tree over their roots, in
    /// the same way.
    DepthFirst {
        /// log2 of the leaves of a subtree, at least 1. A tree of fewer leaves is one subtree.
        subtree: u32,
    },
    /// As depth first, but the lowest levels of a subtree are computed a block at a time, level by level, before the block's
    /// root enters the stack.
    Hybrid {
        /// log2 of the leaves of a subtree, at least 1. A tree of fewer leaves is one subtree.
        subtree: u32,
        /// log2 of the leaves of a block. A subtree of fewer leaves is one block.
        block: u32,
    },
}

impl Schedule {
    /// Breadth first as the kernels run it: 32 parents a task, eight tasks in lockstep.
    pub const BREADTH_FIRST: Self = Self::BreadthFirst { chunk: 5 };
    /// Depth first as the kernels run it: subtrees of 512 leaves.
    pub const DEPTH_FIRST: Self = Self::DepthFirst { subtree: 9 };
    /// Hybrid as the kernels run it: subtrees of 512 leaves in blocks of 128. At most 64 vectors of a block are kept at
    /// a time, which is 20 KiB for elements of 255 bits: larger blocks do not fit the first-level cache, smaller ones
    /// cost more steps.
    pub const HYBRID: Self = Self::Hybrid { subtree: 9, block: 7 };

    /// [`Schedule::HYBRID`] with subtrees for a tree of height `height`: at least eight if there are enough leaves for
    /// the lanes, and larger ones in large trees.
    pub fn hybrid_for(height: u32) -> Self {
        let subtree = match height {
            ..=12 => height.saturating_sub(LANES_LOG).max(1),
            13..=17 => 9,
            _ => 12,
        };
        Self::Hybrid { subtree, block: 7 }
    }

    /// The name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BreadthFirst { .. } => "bfs",
            Self::DepthFirst { .. } => "dfs",
            Self::Hybrid { .. } => "hybrid",
        }
    }
}

/// The nodes `start .. start + len` of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// 0 for leaves.
    pub level: u32,
    /// The first node's number within its level.
    pub start: usize,
    /// Nodes.
    pub len: usize,
}

impl Run {
    /// The nodes' numbers within their level.
    pub fn nodes(&self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

/// The next step of a task. The run of a step is in order, its last node on top of the stack, unless documented
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Nodes are loaded from memory onto the stack.
    Load(Run),
    /// Reductions: the children of these nodes, on top of the stack, are replaced by the nodes.
    Combine(Run),
    /// Expansions: these nodes, on top of the stack, are replaced by their children. Children of a single node are
    /// in reverse order, so the left one is on top; children of a block's nodes ([`Band::in_block`]) are in order.
    Expand(Run),
    /// Nodes on top of the stack are copied to memory, as results.
    Emit(Run),
    /// Nodes leave the stack for memory: results, or operands of the next band.
    Spill(Run),
}

impl Step {
    /// The nodes of the step.
    pub fn run(&self) -> Run {
        match *self {
            Self::Load(run) | Self::Combine(run) | Self::Expand(run) | Self::Emit(run) | Self::Spill(run) => run,
        }
    }
}

/// A schedule that makes no progress, or a tree that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// Subtrees of one leaf compute nothing.
    #[error("subtrees of one leaf compute nothing: log2 of their leaves must be at least 1")]
    EmptySubtree,
    /// The tree has too many nodes to number.
    #[error("a tree of height {height} has more nodes than can be numbered: at most {MAX_HEIGHT}")]
    TooHigh {
        /// The requested height.
        height: u32,
    },
}

/// Consecutive levels of a tree, cut into tasks that do not depend on each other.
///
/// A task computes 2^`roots` adjacent trees of 2^`height` leaves: nodes of level `bottom` are its leaves, nodes of level
/// `bottom + height` its roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    tree: Tree,
    /// Height of the whole tree.
    total: u32,
    bottom: u32,
    height: u32,
    roots: u32,
    block: u32,
}

impl Band {
    /// The level of the leaves of the band's tasks.
    pub fn bottom(&self) -> u32 {
        self.bottom
    }
    /// Levels that are computed in a reduction, or that are replaced by the one below in an expansion.
    pub fn height(&self) -> u32 {
        self.height
    }
    /// The level of the roots of the band's tasks.
    pub fn top(&self) -> u32 {
        self.bottom + self.height
    }
    /// Tasks: a power of two.
    pub fn tasks(&self) -> usize {
        1 << (self.total - self.top() - self.roots)
    }
    /// Nodes of level `bottom + up` that belong to one task.
    ///
    /// # Panics
    /// If `up` is above [`Band::height`].
    pub fn width(&self, up: u32) -> usize {
        1 << (self.height - up + self.roots)
    }
    /// The most nodes that a task keeps at a time: its loaded run or its block, and one node for each level above.
    pub fn local_nodes(&self) -> usize {
        (1 << (self.block + self.roots)) + (self.height - self.block) as usize
    }
    /// Whether nodes of this level are computed, or expanded, a block at a time.
    pub fn in_block(&self, level: u32) -> bool {
        level <= self.bottom + self.block
    }
    /// The steps of a task; nodes are numbered in the whole tree.
    ///
    /// # Panics
    /// If the task does not exist: see [`Band::tasks`].
    pub fn steps(&self, task: usize) -> Steps {
        assert!(task < self.tasks(), "task {task} of {}", self.tasks());
        Steps::new(*self, task)
    }
}

/// A traversal of a tree: its bands in the order in which they are computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    tree: Tree,
    height: u32,
    schedule: Schedule,
    bands: Vec<Band>,
}

impl Plan {
    /// The traversal of a tree of 2^`height` leaves. A tree of one leaf needs no computation, hence no band.
    pub fn new(tree: Tree, height: u32, schedule: Schedule) -> Result<Self, ScheduleError> {
        if height > MAX_HEIGHT {
            return Err(ScheduleError::TooHigh { height });
        }
        let (step, block) = match schedule {
            Schedule::BreadthFirst { .. } => (1, 1),
            Schedule::DepthFirst { subtree } => (subtree, 0),
            Schedule::Hybrid { subtree, block } => (subtree, block),
        };
        if step == 0 {
            return Err(ScheduleError::EmptySubtree);
        }
        let mut bands = Vec::new();
        let mut bottom = 0;
        while bottom < height {
            let levels = step.min(height - bottom);
            let parents = height - bottom - levels;
            let roots = match schedule {
                Schedule::BreadthFirst { chunk } => chunk.min(parents.saturating_sub(LANES_LOG)),
                _ => 0,
            };
            bands.push(Band { tree, total: height, bottom, height: levels, roots, block: block.min(levels) });
            bottom += levels;
        }
        if tree == Tree::Expand {
            bands.reverse();
        }
        Ok(Self { tree, height, schedule, bands })
    }

    /// The direction and the results.
    pub fn tree(&self) -> Tree {
        self.tree
    }
    /// log2 of the leaves.
    pub fn height(&self) -> u32 {
        self.height
    }
    /// Leaves.
    pub fn leaves(&self) -> usize {
        1 << self.height
    }
    /// The schedule that the plan was made for.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }
    /// The bands, the first to be computed first.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }
    /// Nodes that pass from band to band besides the leaves and the results: the scratch memory of an execution.
    ///
    /// In a reduction the results of two bands alternate. In an expansion every other band uses the leaves' own
    /// memory.
    pub fn scratch(&self) -> usize {
        let between = self.bands.len().saturating_sub(1);
        let results = |band: &Band| match self.tree {
            Tree::Expand => band.tasks() * band.width(0),
            _ => band.tasks() * band.width(band.height),
        };
        match self.tree {
            Tree::Expand => self.bands[..between].iter().rev().take(1).map(results).sum(),
            Tree::Reduce => self.bands[..between].iter().take(2).map(results).sum(),
            Tree::ReduceLevels => 0,
        }
    }
    /// All steps of all tasks, one task after the other.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.bands.iter().flat_map(|band| (0..band.tasks()).flat_map(|task| band.steps(task)))
    }
}

/// The place of level `level` >= 1 of a tree of 2^`height` leaves in a buffer of all nodes above the leaves: level 1
/// first, the root last, each level from left to right.
///
/// # Panics
/// If `level` is 0 or above `height`.
pub fn level_above_leaves(height: u32, level: u32) -> Range<usize> {
    assert!((1..=height).contains(&level), "level {level} above the leaves of a tree of height {height}");
    let n = 1_usize << height;
    let start = n - (n >> (level - 1));
    start..start + (n >> level)
}
