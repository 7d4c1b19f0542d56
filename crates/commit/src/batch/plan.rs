//! The proofs that must be made, and their order.

use std::sync::Arc;

use evergrove_verifier::{NodeKind, Statement};

use super::{Batch, Node};

/// The source of an input of a step, or of the result of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The step of this number, which comes earlier.
    Step(usize),
    /// A proof that exists already.
    Existing {
        /// Its statement.
        statement: Statement,
        /// Its circuit.
        kind: NodeKind,
    },
}

/// One proof to make.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its statement.
    pub statement: Statement,
    /// Its circuit.
    pub kind: NodeKind,
    /// The node of the structure; for a wrap, the wrapped node.
    pub node: Arc<Node>,
    /// The proofs that it uses: those of the node's children, left first; for a wrap, the wrapped proof.
    pub inputs: Vec<Input>,
}

/// The missing proofs of a batch, as pure data.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The proofs to make, each after its inputs.
    pub steps: Vec<Step>,
    /// The proof of the whole batch.
    pub result: Input,
    /// Number of proofs of the structure, including the wrap: the number from scratch.
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

    /// Proofs on the longest chain of steps: the number of rounds with unlimited workers.
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
    /// The proofs to make for the batch's proof, where `have` tells which exist. `wraps` is the backend's.
    ///
    /// Works from the top: proofs below an existing proof are not requested. Each statement is requested once.
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
