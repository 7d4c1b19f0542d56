//! Settings of proving and verifying.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "apps")]
use evergrove_apps::catalog::Catalog;
use evergrove_commit::BackendChoice;
use evergrove_commit::watch::Observer;
#[cfg(feature = "queue")]
use evergrove_jobs::{bullmq, objects::Objects};
#[cfg(feature = "plonky2")]
use evergrove_plonky2::ProverKind;
use evergrove_verifier::Profile;

use crate::{Backend, Error, Machine};

/// Settings of proving and verifying. The default is the production backend and profile, on all cores, with half of the
/// free memory, without a directory of keys.
///
/// ```
/// use evergrove::prelude::*;
///
/// let config = Config { threads: Some(2), max_memory: Some(4 << 30), ..Config::from_env() };
/// # drop(config);
/// ```
///
/// The default backend is [`Backend::Grove`] with [`Profile::Grove100`], also in a build without the feature `grove`, which
/// cannot prove with it. Choose another by name, with one of its profiles: `Config { backend: Backend::Native,
/// ..Config::default() }`, `Config { backend: Backend::Plonky2, profile: Profile::Proven, ..Config::default() }`.
#[derive(Clone, Default)]
pub struct Config {
    /// The proof system of new batches.
    pub backend: Backend,
    /// The security profile of new batches: one of [`Backend::profiles`].
    pub profile: Profile,
    /// Directory in which circuits and keys are kept between runs. It is trusted like the program itself. Without a
    /// directory they are built in every run (seconds).
    pub keys: Option<PathBuf>,
    /// Threads to use; all cores if `None`.
    pub threads: Option<usize>,
    /// Bytes of memory that proofs of this process may take, by the estimates of [`Config::costs`]. Fewer proofs are
    /// made at a time, and [`Error::Memory`] is returned before proving if one proof takes more. If `None`, half of the
    /// free memory, and always enough for one proof.
    pub max_memory: Option<u64>,
    /// The proving speed of this machine, for estimates: see [`Config::measured`].
    pub machine: Option<Machine>,
    /// The implementation that proves Plonky2's circuits. The proofs verify with the same keys.
    #[cfg(feature = "plonky2")]
    pub prover: ProverKind,
    /// The applications whose outputs batches of a store may state: the [standard](Catalog::standard) ones, and those
    /// that a program adds.
    #[cfg(feature = "apps")]
    pub catalog: Catalog,
    /// Is notified of every proof and its steps.
    pub observer: Option<Arc<dyn Observer>>,
    /// Workers that make the proofs instead of this process.
    #[cfg(feature = "queue")]
    pub workers: Option<Workers>,
    /// Secrets and settings of services, for callers that connect to them.
    pub environment: Environment,
}

/// How workers are reached.
#[cfg(feature = "queue")]
#[derive(Clone, Debug)]
pub struct Workers {
    /// The queue that leader and workers share.
    pub queue: bullmq::Config,
    /// The place of payloads and proofs.
    pub objects: Objects,
}

/// Secrets and settings of services. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Environment {
    /// `EVERGROVE_REDIS_PASSWORD`: the password of the Redis server of a queue.
    pub redis_password: Option<String>,
    /// `EVERGROVE_REDIS_CA`: a file of certificates that vouch for a Redis server.
    pub redis_ca: Option<PathBuf>,
    /// `EVERGROVE_SERVE_TOKEN`: the token that callers of the service must present.
    pub serve_token: Option<String>,
    /// Every variable that is UTF-8 text, including credentials and settings of object stores.
    pub variables: Vec<(String, String)>,
}

impl Config {
    /// The default with the settings of the environment: keys in `EVERGROVE_KEYS`, otherwise in `evergrove/keys` of the
    /// user's cache directory, and the variables of [`Environment`]. No other function of this crate reads the
    /// environment.
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        // A user without a usable cache directory builds circuits in every run.
        let usual = || Some(cache()?.join("evergrove").join("keys")).filter(|dir| file_above(dir).is_none());
        let text = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let pair = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let environment = Environment {
            redis_password: text("EVERGROVE_REDIS_PASSWORD"),
            redis_ca: variable("EVERGROVE_REDIS_CA"),
            serve_token: std::env::var("EVERGROVE_SERVE_TOKEN").ok(),
            variables: std::env::vars_os().filter_map(pair).collect(),
        };
        Self { keys: variable("EVERGROVE_KEYS").or_else(usual), environment, ..Self::default() }
    }

    /// Checks that the backend has the profile, and that [`Self::keys`] is a directory or can be created. If keys
    /// cannot be kept, every run builds them again without a message.
    ///
    /// # Errors
    /// [`Error::ForeignProfile`]; [`Error::KeysDirectory`] when there is a file instead of the directory or of one
    /// above.
    pub fn check(&self) -> Result<(), Error> {
        if !self.profile.fits(self.backend.name()) {
            return Err(Error::ForeignProfile { backend: self.backend, profile: self.profile });
        }
        let taken = self.keys.as_deref().and_then(|dir| Some((dir, file_above(dir)?)));
        taken.map_or(Ok(()), |(dir, file)| Err(Error::KeysDirectory { dir: dir.into(), file }))
    }

    /// The backend of new batches.
    pub fn choice(&self) -> BackendChoice {
        BackendChoice::new(self.backend.name(), self.profile)
    }

    /// The choice `known` with another backend or profile, if one is named. If only the backend is named and does not
    /// have the known profile, the first of its own profiles is used. If only the profile is named and the known
    /// backend does not have it, the backend that has it is used; an application keeps its backend.
    ///
    /// # Errors
    /// [`Error::ForeignProfile`] when the backend does not have the named profile.
    pub fn choose(
        known: BackendChoice,
        backend: Option<&str>,
        profile: Option<Profile>,
    ) -> Result<BackendChoice, Error> {
        let of_profile = profile.filter(|p| !p.fits(&known.name)).map(Profile::backend);
        let name = match (backend, of_profile) {
            (Some(name), _) => name.to_owned(),
            (None, Some(name)) if known.app.is_none() => name.to_owned(),
            (None, _) => known.name,
        };
        let first = || name.parse().map_or(known.profile, |backend: Backend| backend.profiles()[0]);
        let profile = profile.unwrap_or_else(|| if known.profile.fits(&name) { known.profile } else { first() });
        match name.parse() {
            Ok(backend) if !profile.fits(&name) => Err(Error::ForeignProfile { backend, profile }),
            _ => Ok(BackendChoice { name, profile, ..known }),
        }
    }
}

/// The file that exists instead of a directory, at its path or above it.
fn file_above(dir: &Path) -> Option<PathBuf> {
    let there = dir.ancestors().find(|path| path.exists())?;
    (!there.is_dir()).then(|| there.into())
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Config");
        out.field("backend", &self.backend).field("profile", &self.profile).field("keys", &self.keys);
        out.field("threads", &self.threads).field("max_memory", &self.max_memory).finish_non_exhaustive()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}
