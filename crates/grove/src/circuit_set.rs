//! The circuits of an application in one scheme, profile and height class, and their size.

use std::sync::Arc;

use evergrove_commit::{BackendChoice, BackendError, BackendSpec, NativeBackend};
use evergrove_multilinear::recursion;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{JOHNSON_128, Parameters, Round, UNIQUE_100};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::{BLOCK, Layout, MAX_BLOCKS, Table};
use evergrove_verifier::{AppSpec, HeightClass, Profile, Scheme};

use crate::application::Application;
use crate::backend::{BACKEND_NAME, BACKEND_VERSION, Built};
use crate::circuit::Size;
use crate::engine::{Kind, Shape};
use crate::openzeppelin::MAX_COLUMNS;
use crate::translation::KeccakTree;
use crate::{GroveBackend, GroveVerifier};

/// Reasons why an application has no circuits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitSetError {
    /// The profile belongs to another backend.
    #[error("applications have no circuits of the backend {BACKEND_NAME} for profile {0} (known: {known})", known = Profile::GROVE.map(Profile::name).join(", "))]
    Profile(Profile),
    /// The application has no circuits for this scheme.
    #[error("the application has no circuits for scheme {0}")]
    Scheme(Scheme),
    /// The number of columns of ABI words is out of range.
    #[error("rows of {0} columns have no proof to OpenZeppelin's tree: commit a table of 1 to {MAX_COLUMNS} columns")]
    Columns(usize),
    /// The circuits are too large even with one leaf per bucket.
    #[error(
        "the circuits of this application, with {output_len} elements of output, are too large: ask for less at a time"
    )]
    TooLarge {
        /// Elements of an output.
        output_len: usize,
    },
}

/// The circuits of an application in one scheme, profile and height class. The application determines them: verifiers
/// build the same ones.
#[derive(Clone)]
pub struct AppCircuitSet {
    kind: Kind,
    shape: Shape,
    scheme: Scheme,
    profile: Profile,
    class: HeightClass,
    elements: usize,
    bits: SoundnessBits,
}

/// [`Circuits::larger`](crate::application::Circuits::larger) of complete batches. The slots of a block are a power of
/// two, and the whole table is cut into blocks.
const LARGER_BLOCKS: f64 = 2.0;

