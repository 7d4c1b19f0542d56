//! The backend, and the verifier.

use std::sync::Arc;

use evergrove_commit::watch::{Observer, Step};
use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, BucketWitness, MergeWitness, NativeBackend, NodeKind, NodeProof,
    RecursionBackend, Witness,
};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::ProofField;
use evergrove_multilinear::tables::Table;
use evergrove_multilinear::verifier::{JOHNSON_128, UNIQUE_100};
use evergrove_primitives::Digest;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_proof::{HeightClass, Profile, Statement};

use crate::circuit::Size;
use crate::engine::{self, Circuits, Ended, Engine, Shape};

/// Name of the backend in proofs.
pub const BACKEND_NAME: &str = "grove";
/// Version of circuits and proof encoding in proofs.
pub const BACKEND_VERSION: u32 = 1;

/// The backend of a profile and height class, before its circuits are built.
pub fn backend_spec(profile: Profile, class: HeightClass) -> BackendSpec {
    let choice = BackendChoice::new(BACKEND_NAME, profile);
    BackendSpec { choice, version: BACKEND_VERSION, class, capacity: profile.bucket_capacity(class), wraps: false }
}

/// Proves by the multilinear engine, for one profile and height class. One proof at a time uses all threads of the current rayon pool.
pub struct GroveBackend {
    spec: BackendSpec,
    /// The circuits' constraints as code.
    rules: NativeBackend,
    engine: Box<dyn Nodes>,
    observer: Option<Arc<dyn Observer>>,
}

/// Verifies the proofs of a profile and height class.
pub struct GroveVerifier(Box<dyn Verify>);

/// What does not depend on the field.
trait Verify: Send + Sync {
    fn digest(&self) -> Digest;
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError>;
}

trait Nodes: Verify {
    /// Rows of permutations that the circuits' tables have.
    fn rows(&self) -> usize;
    fn bucket(&self, witness: &BucketWitness, ended: Ended<'_>) -> Result<NodeProof, BackendError>;
    fn merge(
        &self,
        children: [&NodeProof; 2],
        witness: &MergeWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError>;
}

impl<K: Extension> Verify for Key<K> {
    fn digest(&self) -> Digest {
        Digest(Self::digest(self))
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        engine::verify(self, proof)
    }
}

impl<K: ProofField> Verify for Engine<K> {
    fn digest(&self) -> Digest {
        Verify::digest(self.key())
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        engine::verify(self.key(), proof)
    }
}

impl<K: ProofField> Nodes for Engine<K> {
    fn rows(&self) -> usize {
        let shape = self.key().parameters().layout().shape(Table::Permutation);
        shape.map_or(0, |shape| shape.rows())
    }
    fn bucket(&self, witness: &BucketWitness, ended: Ended<'_>) -> Result<NodeProof, BackendError> {
        self.bucket(witness, ended)
    }
    fn merge(
        &self,
        children: [&NodeProof; 2],
        witness: &MergeWitness,
        ended: Ended<'_>,
    ) -> Result<NodeProof, BackendError> {
        self.merge(children, witness, ended)
    }
}

/// The circuits of a profile and height class, checked against the pinned key.
enum Built {
    Unique(Circuits<Quadratic>),
    Johnson(Circuits<Cubic>),
}

/// The size of a profile's circuits, `None` of a profile of another backend.
pub fn shape(profile: Profile, class: HeightClass) -> Option<Shape> {
    let (blocks, variables) = match (profile, class) {
        (Profile::Grove100, HeightClass::H27) => ([27, 30, 29, 3, 2, 1, 7], 22),
        (Profile::Grove100, HeightClass::H40) => ([27, 30, 29, 3, 1, 1, 5], 22),
        (Profile::Grove128, HeightClass::H27) => ([18, 27, 23, 1, 1, 1, 5], 21),
        (Profile::Grove128, HeightClass::H40) => ([18, 27, 23, 1, 1, 1, 3], 21),
        (Profile::Proven | Profile::Johnson | Profile::Paper, _) => return None,
    };
    Some(Shape { blocks, variables })
}

impl Built {
    fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let size = Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
        let foreign = || BackendError::Internal(format!("{profile} is no profile of the backend {BACKEND_NAME}"));
        let shape = shape(profile, class).ok_or_else(foreign)?;
        let built = match profile {
            Profile::Grove100 => Self::Unique(Circuits::new(&UNIQUE_100, size, shape)),
            Profile::Grove128 => Self::Johnson(Circuits::new(&JOHNSON_128, size, shape)),
            Profile::Proven | Profile::Johnson | Profile::Paper => return Err(foreign()),
        };
        let (digest, pinned) = (built.digest(), evergrove_proof::keys::pinned_grove(profile, class));
        if Some(digest) != pinned {
            let found = digest.0.map(|x| format!("{:#x}", x.as_u64())).join(", ");
            let what = format!("the {profile} circuits of height {} differ from the pinned key", class.height_max());
            return Err(BackendError::Internal(format!("{what}: they have [{found}]")));
        }
        Ok(built)
    }
    fn digest(&self) -> Digest {
        Digest(match self {
            Self::Unique(circuits) => circuits.key().digest(),
            Self::Johnson(circuits) => circuits.key().digest(),
        })
    }
}

impl GroveBackend {
    /// Builds the circuits, in less than a tenth of a second.
    ///
    /// # Errors
    /// For a profile of another backend, and when what was built does not match the pinned key.
    pub fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let engine: Box<dyn Nodes> = match Built::new(profile, class)? {
            Built::Unique(circuits) => Box::new(Engine::new(circuits)),
            Built::Johnson(circuits) => Box::new(Engine::new(circuits)),
        };
        Ok(Self {
            spec: backend_spec(profile, class),
            rules: NativeBackend::new(profile, class),
            engine,
            observer: None,
        })
    }

