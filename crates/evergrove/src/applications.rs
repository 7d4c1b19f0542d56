//! The backends of applications.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use evergrove_apps::OnTables;
use evergrove_apps::aggregate::{self, Plan};
use evergrove_apps::catalog::{Application, CircuitsError};
use evergrove_commit::{BackendChoice, BackendError, BackendSpec, NodeProof, RecursionBackend};
use evergrove_grove::{AppCircuitSet, GroveVerifier, KeyError};
#[cfg(feature = "plonky2")]
use evergrove_plonky2::apps::OnPlonky2;
#[cfg(feature = "plonky2")]
use evergrove_plonky2::apps::circuit_set::Size;
#[cfg(feature = "plonky2")]
use evergrove_plonky2::{BACKEND_NAME, Plonky2Verifier, backend_spec};
use evergrove_primitives::hash::poseidon::hash_bytes;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_store::{Backends, Store};
use evergrove_verifier::keccak_tree::DIGEST_HALVES;
use evergrove_verifier::soundness::SoundnessBits;
use evergrove_verifier::{AppSpec, HeightClass, Profile, Scheme};
use flate2::bufread::GzDecoder;

use crate::backends::VerifierOnly;
use crate::{Backend, Config, Error};

/// The circuits of an application in one scheme, profile and height class, not built yet.
#[derive(Clone)]
pub enum AppCircuits {
    /// Plonky2's circuits.
    #[cfg(feature = "plonky2")]
    Plonky2(Size),
    /// On the tables of the backend `grove`.
    Tables(Box<AppCircuitSet>),
}

impl AppCircuits {
    /// Leaves of a bucket, or slots of a block.
    pub fn capacity(&self) -> usize {
        match self {
            #[cfg(feature = "plonky2")]
            Self::Plonky2(size) => size.capacity,
            Self::Tables(circuit_set) => circuit_set.capacity(),
        }
    }

    /// The circuits on tables.
    pub fn tables(self) -> Option<Box<AppCircuitSet>> {
        match self {
            #[cfg(feature = "plonky2")]
            Self::Plonky2(_) => None,
            Self::Tables(circuit_set) => Some(circuit_set),
        }
    }
}

/// Whether an application has circuits for a profile in this build.
fn check_profile(app: &Application, profile: Profile) -> Result<(), CircuitsError> {
    let known = app.profiles();
    #[cfg(feature = "plonky2")]
    let known = if OnPlonky2::new(app).is_some() { [known, Profile::PLONKY2.to_vec()].concat() } else { known };
    app.check_profile(profile, known)
}

/// The Plonky2 circuits of an application, if the profile is one of Plonky2's.
#[cfg(feature = "plonky2")]
fn on_plonky2(app: &Application, profile: Profile) -> Option<OnPlonky2> {
    if profile.fits(BACKEND_NAME) { OnPlonky2::new(app) } else { None }
}

impl Config {
    /// Adds the backends of the applications of a store's batches, as they were defined.
    ///
    /// # Errors
    /// When the catalog of this configuration does not have an application, or when the vector has outgrown its height
    /// class and the application has no circuits there.
    pub fn add_apps(&self, backends: &mut Backends, store: &Store) -> Result<(), Error> {
        let class = HeightClass::of(store.commitment()?.height).unwrap_or(HeightClass::H40);
        for batch in store.batches()? {
            let Some(known) = &batch.backend.choice.app else { continue };
            let app = self.catalog.make(known)?;
            if batch.backend.class == class {
                self.register(backends, batch.backend, app, None);
                continue;
            }
            let BackendChoice { scheme, profile, .. } = batch.backend.choice;
            let (spec, circuits) = self.app_spec(&app, scheme, profile, class)?;
            self.add_app(backends, spec, app, &circuits);
        }
        Ok(())
    }

