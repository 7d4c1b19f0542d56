//! Circuits of Plonky2.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, RecursionBackend};
use evergrove_recursion::ProverKind;
use evergrove_verifier::policy::GROVE_BACKEND;
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use super::{AppCircuits, Application};
use crate::digest_translation::{Shape, TranslationBackend, soundness};
use crate::family::{AppBackend, AppKeys, FamilyId, Size, SizeError};

impl Application {
    fn family(&self, scheme: Scheme, profile: Profile, class: HeightClass) -> FamilyId {
        FamilyId { app: self.id(), scheme, profile, class }
    }

    /// The size of its circuits: from the keys in `dir` where they lie there, else by the search of [`Size::of`].
    pub(super) fn size(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<Size, SizeError> {
        match self {
            Self::MapReduce(app) => {
                let kept = dir.and_then(|d| AppKeys::kept(d, &self.family(scheme, profile, class)));
                kept.map_or_else(|| Size::of(app, scheme, profile, class).map(|found| found.0), |keys| Ok(keys.size))
            }
            Self::Translation(app) if scheme == Scheme::Tree => {
                Ok(Shape::of(profile, class, app.bucket_height())?.size())
            }
            Self::Translation(_) => Err(SizeError::Scheme(scheme)),
        }
    }

    /// What proves it: on tables, or with Plonky2 and this prover of circuits, from `dir` where circuits and keys lie there, else built (seconds) and left
    /// there. `observer` is told of proofs.
    ///
    /// # Errors
    /// When it has no circuits in this scheme, or the profile is of another backend.
    pub fn backend(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
        prover: ProverKind,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        if profile.fits(GROVE_BACKEND.0) {
            let circuits = self.circuits(scheme, profile, class, dir);
            if let AppCircuits::Tables(family) = circuits.map_err(|e| BackendError::Internal(e.to_string()))? {
                return self.backend_on_tables(&family, observer);
            }
        }
        self.check_profile(profile).map_err(|e| BackendError::Internal(e.to_string()))?;
        match self {
            Self::MapReduce(app) => {
                let backend = AppBackend::load(app.clone(), scheme, profile, class, dir)?.with_prover(prover);
                Ok(match observer {
                    Some(observer) => Arc::new(backend.with_observer(observer)),
                    None => Arc::new(backend),
                })
            }
            Self::Translation(app) => {
                check_scheme(scheme)?;
                let backend = TranslationBackend::load(app.clone(), profile, class, dir)?.with_prover(prover);
                Ok(match observer {
                    Some(observer) => Arc::new(backend.with_observer(observer)),
                    None => Arc::new(backend),
                })
            }
        }
    }

    /// The keys of its circuits of Plonky2: from `dir` where they lie there, else from circuits that are built, and left there.
    ///
    /// # Errors
    /// When it has no circuits in this scheme, or the profile is of another backend.
    pub fn keys(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<AppKeys, BackendError> {
        self.check_profile(profile).map_err(|e| BackendError::Internal(e.to_string()))?;
        if let Some(keys) = dir.and_then(|d| AppKeys::kept(d, &self.family(scheme, profile, class))) {
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
