//! The backends that a program has.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use evergrove_commit::batch::Structure;
use evergrove_commit::{BackendError, BackendId, RecursionBackend};
use evergrove_proof::{AppId, AppSpec, HeightClass, Profile, Scheme};

use crate::Error;

/// What is known of a backend before its circuits are built: all that plans and keys of proofs depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendSpec {
    /// The scheme of its proofs.
    pub scheme: Scheme,
    /// Name and version.
    pub id: BackendId,
    /// The profile of its proofs.
    pub profile: Profile,
    /// The height class of its circuits.
    pub class: HeightClass,
    /// m, the greatest number of leaves in a bucket; where buckets are blocks the number of their slots.
    pub capacity: usize,
    /// True when the proof of a whole batch is wrapped once more.
    pub wraps: bool,
    /// The application, in the schemes that have one.
    pub app: Option<AppSpec>,
}

impl BackendSpec {
    /// What this backend says of itself.
    pub fn of(backend: &dyn RecursionBackend) -> Self {
        Self {
            scheme: backend.scheme(),
            id: backend.id(),
            profile: backend.profile(),
            class: backend.class(),
            capacity: backend.capacity(),
            wraps: backend.wraps(),
            app: backend.app(),
        }
    }

    /// Which proofs a batch consists of.
    pub fn structure(&self) -> Structure {
        Structure::of(self.scheme, self.capacity)
    }
}

/// Which backend proves a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChoice {
    /// The scheme.
    pub scheme: Scheme,
    /// Its name, for example `plonky2`.
    pub name: String,
    /// The profile of the proofs.
    pub profile: Profile,
    /// The application, in the schemes that have one.
    pub app: Option<AppId>,
}

impl BackendChoice {
    /// The backend of this name and profile, for our scheme.
    pub fn new(name: impl Into<String>, profile: Profile) -> Self {
        Self { scheme: Scheme::default(), name: name.into(), profile, app: None }
    }

    /// The same for another scheme.
    pub fn with_scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// The same for an application, in one of its schemes.
    pub fn with_app(self, scheme: Scheme, app: AppId) -> Self {
        Self { scheme, app: Some(app), ..self }
    }
}

impl BackendSpec {
    /// The choice that leads to this backend.
    pub fn choice(&self) -> BackendChoice {
        let app = self.app.as_ref().map(AppSpec::id);
        BackendChoice { scheme: self.scheme, name: self.id.name.clone(), profile: self.profile, app }
    }
}

type Make = Box<dyn Fn() -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync>;

struct Entry {
    spec: BackendSpec,
    make: Make,
    made: Mutex<Option<Arc<dyn RecursionBackend>>>,
}

/// The backends that a program has, by scheme, application, name, profile and height class.
///
/// A backend is made when it is first needed, so that a program may register all of them and pay for the circuits of one.
#[derive(Default)]
pub struct Backends(Vec<Entry>);

impl Backends {
    /// No backends.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend that `make` makes when it is first needed. Takes the place of an earlier one with the same scheme,
    /// application, name, profile and class.
    pub fn register(
        &mut self,
        spec: BackendSpec,
        make: impl Fn() -> Result<Arc<dyn RecursionBackend>, BackendError> + Send + Sync + 'static,
    ) {
        let place = |e: &Entry| (e.spec.choice(), e.spec.class);
        let entry = Entry { spec, make: Box::new(make), made: Mutex::default() };
        self.0.retain(|e| place(e) != place(&entry));
        self.0.push(entry);
    }

    /// Adds a backend that is made already.
    pub fn add(&mut self, backend: Arc<dyn RecursionBackend>) {
        let spec = BackendSpec::of(backend.as_ref());
        self.register(spec, move || Ok(backend.clone()));
    }

    /// What is known of a backend; makes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownBackend`].
    pub fn spec(&self, choice: &BackendChoice, class: HeightClass) -> Result<&BackendSpec, Error> {
        self.entry(choice, class).map(|e| &e.spec)
    }

    /// The backend, made if it has not been made.
    ///
    /// # Errors
    /// [`Error::UnknownBackend`]; [`Error::Backend`] when it can not be made or is not what it was registered as.
    pub fn get(&self, choice: &BackendChoice, class: HeightClass) -> Result<Arc<dyn RecursionBackend>, Error> {
        let entry = self.entry(choice, class)?;
        let mut made = entry.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(backend) = &*made {
            return Ok(backend.clone());
        }
        let failed = |source| Error::Backend { name: choice.name.clone(), source };
        let backend = (entry.make)().map_err(failed)?;
        let found = BackendSpec::of(backend.as_ref());
        if found != entry.spec {
            let what = format!("was registered as {:?} and is {found:?}", entry.spec);
            return Err(failed(BackendError::Internal(what)));
        }
        *made = Some(backend.clone());
        Ok(backend)
    }

    /// What is known of every backend.
    pub fn specs(&self) -> impl Iterator<Item = &BackendSpec> {
        self.0.iter().map(|e| &e.spec)
    }

    fn entry(&self, choice: &BackendChoice, class: HeightClass) -> Result<&Entry, Error> {
        let BackendChoice { scheme, name, profile, app } = choice;
        let place = |s: &BackendSpec| {
            (s.scheme, s.profile, s.class) == (*scheme, *profile, class)
                && s.id.name == *name
                && s.app.as_ref().map(AppSpec::id) == *app
        };
        self.0.iter().find(|e| place(&e.spec)).ok_or_else(|| {
            if let Some(app) = app {
                return Error::UnknownApp { app: app.clone(), scheme: *scheme, profile: *profile };
            }
            let of_scheme = self.specs().filter(|s| s.scheme == *scheme);
            let mut known: Vec<String> = of_scheme.map(|s| format!("{} ({})", s.id.name, s.profile)).collect();
            known.sort();
            known.dedup();
            Error::UnknownBackend { scheme: *scheme, name: name.clone(), profile: *profile, class, known }
        })
    }
}

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.specs()).finish()
    }
}
