//! Sums of points bucket by bucket, in any order of arrival and for any distribution over the buckets.
//!
//! **Pairing.** A bucket holds at most one waiting operand. A second operand that arrives forms a job of the next batch
//! with the first, and the bucket is empty again. The sum arrives at its bucket when the batch is done. So no job waits
//! for another job of its batch, whichever buckets the points belong to. The conflicts of textbook Pippenger become
//! additions that are needed anyway, and n points in k buckets cost n - k additions, nearly all in full batches. Points
//! that are all in one bucket are added as a tree.
//!
//! **Slots.** Sums are in slots: that of a waiting sum, or a new one. Their words are parked, not canonical.

use ark_ec::short_weierstrass::Affine;
use ark_ff::{AdditiveGroup, Field};
use evergrove_primitives::field::prime::PrimeLanes;
use evergrove_primitives::lanes::prefetch;

use super::Curve;
use super::batch::{Batch, Canonical, DUMMIES, INDEX, Jobs, NEGATIVE, Operands, SLOT, STEP};

/// Nothing waits.
const EMPTY: u32 = u32::MAX;

/// The memory of an [`Adder`], for reuse.
#[derive(Debug)]
pub(super) struct Workspace<C: Curve> {
    slots: Vec<Affine<C>>,
    free: Vec<u32>,
    waiting: Vec<u32>,
    jobs: Jobs,
    running: Jobs,
}

impl<C: Curve> Default for Workspace<C> {
    fn default() -> Self {
        let (jobs, running) = Default::default();
        Self { slots: Vec::new(), free: Vec::new(), waiting: Vec::new(), jobs, running }
    }
}

/// See the module.
pub(super) struct Adder<'a, C: Curve, A: PrimeLanes> {
    f: A,
    points: &'a [Affine<C>],
    memory: &'a mut Workspace<C>,
    /// Slots below this one are read, and never written again.
    fixed: u32,
    batch: usize,
    operands: Vec<Operands<A>>,
    /// Additions so far.
    pub(super) additions: usize,
    /// Batches so far.
    pub(super) batches: usize,
}

impl<'a, C: Curve, A: PrimeLanes<Element = C::BaseField>> Adder<'a, C, A> {
    /// Sums of `points` in empty buckets, up to `batch` additions together, in whole steps.
    #[inline(always)]
    pub(super) fn new(
        f: A,
        points: &'a [Affine<C>],
        buckets: usize,
        batch: usize,
        memory: &'a mut Workspace<C>,
    ) -> Self {
        let (zero, one) = (C::BaseField::ZERO, C::BaseField::ONE);
        memory.slots.clear();
        memory.slots.push(Affine::new_unchecked(zero, zero));
        memory.slots.resize(DUMMIES as usize, Affine::new_unchecked(one, one));
        memory.free.clear();
        memory.jobs.clear();
        memory.waiting.clear();
        memory.waiting.resize(buckets, EMPTY);
        let operands = vec![Operands::empty(f); batch / evergrove_primitives::lanes::LANES];
        Self { f, points, memory, fixed: DUMMIES, batch, operands, additions: 0, batches: 0 }
    }

    /// A point, or its negative, for a bucket.
    #[inline(always)]
    pub(super) fn add_point(&mut self, bucket: usize, index: usize, negative: bool) {
        self.add(bucket, index as u32 | if negative { NEGATIVE } else { 0 });
    }

    #[inline(always)]
    fn add(&mut self, bucket: usize, operand: u32) {
        self.arrive(bucket, operand);
        if self.memory.jobs.len() == self.batch {
            self.run();
        }
    }

    #[inline(always)]
    fn arrive(&mut self, bucket: usize, operand: u32) {
        let memory = &mut *self.memory;
        let waiting = memory.waiting[bucket];
        if waiting == EMPTY {
            memory.waiting[bucket] = operand;
            return;
        }
        memory.waiting[bucket] = EMPTY;
        let own = |id: u32| id & SLOT != 0 && id & INDEX >= self.fixed;
        let (a, b) = if own(operand) { (operand, waiting) } else { (waiting, operand) };
        let out = if own(a) {
            a & INDEX
        } else {
            memory.free.pop().unwrap_or_else(|| {
                memory.slots.push(memory.slots[0]);
                memory.slots.len() as u32 - 1
            })
        };
        // By the time the batch runs, the operands have arrived.
        for id in [a, b] {
            let index = (id & INDEX) as usize;
            prefetch(if id & SLOT != 0 { &memory.slots[index] } else { &self.points[index] });
        }
        memory.jobs.push(a, b, out, bucket as u32);
    }

    /// Runs batches until less than one batch of jobs is left.
    fn run(&mut self) {
        while self.memory.jobs.len() >= self.batch {
            self.run_one();
        }
    }

    /// Runs the available jobs, and delivers their sums.
    fn run_one(&mut self) {
        let memory = &mut *self.memory;
        core::mem::swap(&mut memory.jobs, &mut memory.running);
        memory.jobs.clear();
        let jobs = memory.running.len();
        self.additions += jobs;
        self.batches += 1;
        memory.running.pad();
        let batch = Batch {
            points: self.points,
            slots: &mut memory.slots,
            jobs: &memory.running,
            operands: &mut self.operands,
        };
        let mut infinite = self.f.outline(batch).into_iter().peekable();
        for k in 0..jobs {
            let running = &self.memory.running;
            let (a, b, out, bucket) = (running.a[k], running.b[k], running.out[k], running.bucket[k]);
            if b & SLOT != 0 && b & INDEX >= self.fixed {
                self.memory.free.push(b & INDEX);
            }
            if infinite.next_if_eq(&(k as u32)).is_some() {
                self.memory.free.push(out);
            } else {
                self.arrive(bucket as usize, out | SLOT | a & NEGATIVE);
            }
        }
    }

    /// Adds all remaining operands.
    fn finish(&mut self) {
        while self.memory.jobs.len() > 0 {
            self.run_one();
        }
    }

    /// Adds all remaining operands, and continues with `buckets` empty buckets. Returns the contents of the old
    /// buckets, for [`Adder::add_sum`] and [`Adder::sum`].
    pub(super) fn next(&mut self, buckets: usize) -> Vec<u32> {
        self.finish();
        self.fixed = self.memory.slots.len() as u32;
        self.memory.free.clear();
        core::mem::replace(&mut self.memory.waiting, vec![EMPTY; buckets])
    }

    /// The sum of an earlier bucket, for a bucket.
    #[inline(always)]
    pub(super) fn add_sum(&mut self, bucket: usize, sum: u32) {
        if sum != EMPTY {
            self.add(bucket, sum);
        }
    }

    /// The sum of a bucket.
    pub(super) fn sum(&self, sum: u32) -> Affine<C> {
        if sum == EMPTY {
            return Affine::identity();
        }
        let index = (sum & INDEX) as usize;
        let point = if sum & SLOT != 0 { &self.memory.slots[index] } else { &self.points[index] };
        let point = self.f.outline(Canonical(point));
        if sum & NEGATIVE != 0 { -point } else { point }
    }
}

const _: () = assert!(STEP.is_power_of_two());
