//! Plans on threads and vectors: bands one after the other, the tasks of a band in parallel.

use core::marker::PhantomData;

use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::execute::{Lockstep, Single, expand_band, reduce_band};
use super::{Combine, Expand, NodeOp, TreeError};
use crate::tree::schedule::{Band, Plan, Tree, level_above_leaves};

/// The least number of leaves that one dispatch takes, if a band has so many: enough to outweigh a dispatch and its
/// stack.
const GRAIN: usize = 1 << 12;

/// One direction of computing tasks.
trait Pass<O: NodeOp>: Send + Sync {
    fn lockstep<L: Lanes>(machine: &mut Lockstep<'_, '_, O, L>);
    fn single(machine: &mut Single<'_, '_, O>);
}

struct Reducing;

impl<O: Combine> Pass<O> for Reducing {
    #[inline(always)]
    fn lockstep<L: Lanes>(machine: &mut Lockstep<'_, '_, O, L>) {
        reduce_band(machine.band, machine);
    }
    fn single(machine: &mut Single<'_, '_, O>) {
        reduce_band(machine.band, machine);
    }
}

struct Expanding;

impl<O: Expand> Pass<O> for Expanding {
    #[inline(always)]
    fn lockstep<L: Lanes>(machine: &mut Lockstep<'_, '_, O, L>) {
        expand_band(machine.band, machine);
    }
    fn single(machine: &mut Single<'_, '_, O>) {
        expand_band(machine.band, machine);
    }
}

/// Adjacent tasks of a band, with the buffers that they load from and store to.
struct Item<'a, 'b, O: NodeOp, P> {
    op: &'a O,
    band: &'a Band,
    tasks: usize,
    from: &'a [O::Node],
    to: Vec<&'b mut [O::Node]>,
    pass: PhantomData<P>,
}

impl<O: NodeOp, P: Pass<O>> Kernel for Item<'_, '_, O, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let band = self.band;
        let prepared = self.op.prepare(lanes, band.bottom() + 1..=band.top());
        let mut local = Vec::with_capacity(band.local_nodes());
        for task in (0..self.tasks).step_by(LANES) {
            P::lockstep(&mut Lockstep {
                op: self.op,
                lanes,
                prepared: &prepared,
                band,
                task,
                from: self.from,
                to: &mut self.to,
                local: &mut local,
            });
        }
    }
}

/// Computes a band. `to` has a buffer for each level that is stored.
fn compute<O: NodeOp, P: Pass<O>>(isa: Isa, op: &O, band: &Band, from: &[O::Node], to: Vec<&mut [O::Node]>) {
    let tasks = band.tasks();
    // Lockstep needs eight tasks, hence a multiple of eight, since the number of tasks is a power of two.
    let leaves = band.width(0);
    let per_item = if tasks < LANES { 1 } else { LANES.max(GRAIN / leaves).min(tasks) };
    let items = tasks / per_item;
    let mut pieces: Vec<_> = to
        .into_iter()
        .map(|level| {
            let len = level.len() / items;
            level.chunks_mut(len)
        })
        .collect();
    let work: Vec<_> = from
        .chunks(from.len() / items)
        .map(|from| Item {
            op,
            band,
            tasks: per_item,
            from,
            to: pieces.iter_mut().map(|level| level.next().expect("a piece for each item")).collect(),
            pass: PhantomData::<P>,
        })
        .collect();
    work.into_par_iter().for_each(|mut item| {
        if tasks < LANES {
            let mut local = Vec::with_capacity(band.local_nodes());
            P::single(&mut Single { op, band, from: item.from, to: &mut item.to, local: &mut local });
        } else {
            dispatch_on(isa, item);
        }
    });
}

fn check<O: NodeOp>(op: &O, plan: &Plan, tree: Tree) -> Result<(), TreeError> {
    if plan.tree() != tree {
        return Err(TreeError::Direction { found: plan.tree(), expected: tree });
    }
    match op.height() {
        Some(operation) if operation != plan.height() => Err(TreeError::Height { operation, plan: plan.height() }),
        _ => Ok(()),
    }
}

fn check_length<T>(buffer: &'static str, nodes: &[T], expected: usize) -> Result<(), TreeError> {
    let found = nodes.len();
    if found == expected { Ok(()) } else { Err(TreeError::Length { buffer, found, expected }) }
}

