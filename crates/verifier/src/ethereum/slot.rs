//! Rules by which contracts number their slots.

use core::fmt;

use alloc::vec::Vec;

use evergrove_primitives::hash::keccak::keccak_256;

use super::{Hex, Word};

/// A step from the slot of a variable to a slot inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Solidity's mapping: keccak(key, slot), the key as a word of the ABI.
    Mapping(Word),
    /// Vyper's mapping: keccak(slot, key).
    VyperMapping(Word),
    /// Element or word i of a dynamic array of Solidity: keccak(slot) + i.
    Array(Word),
    /// Member i of a struct: slot + i.
    Member(Word),
}

/// How a slot was derived. A rule is a note for readers: the claim is about the slot's number, and the contract's source says whether the rule is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRule {
    /// The slot of the variable.
    pub base: Word,
    /// The steps from there.
    pub steps: Vec<Step>,
}

impl SlotRule {
    /// The slot. One permutation of Keccak for each step.
    pub fn slot(&self) -> Word {
        self.steps.iter().fold(self.base, |slot, step| match step {
            Step::Mapping(key) => keccak_256([*key, slot].as_flattened()),
            Step::VyperMapping(key) => keccak_256([slot, *key].as_flattened()),
            Step::Array(i) => sum(keccak_256(&slot), i),
            Step::Member(i) => sum(slot, i),
        })
    }
}

/// The sum modulo 2^256.
fn sum(mut a: Word, b: &Word) -> Word {
    let mut carry = 0;
    for (a, b) in a.iter_mut().zip(b).rev() {
        let sum = u16::from(*a) + u16::from(*b) + carry;
        *a = sum as u8;
        carry = sum >> 8;
    }
    a
}

impl fmt::Display for SlotRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "base {}", Hex(&self.base))?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Mapping(key) => write!(f, ", then keccak(key, slot) with key {}", Hex(key)),
            Step::VyperMapping(key) => write!(f, ", then keccak(slot, key) with key {}", Hex(key)),
            Step::Array(i) => write!(f, ", then keccak(slot) + {}", Hex(i)),
            Step::Member(i) => write!(f, ", then slot + {}", Hex(i)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn sums_carry() {
        let mut one = [0; 32];
        one[31] = 1;
        assert_eq!(sum([0xff; 32], &one), [0; 32]);
        let mut low = [0; 32];
        low[30..].fill(0xff);
        let mut carried = [0; 32];
        carried[29] = 1;
        assert_eq!(sum(low, &one), carried);
        assert_eq!(SlotRule { base: low, steps: vec![Step::Member(one)] }.slot(), carried);
    }
}
