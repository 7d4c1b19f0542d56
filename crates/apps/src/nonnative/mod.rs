//! Arithmetic modulo the base field of BLS12-381 in circuits over Goldilocks.
//!
//! **What.** An element is 14 limbs of 28 bits ([`limbs`]). [`Congruence`] shows that a product of two elements and a linear
//! part come to 0 modulo p; [`RangeGate`] that limbs are limbs; [`assert_canonical`] that an element is below p.
//!
//! **How.** A congruence is an identity of integers with a quotient that the prover supplies, checked coefficient by
//! coefficient in base 2^28 with carries ([`ProductGate`]). It costs two rows, and ranges for 14 limbs of the quotient and 26
//! carries: 7.3 rows in all. docs/bls-keys.md has the bounds that make the identity one of integers.
//!
//! **When.** In circuits of curve points ([`crate::bls`]).

mod algebra;
mod field;
pub mod limbs;
mod product;
mod range;

pub use field::{Congruence, Element, Linear, add, assert_canonical, constant, limb_check, sub, witness};
pub use product::ProductGate;
pub use range::RangeGate;

/// Bits of a carry, with what is added to it.
const CARRY_BITS: usize = 36;
