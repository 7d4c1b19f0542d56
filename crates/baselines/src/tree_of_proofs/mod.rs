//! A proof for the path of every leaf, joined in pairs.
//!
//! The pairs are those of the canonical digest: a join of two proofs hashes their digests, so the root of the tree of
//! proofs states d. A batch of k leaves takes k small proofs and k - 1 joins, and one compaction. Since every proof
//! states C, a change of any slot invalidates all of them.
//!
//! The path circuit has 2^6 rows for H = 27 and is proven at that size. Joins of two paths, of a path and a join, and
//! of two joins are three circuits with one common data; each knows the three by a digest of their keys, its last
//! public inputs.

#[cfg(test)]
mod attacks;

use evergrove_commit::{BackendError, LeafWitness};
use evergrove_primitives::Digest;
use evergrove_verifier::tree::{LEAF_TAG, canonical_split};
use evergrove_verifier::{HEIGHT_MAX, Profile};
use plonky2::field::types::{Field, PrimeField64};
use plonky2::gates::gate::GateRef;
use plonky2::hash::hash_types::{HashOut, HashOutTarget};
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, VerifierCircuitTarget};
use plonky2::plonk::config::Hasher;
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use super::compact::{BatchProof, Compaction};
use evergrove_plonky2::cache::circuit_size;
use evergrove_plonky2::circuit::gadgets::{key_with_digest, parent, permute, select_digest};
use evergrove_plonky2::circuit::{
    Builder, C, CircuitSpec, D, DigestTarget, F, PlonkyProof, Poseidon, circuit_config, params_of, to_hash, to_plonky,
};
use evergrove_plonky2::keys::{CommonData, VerifierKey};
use evergrove_plonky2::setup::{Circuit, CircuitDraft};

/// Rounds of the search for the common data of the joins.
const ROUNDS: usize = 6;

/// The kinds of proofs that a join joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Two paths.
    Paths,
    /// A path and a join, in either order.
    Mixed,
    /// Two joins.
    Joins,
}

impl JoinKind {
    /// All kinds, in the order of the digest of their keys.
    pub const ALL: [Self; 3] = [Self::Paths, Self::Mixed, Self::Joins];

    /// The kinds of the two children: true for a join.
    fn children(self) -> [bool; 2] {
        match self {
            Self::Paths => [false, false],
            Self::Mixed => [false, true],
            Self::Joins => [true, true],
        }
    }

    /// The kind of the join of two proofs, each a path or a join.
    pub fn of(left_is_join: bool, right_is_join: bool) -> Self {
        match (left_is_join, right_is_join) {
            (false, false) => Self::Paths,
            (true, true) => Self::Joins,
            _ => Self::Mixed,
        }
    }
}

/// A proof of some leaves of a vector: of one path, or of a join.
#[derive(Clone, Debug)]
pub struct PathProof {
    proof: PlonkyProof,
    /// `None` for a path.
    join: Option<JoinKind>,
}

/// Proofs that a batch takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// One for each leaf.
    pub paths: usize,
    /// Joins of two paths, of a path and a join, of two joins.
    pub joins: [usize; 3],
    /// The compaction.
    pub compactions: usize,
}

impl Cost {
    /// The proofs of the batch of these indices, ascending; none for less than two.
    pub fn of(indices: &[u64]) -> Self {
        fn count(indices: &[(u64, ())], out: &mut Cost) -> bool {
            if indices.len() == 1 {
                out.paths += 1;
                return false;
            }
            let (left, right) = indices.split_at(canonical_split(indices));
            let kind = JoinKind::of(count(left, out), count(right, out));
            out.joins[kind as usize] += 1;
            true
        }
        let indices: Vec<(u64, ())> = indices.iter().map(|i| (*i, ())).collect();
        let mut out = Self::default();
        if indices.len() > 1 {
            count(&indices, &mut out);
            out.compactions = 1;
        }
        out
    }

    /// All proofs.
    pub fn total(&self) -> usize {
        self.paths + self.joins.iter().sum::<usize>() + self.compactions
    }
}

/// The wires of a path that a prover sets. Public inputs: C, digest of the leaf, index.
struct PathTargets {
    root: DigestTarget,
    index: Target,
    value: DigestTarget,
    siblings: Vec<DigestTarget>,
}

