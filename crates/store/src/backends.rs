//! The backends of a program.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evergrove_commit::{BackendChoice, BackendError, BackendSpec, RecursionBackend};
use evergrove_verifier::{AppId, BatchProof, HeightClass, Profile, Scheme};

use crate::Error;

type Make = Box<dyn Fn() -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync>;

struct Entry {
    spec: BackendSpec,
    make: Make,
    /// The backend, and the time that it took to make it.
    made: Mutex<Option<(Arc<dyn RecursionBackend>, Duration)>>,
}

/// The backends of a program, by scheme, application, name, profile and height class.
///
/// A backend is made when it is first needed. So a program can register all backends, and only builds the circuits that
/// it uses.
#[derive(Default)]
pub struct Backends(Vec<Entry>);

impl Backends {
    /// No backends.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend that `make` returns when it is first needed. Replaces an earlier backend with the same choice and
    /// class.
    pub fn register(
        &mut self,
        spec: BackendSpec,
        make: impl Fn() -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync + 'static,
    ) {
        self.0.retain(|e| (&e.spec.choice, e.spec.class) != (&spec.choice, spec.class));
        self.0.push(Entry { spec, make: Box::new(make), made: Mutex::default() });
    }

    /// Adds a backend that is already made.
    pub fn add(&mut self, backend: Arc<dyn RecursionBackend>) {
        let spec = backend.spec().clone();
        self.register(spec, move || Ok(backend.clone()));
    }

    /// The specification of a backend. Does not make the backend.
    ///
    /// # Errors
    /// [`Error::UnknownBackend`], [`Error::UnknownApp`].
    pub fn spec(&self, choice: &BackendChoice, class: HeightClass) -> Result<&BackendSpec, Error> {
        self.entry(choice, class).map(|e| &e.spec)
    }

    /// The backend. Makes it on the first call.
    ///
    /// # Errors
    /// [`Error::UnknownBackend`], [`Error::UnknownApp`]; [`Error::Backend`] if it cannot be made, or if it does not
    /// have the registered specification.
    pub fn get(&self, choice: &BackendChoice, class: HeightClass) -> Result<Arc<dyn RecursionBackend>, Error> {
        self.entry(choice, class)?.get()
    }

    /// The specification of the backend that made a proof file of this scheme, whatever its version.
    pub(crate) fn spec_of(&self, file: &BatchProof, scheme: Scheme) -> Option<&BackendSpec> {
        self.entry_of(file, scheme).map(|e| &e.spec)
    }

    /// The backend that verifies a proof file of this scheme.
    ///
    /// # Errors
    /// Those of [`Self::get`].
    pub(crate) fn of(&self, file: &BatchProof, scheme: Scheme) -> Result<Arc<dyn RecursionBackend>, Error> {
        let app = file.app.as_ref().map(|a| &a.app);
        let unknown = || self.unknown(scheme, &file.backend.name, file.profile, file.class, app);
        self.entry_of(file, scheme).ok_or_else(unknown)?.get()
    }

    /// The time that it took to make the backends that were needed so far: to build their circuits or read their keys.
    pub fn setup_time(&self) -> Duration {
        let time = |entry: &Entry| entry.made().as_ref().map_or(Duration::ZERO, |(_, time)| *time);
        self.0.iter().map(time).sum()
    }

    /// The specifications of all backends.
    pub fn specs(&self) -> impl Iterator<Item = &BackendSpec> {
        self.0.iter().map(|e| &e.spec)
    }

    fn entry(&self, choice: &BackendChoice, class: HeightClass) -> Result<&Entry, Error> {
        let BackendChoice { name, scheme, profile, app } = choice;
        let found = self.0.iter().find(|e| (&e.spec.choice, e.spec.class) == (choice, class));
        found.ok_or_else(|| self.unknown(*scheme, name, *profile, class, app.as_ref().map(|a| a.id()).as_ref()))
    }

    fn entry_of(&self, file: &BatchProof, scheme: Scheme) -> Option<&Entry> {
        let app = file.app.as_ref().map(|a| &a.app);
        self.0.iter().find(|Entry { spec, .. }| {
            (spec.choice.scheme, spec.choice.profile, spec.class) == (scheme, file.profile, file.class)
                && spec.choice.name == file.backend.name
                && spec.app_id().as_ref() == app
        })
    }

    fn unknown(&self, scheme: Scheme, name: &str, profile: Profile, class: HeightClass, app: Option<&AppId>) -> Error {
        if let Some(app) = app {
            return Error::UnknownApp { app: app.clone(), scheme, profile };
        }
        let of_scheme = self.specs().map(|s| &s.choice).filter(|c| c.scheme == scheme);
        let mut known: Vec<String> = of_scheme.map(|c| format!("{} ({})", c.name, c.profile)).collect();
        known.sort();
        known.dedup();
        Error::UnknownBackend { scheme, name: name.into(), profile, class, known }
    }
}

impl Entry {
    fn made(&self) -> MutexGuard<'_, Option<(Arc<dyn RecursionBackend>, Duration)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Result<Arc<dyn RecursionBackend>, Error> {
        let mut made = self.made();
        if let Some((backend, _)) = &*made {
            return Ok(backend.clone());
        }
        let start = Instant::now();
        let failed = |source| Error::Backend { name: self.spec.choice.name.clone(), source };
        let backend = (self.make)().map_err(failed)?;
        if *backend.spec() != self.spec {
            let what = format!("was registered as {:?} and is {:?}", self.spec, backend.spec());
            return Err(failed(BackendError::Internal(what)));
        }
        *made = Some((backend.clone(), start.elapsed()));
        Ok(backend)
    }
}

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.specs()).finish()
    }
}
