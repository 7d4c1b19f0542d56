//! Plonky2's proofs as the plain data of `evergrove_verifier::wire`, and back.
//!
//! The public inputs travel in the statement, not in the proof's bytes: shapes here have no public inputs, and
//! [`to_plonky_proof`] takes them from the caller, which derives them from the statement that is being checked.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::wire::{Ext, OpenedLeaf, Openings, Query, Snark, SnarkParams, SnarkShape};
use plonky2::field::extension::{FieldExtension, quadratic::QuadraticExtension};
use plonky2::field::polynomial::PolynomialCoeffs;
use plonky2::fri::proof::{FriInitialTreeProof, FriProof, FriQueryRound, FriQueryStep};
use plonky2::hash::merkle_proofs::MerkleProof;
use plonky2::hash::merkle_tree::MerkleCap;
use plonky2::plonk::circuit_data::CommonCircuitData;
use plonky2::plonk::proof::{OpeningSet, Proof};

use crate::circuit::{C, D, F, PlonkyProof, Poseidon, from_hash, from_plonky, to_hash, to_plonky};

type FExt = QuadraticExtension<F>;

/// The shape of the proofs of a circuit, without public inputs.
pub fn shape_of(common: &CommonCircuitData<F, D>) -> SnarkShape {
    SnarkShape::new(SnarkParams {
        num_public_inputs: 0,
        degree_bits: common.degree_bits(),
        rate_bits: common.config.fri_config.rate_bits,
        cap_height: common.config.fri_config.cap_height,
        num_queries: common.config.fri_config.num_query_rounds,
        num_challenges: common.config.num_challenges,
        num_constants: common.num_constants,
        num_routed_wires: common.config.num_routed_wires,
        num_wires: common.config.num_wires,
        quotient_degree_factor: common.quotient_degree_factor,
        arity_bits: common.fri_params.reduction_arity_bits.clone(),
    })
}

/// A plonky2 proof as plain data. `indices` are the query indices that its transcript yields.
pub(crate) fn from_plonky_proof(proof: &Proof<F, C, D>, indices: &[usize]) -> Snark {
    let cap = |c: &MerkleCap<F, Poseidon>| c.0.iter().map(from_hash).collect();
    let exts = |v: &[FExt]| v.iter().map(from_ext).collect();
    let path = |p: &MerkleProof<F, Poseidon>| p.siblings.iter().map(from_hash).collect();
    let (o, fri) = (&proof.openings, &proof.opening_proof);
    let queries = fri.query_round_proofs.iter().zip(indices).map(|(round, index)| Query {
        index: *index as u32,
        initial: core::array::from_fn(|k| {
            let (leaf, p) = &round.initial_trees_proof.evals_proofs[k];
            OpenedLeaf { leaf: leaf.iter().copied().map(from_plonky).collect(), siblings: path(p) }
        }),
        steps: round
            .steps
            .iter()
            .map(|s| OpenedLeaf { leaf: s.evals.iter().flat_map(from_ext).collect(), siblings: path(&s.merkle_proof) })
            .collect(),
    });
    Snark {
        public_inputs: vec![],
        wires_cap: cap(&proof.wires_cap),
        zs_cap: cap(&proof.plonk_zs_partial_products_cap),
        quotient_cap: cap(&proof.quotient_polys_cap),
        openings: Openings {
            constants: exts(&o.constants),
            sigmas: exts(&o.plonk_sigmas),
            wires: exts(&o.wires),
            zs: exts(&o.plonk_zs),
            zs_next: exts(&o.plonk_zs_next),
            partial_products: exts(&o.partial_products),
            quotient_polys: exts(&o.quotient_polys),
        },
        commit_caps: fri.commit_phase_merkle_caps.iter().map(cap).collect(),
        queries: queries.collect(),
        final_poly: exts(&fri.final_poly.coeffs),
        pow_witness: from_plonky(fri.pow_witness),
    }
}

/// Plain data as a plonky2 proof with these public inputs. `snark` must have the shape of the circuit.
pub(crate) fn to_plonky_proof(snark: &Snark, public_inputs: Vec<F>) -> PlonkyProof {
    let cap = |c: &Vec<_>| MerkleCap(c.iter().map(to_hash).collect());
    let exts = |v: &Vec<Ext>| v.iter().map(to_ext).collect();
    let elements = |v: &[Goldilocks]| v.iter().copied().map(to_plonky).collect();
    let path = |o: &OpenedLeaf| MerkleProof { siblings: o.siblings.iter().map(to_hash).collect() };
    let o = &snark.openings;
    let query = |q: &Query| FriQueryRound {
        initial_trees_proof: FriInitialTreeProof {
            evals_proofs: q.initial.iter().map(|o| (elements(&o.leaf), path(o))).collect(),
        },
        steps: q
            .steps
            .iter()
            .map(|s| FriQueryStep { evals: s.evals().map(|x| to_ext(&x)).collect(), merkle_proof: path(s) })
            .collect(),
    };
    let proof = Proof {
        wires_cap: cap(&snark.wires_cap),
        plonk_zs_partial_products_cap: cap(&snark.zs_cap),
        quotient_polys_cap: cap(&snark.quotient_cap),
        openings: OpeningSet {
            constants: exts(&o.constants),
            plonk_sigmas: exts(&o.sigmas),
            wires: exts(&o.wires),
            plonk_zs: exts(&o.zs),
            plonk_zs_next: exts(&o.zs_next),
            partial_products: exts(&o.partial_products),
            quotient_polys: exts(&o.quotient_polys),
            lookup_zs: vec![],
            lookup_zs_next: vec![],
        },
        opening_proof: FriProof {
            commit_phase_merkle_caps: snark.commit_caps.iter().map(cap).collect(),
            query_round_proofs: snark.queries.iter().map(query).collect(),
            final_poly: PolynomialCoeffs { coeffs: exts(&snark.final_poly) },
            pow_witness: to_plonky(snark.pow_witness),
        },
    };
    PlonkyProof { proof, public_inputs }
}

fn from_ext(x: &FExt) -> Ext {
    x.to_basefield_array().map(from_plonky)
}

pub(crate) fn to_ext(x: &Ext) -> FExt {
    FExt::from_basefield_array(x.map(to_plonky))
}