impl PathTargets {
    /// The leaf (index, value) lies at position `index` of the tree of height `height` and root C.
    fn build(b: &mut Builder, height: u8) -> Self {
        let (zero, no) = (b.zero(), b._false());
        let root = b.add_virtual_target_arr::<4>();
        let index = b.add_virtual_target();
        let value = b.add_virtual_target_arr::<4>();
        let [v0, v1, v2, v3] = value;
        let tag = b.constant(to_plonky(LEAF_TAG));
        let leaf = permute(b, [index, v0, v1, v2, v3, zero, zero, zero, tag, zero, zero, zero], no);
        let mut siblings = vec![];
        let mut digest = leaf;
        for bit in b.split_le(index, height.into()) {
            let sibling = b.add_virtual_target_arr::<4>();
            digest = parent(b, digest, sibling, bit);
            siblings.push(sibling);
        }
        b.connect_array(root, digest);
        b.register_public_inputs(&root);
        b.register_public_inputs(&leaf);
        b.register_public_input(index);
        Self { root, index, value, siblings }
    }

    /// Sets every free wire.
    fn assign(&self, root: &Digest, leaf: &LeafWitness) -> anyhow::Result<PartialWitness<F>> {
        let (given, height) = (leaf.siblings.len(), self.siblings.len());
        anyhow::ensure!(given == height, "a path of {given} levels in a tree of {height}");
        let mut pw = PartialWitness::new();
        pw.set_target_arr(&self.root, &to_hash(root).elements)?;
        pw.set_target(self.index, F::from_canonical_u64(leaf.index))?;
        pw.set_target_arr(&self.value, &leaf.value.map(to_plonky))?;
        for (target, sibling) in self.siblings.iter().zip(&leaf.siblings) {
            pw.set_target_arr(target, &to_hash(sibling).elements)?;
        }
        Ok(pw)
    }
}

/// One child of a join.
struct ChildTargets {
    proof: ProofWithPublicInputsTarget<D>,
    key: VerifierCircuitTarget,
    /// Of a join: it joins two paths; it joins a path and a join.
    kind: Option<[BoolTarget; 2]>,
    root: DigestTarget,
    canonical: DigestTarget,
    first: Target,
    last: Target,
}

/// The wires of a join that a prover sets. Public inputs: C, d, first index, last index, digest of the joins' keys.
///
/// The circuit holds for exactly these statements: there are proofs of (C, d_L) and (C, d_R), each a path or a join of the
/// kinds that this circuit takes, the last index of the left one is below the first of the right one, and d = H(d_L, d_R).
struct JoinTargets {
    children: [ChildTargets; 2],
    /// Of a mixed join: the path is the right one.
    swapped: BoolTarget,
    /// The keys of the joins.
    members: [HashOutTarget; 3],
    keys_digest: HashOutTarget,
}

impl JoinTargets {
    fn build(
        b: &mut Builder,
        kind: JoinKind,
        height: u8,
        path: (&CommonData, HashOut<F>),
        common: &CommonData,
    ) -> Self {
        let keys_digest = b.add_virtual_hash();
        let members = [(); 3].map(|()| b.add_virtual_hash());
        let hashed = b.hash_n_to_hash_no_pad::<Poseidon>(members.iter().flat_map(|m| m.elements).collect());
        b.connect_hashes(hashed, keys_digest);
        let children = kind.children().map(|is_join| {
            let common = if is_join { common } else { path.0 };
            let proof = b.add_virtual_proof_with_pis(common);
            let kind = is_join.then(|| [(); 2].map(|()| b.add_virtual_bool_target_safe()));
            let digest = match kind {
                None => b.constant_hash(path.1),
                Some([paths, mixed]) => {
                    let other = select_digest(b, mixed, members[1], members[2]);
                    select_digest(b, paths, members[0], other)
                }
            };
            let key = key_with_digest(b, digest, common);
            b.verify_proof::<C>(&proof, &key, common);
            let pi = &proof.public_inputs;
            let digest = |at: usize| core::array::from_fn(|e| pi[at + e]);
            let (root, canonical, first) = (digest(0), digest(4), pi[8]);
            let last = if is_join { pi[9] } else { first };
            if is_join {
                b.connect_hashes(HashOutTarget { elements: digest(10) }, keys_digest);
            }
            ChildTargets { proof, key, kind, root, canonical, first, last }
        });
        let swapped = if kind == JoinKind::Mixed { b.add_virtual_bool_target_safe() } else { b._false() };
        let [one, two] = &children;
        b.connect_array(one.root, two.root);
        let canonical = parent(b, one.canonical, two.canonical, swapped);
        let mut pick = |straight, crossed| b.select(swapped, crossed, straight);
        let (first, left_last) = (pick(one.first, two.first), pick(one.last, two.last));
        let (right_first, last) = (pick(two.first, one.first), pick(two.last, one.last));
        // All indices are below 2^H by the paths' splits, so a difference out of order wraps beyond the range.
        let gap = b.sub(right_first, left_last);
        let gap = b.add_const(gap, F::NEG_ONE);
        b.range_check(gap, height.into());
        b.register_public_inputs(&one.root);
        b.register_public_inputs(&canonical);
        b.register_public_inputs(&[first, last]);
        b.register_public_inputs(&keys_digest.elements);
        Self { children, swapped, members, keys_digest }
    }
}

