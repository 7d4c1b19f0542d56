//! Two small applications, for tests of circuits and as a starting point.

use evergrove_grove::application::{Circuits, Slot};
use evergrove_multilinear::circuit::Arithmetic;
use evergrove_multilinear::circuit::wires::Base;
use evergrove_primitives::Goldilocks;

use crate::{Leaf, MapReduce, MapReduceError};

/// The number of leaves, and the sum of the first elements of their values. Commutative; the opening is empty.
///
/// The elements are below 2^`bits`, so sums over 2^40 leaves stay in the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    bits: u8,
}

/// The parameters are not those of a [`Tally`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TallyError {
    /// The number of bits is outside its range.
    #[error("{0} is not a number of bits from 1 to 23")]
    Bits(u8),
    /// The parameters have this number of bytes, not one byte.
    #[error("{0} bytes are not a number of bits")]
    Length(usize),
}

impl Tally {
    /// The application for elements below 2^`bits`.
    ///
    /// # Panics
    /// Unless `bits` is from 1 to 23.
    pub fn new(bits: u8) -> Self {
        assert!((1..=23).contains(&bits), "a sum of 2^40 numbers of {bits} bits does not fit the field");
        Self { bits }
    }

    /// The width of elements: they are below 2^`bits`.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The application with these parameters.
    ///
    /// # Errors
    /// If the parameters are not one byte from 1 to 23.
    pub fn from_parameters(parameters: &[u8]) -> Result<Self, TallyError> {
        match parameters {
            [bits @ 1..=23] => Ok(Self { bits: *bits }),
            [bits] => Err(TallyError::Bits(*bits)),
            _ => Err(TallyError::Length(parameters.len())),
        }
    }
}

impl MapReduce for Tally {
    fn name(&self) -> &str {
        "tally"
    }

    fn parameters(&self) -> Vec<u8> {
        vec![self.bits]
    }

    fn opening_len(&self) -> usize {
        0
    }

    fn output_len(&self) -> usize {
        2
    }

    fn identity(&self) -> Vec<Goldilocks> {
        vec![Goldilocks::ZERO; 2]
    }

    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let x = leaf.value[0];
        if x.as_u64() >> self.bits != 0 {
            let reason = format!("its first element {x} is not below 2^{}: choose a tally of more bits", self.bits);
            return Err(MapReduceError::Leaf { index: leaf.index, reason });
        }
        Ok(vec![Goldilocks::ONE, x])
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        Ok(left.iter().zip(right).map(|(l, r)| *l + *r).collect())
    }

    fn is_commutative(&self) -> bool {
        true
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }
}

impl Circuits for Tally {
    fn inputs(&self) -> Vec<Goldilocks> {
        Vec::new()
    }

    fn bounds(&self) -> Vec<usize> {
        vec![self.bits.into()]
    }

    fn fold(&self, b: &mut dyn Arithmetic, _: &[Base], slots: &[Slot]) -> Vec<Base> {
        let (mut count, mut sum) = (b.zero(), b.zero());
        for Slot { active, value, .. } in slots {
            let (word, limb) = value[0];
            let x = b.limb(word, limb);
            let counted = b.mul((*active).into(), x);
            b.below(counted, self.bits.into());
            count = b.add(count, (*active).into());
            sum = b.add(sum, counted);
        }
        vec![count, sum]
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        left.iter().zip(right).map(|(l, r)| b.add(*l, *r)).collect()
    }
}

/// A fingerprint of the leaves in their order: the composition of the maps x -> `BASE` x + v_0, as (slope, offset). Not
/// commutative; the opening is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence;

impl Sequence {
    /// The slope of one leaf.
    pub const BASE: u64 = 0x1234_5678_9abc_def1;
}

impl MapReduce for Sequence {
    fn name(&self) -> &str {
        "sequence"
    }

    fn parameters(&self) -> Vec<u8> {
        Vec::new()
    }

    fn opening_len(&self) -> usize {
        0
    }

    fn output_len(&self) -> usize {
        2
    }

    fn identity(&self) -> Vec<Goldilocks> {
        vec![Goldilocks::ONE, Goldilocks::ZERO]
    }

    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        Ok(vec![Goldilocks::new(Self::BASE), leaf.value[0]])
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        Ok(vec![left[0] * right[0], left[1] * right[0] + right[1]])
    }

    fn is_commutative(&self) -> bool {
        false
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }
}

impl Circuits for Sequence {
    fn inputs(&self) -> Vec<Goldilocks> {
        Vec::new()
    }

    fn bounds(&self) -> Vec<usize> {
        Vec::new()
    }

    fn fold(&self, b: &mut dyn Arithmetic, _: &[Base], slots: &[Slot]) -> Vec<Base> {
        let (mut slope, mut offset) = (b.one(), b.zero());
        let (one, base) = (b.one(), b.constant(Goldilocks::new(Self::BASE)));
        for Slot { active, value, .. } in slots {
            let (word, limb) = value[0];
            let x = b.limb(word, limb);
            let x = b.mul((*active).into(), x);
            let factor = b.select(*active, base, one);
            slope = b.mul(slope, factor);
            offset = b.mul_add(offset, factor, x);
        }
        vec![slope, offset]
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        vec![b.mul(left[0], right[0]), b.mul_add(left[1], right[0], right[1])]
    }
}
