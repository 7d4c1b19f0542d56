//! The policy of a verifier.

use core::fmt;

use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Digest;

use crate::{AppId, BackendId, BatchProof, Commitment, HeightClass, NodeKind, Profile, SCHEME, Scheme};

/// Our own SNARK: name and version. New batches are proven with it.
pub const GROVE_BACKEND: (&str, u32) = ("grove", 1);
/// The SNARK on Plonky2: name and version.
pub const PLONKY2_BACKEND: (&str, u32) = ("plonky2", 1);

/// What a verifier accepts: schemes, backends, profiles and applications. The verifier chooses them. A proof cannot
/// change them, so a prover cannot downgrade a verifier.
///
/// The default accepts the scheme `evergrove1`, proofs of 100 bits by unique decoding (the backend `grove` in the profile
/// `grove-100`, and the backend `plonky2` in the profile `proven`), and no application. Everything else is allowed by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    schemes: Vec<String>,
    backends: Vec<BackendId>,
    profiles: Vec<Profile>,
    apps: Vec<(AppId, Scheme)>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            schemes: vec![SCHEME.into()],
            backends: [GROVE_BACKEND, PLONKY2_BACKEND].map(|(name, version)| BackendId::new(name, version)).into(),
            profiles: vec![Profile::Grove100, Profile::Proven],
            apps: Vec::new(),
        }
    }
}

/// A proof does not match the verifier's request. These errors do not say that the proof is false: it was not examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// The proof is for another scheme.
    Scheme {
        /// Named in the proof.
        found: String,
        /// The accepted schemes.
        accepted: String,
    },
    /// The proof was made by a backend that is not accepted.
    Backend {
        /// Named in the proof.
        found: BackendId,
        /// The accepted backends.
        accepted: String,
    },
    /// The proof has a profile that is not accepted.
    Profile {
        /// Named in the proof.
        found: Profile,
        /// The accepted profiles.
        accepted: String,
        /// The bits of the profile by unique decoding, rounded down.
        bits: u32,
    },
    /// The profile belongs to another backend.
    Foreign {
        /// Named in the proof.
        backend: BackendId,
        /// Named in the proof.
        profile: Profile,
    },
    /// The proof has an application's output although its scheme states none, or lacks one although its scheme states
    /// one.
    Output {
        /// Named in the proof.
        scheme: String,
    },
    /// The proof states the output of an application that is not accepted in its scheme.
    App {
        /// Named in the proof.
        found: AppId,
        /// The accepted applications.
        accepted: String,
    },
    /// A proof about all leaves names a set of leaves.
    Canonical(Digest),
    /// The proof is about a vector or subtree of another height.
    Height {
        /// Height in the commitment.
        expected: u8,
        /// Height in the proof.
        found: u8,
    },
    /// The circuits of the proof are not those for the commitment's height.
    Class {
        /// Height in the commitment.
        height: u8,
        /// The class of that height.
        expected: HeightClass,
        /// The class named in the proof.
        found: HeightClass,
    },
    /// There is no class for the commitment's height.
    NoSuchHeight(u8),
    /// The proof is about a subtree that does not begin at position 0.
    Base(u64),
    /// The proof is about another vector, or about an earlier or later state of this one.
    Root {
        /// Root in the commitment.
        expected: Digest,
        /// Root in the proof.
        found: Digest,
    },
    /// The canonical digest is that of no leaves.
    Empty,
    /// The profile publishes proofs of another circuit.
    Kind {
        /// The profile.
        profile: Profile,
        /// The expected circuit.
        expected: &'static str,
        /// The circuit of the proof.
        found: NodeKind,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { found, accepted } => write!(f, "scheme {found} is not accepted (accepted: {accepted})"),
            Self::Backend { found, accepted } => {
                write!(f, "proofs of backend {found} are not accepted (accepted: {accepted})")
            }
            Self::Profile { found, accepted, bits } => {
                write!(f, "profile {found} with {bits} proven bits is not accepted (accepted: {accepted})")
            }
            Self::Foreign { backend, profile } => write!(f, "backend {} has no profile {profile}", backend.name),
            Self::Output { scheme } => {
                write!(f, "the proof has an application's output that does not match its scheme {scheme}")
            }
            Self::App { found, accepted } => write!(f, "application {found} is not accepted (accepted: {accepted})"),
            Self::Canonical(x) => write!(f, "a proof over all rows has no canonical digest, but this one claims {x}"),
            Self::Height { expected, found } => {
                write!(f, "the proof is about a tree of height {found}, expected height {expected}")
            }
            Self::Class { height, expected, found } => write!(
                f,
                "the proof has circuits for heights up to {}, but height {height} needs those up to {}",
                found.height_max(),
                expected.height_max()
            ),
            Self::NoSuchHeight(x) => write!(f, "invalid height {x}"),
            Self::Base(x) => write!(f, "the proof is about the subtree at position {x}, not about the whole vector"),
            Self::Root { expected, found } => write!(
                f,
                "the proof is about root {found}, expected {expected}: the proof is stale or about another table"
            ),
            Self::Empty => f.write_str("the proof claims the canonical digest of an empty batch"),
            Self::Kind { profile, expected, found } => {
                write!(f, "expected a {expected} proof for profile {profile}, got a {found} proof")
            }
        }
    }
}

