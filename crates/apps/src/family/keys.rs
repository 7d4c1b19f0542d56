//! Keys of an application's circuits, and the verifier that needs nothing else.
//!
//! Keys follow from the application, the scheme, the profile and the height class: whoever verifies builds the circuits
//! (seconds), and keeps the keys in a directory that they trust like the program itself. They never come from a prover.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergrove_commit::{BackendError, BackendId, NodeKind, NodeProof};
use evergrove_primitives::Goldilocks;
use evergrove_proof::soundness::{CircuitShape, Layer, SoundnessBits};
use evergrove_proof::{AppId, FriParams, HeightClass, NodeKind as Kind, Profile, Scheme, Statement, keys as pinned};
use evergrove_recursion::circuit::{F, PlonkyProof, circuit_config, to_hash, to_plonky};
use evergrove_recursion::gates::Gates;
use evergrove_recursion::keys::{CommonData, KeySet};
use evergrove_recursion::setup::{CircuitPair, build_wrap};
use evergrove_recursion::{CircuitVerifier, backend_id, cache};
use plonky2::field::types::Field;

use super::{FamilySpec, Size};
use crate::MapReduce;

/// Version of the circuits of applications: kept keys of another version are not read. A test holds digests of circuits
/// beside it, so that a change of circuits changes it.
pub const CIRCUITS_VERSION: u32 = 2;

/// The keys of an application's circuits, with the circuits' size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppKeys {
    /// Leaves and rows.
    pub size: Size,
    /// Keys and common data.
    pub set: KeySet,
}

/// Where the keys of an application lie in `dir`; its circuits lie beside them.
pub(super) fn file(dir: &Path, app: &AppId, scheme: Scheme, profile: Profile, class: HeightClass) -> PathBuf {
    let digest = &app.parameters.to_string()[..24];
    let (name, height) = (&app.name, class.height_max());
    dir.join(format!("app-v{CIRCUITS_VERSION}-{name}-{digest}-{scheme}-{profile}-{height}.keys"))
}

/// What kept keys are of, as the first bytes of their file: its name has the beginning of the digest alone.
fn owner(app: &AppId, scheme: Scheme, profile: Profile, class: HeightClass) -> Vec<u8> {
    format!("{app} {scheme} {profile} {}\n", class.height_max()).into_bytes()
}

impl AppKeys {
    /// The keys from `dir` where they lie there, else from circuits that are built, and left there.
    ///
    /// # Errors
    /// When the application has no circuits in this scheme.
    pub fn load(
        app: &Arc<dyn MapReduce>,
        scheme: Scheme,
        profile: Profile,
        class: HeightClass,
        dir: Option<&Path>,
    ) -> Result<Self, BackendError> {
        if let Some(keys) = dir.and_then(|d| Self::kept(d, &app.id(), scheme, profile, class)) {
            return Ok(keys);
        }
        super::AppBackend::load(app.clone(), scheme, profile, class, dir).map(|backend| backend.keys())
    }

    /// The keys in `dir`, `None` unless an intact file has them.
    pub fn kept(dir: &Path, app: &AppId, scheme: Scheme, profile: Profile, class: HeightClass) -> Option<Self> {
        let bytes = cache::read(&file(dir, app, scheme, profile, class))?;
        let bytes = bytes.strip_prefix(&owner(app, scheme, profile, class)[..])?;
        let (head, rest) = bytes.split_first_chunk::<5>()?;
        let [a, b, c, d, degree_bits] = *head;
        let capacity = u32::from_le_bytes([a, b, c, d]) as usize;
        let set = KeySet::from_pinned(&pinned::KeySet::decode(rest).ok()?).ok()?;
        let size = Size { capacity, degree_bits: degree_bits.into() };
        let config = |common: &CommonData, params: &FriParams| common.config == circuit_config(params);
        let fits = capacity > 0
            && set.node_common.degree_bits() == size.degree_bits
            && config(&set.node_common, &profile.recursion())
            && set
                .wrap
                .as_ref()
                .map(|(common, _)| common)
                .zip(profile.wrap().as_ref())
                .is_none_or(|(c, p)| config(c, p))
            && set.wrap.is_some() == profile.wrap().is_some();
        fits.then_some(Self { size, set })
    }

    /// Leaves the keys in `dir`. Those with gates that [`Gates`] does not list, and those that can not be
    /// written, are built anew next time.
    pub fn keep(&self, dir: &Path, spec: &FamilySpec) {
        let common = [Some(&self.set.node_common), self.set.wrap.as_ref().map(|w| &w.0)];
        if common.into_iter().flatten().any(|c| c.to_bytes(&Gates).is_err()) {
            return;
        }
        let mut bytes = owner(&spec.app().id(), spec.scheme(), spec.profile(), spec.class());
        bytes.extend((self.size.capacity as u32).to_le_bytes());
        bytes.push(self.size.degree_bits as u8);
        bytes.extend(self.set.to_pinned(spec.profile(), spec.class()).encode());
        let path = file(dir, &spec.app().id(), spec.scheme(), spec.profile(), spec.class());
        let _ = cache::write(&path, &bytes);
    }

