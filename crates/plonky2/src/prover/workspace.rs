//! Buffers and transforms, shared by all provers of circuits of one shape.
//!
//! A proof of 2^15 rows uses half a gigabyte. Bucket and merge have one shape, and so have the many circuits of the
//! paper's scheme: they take turns with the same buffers. There are as many buffers as the greatest number of
//! simultaneous proofs. The shared data is dropped with the last prover that shares it.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use evergrove_kernels::ntt::{NttError, Row, ZERO_ROW, groups};
use evergrove_kernels::oracle::{self, Domain, Keep};
use evergrove_primitives::Digest;
use evergrove_primitives::lanes::Isa;

use super::F;

/// The parameters that buffers and transforms depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) isa: Isa,
    pub(super) log_size: u32,
    pub(super) rate_bits: u32,
    pub(super) cap_height: u32,
    /// Whether oracles keep their extensions.
    pub(super) keep: Keep,
    /// Routed wires.
    pub(super) routed: usize,
    /// Columns of the oracles: wires, Z and partial products, quotient chunks.
    pub(super) columns: [usize; 3],
}

/// The working memory of a proof.
pub(super) struct Workspace {
    /// Values of the witness.
    pub(super) values: Vec<Option<F>>,
    /// The values of routed wires, in groups.
    pub(super) trace: Vec<Row>,
    pub(super) oracles: [oracle::Workspace; 3],
}

/// The shared data of provers of one shape.
pub(super) struct Shared {
    shape: Shape,
    pub(super) domain: Arc<Domain>,
    idle: Mutex<Vec<Workspace>>,
}

/// All shared data at present.
static SHARED: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Vectors are whole between any two of our statements.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// The shared part of a shape, if a prover has it.
fn find(shared: &[Weak<Shared>], shape: &Shape) -> Option<Arc<Shared>> {
    shared.iter().filter_map(Weak::upgrade).find(|s| s.shape == *shape)
}

impl Shared {
    /// That of this shape, made if no prover has it.
    pub(super) fn of(shape: Shape) -> Result<Arc<Self>, NttError> {
        let known = find(&lock(&SHARED), &shape);
        if let Some(known) = known {
            return Ok(known);
        }
        // Not under the lock: a thread that waits for others of its pool may be given work that comes here.
        let domain = Arc::new(Domain::on(shape.isa, shape.log_size, shape.rate_bits)?);
        let mut shared = lock(&SHARED);
        shared.retain(|s| s.strong_count() > 0);
        Ok(find(&shared, &shape).unwrap_or_else(|| {
            let new = Arc::new(Self { shape, domain, idle: Mutex::new(Vec::new()) });
            shared.push(Arc::downgrade(&new));
            new
        }))
    }

    /// Buffers that no proof works in.
    pub(super) fn take(&self) -> Workspace {
        let idle = lock(&self.idle).pop();
        let Shape { cap_height, keep, routed, columns, .. } = self.shape;
        let room = |columns: usize| {
            let domain = Arc::clone(&self.domain);
            oracle::Workspace::new(domain, columns, cap_height, keep).expect("a tree that plonky2 has")
        };
        idle.unwrap_or_else(|| Workspace {
            values: Vec::new(),
            trace: vec![ZERO_ROW; groups(routed) * self.domain.lde().size()],
            oracles: columns.map(room),
        })
    }

    /// Whether buffers and extensions are kept.
    pub(super) fn keeps(&self) -> bool {
        self.shape.keep == Keep::Values
    }

    /// Columns of the oracles.
    pub(super) fn columns(&self) -> [usize; 3] {
        self.shape.columns
    }

    /// Keeps buffers for the next proof, if wanted.
    pub(super) fn keep(&self, workspace: Workspace) {
        if self.keeps() {
            lock(&self.idle).push(workspace);
        }
    }

    /// Bytes of the transforms' tables, and of the buffers of one proof.
    pub(super) fn bytes(&self) -> [usize; 2] {
        let lde = self.domain.lde();
        let (size, extended) = (lde.size(), lde.extended_size());
        let values = if self.keeps() { extended } else { size };
        let oracles = self.shape.columns.map(|c| groups(c) * (size + values)).iter().sum::<usize>();
        let rows = oracles + groups(self.shape.routed) * size;
        let trees = self.shape.columns.len() * 2 * extended * size_of::<Digest>();
        [8 * (size + extended), rows * size_of::<Row>() + trees]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shape_shares_and_others_do_not() {
        let shape = Shape {
            isa: Isa::Portable,
            log_size: 5,
            rate_bits: 1,
            cap_height: 0,
            keep: Keep::Values,
            routed: 9,
            columns: [10, 3, 2],
        };
        let sparing = Shared::of(Shape { keep: Keep::Coefficients, ..shape }).unwrap();
        let [all, less] = [Shared::of(shape).unwrap(), Arc::clone(&sparing)].map(|s| s.bytes()[1]);
        assert_eq!(all - less, 32 * 4 * size_of::<Row>(), "the second coset of four groups");
        let mut workspace = sparing.take();
        workspace.values.push(None);
        sparing.keep(workspace);
        assert!(sparing.take().values.is_empty(), "nothing is kept");
        let [a, b] = [shape, shape].map(|s| Shared::of(s).unwrap());
        assert!(Arc::ptr_eq(&a, &b));
        let other = Shared::of(Shape { log_size: 6, ..shape }).unwrap();
        assert!(!Arc::ptr_eq(&a, &other));
        let mut workspace = a.take();
        workspace.values.push(None);
        a.keep(workspace);
        assert_eq!(b.take().values.len(), 1);
        assert!(b.take().values.is_empty());
        let weak = Arc::downgrade(&a);
        drop((a, b));
        assert!(weak.upgrade().is_none(), "it goes with its provers");
    }
}
