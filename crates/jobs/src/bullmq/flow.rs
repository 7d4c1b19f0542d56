//! Cuts graphs into flows.

use std::collections::HashMap;

use bullmq::{FlowJob, JobOptions};

use crate::{TaskGraph, TaskId};

/// Number of jobs at which a flow is cut. A flow of a binary tree has less than twice as many. Redis adds a flow in one
/// transaction and does nothing else meanwhile.
pub(super) const PIECE: usize = 2048;
/// Largest number of levels of a flow. BullMQ's library adds flows by recursion.
const DEPTH: usize = 128;
/// The lowest priority of the queue, as a number. Larger numbers are lower priorities.
const LOWEST: u64 = 1 << 21;

/// The tasks of one flow, which is a tree, in ascending order. The last one is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) tasks: Vec<TaskId>,
}

impl Piece {
    pub(super) fn root(&self) -> TaskId {
        self.tasks[self.tasks.len() - 1]
    }
}

/// Flows for the tasks that must run.
///
/// A job has one parent. If several tasks need a result, its task is the child of the first of them. The other tasks
/// look for the result when they start ([`Plan::is_shared`]).
///
/// Flows are added from the leaves to the root. A flow names the roots of the flows below it as children. These roots
/// are in the queue by then, and the queue attaches them, whether they are waiting, running or done.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// In the order in which the flows are added.
    pub(super) pieces: Vec<Piece>,
    /// One for each task of the graph.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The parent of the task, in the same flow or in another.
    parent: Option<TaskId>,
    /// Rank by priority among the tasks that must run, from 1. 0 if the task does not run.
    rank: u32,
    /// An input of the task is the child of another task.
    shared: bool,
    is_piece: bool,
}

impl Plan {
    /// Cuts `todo`, in ascending order, into flows of about `piece` tasks.
    pub(super) fn new(graph: &TaskGraph, todo: &[TaskId], piece: usize) -> Self {
        let mut nodes = vec![Node::default(); graph.len()];
        let mut order = todo.to_vec();
        order.sort_unstable_by_key(|id| (-i64::from(graph.task(*id).priority), *id));
        for (place, id) in order.into_iter().enumerate() {
            // If there are more tasks than priorities, neighbours share a priority.
            let rank =
                if (todo.len() as u64) < LOWEST { place as u64 } else { place as u64 * LOWEST / todo.len() as u64 };
            nodes[id.0].rank = rank.min(LOWEST - 1) as u32 + 1;
        }
        for id in todo {
            for dep in needs(graph, *id) {
                match nodes[dep.0] {
                    Node { rank: 0, .. } => {}
                    Node { parent: None, .. } => nodes[dep.0].parent = Some(*id),
                    _ => nodes[id.0].shared = true,
                }
            }
        }
        let mut plan = Self { pieces: Vec::new(), nodes };
        plan.cut(graph, todo, piece);
        plan
    }

    /// True if the task must run.
    pub(super) fn contains(&self, id: TaskId) -> bool {
        self.nodes[id.0].rank > 0
    }

    /// True if the task may start before all its inputs exist.
    pub(super) fn is_shared(&self, id: TaskId) -> bool {
        self.nodes[id.0].shared
    }

    /// The children of a task, in ascending order.
    fn children(&self, graph: &TaskGraph, id: TaskId) -> impl Iterator<Item = TaskId> {
        needs(graph, id).into_iter().filter(move |d| self.nodes[d.0].parent == Some(id))
    }

    /// The flow of a piece. `data` returns the data of a job.
    pub(super) fn flow(
        &self,
        piece: &Piece,
        queue: &str,
        graph: &TaskGraph,
        options: &dyn Fn(TaskId) -> JobOptions,
        data: &dyn Fn(TaskId) -> serde_json::Value,
    ) -> Option<FlowJob> {
        let mut made: HashMap<TaskId, FlowJob> = HashMap::new();
        let job = |id: TaskId| FlowJob {
            name: graph.task(id).kind.into(),
            queue_name: queue.into(),
            data: data(id),
            opts: Some(self.options(id, options(id))),
            prefix: None,
            children: None,
        };
        for id in &piece.tasks {
            // The root of another flow is already in the queue. Naming it here attaches it.
            let children = self.children(graph, *id).map(|c| made.remove(&c).unwrap_or_else(|| job(c)));
            let children: Vec<_> = children.collect();
            made.insert(*id, FlowJob { children: Some(children).filter(|c| !c.is_empty()), ..job(*id) });
        }
        made.remove(&piece.root())
    }

    fn options(&self, id: TaskId, mut options: JobOptions) -> JobOptions {
        let node = &self.nodes[id.0];
        options.priority = Some(node.rank);
        options.fail_parent_on_failure = Some(node.parent.is_some());
        // The root of a flow stays in the queue until the run ends, so the flow above finds it.
        options.remove_on_complete = Some(bullmq::types::RemoveOnFinish::Bool(!node.is_piece));
        options
    }

    fn cut(&mut self, graph: &TaskGraph, todo: &[TaskId], piece: usize) {
        // For each task: the number of tasks and levels at and below it in its piece, and the index of the piece.
        let mut sizes = vec![(0_u32, 0_u32); graph.len()];
        let mut piece_of = vec![usize::MAX; graph.len()];
        for id in todo {
            let whole = self.children(graph, *id).filter(|c| !self.nodes[c.0].is_piece).map(|c| sizes[c.0]);
            let (size, depth) = whole.fold((1, 1), |(n, depth), (m, below)| (n + m, depth.max(below + 1)));
            sizes[id.0] = (size, depth);
            if size as usize >= piece || depth as usize >= DEPTH || self.nodes[id.0].parent.is_none() {
                self.nodes[id.0].is_piece = true;
                piece_of[id.0] = self.pieces.len();
                self.pieces.push(Piece { tasks: Vec::with_capacity(size as usize) });
            }
        }
        // Parents come after their children, so the reverse order assigns a parent's piece first.
        for id in todo.iter().rev() {
            if let (usize::MAX, Some(parent)) = (piece_of[id.0], self.nodes[id.0].parent) {
                piece_of[id.0] = piece_of[parent.0];
            }
            if let Some(piece) = self.pieces.get_mut(piece_of[id.0]) {
                piece.tasks.push(*id);
            }
        }
        self.pieces.iter_mut().for_each(|p| p.tasks.reverse());
    }
}