impl core::error::Error for PolicyError {}

impl Policy {
    /// Also accepts proofs of this profile.
    #[must_use]
    pub fn allow_profile(mut self, profile: Profile) -> Self {
        if !self.profiles.contains(&profile) {
            self.profiles.push(profile);
        }
        self
    }

    /// Also accepts proofs of this backend.
    #[must_use]
    pub fn allow_backend(mut self, backend: BackendId) -> Self {
        if !self.backends.contains(&backend) {
            self.backends.push(backend);
        }
        self
    }

    /// Also accepts proofs for this scheme.
    #[must_use]
    pub fn allow_scheme(mut self, scheme: impl Into<String>) -> Self {
        let scheme = scheme.into();
        if !self.schemes.contains(&scheme) {
            self.schemes.push(scheme);
        }
        self
    }

    /// Also accepts outputs of this application in this scheme: over the leaves of a batch or over all leaves.
    #[must_use]
    pub fn allow_app(mut self, app: AppId, scheme: Scheme) -> Self {
        let allowed = (app, scheme);
        if !self.apps.contains(&allowed) {
            self.apps.push(allowed);
        }
        self.allow_scheme(scheme.name())
    }

    /// The accepted applications, each only in the scheme beside it.
    pub fn apps(&self) -> &[(AppId, Scheme)] {
        &self.apps
    }

    /// The accepted profiles.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The accepted backends.
    pub fn backends(&self) -> &[BackendId] {
        &self.backends
    }

    /// The accepted schemes.
    pub fn schemes(&self) -> &[String] {
        &self.schemes
    }

    /// Accepts if the proof is of an accepted scheme, backend and profile, comes from the circuit whose proofs the
    /// profile publishes, and is about the whole vector of `commitment`. The backend must still verify the body,
    /// against `proof.statement`.
    ///
    /// # Errors
    /// [`PolicyError`]: the first condition that does not hold.
    pub fn check(&self, proof: &BatchProof, commitment: &Commitment) -> Result<(), PolicyError> {
        if !self.schemes.contains(&proof.scheme) {
            return Err(PolicyError::Scheme { found: proof.scheme.clone(), accepted: self.schemes.join(", ") });
        }
        if !self.backends.contains(&proof.backend) {
            return Err(PolicyError::Backend { found: proof.backend.clone(), accepted: list(&self.backends) });
        }
        let class = HeightClass::of(commitment.height).ok_or(PolicyError::NoSuchHeight(commitment.height))?;
        let profile = proof.profile;
        if !self.profiles.contains(&profile) {
            let bits = crate::soundness::bits(profile, class).unique_decoding as u32;
            return Err(PolicyError::Profile { found: profile, accepted: list(&self.profiles), bits });
        }
        if !profile.fits(&proof.backend.name) {
            return Err(PolicyError::Foreign { backend: proof.backend.clone(), profile });
        }
        let found = proof.app.as_ref().map(|a| &a.app);
        let scheme = Scheme::ALL.into_iter().find(|s| s.name() == proof.scheme);
        let states_output = scheme.is_some_and(Scheme::has_app);
        if found.is_some() != states_output {
            return Err(PolicyError::Output { scheme: proof.scheme.clone() });
        }
        if let Some(found) = found
            && !self.apps.iter().any(|(app, scheme)| app == found && scheme.name() == proof.scheme)
        {
            let allowed = self.apps.iter().map(|(app, scheme)| format!("{app} in {scheme}")).collect::<Vec<_>>();
            let accepted = if allowed.is_empty() { "none".into() } else { allowed.join(", ") };
            return Err(PolicyError::App { found: found.clone(), accepted });
        }
        let statement = &proof.statement;
        let complete = scheme.is_some_and(Scheme::is_complete);
        // The slots that a vector gains by growing are empty, and do not change the result over all leaves.
        let about = if complete { commitment.grown(statement.height) } else { *commitment };
        if statement.height != about.height {
            return Err(PolicyError::Height { expected: about.height, found: statement.height });
        }
        if proof.class != class {
            return Err(PolicyError::Class { height: commitment.height, expected: class, found: proof.class });
        }
        if statement.base != 0 {
            return Err(PolicyError::Base(statement.base));
        }
        if statement.root != about.root {
            return Err(PolicyError::Root { expected: about.root, found: statement.root });
        }
        match statement.canonical {
            Digest::ZERO if !complete => return Err(PolicyError::Empty),
            named if complete && named != Digest::ZERO => return Err(PolicyError::Canonical(named)),
            _ => {}
        }
        let wrapped = profile.wrap().is_some();
        if wrapped != (proof.kind == NodeKind::Wrap) {
            let expected = if wrapped { "wrap" } else { "bucket or merge" };
            return Err(PolicyError::Kind { profile, expected, found: proof.kind });
        }
        Ok(())
    }
}

fn list<T: core::fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
