//! The applications that this program knows by name.

#[cfg(feature = "plonky2")]
mod plonky2;

use std::path::Path;
use std::sync::Arc;

use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, RecursionBackend};
use evergrove_grove::{AppFamily, FamilyError};
use evergrove_proof::policy::GROVE_BACKEND;
use evergrove_proof::{AppId, AppSpec, HeightClass, Profile, Scheme};

use crate::aggregate::Aggregate;
#[cfg(feature = "plonky2")]
use crate::bls::BlsKeys;
use crate::digest_translation::DigestTranslation;
#[cfg(feature = "plonky2")]
use crate::family::{Size, SizeError};
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

/// An application has no circuits in a scheme and profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitsError {
    /// This build, or the application, has no circuits for the profile.
    #[error("{app} has no circuits for profile {profile} (known: {})", known.iter().map(|p| p.name()).collect::<Vec<_>>().join(", "))]
    Profile {
        /// The application.
        app: String,
        /// The profile.
        profile: Profile,
        /// Those that it has circuits for.
        known: Vec<Profile>,
    },
    /// It has none on tables.
    #[error(transparent)]
    Tables(#[from] FamilyError),
    /// It has none of Plonky2.
    #[cfg(feature = "plonky2")]
    #[error(transparent)]
    Plonky2(#[from] SizeError),
}

/// The circuits of an application in one scheme, profile and height class, before they are built.
#[derive(Clone)]
pub enum AppCircuits {
    /// Of Plonky2.
    #[cfg(feature = "plonky2")]
    Plonky2(Size),
    /// On the tables of the backend `grove`.
    Tables(Box<AppFamily>),
}

impl AppCircuits {
    /// Leaves of a bucket, or slots of a block.
    pub fn capacity(&self) -> usize {
        match self {
            #[cfg(feature = "plonky2")]
            Self::Plonky2(size) => size.capacity,
            Self::Tables(family) => family.capacity(),
        }
    }

    /// Those on tables.
    pub fn tables(self) -> Option<Box<AppFamily>> {
        match self {
            #[cfg(feature = "plonky2")]
            Self::Plonky2(_) => None,
            Self::Tables(family) => Some(family),
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
        #[cfg(feature = "plonky2")]
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

    /// The profile of its proofs where none is named: that of `grove`, if it has circuits there.
    pub fn profile(&self) -> Profile {
        match self {
            Self::MapReduce(app) if app.on_tables().is_none() => Profile::Proven,
            _ => Profile::Grove100,
        }
    }

    /// The profiles that it has circuits for in this build.
    fn profiles(&self) -> Vec<Profile> {
        let on_tables = match self {
            Self::MapReduce(app) => app.on_tables().is_some(),
            Self::Translation(_) => true,
        };
        let grove = Profile::GROVE.into_iter().filter(|_| on_tables);
        grove.chain(Profile::PLONKY2.into_iter().filter(|_| cfg!(feature = "plonky2"))).collect()
    }

    /// Its circuits, with their size. Those on tables are searched for in tenths of a second; those of Plonky2 are known from the keys in
    /// `dir`, or searched for (seconds).
    ///
    /// # Errors
    /// When it has no circuits in this scheme and profile.
    pub fn circuits(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<AppCircuits, CircuitsError> {
        let none = || CircuitsError::Profile { app: self.spec().name, profile, known: self.profiles() };
        if !self.profiles().contains(&profile) {
            return Err(none());
        }
        if profile.fits(GROVE_BACKEND.0) {
            let family = match self {
                Self::MapReduce(app) => family_on_tables(app, scheme, profile, class).ok_or_else(none)??,
                Self::Translation(app) if scheme == Scheme::Tree => app.family_on_tables(profile, class)?,
                Self::Translation(_) => Err(FamilyError::Scheme(scheme))?,
            };
            return Ok(AppCircuits::Tables(Box::new(family)));
        }
        #[cfg(feature = "plonky2")]
        return Ok(AppCircuits::Plonky2(self.size(scheme, profile, class, dir)?));
        #[cfg(not(feature = "plonky2"))]
        {
            let _ = dir;
            Err(none())
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
}
