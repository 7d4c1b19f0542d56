//! Applications of a catalog that have circuits of Plonky2.

use std::path::Path;
use std::sync::Arc;

use evergrove_apps::catalog::Application;
use evergrove_apps::digest_translation::{DigestTranslation, Format};
use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, RecursionBackend};
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::{AppId, HeightClass, Profile, Scheme};

use super::circuit_set::{AppBackend, AppKeys, CircuitSetId, Size, SizeError};
use super::digest_translation::{Shape, TranslationBackend, soundness};
use super::{Plonky2Circuits, circuits};
use crate::ProverKind;

/// An application that has circuits of Plonky2.
#[derive(Clone)]
pub enum OnPlonky2 {
    /// A map and a reduction, in the schemes `Selected` and `Complete`.
    MapReduce(Arc<dyn Plonky2Circuits>),
    /// The digest of a Keccak tree over positions and values, in the scheme `Tree`.
    Translation(DigestTranslation),
}

impl OnPlonky2 {
    /// The application, if it has such circuits. All of the standard catalog have them, except digest translation to
    /// OpenZeppelin's tree.
    pub fn new(app: &Application) -> Option<Self> {
        match app {
            Application::MapReduce(app) => circuits(app.as_ref()).map(Self::MapReduce),
            Application::Translation(app) => (*app.format() == Format::Keccak).then(|| Self::Translation(app.clone())),
        }
    }

    /// Name and digest of the parameters.
    pub fn id(&self) -> AppId {
        match self {
            Self::MapReduce(app) => app.id(),
            Self::Translation(app) => app.spec().id(),
        }
    }

    fn circuit_set(&self, scheme: Scheme, profile: Profile, class: HeightClass) -> CircuitSetId {
        CircuitSetId { app: self.id(), scheme, profile, class }
    }

    /// The size of its circuits: from the keys in `dir` if they are there, otherwise by the search of [`Size::of`]
    /// (seconds).
    ///
    /// # Errors
    /// When it has no circuits in this scheme, or the profile is of another backend.
    pub fn size(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<Size, SizeError> {
        match self {
            Self::MapReduce(app) => {
                let kept = dir.and_then(|d| AppKeys::kept(d, &self.circuit_set(scheme, profile, class)));
                kept.map_or_else(|| Size::of(app, scheme, profile, class).map(|found| found.0), |keys| Ok(keys.size))
            }
            Self::Translation(app) if scheme == Scheme::Tree => {
                Ok(Shape::of(profile, class, app.bucket_height())?.size())
            }
            Self::Translation(_) => Err(SizeError::Scheme(scheme)),
        }
    }

    /// Its backend with this prover of circuits, from `dir` if circuits and keys are there, otherwise built (seconds)
    /// and left there. Proofs are reported to `observer`.
    ///
    /// # Errors
    /// When it has no circuits in this scheme, or the profile belongs to another backend.
    pub fn backend(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
        prover: ProverKind,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        match self {
            Self::MapReduce(app) => {
                let backend = AppBackend::load(app.clone(), scheme, profile, class, dir)?;
                Ok(Arc::new(backend.with_prover(prover).with_observer(observer)))
            }
            Self::Translation(app) => {
                check_scheme(scheme)?;
                let backend = TranslationBackend::load(app.clone(), profile, class, dir)?;
                Ok(Arc::new(backend.with_prover(prover).with_observer(observer)))
            }
        }
    }

    /// The keys of its circuits: from `dir` if they are there, otherwise from circuits that are built, and left there.
    ///
    /// # Errors
    /// When it has no circuits in this scheme, or the profile belongs to another backend.
    pub fn keys(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<AppKeys, BackendError> {
        if let Some(keys) = dir.and_then(|d| AppKeys::kept(d, &self.circuit_set(scheme, profile, class))) {
            return Ok(keys);
        }
        match self {
            Self::MapReduce(app) => Ok(AppBackend::load(app.clone(), scheme, profile, class, dir)?.keys()),
            Self::Translation(app) => {
                check_scheme(scheme)?;
                Ok(TranslationBackend::load(app.clone(), profile, class, dir)?.keys())
            }
        }
    }

    /// The bits of its proofs by these keys: the least over layers and error terms, tables included.
    pub fn bits(&self, scheme: Scheme, profile: Profile, keys: &AppKeys) -> SoundnessBits {
        match self {
            Self::MapReduce(_) => keys.bits(scheme, profile),
            Self::Translation(app) => soundness::bits(keys, profile, app),
        }
    }
}

fn check_scheme(scheme: Scheme) -> Result<(), BackendError> {
    match scheme {
        Scheme::Tree => Ok(()),
        other => Err(BackendError::Internal(SizeError::Scheme(other).to_string())),
    }
}