/// Proves batches of two and more leaves of vectors of one height.
pub struct TreeOfProofs {
    path: Circuit<PathTargets>,
    joins: [Circuit<JoinTargets>; 3],
    keys_digest: HashOut<F>,
    compaction: Compaction,
    height: u8,
}

impl TreeOfProofs {
    /// Builds the circuits for vectors of this height: path, three joins, compaction.
    ///
    /// # Errors
    /// For a profile of another backend, when `height` is not from 1 to 40, or when the joins do not fit the profile's rows.
    pub fn build(profile: Profile, height: u8) -> Result<Self, BackendError> {
        if !(1..=HEIGHT_MAX).contains(&height) {
            return Err(BackendError::Witness(format!("no tree of proofs has height {height}")));
        }
        let params = params_of(profile)?;
        let config = circuit_config(&params);
        let mut builder = Builder::new(config.clone());
        let targets = PathTargets::build(&mut builder, height);
        let rows = builder.num_gates();
        let path = Circuit::new(targets, builder.build(), rows);
        let joins = build_joins(&config, params.degree_bits.into(), height, &path)?;
        let keys = joins.each_ref().map(|j| j.data.verifier_only.clone());
        let keys_digest = keys_digest(&keys);
        let fixed: Vec<_> = (10..14).zip(keys_digest.elements).collect();
        let compaction = Compaction::build(profile, height, &joins[0].data.common, keys.to_vec(), &fixed)?;
        Ok(Self { path, joins, keys_digest, compaction, height })
    }

    /// Proves that a leaf lies in the vector of this root.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when its path does not lead there.
    pub fn prove_path(&self, root: &Digest, leaf: &LeafWitness) -> Result<PathProof, BackendError> {
        let wires = self.path.targets.assign(root, leaf);
        let proof = wires
            .and_then(|wires| self.path.prove(wires))
            .map_err(|e| BackendError::Witness(format!("the path of index {}: {e}", leaf.index)))?;
        Ok(PathProof { proof, join: None })
    }

    /// Joins two proofs of leaves of one vector, those of `left` before those of `right`.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when they are not.
    pub fn join(&self, left: &PathProof, right: &PathProof) -> Result<PathProof, BackendError> {
        let kind = JoinKind::of(left.join.is_some(), right.join.is_some());
        let swapped = kind == JoinKind::Mixed && left.join.is_some();
        let children = if swapped { [right, left] } else { [left, right] };
        let prove = || -> anyhow::Result<PlonkyProof> {
            let span = |p: &PathProof| {
                let at = |k: usize| p.proof.public_inputs[k].to_canonical_u64();
                (at(8), at(if p.join.is_some() { 9 } else { 8 }))
            };
            let ((_, last), (first, _)) = (span(left), span(right));
            anyhow::ensure!(last < first, "index {last} does not come before index {first}");
            anyhow::ensure!(left.proof.public_inputs[..4] == right.proof.public_inputs[..4], "two vectors");
            self.joins[kind as usize].prove(self.wires(kind, children, swapped)?)
        };
        let proof = prove().map_err(|e| BackendError::Witness(format!("a join: {e}")))?;
        Ok(PathProof { proof, join: Some(kind) })
    }

    /// The free wires of a join of these children, in the order in which its circuit takes them.
    fn wires(&self, kind: JoinKind, children: [&PathProof; 2], swapped: bool) -> anyhow::Result<PartialWitness<F>> {
        let targets = &self.joins[kind as usize].targets;
        let mut pw = PartialWitness::new();
        for (targets, child) in targets.children.iter().zip(children) {
            pw.set_proof_with_pis_target(&targets.proof, &child.proof)?;
            if let (Some(flags), Some(kind)) = (targets.kind, child.join) {
                pw.set_bool_target(flags[0], kind == JoinKind::Paths)?;
                pw.set_bool_target(flags[1], kind == JoinKind::Mixed)?;
            }
            pw.set_cap_target(&targets.key.constants_sigmas_cap, &self.key(child).constants_sigmas_cap)?;
        }
        if kind == JoinKind::Mixed {
            pw.set_bool_target(targets.swapped, swapped)?;
        }
        for (target, join) in targets.members.iter().zip(&self.joins) {
            pw.set_hash_target(*target, join.data.verifier_only.circuit_digest)?;
        }
        pw.set_hash_target(targets.keys_digest, self.keys_digest)?;
        Ok(pw)
    }

    /// Compacts the proof of a whole batch.
    ///
    /// # Errors
    /// [`BackendError::Witness`] for a single path, which no join has: a tree of proofs has two leaves at least.
    pub fn compact(&self, proof: &PathProof) -> Result<BatchProof, BackendError> {
        let kind = proof.join.ok_or_else(|| BackendError::Witness("a tree of proofs of one leaf".into()))?;
        self.compaction.prove(&proof.proof, kind as usize)
    }

