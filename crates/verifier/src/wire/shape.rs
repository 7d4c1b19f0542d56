//! The public shape of a proof: every length that does not depend on the query indices.

use alloc::vec::Vec;

use crate::FriParams;

/// The parameters that determine the shape of a Plonky2 proof without zero knowledge and without lookups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnarkParams {
    /// Number of public inputs.
    pub num_public_inputs: usize,
    /// log2 of the number of rows.
    pub degree_bits: usize,
    /// log2 of the blow-up of the low-degree extension.
    pub rate_bits: usize,
    /// Height of the Merkle caps.
    pub cap_height: usize,
    /// Number of FRI queries.
    pub num_queries: usize,
    /// Challenges of the permutation argument and of the constraint combination.
    pub num_challenges: usize,
    /// Columns of constants, selectors included (Plonky2's `num_constants` of the common data).
    pub num_constants: usize,
    /// Columns of routed wires, one sigma polynomial each.
    pub num_routed_wires: usize,
    /// Columns of wires.
    pub num_wires: usize,
    /// Quotient polynomials per challenge.
    pub quotient_degree_factor: usize,
    /// log2 of the folding factor of each FRI step.
    pub arity_bits: Vec<usize>,
}

impl SnarkParams {
    /// The folding factors of Plonky2's `ConstantArityBits(arity_bits, final_poly_bits)`: steps of `arity_bits` until at most
    /// 2^final_poly_bits coefficients are left or the next tree would be lower than the cap.
    pub fn constant_arity_bits(
        mut degree_bits: usize,
        rate_bits: usize,
        cap_height: usize,
        arity_bits: usize,
        final_poly_bits: usize,
    ) -> Vec<usize> {
        let mut out = Vec::new();
        while degree_bits > final_poly_bits
            && degree_bits >= arity_bits
            && degree_bits + rate_bits - arity_bits >= cap_height
        {
            out.push(arity_bits);
            degree_bits -= arity_bits;
        }
        out
    }

    /// Plonky2's standard widths (135 wires, 80 of them routed, quotients of degree factor 8) with the given FRI
    /// parameters.
    pub fn standard(fri: FriParams, num_public_inputs: usize, num_constants: usize) -> Self {
        let FriParams {
            rate_bits,
            queries,
            // A proof has one nonce, for any amount of work.
            pow_bits: _,
            challenges,
            // The length of an `Ext`.
            extension_degree: _,
            cap_height,
            arity_bits,
            final_poly_bits,
            degree_bits,
        } = fri;
        let [degree_bits, rate_bits, cap_height, arity_bits, final_poly_bits] =
            [degree_bits, rate_bits, cap_height, arity_bits, final_poly_bits].map(usize::from);
        Self {
            num_public_inputs,
            degree_bits,
            rate_bits,
            cap_height,
            num_queries: queries.into(),
            num_challenges: challenges.into(),
            num_constants,
            num_routed_wires: 80,
            num_wires: 135,
            quotient_degree_factor: 8,
            arity_bits: Self::constant_arity_bits(degree_bits, rate_bits, cap_height, arity_bits, final_poly_bits),
        }
    }
}

/// The public shape of a proof. It comes from the verifier's own constants, never from the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnarkShape {
    params: SnarkParams,
    final_poly_len: usize,
}

impl SnarkShape {
    /// The shape of proofs with these parameters.
    ///
    /// # Panics
    /// If the parameters are not a valid Plonky2 configuration: a domain of more than 2^32 points, trees lower than
    /// their cap, more folding than the degree allows, no query, no routed wire or more routed wires than wires.
    pub fn new(params: SnarkParams) -> Self {
        let p = &params;
        let lde_bits = p.degree_bits + p.rate_bits;
        let folded: usize = p.arity_bits.iter().sum();
        assert!(lde_bits <= 32 && p.cap_height <= 16, "domain 2^{lde_bits} or cap 2^{} too large", p.cap_height);
        assert!(folded <= p.degree_bits && p.cap_height + folded <= lde_bits, "folding by 2^{folded} is too much");
        assert!(p.num_queries >= 1 && p.quotient_degree_factor >= 1, "no query or no quotient");
        assert!((1..=p.num_wires).contains(&p.num_routed_wires), "routed wires are wires");
        let final_poly_len = 1 << (p.degree_bits - folded);
        Self { params, final_poly_len }
    }

    /// The parameters.
    pub fn params(&self) -> &SnarkParams {
        &self.params
    }

    /// log2 of the size of the evaluation domain: query indices are below 2^lde_bits.
    pub fn lde_bits(&self) -> usize {
        self.params.degree_bits + self.params.rate_bits
    }

    /// Digests in a Merkle cap.
    pub fn cap_len(&self) -> usize {
        1 << self.params.cap_height
    }

    /// Coefficients of the final FRI polynomial.
    pub fn final_poly_len(&self) -> usize {
        self.final_poly_len
    }

    /// Partial products per challenge: ceil(routed wires / quotient degree factor) - 1.
    pub fn num_partial_products(&self) -> usize {
        self.params.num_routed_wires.div_ceil(self.params.quotient_degree_factor) - 1
    }

    /// Elements in a leaf of each initial oracle: constants and sigmas; wires; Zs and partial products; quotient chunks.
    pub fn oracle_widths(&self) -> [usize; 4] {
        let p = &self.params;
        [
            p.num_constants + p.num_routed_wires,
            p.num_wires,
            p.num_challenges * (1 + self.num_partial_products()),
            p.num_challenges * p.quotient_degree_factor,
        ]
    }

    /// Numbers of opened values, in this order: constants, sigmas, wires, Zs, Zs at the next row, partial products, quotient
    /// chunks.
    pub fn opening_counts(&self) -> [usize; 7] {
        let p = &self.params;
        let c = p.num_challenges;
        [
            p.num_constants,
            p.num_routed_wires,
            p.num_wires,
            c,
            c,
            c * self.num_partial_products(),
            c * p.quotient_degree_factor,
        ]
    }

    /// Siblings on a path of an initial oracle.
    pub fn initial_path_len(&self) -> usize {
        self.lde_bits() - self.params.cap_height
    }

    /// For each FRI step: the number of bits by which a query index is shifted to give the leaf, the log2 of the
    /// folding factor, and the siblings on a path.
    pub fn steps(&self) -> impl Iterator<Item = FriStep> + '_ {
        let top = self.initial_path_len();
        self.params.arity_bits.iter().scan(0, move |shift, &arity_bits| {
            *shift += arity_bits;
            Some(FriStep { shift: *shift, arity_bits, path_len: top - *shift })
        })
    }
}

/// Shape of the tree of one FRI step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FriStep {
    /// The leaf of a query is `index >> shift`.
    pub shift: usize,
    /// log2 of the number of evaluations in a leaf.
    pub arity_bits: usize,
    /// Siblings on a path.
    pub path_len: usize,
}
