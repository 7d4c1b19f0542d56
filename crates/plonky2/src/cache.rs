//! Proving circuits on disk.
//!
//! A file holds plonky2's serialized circuits after a checksum. Loaded circuits must have the pinned keys; if a file is
//! damaged, or of another version, the circuits are built again. The checksum is not a signature: the directory is
//! trusted, and only its owner has access. For batch proofs, anyone who can write to it can stop the prover, but no
//! more: every proof is verified with the pinned keys before it leaves the backend. Applications have no pinned keys:
//! their keys are kept in such a directory too, and a verifier of applications must trust it like the program itself.
//! The wires that a prover sets are not stored: they follow from the circuit's construction, which costs far less than
//! its commitments.

use std::convert::Infallible;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use evergrove_commit::BackendError;
use evergrove_verifier::{HeightClass, Profile};
use plonky2::field::extension::Extendable;
use plonky2::gates::gate::GateRef;
use plonky2::hash::hash_types::RichField;
use plonky2::iop::generator::WitnessGeneratorRef;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData, CommonCircuitData};
use plonky2::util::serialization::{GateSerializer, IoResult, WitnessGeneratorSerializer, Write};

use crate::backend::build;
use crate::circuit::{C, CircuitSpec, D, F, WrapTargets, circuit_config};
use crate::gates::{Gates, GeneratorKind, Generators};
use crate::keys::KeySet;
use crate::setup::{Circuit, CircuitPair, PairSpec};

/// First bytes of a cache file. The code that builds wires and generators numbers them, so files of other versions are
/// not accepted.
const HEADER: &[u8] = concat!("evergrove circuits 1, ", env!("CARGO_PKG_VERSION"), ", plonky2 1.1.0\n").as_bytes();

type Circuits<S = CircuitSpec> = (CircuitPair<S>, Option<Circuit<WrapTargets>>);

/// The circuits from `dir` if they are there, otherwise built and left there.
pub(crate) fn load_or_build(
    profile: Profile,
    class: HeightClass,
    pinned: &KeySet,
    dir: Option<&Path>,
) -> Result<Circuits, BackendError> {
    let path = dir.map(|d| file(d, profile, class));
    let wrap = profile.wrap().map(|params| circuit_config(&params));
    let spec = CircuitSpec::of(profile, class)?;
    if let Some(circuits) = path.as_deref().and_then(|p| load(p, &spec, wrap.as_ref(), pinned)) {
        return Ok(circuits);
    }
    let circuits = build(profile, class, Some(pinned))?;
    if let Some(path) = path {
        // An unwritable cache costs the next start some seconds and nothing else.
        let _ = store(&path, &spec, &circuits);
    }
    Ok(circuits)
}

/// The place of the circuits of a profile and height class in `dir`.
pub fn file(dir: &Path, profile: Profile, class: HeightClass) -> PathBuf {
    dir.join(format!("plonky2-v{}-{profile}-{}.circuits", crate::backend::BACKEND_VERSION, class.height_max()))
}

/// The circuits in a file, `None` for anything but an intact file with these keys. `wrap` is the wrap's configuration, where
/// there is one.
pub fn load<S: PairSpec>(path: &Path, spec: &S, wrap: Option<&CircuitConfig>, keys: &KeySet) -> Option<Circuits<S>> {
    let body = read(path)?;
    let mut rest = &body[..];
    let own = spec.generators();
    let mut section = |own| -> Option<CircuitData<F, C, D>> {
        let (len, tail) = rest.split_first_chunk::<8>()?;
        let (data, tail) = tail.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        rest = tail;
        circuit_from(data, own)
    };
    let (bucket, merge) = (section(own)?, section(own)?);
    let pair = CircuitPair::describe(spec, &keys.node_common, keys.bucket.circuit_digest, bucket, merge);
    let wrap = match &keys.wrap {
        None => None,
        Some(_) => Some(crate::setup::describe_wrap(keys, wrap?, section(&[])?)),
    };
    (KeySet::of(&pair, wrap.as_ref()) == *keys).then_some((pair, wrap))
}

/// A circuit with generators of these kinds from its serialization, `None` unless its halves agree.
fn circuit_from(data: &[u8], own: &'static [GeneratorKind]) -> Option<CircuitData<F, C, D>> {
    let data = CircuitData::<F, C, D>::from_bytes(data, &Gates, &Generators::with(own)).ok()?;
    // The prover's half names its key too, and commits to the same constants.
    let (prover, key) = (&data.prover_only, &data.verifier_only);
    let consistent = prover.circuit_digest == key.circuit_digest
        && prover.constants_sigmas_commitment.merkle_tree.cap == key.constants_sigmas_cap;
    consistent.then_some(data)
}