/// The root of a reduction over `leaves`, with [`Plan::scratch`] nodes of scratch memory, whose contents do not
/// matter.
///
/// 2^h - 1 nodes are computed; the steps of the plan determine the traffic to memory.
pub fn reduce<O: Combine>(
    op: &O,
    plan: &Plan,
    leaves: &[O::Node],
    scratch: &mut [O::Node],
) -> Result<O::Node, TreeError> {
    reduce_on(op.isa(), op, plan, leaves, scratch)
}

/// [`reduce`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn reduce_on<O: Combine>(
    isa: Isa,
    op: &O,
    plan: &Plan,
    leaves: &[O::Node],
    scratch: &mut [O::Node],
) -> Result<O::Node, TreeError> {
    check(op, plan, Tree::Reduce)?;
    check_length("leaves", leaves, plan.leaves())?;
    check_length("scratch", scratch, plan.scratch())?;
    let first = plan.bands().first().map_or(0, |band| band.tasks() << (band.width(band.height()).ilog2()));
    let (mut this, mut other) = scratch.split_at_mut(first.min(scratch.len()));
    let mut root = [leaves[0]];
    let mut from = leaves;
    for (i, band) in plan.bands().iter().enumerate() {
        let results = band.tasks() * band.width(band.height());
        let to = if i + 1 == plan.bands().len() { &mut root } else { &mut this[..results] };
        compute::<O, Reducing>(isa, op, band, from, vec![to]);
        core::mem::swap(&mut this, &mut other);
        from = &other[..results.min(other.len())];
    }
    Ok(root[0])
}

/// Every node above the leaves of a reduction, into a buffer of 2^h - 1 nodes laid out as [`level_above_leaves`] says.
pub fn reduce_levels<O: Combine>(
    op: &O,
    plan: &Plan,
    leaves: &[O::Node],
    nodes: &mut [O::Node],
) -> Result<(), TreeError> {
    reduce_levels_on(op.isa(), op, plan, leaves, nodes)
}

/// [`reduce_levels`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn reduce_levels_on<O: Combine>(
    isa: Isa,
    op: &O,
    plan: &Plan,
    leaves: &[O::Node],
    nodes: &mut [O::Node],
) -> Result<(), TreeError> {
    check(op, plan, Tree::ReduceLevels)?;
    check_length("leaves", leaves, plan.leaves())?;
    check_length("nodes above the leaves", nodes, plan.leaves() - 1)?;
    for band in plan.bands() {
        let start = level_above_leaves(plan.height(), band.bottom() + 1).start;
        let (below, mut rest) = nodes.split_at_mut(start);
        let from = match band.bottom() {
            0 => leaves,
            level => &below[level_above_leaves(plan.height(), level)],
        };
        let mut to = Vec::with_capacity(band.height() as usize);
        for level in band.bottom() + 1..=band.top() {
            let (this, above) = rest.split_at_mut(plan.leaves() >> level);
            to.push(this);
            rest = above;
        }
        compute::<O, Reducing>(isa, op, band, from, to);
    }
    Ok(())
}

/// The leaves of an expansion, with [`Plan::scratch`] nodes of scratch memory, whose contents do not matter.
pub fn expand<O: Expand>(
    op: &O,
    plan: &Plan,
    scratch: &mut [O::Node],
    leaves: &mut [O::Node],
) -> Result<(), TreeError> {
    expand_on(op.isa(), op, plan, scratch, leaves)
}

/// [`expand`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn expand_on<O: Expand>(
    isa: Isa,
    op: &O,
    plan: &Plan,
    scratch: &mut [O::Node],
    leaves: &mut [O::Node],
) -> Result<(), TreeError> {
    check(op, plan, Tree::Expand)?;
    check_length("leaves", leaves, plan.leaves())?;
    check_length("scratch", scratch, plan.scratch())?;
    let root = [op.root()];
    if plan.bands().is_empty() {
        leaves.copy_from_slice(&root);
        return Ok(());
    }
    // The last band writes the leaves, hence the band before it the scratch memory, and so on alternately.
    let (mut this, mut other) = if plan.bands().len() % 2 == 1 { (leaves, scratch) } else { (scratch, leaves) };
    for (i, band) in plan.bands().iter().enumerate() {
        let from = if i == 0 { &root } else { &other[..band.tasks() * band.width(band.height())] };
        compute::<O, Expanding>(isa, op, band, from, vec![&mut this[..band.tasks() * band.width(0)]]);
        core::mem::swap(&mut this, &mut other);
    }
    Ok(())
}