    /// Proves a batch of two and more leaves, with strictly increasing indices, of the vector of this root, from nothing:
    /// [`Cost::of`] its indices.
    ///
    /// # Errors
    /// [`BackendError::Witness`] when a leaf does not lie in the vector, or there are less than two.
    pub fn prove(&self, root: &Digest, leaves: &[LeafWitness]) -> Result<BatchProof, BackendError> {
        if let Some(w) = leaves.windows(2).find(|w| w[0].index >= w[1].index) {
            let [a, b] = [w[0].index, w[1].index];
            return Err(BackendError::Witness(format!("index {a} is followed by {b}: indices must increase")));
        }
        let indexed: Vec<(u64, &LeafWitness)> = leaves.iter().map(|l| (l.index, l)).collect();
        if indexed.is_empty() {
            return Err(BackendError::Witness("a batch without a leaf".into()));
        }
        self.compact(&self.subtree(root, &indexed)?)
    }

    fn subtree(&self, root: &Digest, leaves: &[(u64, &LeafWitness)]) -> Result<PathProof, BackendError> {
        if let [(_, leaf)] = leaves {
            return self.prove_path(root, leaf);
        }
        let (left, right) = leaves.split_at(canonical_split(leaves));
        self.join(&self.subtree(root, left)?, &self.subtree(root, right)?)
    }

    /// Accepts exactly the proofs of their statement. Never panics on any bytes.
    pub fn verify(&self, proof: &BatchProof) -> Result<(), BackendError> {
        self.compaction.verify(proof)
    }

    /// Size of the serialized proving circuits, in bytes.
    pub fn proving_key_bytes(&self) -> Result<usize, BackendError> {
        let mut bytes = circuit_size(&self.path.data)? + self.compaction.proving_key_bytes()?;
        for join in &self.joins {
            bytes += circuit_size(&join.data)?;
        }
        Ok(bytes)
    }

    /// Bytes that a verifier must know.
    pub fn verification_key_bytes(&self) -> usize {
        self.compaction.verification_key_bytes()
    }

    /// Height of the vectors.
    pub fn height(&self) -> u8 {
        self.height
    }

    fn key(&self, proof: &PathProof) -> &VerifierKey {
        match proof.join {
            None => &self.path.data.verifier_only,
            Some(kind) => &self.joins[kind as usize].data.verifier_only,
        }
    }
}

/// The digest by which the joins know each other.
fn keys_digest(keys: &[VerifierKey; 3]) -> HashOut<F> {
    let elements: Vec<F> = keys.iter().flat_map(|k| k.circuit_digest.elements).collect();
    Poseidon::hash_no_pad(&elements)
}

/// Builds the three joins at common data that they share: each verifies proofs of any of them.
fn build_joins(
    config: &CircuitConfig,
    degree_bits: usize,
    height: u8,
    path: &Circuit<PathTargets>,
) -> Result<[Circuit<JoinTargets>; 3], BackendError> {
    let path = (&path.data.common, path.data.verifier_only.circuit_digest);
    // Padding reads only the number of rows of the spec.
    let spec = CircuitSpec { config: config.clone(), height_max: height, capacity: 0, degree_bits };
    let unbuilt = |kind, common: &CommonData| {
        let mut builder = Builder::new(config.clone());
        let targets = JoinTargets::build(&mut builder, kind, height, path, common);
        CircuitDraft { targets, builder }
    };
    let mut gates: Vec<GateRef<F, D>> = vec![];
    // A join of paths does not look at the common data of joins: they are as good a start as any.
    let mut common = unbuilt(JoinKind::Paths, path.0).mock(&spec, &[]);
    for _ in 0..ROUNDS {
        let found = JoinKind::ALL.map(|kind| unbuilt(kind, &common).mock(&spec, &gates));
        if let Some(large) = found.iter().find(|c| c.degree_bits() > degree_bits) {
            let needed = large.degree_bits();
            return Err(BackendError::Internal(format!(
                "a join needs 2^{needed} rows, the profile has 2^{degree_bits}"
            )));
        }
        if found.iter().all(|c| *c == common) {
            let joins = JoinKind::ALL.map(|kind| unbuilt(kind, &common).commit(&spec, &gates));
            if joins.iter().all(|j| j.data.common == common) {
                return Ok(joins);
            }
        }
        for gate in found.iter().flat_map(|c| &c.gates) {
            if !gates.contains(gate) {
                gates.push(gate.clone());
            }
        }
        let [_, _, last] = found;
        common = last;
    }
    Err(BackendError::Internal(format!("the joins share no common data after {ROUNDS} rounds")))
}
