//! Our own gates, in addition to plonky2's.
//!
//! **What.** [`RangeGate`] checks the ranges of several numbers in a row; [`ProductGate`] is one half of a product modulo the base
//! field of BLS12-381. Applications build on them.
//!
//! **When.** Circuits with these gates are proven by our prover, whose lanes evaluate them, and by plonky2's. Their
//! common data are written and read with [`Gates`], which numbers plonky2's own gates as plonky2 does.
//!
//! **Neighbours.** [`crate::apps::nonnative`] gives the numbers their meaning.

mod algebra;
mod generators;
pub mod product;
mod range;

use plonky2::gates::arithmetic_base::ArithmeticGate;
use plonky2::gates::arithmetic_extension::ArithmeticExtensionGate;
use plonky2::gates::base_sum::BaseSumGate;
use plonky2::gates::constant::ConstantGate;
use plonky2::gates::coset_interpolation::CosetInterpolationGate;
use plonky2::gates::exponentiation::ExponentiationGate;
use plonky2::gates::lookup::LookupGate;
use plonky2::gates::lookup_table::LookupTableGate;
use plonky2::gates::multiplication_extension::MulExtensionGate;
use plonky2::gates::noop::NoopGate;
use plonky2::gates::poseidon::PoseidonGate;
use plonky2::gates::poseidon_mds::PoseidonMdsGate;
use plonky2::gates::public_input::PublicInputGate;
use plonky2::gates::random_access::RandomAccessGate;
use plonky2::gates::reducing::ReducingGate;
use plonky2::gates::reducing_extension::ReducingExtensionGate;
use plonky2::util::serialization::GateSerializer;
use plonky2::{get_gate_tag_impl, impl_gate_serializer, read_gate_impl};

pub use generators::{GeneratorKind, Generators};
pub use product::ProductGate;
pub use range::RangeGate;

use crate::circuit::{D, F};

/// Bits of a carry of [`ProductGate`], including its offset.
pub const CARRY_BITS: usize = 36;

/// The serialization of gates: plonky2's list, then ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gates;

impl GateSerializer<F, D> for Gates {
    impl_gate_serializer! {
        Gates,
        ArithmeticGate,
        ArithmeticExtensionGate<D>,
        BaseSumGate<2>,
        ConstantGate,
        CosetInterpolationGate<F, D>,
        ExponentiationGate<F, D>,
        LookupGate,
        LookupTableGate,
        MulExtensionGate<D>,
        NoopGate,
        PoseidonMdsGate<F, D>,
        PoseidonGate<F, D>,
        PublicInputGate,
        RandomAccessGate<F, D>,
        ReducingExtensionGate<D>,
        ReducingGate<D>,
        ProductGate,
        RangeGate<{ product::LIMB_BITS }>,
        RangeGate<CARRY_BITS>
    }
}
