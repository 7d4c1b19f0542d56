//! The applications that this program knows by name.

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, RecursionBackend};
use evergrove_grove::AppFamily;
use evergrove_proof::policy::GROVE_BACKEND;
use evergrove_proof::soundness::SoundnessBits;
use evergrove_proof::{AppId, AppSpec, HeightClass, Profile, Scheme};
use evergrove_recursion::ProverKind;

use crate::aggregate::Aggregate;
use crate::bls::BlsKeys;
use crate::digest_translation::{DigestTranslation, Shape, TranslationBackend, soundness};
use crate::family::{AppBackend, AppKeys, FamilyId, Size, SizeError};
use crate::samples::{Sequence, Tally};
use crate::{MapReduce, family_on_tables};

/// No application comes of a name and parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// There is no such kind.
    #[error("unknown application {0:?}")]
    Unknown(String),
    /// The parameters are not of the kind.
    #[error("invalid parameters of application {name:?}: {reason}")]
    Parameters {
        /// The kind.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// The circuits of an application in one scheme, profile and height class, before they are built.
#[derive(Clone)]
pub enum AppCircuits {
    /// Of Plonky2.
    Plonky2(Size),
    /// On the tables of the backend `grove`.
    Tables(Box<AppFamily>),
}

impl AppCircuits {
    /// Leaves of a bucket, or slots of a block.
    pub fn capacity(&self) -> usize {
        match self {
            Self::Plonky2(size) => size.capacity,
            Self::Tables(family) => family.capacity(),
        }
    }
}

/// An application, by the circuits that it has.
#[derive(Clone)]
pub enum Application {
    /// A map and a reduction, in the schemes `Selected` and `Complete`.
    MapReduce(Arc<dyn MapReduce>),
    /// The digest of another tree, in the scheme `Tree`.
    Translation(DigestTranslation),
}

impl From<Arc<dyn MapReduce>> for Application {
    fn from(app: Arc<dyn MapReduce>) -> Self {
        Self::MapReduce(app)
    }
}

impl From<DigestTranslation> for Application {
    fn from(app: DigestTranslation) -> Self {
        Self::Translation(app)
    }
}

/// The application of a kind and canonical parameters: what [`Application::spec`] gave.
///
/// # Errors
/// [`CatalogError`]; also when the parameters are readable but not the canonical ones.
pub fn make(spec: &AppSpec) -> Result<Application, CatalogError> {
    let parameters = |reason: String| CatalogError::Parameters { name: spec.name.clone(), reason };
    let bytes = &spec.parameters[..];
    let app: Arc<dyn MapReduce> = match spec.name.as_str() {
        "tally" => Arc::new(Tally::from_parameters(bytes).map_err(parameters)?),
        "sequence" => Arc::new(Sequence),
        "aggregate" => Arc::new(Aggregate::from_parameters(bytes).map_err(|e| parameters(e.to_string()))?),
        "bls-keys" => Arc::new(BlsKeys::from_parameters(bytes).map_err(|e| parameters(e.to_string()))?),
        DigestTranslation::NAME => {
            let app = DigestTranslation::from_parameters(bytes);
            return app.map(Application::from).ok_or_else(|| parameters("no height of buckets and hash".into()));
        }
        _ => return Err(CatalogError::Unknown(spec.name.clone())),
    };
    if (app.name(), app.parameters()) != (spec.name.as_str(), spec.parameters.clone()) {
        return Err(parameters("they are not in their canonical form".into()));
    }
    Ok(app.into())
}

impl Application {
    /// Name and canonical parameters: what [`make`] makes it of again.
    pub fn spec(&self) -> AppSpec {
        match self {
            Self::MapReduce(app) => AppSpec { name: app.name().into(), parameters: app.parameters() },
            Self::Translation(app) => app.spec(),
        }
    }

    /// Name and digest of the parameters.
    pub fn id(&self) -> AppId {
        self.spec().id()
    }

    /// Elements of an output.
    pub fn output_len(&self) -> usize {
        match self {
            Self::MapReduce(app) => app.output_len(),
            Self::Translation(_) => DigestTranslation::OUTPUT_LEN,
        }
    }

    fn family(&self, scheme: Scheme, profile: Profile, class: HeightClass) -> FamilyId {
        FamilyId { app: self.id(), scheme, profile, class }
    }

    /// The profile of its proofs where none is named: that of `grove`, if it has circuits there.
    pub fn profile(&self) -> Profile {
        match self {
            Self::MapReduce(app) if app.on_tables().is_some() => Profile::Grove100,
            _ => Profile::Proven,
        }
    }

    /// Its circuits, with their size. Those on tables are searched for in tenths of a second; those of Plonky2 are known from the keys in
    /// `dir`, or searched for by [`Size::of`] (seconds).
    ///
    /// # Errors
    /// When it has no circuits in this scheme and profile.
    pub fn circuits(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<AppCircuits, SizeError> {
        match self {
            Self::MapReduce(app) if profile.fits(GROVE_BACKEND.0) => {
                let family = family_on_tables(app, scheme, profile, class);
                let family = family.ok_or_else(|| SizeError::Tables { app: app.name().into(), profile })??;
                Ok(AppCircuits::Tables(Box::new(family)))
            }
            Self::MapReduce(app) => {
                let kept = dir.and_then(|d| AppKeys::kept(d, &self.family(scheme, profile, class)));
                let size = kept.map(|keys| Ok(keys.size));
                let size = size.unwrap_or_else(|| Size::of(app, scheme, profile, class).map(|found| found.0))?;
                Ok(AppCircuits::Plonky2(size))
            }
            Self::Translation(app) if scheme == Scheme::Tree => {
                Ok(AppCircuits::Plonky2(Shape::of(profile, class, app.bucket_height())?.size()))
            }
            Self::Translation(_) => Err(SizeError::Scheme(scheme)),
        }
    }

    /// What proves it by these circuits on tables. `observer` is told of proofs.
    ///
    /// # Errors
    /// When they cannot be built.
    pub fn backend_on_tables(
        &self,
        family: &AppFamily,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        let backend = family.backend(self.spec())?;
        Ok(match observer {
            Some(observer) => Arc::new(backend.with_observer(observer)),
            None => Arc::new(backend),
        })
    }

    /// What proves it, with this prover of circuits: from `dir` where circuits and keys lie there, else built (seconds) and left
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
        match self {
            Self::MapReduce(_) if profile.fits(GROVE_BACKEND.0) => {
                match self.circuits(scheme, profile, class, dir).map_err(|e| BackendError::Internal(e.to_string()))? {
                    AppCircuits::Tables(family) => self.backend_on_tables(&family, observer),
                    AppCircuits::Plonky2(_) => {
                        Err(BackendError::Internal(format!("{profile} has no circuits of Plonky2")))
                    }
                }
            }
            Self::MapReduce(app) => {
                let backend = AppBackend::load(app.clone(), scheme, profile, class, dir)?.with_prover(prover);
                Ok(match observer {
                    Some(observer) => Arc::new(backend.with_observer(observer)),
                    None => Arc::new(backend),
                })
            }
            Self::Translation(app) => {
                check_scheme(scheme)?;
                let backend = TranslationBackend::load(*app, profile, class, dir)?.with_prover(prover);
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
        if let Some(keys) = dir.and_then(|d| AppKeys::kept(d, &self.family(scheme, profile, class))) {
            return Ok(keys);
        }
        match self {
            Self::MapReduce(app) => Ok(AppBackend::load(app.clone(), scheme, profile, class, dir)?.keys()),
            Self::Translation(app) => {
                check_scheme(scheme)?;
                Ok(TranslationBackend::load(*app, profile, class, dir)?.keys())
            }
        }
    }

    /// The bits of its proofs by these keys: the least over layers and error terms, tables included.
    pub fn bits(&self, scheme: Scheme, profile: Profile, keys: &AppKeys) -> SoundnessBits {
        match self {
            Self::MapReduce(_) => keys.bits(scheme, profile),
            Self::Translation(app) => soundness::bits(keys, profile, *app),
        }
    }
}

fn check_scheme(scheme: Scheme) -> Result<(), BackendError> {
    match scheme {
        Scheme::Tree => Ok(()),
        other => Err(BackendError::Internal(SizeError::Scheme(other).to_string())),
    }
}