    /// The backend that tells `observer` of its proofs, under the names of its circuits: `bucket`, `merge`. Rows are those of permutations.
    #[must_use]
    pub fn with_observer(mut self, observer: &Arc<dyn Observer>) -> Self {
        self.observer = Some(Arc::clone(observer));
        self
    }
}

impl GroveVerifier {
    /// Builds the key.
    ///
    /// # Errors
    /// Those of [`GroveBackend::new`].
    pub fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        Ok(Self(match Built::new(profile, class)? {
            Built::Unique(circuits) => Box::new(circuits.into_key()),
            Built::Johnson(circuits) => Box::new(circuits.into_key()),
        }))
    }
    /// The digest of the key.
    pub fn key_digest(&self) -> Digest {
        self.0.digest()
    }
    /// Accepts exactly the proofs of `proof.statement` by the circuit of `proof.kind`. Never panics on any bytes.
    ///
    /// # Errors
    /// [`BackendError::Rejected`].
    pub fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.0.verify(proof)
    }
}

/// The constraints, executed: a witness that breaks them would give a proof that does not verify.
fn agree(proven: Result<Statement, String>, stated: &Statement) -> Result<(), BackendError> {
    match proven {
        Ok(proven) if proven == *stated => Ok(()),
        Ok(proven) => Err(BackendError::Witness(format!("it proves {proven:?}, not {stated:?}"))),
        Err(reason) => Err(BackendError::Witness(reason)),
    }
}

impl RecursionBackend for GroveBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }
    fn key_digest(&self) -> Digest {
        self.engine.digest()
    }
    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        let watched = |kind: NodeKind| -> Box<dyn FnMut(Step)> {
            match &self.observer {
                Some(observer) => observer.proof(kind.name(), self.engine.rows()),
                None => Box::new(|_| ()),
            }
        };
        match (witness, children) {
            (Witness::Bucket(witness), []) => {
                agree(self.rules.bucket_statement(&witness.leaves), &witness.statement)?;
                self.engine.bucket(witness, &mut watched(NodeKind::Bucket))
            }
            (Witness::Merge(witness), &[left, right]) => {
                let stated = self.rules.merge_statement(&left.statement, &right.statement, &witness.siblings);
                agree(stated, &witness.statement)?;
                self.engine.merge([left, right], witness, &mut watched(NodeKind::Merge))
            }
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.engine.verify(proof)
    }
}