    /// The backend of an application before it is built, and its circuits. Takes tenths of a second for circuits on
    /// tables, and seconds for Plonky2 circuits whose keys are not kept: these are built without commitments.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme and profile.
    pub fn app_spec(
        &self,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<(BackendSpec, AppCircuits), Error> {
        let circuits = self.app_circuits(app, scheme, profile, class)?;
        let spec = match &circuits {
            AppCircuits::Tables(circuit_set) => circuit_set.spec(app.spec()),
            #[cfg(feature = "plonky2")]
            AppCircuits::Plonky2(size) => {
                let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(scheme, app.spec());
                backend_spec(choice, class, size.capacity)
            }
        };
        Ok((spec, circuits))
    }

    /// The circuits of an application, with their size.
    pub(crate) fn app_circuits(
        &self,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<AppCircuits, Error> {
        check_profile(app, profile)?;
        #[cfg(feature = "plonky2")]
        if let Some(app) = on_plonky2(app, profile) {
            return Ok(AppCircuits::Plonky2(app.size(scheme, profile, class, self.keys.as_deref())?));
        }
        Ok(AppCircuits::Tables(Box::new(app.circuits(scheme, profile, class)?)))
    }

    /// Adds the backend of an application with these circuits. It is built when it is first needed.
    pub fn add_app(&self, backends: &mut Backends, spec: BackendSpec, app: Application, circuits: &AppCircuits) {
        self.register(backends, spec, app, Some(circuits.clone()));
    }

    fn register(&self, backends: &mut Backends, spec: BackendSpec, app: Application, circuits: Option<AppCircuits>) {
        let (choice, class, config) = (spec.choice.clone(), spec.class, self.clone());
        backends.register(spec, move || {
            if let Some(AppCircuits::Tables(circuit_set)) = &circuits {
                return app.backend_on_tables(circuit_set, config.observer.as_ref());
            }
            config.app_backend(&app, choice.scheme, choice.profile, class)
        });
    }

    /// Adds the verifier of an application's proofs. Its keys follow from circuits that are built here: in tenths of a
    /// second on tables, in seconds with Plonky2 unless its keys are kept. Returns the bits of its proofs.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme and profile.
    pub fn add_app_verifier(
        &self,
        backends: &mut Backends,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<SoundnessBits, Error> {
        // Of Plonky2's circuits the keys are looked for, not the size.
        #[cfg(feature = "plonky2")]
        if profile.fits(BACKEND_NAME) {
            return self.add_plonky2_verifier(backends, app, scheme, profile, class);
        }
        let key = self.app_key(app, scheme, profile, class)?;
        let bits = key.bits();
        key.add_to(backends);
        Ok(bits)
    }

    /// The key of an application's circuits on tables, which are built here in tenths of a second.
    ///
    /// # Errors
    /// When the application has no such circuits in this scheme and profile.
    pub fn app_key(
        &self,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<AppKey, Error> {
        let (spec, circuits) = self.app_spec(app, scheme, profile, class)?;
        let circuit_set = circuits.tables().ok_or(Error::NoBackend(Backend::Grove))?;
        let verifier = circuit_set.verifier()?;
        let digest = trusted(app, scheme, profile, class)(verifier.key_digest());
        let (inputs, output_len) = inputs(app);
        Ok(AppKey { bits: circuit_set.bits(), verifier, spec, digest, inputs, output_len })
    }

    #[cfg(feature = "plonky2")]
    fn add_plonky2_verifier(
        &self,
        backends: &mut Backends,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<SoundnessBits, Error> {
        check_profile(app, profile).map_err(|e| BackendError::Internal(e.to_string()))?;
        let on_plonky2 = OnPlonky2::new(app).ok_or(Error::NoBackend(Backend::Plonky2))?;
        let keys = on_plonky2.keys(scheme, profile, class, self.keys.as_deref())?;
        let bits = on_plonky2.bits(scheme, profile, &keys);
        let choice = BackendChoice::new(BACKEND_NAME, profile).with_app(scheme, app.spec());
        let spec = backend_spec(choice, class, keys.size.capacity);
        let (known, output_len) = (spec.clone(), app.output_len());
        backends.register(spec, move || {
            let verifier = Plonky2Verifier::of_app(&keys.set, output_len);
            let verify = move |p: &NodeProof| verifier.verify(p);
            Ok(Arc::new(VerifierOnly::new(known.clone(), keys.set.digest(), verify)) as Arc<dyn RecursionBackend>)
        });
        Ok(bits)
    }

    /// Builds the backend of an application.
    fn app_backend(
        &self,
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
    ) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        let observer = self.observer.as_ref();
        let failed = |e: CircuitsError| BackendError::Internal(e.to_string());
        check_profile(app, profile).map_err(failed)?;
        #[cfg(feature = "plonky2")]
        if let Some(app) = on_plonky2(app, profile) {
            return app.backend(scheme, profile, class, self.keys.as_deref(), self.prover, observer);
        }
        app.backend_on_tables(&app.circuits(scheme, profile, class).map_err(failed)?, observer)
    }

    /// The backend of any specification: a worker builds it for a payload. `known` has the backends without an
    /// application.
    ///
    /// # Errors
    /// When this program does not know the backend or the application, or its circuits cannot be built.
    pub fn make(&self, known: &Backends, spec: &BackendSpec) -> Result<Arc<dyn RecursionBackend>, BackendError> {
        let failed = |e: &dyn std::fmt::Display| BackendError::Internal(e.to_string());
        let BackendChoice { scheme, profile, app, .. } = &spec.choice;
        match app {
            None => known.get(&spec.choice, spec.class).map_err(|e| failed(&e)),
            Some(app) => {
                let app = self.catalog.make(app).map_err(|e| failed(&e))?;
                self.app_backend(&app, *scheme, *profile, spec.class)
            }
        }
    }
}

/// The key of an application's circuits on tables, in one scheme, profile and height class: everything about them that
/// a verifier needs.
///
/// Queries that differ only in constants have one key, and one digest.
pub struct AppKey {
    spec: BackendSpec,
    verifier: GroveVerifier,
    bits: SoundnessBits,
    digest: Digest,
    inputs: Option<Vec<Goldilocks>>,
    output_len: usize,
}

/// The inputs of an application's circuits (`None` for digest translation, whose output is words), and the number of
/// elements of its output.
fn inputs(app: &Application) -> (Option<Vec<Goldilocks>>, usize) {
    use evergrove_grove::application::Application as _;
    match app {
        Application::MapReduce(app) => {
            let inputs = OnTables::new(app.clone()).map(|app| app.circuits().inputs());
            (Some(inputs.unwrap_or_default()), app.output_len())
        }
        Application::Translation(_) => (None, DIGEST_HALVES),
    }
}

/// Domain of the digest of an application's key, ASCII "AKEY".
const KEY_DOMAIN: u32 = 0x414b_4559;

/// The trusted digest of the key of these circuits. It names the purpose of the key, since a proof does not bind its
/// application's parameters: the key does.
fn trusted(app: &Application, scheme: Scheme, profile: Profile, class: HeightClass) -> impl Fn(Digest) -> Digest {
    let (name, shape) = (app.spec().name, app.shape());
    let mut bytes = Vec::new();
    for part in [name.as_bytes(), &shape, scheme.name().as_bytes(), profile.name().as_bytes()] {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    }
    bytes.push(class.height_max());
    move |key| hash_bytes(KEY_DOMAIN, &[&bytes[..], &key.to_bytes()].concat())
}

/// The digest of the key of these circuits, if this program pins it.
fn pinned(app: &Application, scheme: Scheme, profile: Profile, class: HeightClass) -> Option<Digest> {
    let AppSpec { name, parameters } = app.spec();
    if name != aggregate::NAME {
        return None;
    }
    Plan::from_bytes(&parameters).ok()?.width()?.key(scheme, profile, class)
}

/// The content of a file that may be compressed by gzip: its first bytes tell, since a key does not begin with the
/// bytes of gzip.
fn unpacked<'a>(from: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    let mut from = BufReader::new(from);
    let is_gzip = from.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_gzip { Box::new(GzDecoder::new(from)) } else { Box::new(from) })
}

impl AppKey {
    /// The [digest](Self::digest) of the key of an application's circuits, if this program pins it: it pins those of
    /// queries by circuits of the fixed set ([`Query::pinned`](evergrove_apps::aggregate::Query::pinned)).
    pub fn pinned_digest(app: &Application, scheme: Scheme, profile: Profile, class: HeightClass) -> Option<Digest> {
        pinned(app, scheme, profile, class).map(trusted(app, scheme, profile, class))
    }

    /// Reads the output of [`Self::write`], uncompressed or compressed by gzip. Builds no circuits.
    ///
    /// The digest must be trusted: take it from [`Self::digest`] of a key built by a trusted program
    /// ([`Config::app_key`]), never from a prover. It belongs to one application (up to the inputs of its circuits),
    /// scheme, profile and height class: for others the key is refused.
    ///
    /// # Errors
    /// [`Error::Key`]; an error when the application has no circuits on tables.
    pub fn read(
        app: &Application,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        from: &mut dyn Read,
        digest: Digest,
    ) -> Result<Self, Error> {
        check_profile(app, profile)?;
        let on_tables = match app {
            Application::MapReduce(app) => Some(OnTables::new(app.clone()).ok_or(Error::NoBackend(Backend::Grove))?),
            Application::Translation(_) => None,
        };
        let on_tables = on_tables.as_ref().map(|app| app as &dyn evergrove_grove::application::Application);
        let name = trusted(app, scheme, profile, class);
        let mut from = unpacked(from).map_err(|e| KeyError::Read(e.into()))?;
        let (verifier, bits) = GroveVerifier::read(on_tables, profile, &mut *from, &name, digest)?;
        let choice = BackendChoice::new(evergrove_grove::BACKEND_NAME, profile).with_app(scheme, app.spec());
        // A verifier does not need the capacity of a bucket.
        let spec = BackendSpec { choice, version: evergrove_grove::BACKEND_VERSION, class, capacity: 1, wraps: false };
        let (inputs, output_len) = inputs(app);
        Ok(Self { spec, verifier, bits, digest, inputs, output_len })
    }

    /// Writes the key: 10 to 35 MB, which gzip compresses to a twentieth of the size.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.verifier.write_key(out)
    }

    /// The digest of the key and of its purpose. With it, the source of the file need not be trusted.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The digest of the key alone, which proofs state: the digest of the circuits.
    pub fn circuits_digest(&self) -> Digest {
        self.verifier.key_digest()
    }

    /// The inputs of this application's circuits, which its statements name. With the digest of the key alone, they are
    /// all that a verifier without the application needs. `None` for digest translation.
    pub fn inputs(&self) -> Option<&[Goldilocks]> {
        self.inputs.as_deref()
    }

    /// Elements of an output.
    pub fn output_len(&self) -> usize {
        self.output_len
    }

    /// The bits of proofs.
    pub fn bits(&self) -> SoundnessBits {
        self.bits
    }

    /// Adds the verifier.
    pub fn add_to(self, backends: &mut Backends) {
        let known = self.spec.clone();
        let verifier = Arc::new(self.verifier);
        backends.register(self.spec, move || {
            let (verifier, digest) = (Arc::clone(&verifier), verifier.key_digest());
            let verify = move |p: &NodeProof| verifier.verify(p);
            Ok(Arc::new(VerifierOnly::new(known.clone(), digest, verify)) as Arc<dyn RecursionBackend>)
        });
    }
}

impl std::fmt::Debug for AppKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppKey").field("spec", &self.spec).field("digest", &self.digest()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use evergrove_apps::MapReduce;
    use evergrove_apps::digest_translation::DigestTranslation;
    use evergrove_apps::samples::Tally;

    use super::*;

    /// An error names the profiles that this build has, of every proof system.
    #[test]
    fn profiles_are_those_of_tables_and_of_plonky2() {
        let tally: Arc<dyn MapReduce> = Arc::new(Tally::new(20));
        let tally = Application::from(tally);
        let refused = |app: &Application| check_profile(app, Profile::Proven).err().map(|e| e.to_string());
        if cfg!(feature = "plonky2") {
            assert_eq!(refused(&tally), None);
        } else {
            let text = "tally has no circuits for profile proven (known: grove-100, grove-128)";
            assert_eq!(refused(&tally).as_deref(), Some(text));
        }
        assert_eq!(check_profile(&tally, Profile::Grove100), Ok(()));
        let other = DigestTranslation::new("openzeppelin(bool)".parse().expect("a format"));
        let text =
            "digest-translation to openzeppelin(bool) has no circuits for profile proven (known: grove-100, grove-128)";
        assert_eq!(refused(&other.into()).as_deref(), Some(text));
    }
}
