//! The circuit of a level: the node above two nodes, each with its proof if it has members (circuit B_i of Fig. 4).

use evergrove_commit::LevelWitness;
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::target::BoolTarget;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CommonCircuitData, VerifierCircuitTarget};
use plonky2::plonk::proof::ProofWithPublicInputsTarget;

use super::gadgets::Side;
use evergrove_plonky2::circuit::gadgets::{key_with_digest, select_digest};
use evergrove_plonky2::circuit::{Builder, C, D, DigestTarget, F, PlonkyProof, to_hash};
use evergrove_plonky2::keys::VerifierKey;

/// One child of a level.
pub struct LevelChild {
    /// C of the child.
    pub root: DigestTarget,
    /// d of the child; zero where it has no member.
    pub canonical: DigestTarget,
    /// Derived: d is not zero, hence the child has a proof.
    pub present: BoolTarget,
    /// The child's proof, or the stand-in.
    pub proof: ProofWithPublicInputsTarget<D>,
    /// The key for its verification: its cap is free, its digest binds it.
    pub key: VerifierCircuitTarget,
}

/// The wires of a level that a prover sets; the generators derive all others.
///
/// The circuit holds for exactly these statements (C, d): C = H(C_L || C_R); d = H(d_L || d_R) if neither d_L nor d_R
/// is zero, otherwise d_L + d_R; and for each of the two sides whose d is not zero there is a proof of (C, d) by the
/// circuit of the level below, whose key is a constant here.
///
/// A circuit always verifies two proofs. Instead of an absent proof it uses a stand-in: a proof, with public inputs
/// zero, of a circuit without constraints. Its key is chosen exactly where d is zero.
pub struct LevelTargets {
    /// Left and right child.
    pub children: [LevelChild; 2],
    /// Derived, public: C.
    pub root: DigestTarget,
    /// Derived, public: d.
    pub canonical: DigestTarget,
}

/// A proof to verify, with its key.
pub(super) type Keyed<'a> = (&'a PlonkyProof, &'a VerifierKey);

impl LevelTargets {
    /// Adds the circuit's constraints. `common` and `key` are those of the level below, `stand_in` is the key of the
    /// stand-in of the same common data.
    pub(crate) fn build(
        b: &mut Builder,
        common: &CommonCircuitData<F, D>,
        key: HashOut<F>,
        stand_in: HashOut<F>,
    ) -> Self {
        let (key, stand_in) = (b.constant_hash(key), b.constant_hash(stand_in));
        let mut sides = vec![];
        let children = [(); 2].map(|()| {
            let (root, canonical) = (b.add_virtual_target_arr::<4>(), b.add_virtual_target_arr::<4>());
            let side = Side::new(b, root, canonical);
            let proof = b.add_virtual_proof_with_pis(common);
            let digest = select_digest(b, side.present, key, stand_in);
            let key = key_with_digest(b, digest, common);
            b.verify_proof::<C>(&proof, &key, common);
            for (public, value) in proof.public_inputs.iter().zip(root.iter().chain(&canonical)) {
                let value = b.mul(side.present.target, *value);
                b.connect(*public, value);
            }
            let present = side.present;
            sides.push(side);
            LevelChild { root, canonical, present, proof, key }
        });
        let Side { root, canonical, .. } = Side::parent(b, &sides[0], &sides[1]);
        b.register_public_inputs(&root);
        b.register_public_inputs(&canonical);
        Self { children, root, canonical }
    }

    /// Sets every free wire. `children` are the proofs of the children with members; `stand_in` is verified instead of
    /// the others.
    pub(crate) fn assign(
        &self,
        witness: &LevelWitness,
        children: [Option<Keyed<'_>>; 2],
        stand_in: Keyed<'_>,
    ) -> Result<PartialWitness<F>, anyhow::Error> {
        let mut pw = PartialWitness::new();
        for (k, targets) in self.children.iter().enumerate() {
            let canonical = witness.canonicals[k].map_or([F::ZERO; 4], |d| to_hash(&d).elements);
            pw.set_target_arr(&targets.root, &to_hash(&witness.roots[k]).elements)?;
            pw.set_target_arr(&targets.canonical, &canonical)?;
            let (proof, key) = children[k].unwrap_or(stand_in);
            pw.set_proof_with_pis_target(&targets.proof, proof)?;
            pw.set_cap_target(&targets.key.constants_sigmas_cap, &key.constants_sigmas_cap)?;
        }
        Ok(pw)
    }
}
