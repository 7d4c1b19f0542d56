//! The applications that a program knows by name.
//!
//! A [`Catalog`] builds an application from its name and parameters, as a store keeps them. Programs add [`Kind`]s of
//! their own to the [standard](Catalog::standard) ones, and pass the catalog to everything that opens stores.

mod standard;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use evergrove_commit::schema::Schema;
use evergrove_commit::watch::Observer;
use evergrove_commit::{BackendError, RecursionBackend};
use evergrove_grove::{AppCircuitSet, CircuitSetError};
use evergrove_verifier::{AppId, AppSpec, HeightClass, Profile, Scheme};

use crate::digest_translation::DigestTranslation;
use crate::{MapReduce, circuits_on_tables};

/// The name of digest translation, which is not a Map/Reduce application.
const TRANSLATION: &str = DigestTranslation::NAME;

/// A kind of Map/Reduce applications, with one application for each value of the parameters.
///
/// ```
/// use std::sync::Arc;
///
/// use evergrove_apps::MapReduce;
/// use evergrove_apps::catalog::{Catalog, CatalogError, Kind, KindError};
/// use evergrove_apps::samples::Tally;
/// # use evergrove_commit::schema::Schema;
///
/// struct Tallies;
///
/// impl Kind for Tallies {
///     fn name(&self) -> &str {
///         "tally" // what the application's `name` gives
///     }
///     fn help(&self) -> &str {
///         "rows and the sum of their first elements; parameters: bits of an element"
///     }
///     fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
///         Ok(Arc::new(Tally::from_parameters(parameters)?))
///     }
///     fn parse(&self, text: &str, _: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
///         let bits: u8 = text.parse().map_err(|_| "not a number of bits")?;
///         self.make(&[bits])
///     }
/// }
///
/// let taken = Catalog::standard().with(Tallies).unwrap_err();
/// assert_eq!(taken, CatalogError::Taken("tally".into()));
/// ```
pub trait Kind: Send + Sync {
    /// The name of its applications: 1 to 32 characters of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;
    /// One line for people: the meaning of an output, and the form of the parameters.
    fn help(&self) -> &str;
    /// Builds the application with these parameters, as [`MapReduce::parameters`] encodes them. The bytes are
    /// untrusted: they come from stores and leaders.
    ///
    /// # Errors
    /// The reason why the parameters are invalid.
    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError>;
    /// Builds the application with parameters that a person wrote, for a table of this schema.
    ///
    /// # Errors
    /// The reason why the text is invalid, and what to write.
    fn parse(&self, text: &str, schema: &Schema) -> Result<Arc<dyn MapReduce>, KindError>;
}

/// The reason why a [`Kind`] refuses parameters: any error, or a text. [`CatalogError`] prints it.
pub type KindError = Box<dyn Error + Send + Sync>;

/// The kinds of applications that a program knows. Clones share the kinds.
#[derive(Clone)]
pub struct Catalog {
    kinds: Arc<[Arc<dyn Kind>]>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::standard()
    }
}

impl Catalog {
    /// The kinds of this crate.
    pub fn standard() -> Self {
        Self { kinds: standard::kinds().into() }
    }

    /// Adds a kind to the catalog.
    ///
    /// # Errors
    /// [`CatalogError::Name`] and [`CatalogError::Taken`].
    pub fn with(self, kind: impl Kind + 'static) -> Result<Self, CatalogError> {
        let name = kind.name().to_owned();
        if !is_name(&name) {
            return Err(CatalogError::Name(name));
        }
        if name == TRANSLATION || self.kind(&name).is_some() {
            return Err(CatalogError::Taken(name));
        }
        let kind: Arc<dyn Kind> = Arc::new(kind);
        Ok(Self { kinds: self.kinds.iter().cloned().chain([kind]).collect() })
    }

    /// All kinds of Map/Reduce applications.
    pub fn kinds(&self) -> impl Iterator<Item = &dyn Kind> {
        self.kinds.iter().map(AsRef::as_ref)
    }

    /// Builds the application with this name and these canonical parameters, as [`Application::spec`] returns them.
    ///
    /// # Errors
    /// [`CatalogError::Unknown`]; [`CatalogError::Parameters`], also if the parameters can be read but are not
    /// canonical.
    pub fn make(&self, spec: &AppSpec) -> Result<Application, CatalogError> {
        let invalid = |reason: String| CatalogError::Parameters { name: spec.name.clone(), reason };
        if spec.name == DigestTranslation::NAME {
            let app = DigestTranslation::from_parameters(&spec.parameters);
            return app.map(Application::from).ok_or_else(|| invalid("no height of buckets and format".into()));
        }
        let app = self.known(&spec.name)?.make(&spec.parameters).map_err(|e| invalid(e.to_string()))?;
        if (app.name(), app.parameters()) != (spec.name.as_str(), spec.parameters.clone()) {
            return Err(invalid("they are not in their canonical form".into()));
        }
        Ok(app.into())
    }