/// A single circuit from its file, if it is intact.
pub fn load_circuit(path: &Path) -> Option<CircuitData<F, C, D>> {
    circuit_from(&read(path)?, &[])
}

/// Leaves a single circuit in a file. An unwritable cache only makes the next start build it again.
pub fn store_circuit(path: &Path, data: &CircuitData<F, C, D>) {
    if let Ok(bytes) = circuit_bytes(data, &[]) {
        let _ = write(path, &bytes);
    }
}

/// Plonky2's serialization of a circuit, with generators of `own` kinds beside those of all circuits.
///
/// # Errors
/// If a gate or generator of the circuit has no serialization.
pub fn circuit_bytes(data: &CircuitData<F, C, D>, own: &'static [GeneratorKind]) -> Result<Vec<u8>, BackendError> {
    data.to_bytes(&Gates, &Generators::with(own))
        .map_err(|_| BackendError::Internal("a gate or generator of the circuit has no serialization".into()))
}

/// Size of [`circuit_bytes`], without holding them: the largest circuits of the baselines take gigabytes.
///
/// # Errors
/// As for [`circuit_bytes`].
pub fn circuit_size(data: &CircuitData<F, C, D>) -> Result<usize, BackendError> {
    let mut counter = Counter(0);
    counter
        .write_circuit_data(data, &Gates, &Generators::with(&[]))
        .map_err(|_| BackendError::Internal("a gate or generator of the circuit has no serialization".into()))?;
    Ok(counter.0)
}

/// Counts the bytes that are written to it.
struct Counter(usize);

impl Write for Counter {
    type Error = Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> IoResult<()> {
        self.0 += bytes.len();
        Ok(())
    }

    fn write_gate<G: RichField + Extendable<E>, const E: usize>(
        &mut self,
        gate: &GateRef<G, E>,
        serializer: &dyn GateSerializer<G, E>,
        common: &CommonCircuitData<G, E>,
    ) -> IoResult<()> {
        let mut bytes = Vec::new();
        serializer.write_gate(&mut bytes, gate, common)?;
        self.write_all(&bytes)
    }

    fn write_generator<G: RichField + Extendable<E>, const E: usize>(
        &mut self,
        generator: &WitnessGeneratorRef<G, E>,
        serializer: &dyn WitnessGeneratorSerializer<G, E>,
        common: &CommonCircuitData<G, E>,
    ) -> IoResult<()> {
        let mut bytes = Vec::new();
        serializer.write_generator(&mut bytes, generator, common)?;
        self.write_all(&bytes)
    }
}

/// Leaves circuits in a file.
///
/// # Errors
/// Of the file, and when a gate or generator has no serialization: see [`PairSpec::generators`].
pub fn store<S: PairSpec>(path: &Path, spec: &S, (pair, wrap): &Circuits<S>) -> std::io::Result<()> {
    let mut body = Vec::new();
    let pair = [&pair.bucket.data, &pair.merge.data].map(|data| (data, spec.generators()));
    for (data, own) in pair.into_iter().chain(wrap.iter().map(|w| (&w.data, &[][..]))) {
        let bytes = circuit_bytes(data, own).map_err(std::io::Error::other)?;
        body.extend((bytes.len() as u64).to_le_bytes());
        body.extend(bytes);
    }
    write(path, &body)
}

/// The bytes after header and checksum in an intact file of this version.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let rest = bytes.strip_prefix(HEADER)?;
    let (checksum, body) = rest.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(body).as_bytes() != checksum {
        return None;
    }
    bytes.drain(..HEADER.len() + blake3::OUT_LEN);
    Some(bytes)
}

/// Writes beside the target and renames, so a reader never sees half a file.
///
/// # Errors
/// Of the file system.
pub fn write(path: &Path, body: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    create_private(dir)?;
    let mut tmp = tempfile::NamedTempFile::new_in(dir)?;
    tmp.write_all(HEADER)?;
    tmp.write_all(blake3::hash(body).as_bytes())?;
    tmp.write_all(body)?;
    tmp.persist(path)?;
    Ok(())
}

/// Makes the directory, accessible only to its owner on systems with owners.
fn create_private(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}