    /// The layers of a proof by these keys, for their soundness.
    pub fn layers(&self, spec: &FamilySpec) -> Vec<Layer> {
        let node = spec.fri_params();
        let capacity = (spec.scheme() == Scheme::Selected).then_some(self.size.capacity);
        let common = &self.set.node_common;
        let mut out = vec![layer(Kind::Bucket, node, common, capacity), layer(Kind::Merge, node, common, None)];
        if let (Some((common, _)), Some(params)) = (&self.set.wrap, spec.profile().wrap()) {
            let params = FriParams { degree_bits: common.degree_bits() as u8, ..params };
            out.push(layer(Kind::Wrap, params, common, None));
        }
        out
    }

    /// The bits of a proof by these keys: the least over layers and error terms.
    pub fn bits(&self, spec: &FamilySpec) -> SoundnessBits {
        evergrove_proof::soundness::least(&self.layers(spec))
    }
}

fn layer(kind: NodeKind, fri: FriParams, common: &CommonData, bucket_capacity: Option<usize>) -> Layer {
    let config = &common.config;
    Layer {
        kind,
        fri,
        arity_bits: common.fri_params.reduction_arity_bits.iter().map(|a| *a as u32).collect(),
        shape: CircuitShape {
            routed_wires: config.num_routed_wires as u32,
            wires: config.num_wires as u32,
            constants: common.num_constants as u32,
            gate_constraints: common.num_gate_constraints as u32,
            quotient_degree_factor: common.quotient_degree_factor as u32,
        },
        bucket_capacity,
    }
}

/// Verifies the proofs of one application, scheme, profile and height class. Builds no circuit.
pub struct AppVerifier {
    output_len: usize,
    bucket: CircuitVerifier,
    merge: CircuitVerifier,
    wrap: Option<CircuitVerifier>,
}

impl AppVerifier {
    /// The verifier with these keys, for outputs of `output_len` elements.
    pub fn new(keys: &KeySet, output_len: usize) -> Self {
        Self {
            output_len,
            bucket: CircuitVerifier::new(&keys.node_common, &keys.bucket),
            merge: CircuitVerifier::new(&keys.node_common, &keys.merge),
            wrap: keys.wrap.as_ref().map(|(common, key)| CircuitVerifier::new(common, key)),
        }
    }

    /// Name and version of the backend.
    pub fn id(&self) -> BackendId {
        backend_id()
    }

    /// Accepts exactly the proofs of `proof.statement` with `proof.output` by the circuit `proof.kind`.
    ///
    /// # Errors
    /// [`BackendError::Rejected`]. Panics on no bytes: see [`evergrove_recursion::Plonky2Verifier::verify`].
    pub fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        let public_inputs = self.public_inputs(proof.kind, &proof.statement, &proof.output)?;
        self.kind(proof.kind)?.verify(proof.kind, &proof.bytes, public_inputs)
    }

    /// The plonky2 proof in `proof`, verified.
    ///
    /// # Errors
    /// Those of [`Self::verify`].
    pub fn verified(&self, proof: &NodeProof) -> Result<PlonkyProof, BackendError> {
        let public_inputs = self.public_inputs(proof.kind, &proof.statement, &proof.output)?;
        self.kind(proof.kind)?.verified(proof.kind, &proof.bytes, public_inputs)
    }

    pub(super) fn encode(&self, kind: NodeKind, proof: &PlonkyProof) -> Result<Vec<u8>, BackendError> {
        self.kind(kind)?.encode(kind, proof)
    }

    fn kind(&self, kind: NodeKind) -> Result<&CircuitVerifier, BackendError> {
        match kind {
            NodeKind::Bucket => Ok(&self.bucket),
            NodeKind::Merge => Ok(&self.merge),
            NodeKind::Wrap => {
                self.wrap.as_ref().ok_or_else(|| BackendError::Rejected("this profile has no wrap".into()))
            }
        }
    }

    /// C, d, h, base; of bucket and merge the merge key; the output.
    fn public_inputs(&self, kind: NodeKind, st: &Statement, output: &[Goldilocks]) -> Result<Vec<F>, BackendError> {
        let rejected = |what: String| Err(BackendError::Rejected(what));
        let Ok(base) = Goldilocks::from_canonical(st.base) else {
            return rejected(format!("base {} is no position", st.base));
        };
        if output.len() != self.output_len {
            return rejected(format!("an output of {} elements, not {}", output.len(), self.output_len));
        }
        let mut out = [to_hash(&st.root).elements, to_hash(&st.canonical).elements].concat();
        out.extend([F::from_canonical_u8(st.height), to_plonky(base)]);
        if kind != NodeKind::Wrap {
            out.extend(self.merge.key().circuit_digest.elements);
        }
        out.extend(output.iter().copied().map(to_plonky));
        Ok(out)
    }
}

/// Builds all circuits of an application.
pub(super) fn build(spec: &FamilySpec, common: &CommonData) -> Result<super::backend::Circuits, BackendError> {
    let internal = |e: evergrove_recursion::setup::SetupError| BackendError::Internal(e.to_string());
    let pair = CircuitPair::build(spec, Some(common)).map_err(internal)?;
    let wrap = spec.profile().wrap().map(|p| build_wrap(&KeySet::of(&pair, None), &circuit_config(&p)));
    Ok((pair, wrap))
}
