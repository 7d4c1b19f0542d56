//! Which proofs are to be made, in which order.

use std::sync::Arc;

use evergrove_verifier::{NodeKind, Statement};

use super::{Batch, Node};

/// Where an input of a step, or the result of a plan, comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The step of this number, an earlier one.
    Step(usize),
    /// A proof that exists already.
    Existing {
        /// What it states.
        statement: Statement,
        /// Its circuit.
        kind: NodeKind,
    },
}

/// One proof to make.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it states.
    pub statement: Statement,
    /// Its circuit.
    pub kind: NodeKind,
    /// The node of the structure; of a wrap, the one that is wrapped.
    pub node: Arc<Node>,
    /// The proofs that it stands on: those of the node's children, left first; of a wrap, the one that is wrapped.
    pub inputs: Vec<Input>,
}

/// The proofs that a batch lacks, as pure data.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The proofs to make, each after its inputs.
    pub steps: Vec<Step>,
    /// The proof of the whole batch.
    pub result: Input,
    /// Number of proofs of the structure, the wrap included: what from scratch would take.
    pub total: usize,
}

impl Plan {
    /// Number of proofs to make.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True when the batch's proof exists.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Proofs on the longest chain of steps: the rounds that unlimited workers take.
    pub fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let below = step.inputs.iter().map(|i| if let Input::Step(n) = i { depths[*n] } else { 0 });
            depths.push(1 + below.max().unwrap_or(0));
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

impl Batch {
    /// The proofs to make for the batch's proof, where `have` tells which exist. `wraps` is that of the backend.
    ///
    /// Works from the top: what lies below a proof that exists is not asked for. Each statement is asked for once.
    pub fn plan(&self, wraps: bool, mut have: impl FnMut(&Statement, NodeKind) -> bool) -> Plan {
        let mut steps = Vec::new();
        let statement = *self.statement();
        let result = if wraps && have(&statement, NodeKind::Wrap) {
            Input::Existing { statement, kind: NodeKind::Wrap }
        } else {
            let whole = add(&self.root, &mut have, &mut steps);
            if wraps {
                push(&mut steps, Step { statement, kind: NodeKind::Wrap, node: self.root.clone(), inputs: vec![whole] })
            } else {
                whole
            }
        };
        Plan { steps, result, total: self.cost(wraps).total() }
    }
}

fn push(steps: &mut Vec<Step>, step: Step) -> Input {
    steps.push(step);
    Input::Step(steps.len() - 1)
}

fn add(node: &Arc<Node>, have: &mut impl FnMut(&Statement, NodeKind) -> bool, steps: &mut Vec<Step>) -> Input {
    let (statement, kind) = (node.statement, node.kind());
    if have(&statement, kind) {
        return Input::Existing { statement, kind };
    }
    let inputs = node.children().map(|n| add(n, have, steps)).collect();
    push(steps, Step { statement, kind, node: node.clone(), inputs })
}