impl AppCircuitSet {
    /// Finds the size of an application's circuits, in some tenths of a second.
    ///
    /// # Errors
    /// [`CircuitSetError`].
    pub fn new(
        app: Arc<dyn Application>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<Self, CircuitSetError> {
        let complete = match scheme {
            Scheme::Selected => false,
            Scheme::Complete => true,
            other => return Err(CircuitSetError::Scheme(other)),
        };
        let size = Size { height_max: class.height_max(), capacity: 1 };
        let kind = Kind { size, app: Some(app), complete, translation: None };
        let Found { kind, shape, elements, bits } = match profile {
            Profile::Grove100 => sized::<Quadratic>(&UNIQUE_100, kind)?,
            Profile::Grove128 => sized::<Cubic>(&JOHNSON_128, kind)?,
            Profile::Proven | Profile::Johnson | Profile::Paper => return Err(CircuitSetError::Profile(profile)),
        };
        Ok(Self { kind, shape, scheme, profile, class, elements, bits })
    }

    /// The circuits of digest translation to `tree`, with buckets of 2^`bucket_height` slots.
    ///
    /// # Errors
    /// [`CircuitSetError`].
    ///
    /// # Panics
    /// If buckets have fewer than 2 or more than 2^8 slots.
    pub fn translation(
        profile: Profile,
        class: HeightClass,
        bucket_height: u8,
        tree: KeccakTree,
    ) -> Result<Self, CircuitSetError> {
        if let KeccakTree::OpenZeppelin(types) = &tree
            && !(1..=MAX_COLUMNS).contains(&types.len())
        {
            return Err(CircuitSetError::Columns(types.len()));
        }
        assert!((1..=8).contains(&bucket_height), "buckets of height {bucket_height}");
        let size = Size { height_max: class.height_max(), capacity: 1 << bucket_height };
        let kind = Kind { translation: Some(tree), ..Kind::of_batches(size) };
        let Found { kind, shape, elements, bits } = match profile {
            Profile::Grove100 => fixed::<Quadratic>(&UNIQUE_100, kind)?,
            Profile::Grove128 => fixed::<Cubic>(&JOHNSON_128, kind)?,
            Profile::Proven | Profile::Johnson | Profile::Paper => return Err(CircuitSetError::Profile(profile)),
        };
        Ok(Self { kind, shape, scheme: Scheme::Tree, profile, class, elements, bits })
    }

    /// Leaves per bucket, or slots per block.
    pub fn capacity(&self) -> usize {
        self.kind.size.capacity
    }
    /// Blocks of each table, and log2 of the elements of the committed stack.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// The number of committed elements, as a multiple of that of the circuits of batches: about the ratio of their
    /// proving times.
    pub fn growth(&self) -> f64 {
        let plain = if self.profile == Profile::Grove128 { 1.78e6 } else { 2.33e6 };
        self.elements as f64 / plain
    }
    /// The bits of soundness of the proofs: the minimum over all error terms.
    pub fn bits(&self) -> SoundnessBits {
        self.bits
    }
    /// The backend's description, for an application with this name and these parameters.
    pub fn spec(&self, app: AppSpec) -> BackendSpec {
        let choice = BackendChoice::new(BACKEND_NAME, self.profile).with_app(self.scheme, app);
        BackendSpec { choice, version: BACKEND_VERSION, class: self.class, capacity: self.capacity(), wraps: false }
    }
    /// Builds the prover.
    ///
    /// # Errors
    /// If the circuits cannot be built.
    pub fn backend(&self, app: AppSpec) -> Result<GroveBackend, BackendError> {
        let Self { ref kind, shape, scheme, profile, class, .. } = *self;
        let rules = match scheme {
            Scheme::Complete => NativeBackend::complete(profile, class, kind.size.block_height()),
            Scheme::Tree => NativeBackend::tree(profile, class, kind.size.block_height()),
            _ => NativeBackend::new(profile, class).with_capacity(kind.size.capacity),
        };
        Ok(GroveBackend::with(self.spec(app), rules, Built::of(profile, kind.clone(), shape)?.prover()))
    }
    /// Builds the verifier.
    ///
    /// # Errors
    /// The errors of [`Self::backend`].
    pub fn verifier(&self) -> Result<GroveVerifier, BackendError> {
        Ok(GroveVerifier::with(Built::of(self.profile, self.kind.clone(), self.shape)?.verifier()))
    }
}

/// A kind of circuits with its final capacity, and what follows from it.
struct Found {
    kind: Kind,
    shape: Shape,
    elements: usize,
    bits: SoundnessBits,
}

fn sized<K: Extension>(rounds: &[Round], kind: Kind) -> Result<Found, CircuitSetError> {
    let of = |capacity: usize| Kind { size: Size { capacity, ..kind.size }, ..kind.clone() };
    let output_len = kind.app.as_ref().map_or(0, |app| app.output_len());
    let too_large = CircuitSetError::TooLarge { output_len };
    // The merge alone.
    let modes = kind.circuit_set().modes();
    let merge = recursion::fixed_point::<K>(rounds, &modes, |parameters| kind.circuit_set().merge(parameters).blocks());
    let merge = merge.ok_or(too_large.clone())?;
    let most = merge.layout().committed().elements() as f64;
    let larger = kind.app.as_ref().map_or(1.0, |app| app.circuits().larger());
    let most = most * if kind.complete { LARGER_BLOCKS } else { larger };
    let needed = |rows: [usize; Table::ALL.len()]| {
        let blocks = merge.layout().blocks();
        core::array::from_fn(|table| blocks[table].max(rows[table].div_ceil(BLOCK)))
    };
    let fits = |needed: [usize; Table::ALL.len()]| {
        if needed.iter().any(|&blocks| blocks > MAX_BLOCKS) {
            return false;
        }
        Layout::new(merge.tables(), needed).committed().elements() as f64 <= most
    };
    // The rows of a bucket are linear in its capacity, except for the rows of paths.
    let rows = |capacity: usize| {
        let kind = of(capacity);
        let bucket = kind.circuit_set().bucket(&merge);
        let mut rows = Table::ALL.map(|table| bucket.rows(table));
        rows[Table::Permutation as usize] -= kind.circuit_set().nodes();
        rows
    };
    let (few, more) = if kind.complete { (64, 128) } else { (4, 12) };
    let (low, high) = (rows(few), rows(more));
    let predicted = |capacity: usize| {
        let mut rows: [usize; Table::ALL.len()] = core::array::from_fn(|table| {
            let each = (high[table] as f64 - low[table] as f64) / (more - few) as f64;
            (low[table] as f64 + each * (capacity as f64 - few as f64)).ceil().max(0.0) as usize
        });
        rows[Table::Permutation as usize] += of(capacity).circuit_set().nodes();
        rows
    };
    let holds = |capacity: usize| fits(needed(predicted(capacity)));
    let capacity = if kind.complete {
        let most = 1usize << (kind.size.height_max - 1).min(16);
        core::iter::successors(Some(most), |n| Some(n / 2)).take_while(|&n| n > 0).find(|&n| holds(n))
    } else {
        // `first` counts the capacities from 1 up that fit, so it is also the greatest of them.
        let first = (1..1usize << 16).collect::<Vec<_>>().partition_point(|&n| holds(n));
        Some(first).filter(|&n| n > 0)
    };
    let most = kind.app.as_ref().map_or(usize::MAX, |app| app.circuits().most());
    let most = if kind.complete { 1 << most.max(1).ilog2() } else { most.max(1) };
    let capacity = capacity.ok_or(too_large)?.min(most);
    let near = needed(predicted(capacity));
    let found = recursion::fixed_point_near::<K>(rounds, &modes, near, |it| of(capacity).circuit_set().blocks(it));
    settled(of(capacity), found)
}

/// [`Found`] for a kind whose capacity is known.
fn fixed<K: Extension>(rounds: &[Round], kind: Kind) -> Result<Found, CircuitSetError> {
    let found = recursion::fixed_point(rounds, &kind.circuit_set().modes(), |it| kind.circuit_set().blocks(it));
    settled::<K>(kind, found)
}

fn settled<K: Extension>(kind: Kind, parameters: Option<Parameters<K>>) -> Result<Found, CircuitSetError> {
    let output_len = kind.app.as_ref().map_or(0, |app| app.output_len());
    let parameters = parameters.ok_or(CircuitSetError::TooLarge { output_len })?;
    let shape = Shape { blocks: parameters.layout().blocks(), variables: parameters.schedule().variables };
    Ok(Found { kind, shape, elements: parameters.layout().committed().elements(), bits: bits(&parameters) })
}