    /// Builds the application with parameters that a person wrote, for a table of this schema. The result is built from
    /// its canonical parameters, as in every other program.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn parse(&self, name: &str, text: &str, schema: &Schema) -> Result<Arc<dyn MapReduce>, CatalogError> {
        let app = self.known(name)?.parse(text, schema).map_err(|e| CatalogError::Text {
            name: name.into(),
            text: text.into(),
            reason: e.to_string(),
        })?;
        match self.make(&AppSpec { name: name.into(), parameters: app.parameters() })? {
            Application::MapReduce(app) => Ok(app),
            Application::Translation(_) => Err(self.unknown(name)),
        }
    }

    fn kind(&self, name: &str) -> Option<&dyn Kind> {
        self.kinds().find(|kind| kind.name() == name)
    }

    fn known(&self, name: &str) -> Result<&dyn Kind, CatalogError> {
        self.kind(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> CatalogError {
        CatalogError::Unknown { name: name.into(), known: self.kinds().map(|kind| kind.name().to_owned()).collect() }
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kinds().map(Kind::name)).finish()
    }
}

/// True if a text may be the name of an application.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_');
    (1..=32).contains(&name.len()) && name.bytes().all(plain)
}

/// Reasons why a catalog does not build an application, or refuses a kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The catalog has no such kind.
    #[error("unknown application {name:?} (known: {})", known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// The names in the catalog.
        known: Vec<String>,
    },
    /// Stored parameters are invalid for the kind.
    #[error("invalid parameters of application {name:?}: {reason}")]
    Parameters {
        /// The name of the kind.
        name: String,
        /// The reason.
        reason: String,
    },
    /// Parameters that a person wrote are invalid for the kind.
    #[error("invalid parameters {text:?} of application {name:?}: {reason}")]
    Text {
        /// The name of the kind.
        name: String,
        /// The parameters.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The catalog already has a kind with this name.
    #[error("the catalog has an application {0:?}")]
    Taken(String),
    /// The name of the kind is invalid.
    #[error("invalid name of an application: {0:?} is not 1 to 32 of a-z, 0-9, - and _")]
    Name(String),
}

/// Reasons why an application has no circuits in a scheme and profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitsError {
    /// This build, or the application, has no circuits for the profile.
    #[error("{app} has no circuits for profile {profile} (known: {})", known.iter().map(|p| p.name()).collect::<Vec<_>>().join(", "))]
    Profile {
        /// The application.
        app: String,
        /// The profile.
        profile: Profile,
        /// The profiles that it has circuits for.
        known: Vec<Profile>,
    },
    /// It has no circuits on tables in this scheme.
    #[error(transparent)]
    Tables(#[from] CircuitSetError),
}

/// An application, grouped by its form of circuits.
#[derive(Clone)]
pub enum Application {
    /// A map and a reduction, for the schemes `Selected` and `Complete`.
    MapReduce(Arc<dyn MapReduce>),
    /// The digest of another tree, for the scheme `Tree`.
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

impl Application {
    /// Name and canonical parameters, from which [`Catalog::make`] builds the application again.
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

    /// See [`MapReduce::shape`].
    pub fn shape(&self) -> Vec<u8> {
        match self {
            Self::MapReduce(app) => app.shape(),
            Self::Translation(app) => app.spec().parameters,
        }
    }

    /// Elements per output.
    pub fn output_len(&self) -> usize {
        match self {
            Self::MapReduce(app) => app.output_len(),
            Self::Translation(_) => DigestTranslation::OUTPUT_LEN,
        }
    }

    /// The profiles for which it has circuits on tables.
    pub fn profiles(&self) -> Vec<Profile> {
        let on_tables = match self {
            Self::MapReduce(app) => app.on_tables().is_some(),
            Self::Translation(_) => true,
        };
        Profile::GROVE.into_iter().filter(|_| on_tables).collect()
    }

    /// Checks that a profile is in `known`, the profiles of a program's circuits: [`Self::profiles`], and those of
    /// other proof systems.
    ///
    /// # Errors
    /// [`CircuitsError::Profile`].
    pub fn check_profile(&self, profile: Profile, known: Vec<Profile>) -> Result<(), CircuitsError> {
        if known.contains(&profile) {
            return Ok(());
        }
        let app = match self {
            Self::MapReduce(_) => self.spec().name,
            Self::Translation(app) => format!("{} to {}", DigestTranslation::NAME, app.format()),
        };
        Err(CircuitsError::Profile { app, profile, known })
    }

    /// Its circuits on tables. Finding their size takes tenths of a second.
    ///
    /// # Errors
    /// If it has no such circuits in this scheme and profile.
    pub fn circuits(
        &self,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<AppCircuitSet, CircuitsError> {
        self.check_profile(profile, self.profiles())?;
        let circuit_set = match self {
            Self::MapReduce(app) => circuits_on_tables(app, scheme, profile, class).transpose()?,
            Self::Translation(app) if scheme == Scheme::Tree => Some(app.circuits_on_tables(profile, class)?),
            Self::Translation(_) => return Err(CircuitSetError::Scheme(scheme).into()),
        };
        circuit_set.ok_or_else(|| CircuitsError::Profile { app: self.spec().name, profile, known: self.profiles() })
    }

    /// The backend that proves with these circuits on tables. Reports proofs to `observer`.
    ///
    /// # Errors
    /// If the circuits cannot be built.
    pub fn backend_on_tables(
        &self,
        circuit_set: &AppCircuitSet,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        Ok(Arc::new(circuit_set.backend(self.spec())?.with_observer(observer)))
    }
}
