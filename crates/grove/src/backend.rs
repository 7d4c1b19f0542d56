//! The backend `grove` and its verifier.

use std::io::{self, Read, Write};
use std::sync::Arc;

use evergrove_commit::watch::{Observer, Step};
use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, NativeBackend, NodeKind, NodeProof, RecursionBackend, Witness,
    check_statement,
};
use evergrove_multilinear::key::{Key, ReadError};
use evergrove_primitives::Digest;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_verifier::argument::soundness::bits;
use evergrove_verifier::argument::{JOHNSON_128, Round, UNIQUE_100};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::tables::Table;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use crate::application::{Application, Output};
use crate::circuit::Size;
use crate::engine::{Circuits, Engine, Judge, Kind, Nodes, Shape, Verify};

/// The backend's name in proofs.
pub const BACKEND_NAME: &str = "grove";
/// The version of the circuits and of the proof encoding, in proofs.
pub const BACKEND_VERSION: u32 = 1;

/// The description of the backend for a profile and height class, without building circuits.
pub fn backend_spec(profile: Profile, class: HeightClass) -> BackendSpec {
    let choice = BackendChoice::new(BACKEND_NAME, profile);
    BackendSpec { choice, version: BACKEND_VERSION, class, capacity: profile.bucket_capacity(class), wraps: false }
}

/// Proves with the multilinear engine, for one profile and height class. Each proof uses all threads of the current
/// rayon pool, so prove one at a time.
pub struct GroveBackend {
    spec: BackendSpec,
    /// The constraints of the circuits as code.
    rules: NativeBackend,
    engine: Box<dyn Nodes>,
    observer: Option<Arc<dyn Observer>>,
}

/// Verifies the proofs of a profile and height class, or of an application.
pub struct GroveVerifier(Box<dyn Verify>);

/// Circuits over the field of a profile.
pub(crate) enum Built {
    Unique(Circuits<Quadratic>),
    Johnson(Circuits<Cubic>),
}

/// The size of a profile's circuits; `None` for a profile of another backend.
pub fn shape(profile: Profile, class: HeightClass) -> Option<Shape> {
    let (blocks, variables) = match (profile, class) {
        (Profile::Grove100, HeightClass::H27) => ([27, 30, 29, 3, 2, 1, 7], 22),
        (Profile::Grove100, HeightClass::H40) => ([27, 30, 29, 3, 1, 1, 5], 22),
        (Profile::Grove128, HeightClass::H27) => ([18, 27, 23, 1, 1, 1, 5], 21),
        (Profile::Grove128, HeightClass::H40) => ([18, 27, 23, 1, 1, 1, 3], 21),
        (Profile::Proven | Profile::Johnson | Profile::Paper, _) => return None,
    };
    Some(Shape { blocks: Table::blocks(blocks), variables })
}

/// The error for a profile of another backend.
pub(crate) fn foreign(profile: Profile) -> BackendError {
    BackendError::Internal(format!("profile {profile} does not belong to the backend {BACKEND_NAME}"))
}

impl Built {
    /// The circuits of batches, checked against the pinned key.
    fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let size = Size { height_max: class.height_max(), capacity: profile.bucket_capacity(class) };
        let shape = shape(profile, class).ok_or_else(|| foreign(profile))?;
        let built = Self::of(profile, Kind::of_batches(size), shape)?;
        let (digest, pinned) = (built.digest(), evergrove_verifier::keys::pinned_grove(profile, class));
        if Some(digest) != pinned {
            let found = digest.0.map(|x| format!("{:#x}", x.as_u64())).join(", ");
            let what = format!("the {profile} circuits of height {} differ from the pinned key", class.height_max());
            return Err(BackendError::Internal(format!("{what}: they have [{found}]")));
        }
        Ok(built)
    }
    /// The circuits of a kind and shape, without a check against a pinned key.
    pub(crate) fn of(profile: Profile, kind: Kind, shape: Shape) -> Result<Self, BackendError> {
        match profile {
            Profile::Grove100 => Ok(Self::Unique(Circuits::new(&UNIQUE_100, kind, shape))),
            Profile::Grove128 => Ok(Self::Johnson(Circuits::new(&JOHNSON_128, kind, shape))),
            Profile::Proven | Profile::Johnson | Profile::Paper => Err(foreign(profile)),
        }
    }
    pub(crate) fn prover(self) -> Box<dyn Nodes> {
        match self {
            Self::Unique(circuits) => Box::new(Engine::new(circuits)),
            Self::Johnson(circuits) => Box::new(Engine::new(circuits)),
        }
    }
    pub(crate) fn verifier(self) -> Box<dyn Verify> {
        match self {
            Self::Unique(circuits) => Box::new(circuits.into_judge()),
            Self::Johnson(circuits) => Box::new(circuits.into_judge()),
        }
    }
    fn digest(&self) -> Digest {
        match self {
            Self::Unique(circuits) => circuits.judge().digest(),
            Self::Johnson(circuits) => circuits.judge().digest(),
        }
    }
}

