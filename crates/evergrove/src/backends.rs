//! The proof systems that a program has, wired up.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use evergrove_commit::{BackendError, BackendSpec, NativeBackend, NodeProof, RecursionBackend, Witness};
use evergrove_primitives::Digest;
use evergrove_store::Backends;
use evergrove_verifier::policy::{GROVE_BACKEND, PLONKY2_BACKEND};
use evergrove_verifier::{BackendId, HeightClass, Profile, Scheme};

use crate::Config;

/// A proof system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// Succinct proofs by our own recursive circuits.
    #[default]
    Grove,
    /// Succinct proofs by recursive circuits on Plonky2: the profiles of version 0.1. Needs the feature `plonky2`.
    Plonky2,
    /// No SNARK: the proof holds the rows, and the verifier computes everything again. Proving takes milliseconds. For
    /// tests and teaching.
    Native,
}

impl Backend {
    /// All backends, the default first.
    pub const ALL: [Self; 3] = [Self::Grove, Self::Plonky2, Self::Native];

    /// The name that proofs record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grove => GROVE_BACKEND.0,
            Self::Plonky2 => PLONKY2_BACKEND.0,
            Self::Native => NativeBackend::NAME,
        }
    }

    /// Name and version, as proofs record them.
    pub fn id(self) -> BackendId {
        let version = match self {
            Self::Grove => GROVE_BACKEND.1,
            Self::Plonky2 => PLONKY2_BACKEND.1,
            Self::Native => NativeBackend::VERSION,
        };
        BackendId::new(self.name(), version)
    }

    /// True if proofs are short and their soundness is a number of bits.
    pub const fn is_succinct(self) -> bool {
        match self {
            Self::Grove | Self::Plonky2 => true,
            Self::Native => false,
        }
    }

    /// The profiles of its proofs. New batches have the first one by default. Native accepts the profiles of any SNARK.
    pub const fn profiles(self) -> &'static [Profile] {
        match self {
            Self::Grove => &Profile::GROVE,
            Self::Plonky2 => &Profile::PLONKY2,
            Self::Native => &Profile::ALL,
        }
    }

    /// True if this build has the backend.
    pub(crate) const fn is_built(self) -> bool {
        match self {
            Self::Grove => cfg!(feature = "grove"),
            Self::Plonky2 => cfg!(feature = "plonky2"),
            Self::Native => true,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend {0:?} (known: grove, plonky2, native)")]
pub struct UnknownBackend(pub String);

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|b| b.name() == s).ok_or_else(|| UnknownBackend(s.into()))
    }
}

impl Config {
    /// Every backend without an application in this build, for proving and verifying. Circuits are built, or read from
    /// [`Config::keys`], when a backend is first needed.
    pub fn provers(&self) -> Backends {
        let backends = natives();
        #[cfg(feature = "plonky2")]
        let backends = self.with_plonky2_provers(backends);
        #[cfg(feature = "grove")]
        let backends = self.with_grove_provers(backends);
        backends
    }

    /// The same backends, for verifying with pinned keys. Plonky2's keys are part of this program. Grove's keys are
    /// built (in less than a tenth of a second) when they are first needed, and accepted by their pinned digests.
    pub fn verifiers(&self) -> Backends {
        let backends = natives();
        #[cfg(feature = "plonky2")]
        let backends = crate::on_plonky2::with_verifiers(backends);
        #[cfg(feature = "grove")]
        let backends = crate::grove::with_verifiers(backends);
        backends
    }

    /// The backends that this process needs for its batches: provers, or if workers prove, verifiers of the workers'
    /// proofs.
    pub fn backends(&self) -> Backends {
        #[cfg(feature = "queue")]
        if self.workers.is_some() {
            return self.verifiers();
        }
        self.provers()
    }
}

fn natives() -> Backends {
    let mut backends = Backends::new();
    for (profile, class) in classes_of(&Profile::ALL) {
        backends.add(Arc::new(NativeBackend::new(profile, class)));
        backends.add(Arc::new(NativeBackend::of_paper(profile, class, Scheme::BLOCK_HEIGHT)));
    }
    backends
}

/// These profiles with every height class.
pub(crate) fn classes_of(profiles: &'static [Profile]) -> impl Iterator<Item = (Profile, HeightClass)> {
    profiles.iter().flat_map(|p| HeightClass::ALL.into_iter().map(move |c| (*p, c)))
}

/// A verifier instead of a backend.
pub(crate) struct VerifierOnly {
    spec: BackendSpec,
    keys: Digest,
    verify: Verify,
}

type Verify = Box<dyn Fn(&NodeProof) -> Result<(), BackendError> + Send + Sync>;

impl VerifierOnly {
    /// A backend that only verifies, with `verify`, by keys of this digest.
    #[cfg_attr(
        not(any(feature = "plonky2", feature = "grove")),
        expect(dead_code, reason = "the native backend verifies without keys")
    )]
    pub(crate) fn new(
        spec: BackendSpec,
        keys: Digest,
        verify: impl Fn(&NodeProof) -> Result<(), BackendError> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, keys, verify: Box::new(verify) }
    }
}

impl RecursionBackend for VerifierOnly {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }

    fn key_digest(&self) -> Digest {
        self.keys
    }

    fn prove(&self, _: &Witness, _: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        Err(BackendError::Internal("this backend was loaded for verification only".into()))
    }

    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        (self.verify)(proof)
    }
}