/// The tasks that a task needs, in ascending order, without repetition.
fn needs(graph: &TaskGraph, id: TaskId) -> Vec<TaskId> {
    let mut deps = graph.task(id).deps.clone();
    deps.sort_unstable();
    deps.dedup();
    deps
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Key, Task};

    fn add(graph: &mut TaskGraph, priority: i32, deps: &[usize]) -> TaskId {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&(graph.len() as u64).to_le_bytes());
        let deps = deps.iter().map(|d| TaskId(*d)).collect();
        graph.add(Task { key: Key(key), kind: "task", priority, deps }).expect("valid")
    }

    fn tree(graph: &mut TaskGraph, depth: usize) -> usize {
        let deps = if depth == 0 { vec![] } else { vec![tree(graph, depth - 1), tree(graph, depth - 1)] };
        add(graph, depth as i32, &deps).0
    }

    fn all(graph: &TaskGraph) -> Vec<TaskId> {
        graph.iter().map(|(id, _)| id).collect()
    }

    /// Every task is in one piece, pieces have at most the expected size, and children come before their parents.
    fn check(graph: &TaskGraph, todo: &[TaskId], size: usize) -> Plan {
        let plan = Plan::new(graph, todo, size);
        let mut seen = HashSet::new();
        for piece in &plan.pieces {
            assert!(piece.tasks.len() <= 2 * size + 1, "{} tasks in a piece", piece.tasks.len());
            for id in &piece.tasks {
                assert!(seen.insert(*id), "{id:?} is in two pieces");
                assert!(plan.children(graph, *id).all(|c| seen.contains(&c)), "{id:?} comes before a child");
            }
        }
        assert_eq!(seen.len(), todo.len());
        plan
    }

    #[test]
    fn trees_are_cut_into_pieces() {
        let mut graph = TaskGraph::new();
        tree(&mut graph, 9);
        for (size, pieces) in [(1, 1023), (64, 16), (1023, 1), (5000, 1)] {
            assert!(check(&graph, &all(&graph), size).pieces.len() <= pieces);
        }
        let some: Vec<_> = all(&graph).into_iter().filter(|id| id.0 % 3 > 0).collect();
        check(&graph, &some, 10);
        assert!(Plan::new(&graph, &[], 10).pieces.is_empty());
    }

    #[test]
    fn chains_are_cut_by_depth() {
        let mut graph = TaskGraph::new();
        add(&mut graph, 0, &[]);
        for n in 0..1000 {
            add(&mut graph, 0, &[n]);
        }
        let plan = check(&graph, &all(&graph), PIECE);
        assert!(plan.pieces.iter().all(|p| p.tasks.len() <= DEPTH));
    }

    #[test]
    fn a_result_that_many_need_has_one_parent() {
        let mut graph = TaskGraph::new();
        let leaf = add(&mut graph, 0, &[]);
        let (left, right) = (add(&mut graph, 0, &[0, 0]), add(&mut graph, 0, &[0]));
        let root = add(&mut graph, 0, &[1, 2]);
        let plan = check(&graph, &all(&graph), PIECE);
        assert_eq!(plan.nodes[leaf.0].parent, Some(left));
        assert_eq!([leaf, left, right, root].map(|id| plan.is_shared(id)), [false, false, true, false]);
    }

    #[test]
    fn ranks_follow_priority_and_then_order() {
        let mut graph = TaskGraph::new();
        for priority in [3, 1, 2, 3, i32::MIN, i32::MAX] {
            add(&mut graph, priority, &[]);
        }
        let plan = Plan::new(&graph, &all(&graph), PIECE);
        let ranks: Vec<_> = all(&graph).iter().map(|id| plan.nodes[id.0].rank).collect();
        assert_eq!(ranks, [2, 5, 4, 3, 6, 1]);
    }

    #[test]
    fn a_flow_names_the_roots_of_those_below() {
        let mut graph = TaskGraph::new();
        tree(&mut graph, 3);
        let plan = Plan::new(&graph, &all(&graph), 7);
        assert_eq!(plan.pieces.len(), 3);
        let options = |id: TaskId| JobOptions::new().job_id(format!("run-{}", id.0));
        let data = |id: TaskId| serde_json::json!(id.0);
        let top = plan.flow(&plan.pieces[2], "queue", &graph, &options, &data).expect("has a root");
        let children = top.children.expect("has children");
        let kept = |job: &FlowJob| {
            matches!(
                job.opts.as_ref().and_then(|o| o.remove_on_complete.clone()),
                Some(bullmq::types::RemoveOnFinish::Bool(false))
            )
        };
        assert_eq!(children.iter().map(|c| c.data.clone()).collect::<Vec<_>>(), [6, 13]);
        assert!(children.iter().all(|c| c.children.is_none() && kept(c)));
        let below = plan.flow(&plan.pieces[0], "queue", &graph, &options, &data).expect("has a root");
        assert_eq!(below.opts.as_ref().and_then(|o| o.job_id.clone()).as_deref(), Some("run-6"));
        let inner = &below.children.as_ref().expect("has children")[0];
        assert!(kept(&below) && !kept(inner) && inner.children.is_some());
    }
}