impl GroveBackend {
    /// Builds the circuits, in less than a tenth of a second.
    ///
    /// # Errors
    /// If the profile belongs to another backend, or the digest of the built key differs from the pinned one.
    pub fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        let engine = Built::new(profile, class)?.prover();
        Ok(Self::with(backend_spec(profile, class), NativeBackend::new(profile, class), engine))
    }
    /// The backend of an application; `rules` are the native rules of its scheme.
    pub(crate) fn with(spec: BackendSpec, rules: NativeBackend, engine: Box<dyn Nodes>) -> Self {
        Self { spec, rules, engine, observer: None }
    }

    /// Reports proofs to `observer`, if there is one, under the names of their circuits, `bucket` and `merge`. Reported
    /// rows are rows of permutations.
    #[must_use]
    pub fn with_observer(self, observer: Option<&Arc<dyn Observer>>) -> Self {
        Self { observer: observer.cloned(), ..self }
    }
}

impl GroveVerifier {
    /// Builds the key.
    ///
    /// # Errors
    /// The errors of [`GroveBackend::new`].
    pub fn new(profile: Profile, class: HeightClass) -> Result<Self, BackendError> {
        Ok(Self(Built::new(profile, class)?.verifier()))
    }
    pub(crate) fn with(verifier: Box<dyn Verify>) -> Self {
        Self(verifier)
    }
    /// Reads the key of an application's circuits instead of building them; without an application, the key of digest
    /// translation. Returns the verifier and the bits of soundness of its proofs.
    ///
    /// `expected` must be trusted. It is the result of `name` for the key's digest, and also binds what the key is for.
    /// **The key decides which circuits are accepted**: a proof binds the inputs of its application, but none of its
    /// other parameters. With the key of another application, the verifier accepts the proofs of that application,
    /// whatever name they carry.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn read(
        app: Option<&dyn Application>,
        profile: Profile,
        from: &mut dyn Read,
        name: &dyn Fn(Digest) -> Digest,
        expected: Digest,
    ) -> Result<(Self, SoundnessBits), KeyError> {
        let output = app.map_or(Output::TRANSLATION, Output::new);
        match profile {
            Profile::Grove100 => read::<Quadratic>(&UNIQUE_100, output, profile, (from, name), expected),
            Profile::Grove128 => read::<Cubic>(&JOHNSON_128, output, profile, (from, name), expected),
            Profile::Proven | Profile::Johnson | Profile::Paper => Err(KeyError::Foreign(profile)),
        }
    }
    /// Writes the key for [`Self::read`], about 20 MB.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_key(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.write_key(out)
    }
    /// The digest of the key.
    pub fn key_digest(&self) -> Digest {
        self.0.digest()
    }
    /// Accepts exactly the proofs of `proof.statement` by the circuit of `proof.kind`. Never panics, whatever the bytes
    /// are.
    ///
    /// # Errors
    /// [`BackendError::Rejected`].
    pub fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.0.verify(proof)
    }
}

/// Reasons why a key file is refused.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The profile belongs to another backend.
    #[error("profile {0} does not belong to the backend {BACKEND_NAME}")]
    Foreign(Profile),
    /// The file cannot be read, or the key has another digest.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The key's proofs are opened with the parameters of another profile.
    #[error("the key is not one of the profile {0}")]
    Profile(Profile),
}

fn read<K: Extension>(
    rounds: &[Round],
    output: Output,
    profile: Profile,
    (mut from, name): (&mut dyn Read, &dyn Fn(Digest) -> Digest),
    expected: Digest,
) -> Result<(GroveVerifier, SoundnessBits), KeyError> {
    let key = Key::<K>::read(&mut from, name, expected)?;
    if key.parameters().schedule().rounds != rounds {
        return Err(KeyError::Profile(profile));
    }
    let bits = bits(key.parameters());
    Ok((GroveVerifier(Box::new(Judge::new(key, Some(output)))), bits))
}

impl RecursionBackend for GroveBackend {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }
    fn key_digest(&self) -> Digest {
        self.engine.judge().digest()
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
                let stated = match self.spec.choice.scheme {
                    Scheme::Complete | Scheme::Tree => {
                        self.rules.filled_statement(witness.statement.height, &witness.leaves)
                    }
                    _ => self.rules.bucket_statement(&witness.leaves),
                };
                check_statement(stated, &witness.statement)?;
                self.engine.bucket(witness, &mut watched(NodeKind::Bucket))
            }
            (Witness::Level(witness), _) if self.spec.choice.scheme == Scheme::Tree => {
                let children = witness.children(children)?;
                let stated = self.rules.level_statement(children.map(|child| child.map(|c| &c.statement)), witness);
                check_statement(stated, &witness.statement)?;
                self.engine.level(children, witness, &mut watched(NodeKind::Merge))
            }
            (Witness::Merge(witness), &[left, right]) => {
                let stated = self.rules.merge_statement(&left.statement, &right.statement, &witness.siblings);
                check_statement(stated, &witness.statement)?;
                self.engine.merge([left, right], witness, &mut watched(NodeKind::Merge))
            }
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.engine.judge().verify(proof)
    }
}
