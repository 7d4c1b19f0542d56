//! The tools for writing circuits of applications on the engine's tables.
//!
//! An application returns [`Circuits`] from [`MapReduce::on_tables`](crate::MapReduce::on_tables), and writes them
//! against [`Arithmetic`]. [`open_row`] ties the row of a slot to the slot's value, as [`row`] does in code: most
//! applications begin with both.

use evergrove_commit::schema::{INLINE_ELEMENTS, Schema};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::hash_tagged;

pub use evergrove_grove::application::{Circuits, Slot};
pub use evergrove_multilinear::circuit::wires::{Base, Bool, Word};
pub use evergrove_multilinear::circuit::{Arithmetic, Hint};

use crate::{Leaf, MapReduceError};

/// Elements that open a row of this schema: the [`MapReduce::opening_len`](crate::MapReduce::opening_len) of an
/// application that reads rows. A row of at most four elements is its slot's value, and needs no opening.
pub fn opening_len(schema: &Schema) -> usize {
    if schema.is_inline() { 0 } else { schema.elements_per_row() }
}

/// The elements of a leaf's row, checked against its value. A row of at most four elements is followed by zeros.
///
/// # Errors
/// If the opening does not have the schema's number of elements, or does not open the value.
pub fn row<'a>(leaf: &'a Leaf<'_>, schema: &Schema) -> Result<&'a [Goldilocks], MapReduceError> {
    let (index, found, expected) = (leaf.index, leaf.opening.len(), opening_len(schema));
    if found != expected {
        return Err(MapReduceError::OpeningLength { index, expected, found });
    }
    let opens = if schema.is_inline() {
        leaf.value[schema.elements_per_row()..].iter().all(|x| *x == Goldilocks::ZERO)
    } else {
        hash_tagged(leaf.opening, schema.row_tag()).0 == leaf.value
    };
    match opens {
        false => Err(MapReduceError::Opening { index }),
        true if expected == 0 => Ok(&leaf.value),
        true => Ok(leaf.opening),
    }
}

/// The elements of the row in a slot, as limbs of words. If the slot is active, demands that they encode to its value;
/// otherwise demands nothing. Takes [`opening_len`] elements of free data, so a circuit calls it once for each slot, in
/// order.
///
/// Elements may be any elements of the field. If a column must hold a number, the circuit has to demand it.
pub fn open_row(b: &mut dyn Arithmetic, slot: &Slot, schema: &Schema) -> Vec<(Word, usize)> {
    let n = schema.elements_per_row();
    if schema.is_inline() {
        let none = b.word([Goldilocks::ZERO; INLINE_ELEMENTS]);
        let zeros: Vec<_> = (n..INLINE_ELEMENTS).map(|i| (none, i)).collect();
        b.equal_limbs(slot.active, &slot.value[n..], &zeros);
        return slot.value.to_vec();
    }
    let (digest, words) = b.sponge(schema.row_tag(), n);
    let digest: Vec<_> = (0..INLINE_ELEMENTS).map(|i| (digest, i)).collect();
    b.equal_limbs(slot.active, &digest, &slot.value);
    (0..n).map(|i| (words[i / INLINE_ELEMENTS], i % INLINE_ELEMENTS)).collect()
}
