//! Arithmetic modulo the base field of BLS12-381 in circuits over Goldilocks.
//!
//! **What.** An element is 14 limbs of 28 bits ([`limbs`](evergrove_apps::bls::limbs)). [`Congruence`] shows that a product of two elements and a linear
//! part come to 0 modulo p; [`limb_check`] that limbs are limbs; [`assert_canonical`] that an element is below p.
//!
//! **How.** A congruence is an identity of integers with a quotient that the prover supplies, checked coefficient by
//! coefficient in base 2^28 with carries, by [`ProductGate`](crate::gates::ProductGate). It costs two rows, and ranges
//! for 14 limbs of the quotient and 26 carries: 7.3 rows in all. docs/bls-keys.md has the bounds that make the identity one of integers.
//!
//! **When.** In circuits of curve points ([`crate::apps::bls`]).

mod field;

pub(crate) use field::{ComplementGenerator, QuotientGenerator};
pub use field::{Congruence, Element, Linear, add, assert_canonical, limb_check, sub, witness};
