//! The application as circuits on tables.

use evergrove::apps::MapReduce;
use evergrove::apps::tables::{Arithmetic, Base, Circuits, Slot, open_row};
use evergrove::primitives::Goldilocks;

use crate::Score;
use crate::score::{NUMBER_BITS, SCORE_BITS};

const ONE: Goldilocks = Goldilocks::ONE;
const TWO: Goldilocks = Goldilocks::new(2);

impl Circuits for Score {
    /// The weights are wires, so that all weights of the same columns share circuits.
    fn inputs(&self) -> Vec<Goldilocks> {
        self.terms().map(|(_, weight)| Goldilocks::new(weight)).collect()
    }

    fn bounds(&self) -> Vec<usize> {
        vec![NUMBER_BITS, SCORE_BITS]
    }

    fn fold(&self, b: &mut dyn Arithmetic, inputs: &[Base], slots: &[Slot]) -> Vec<Base> {
        let mut output = vec![b.zero(); self.output_len()];
        for slot in slots {
            let row = open_row(b, slot, &self.schema);
            let mut score = b.zero();
            for ((element, _), weight) in self.terms().zip(inputs) {
                let (word, limb) = row[element];
                let x = b.limb(word, limb);
                // For a slot without a leaf the prover may choose any value, which must count as 0.
                let x = b.mul(slot.active.into(), x);
                b.below(x, NUMBER_BITS);
                score = b.mul_add(*weight, x, score);
            }
            b.below(score, SCORE_BITS);
            output[0] = b.add(output[0], slot.active.into());
            output[1] = b.add(output[1], score);
            output[2] = greatest(b, output[2], score);
        }
        output
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        vec![b.add(left[0], right[0]), b.add(left[1], right[1]), greatest(b, left[2], right[2])]
    }
}

/// The greater of two numbers below 2^`SCORE_BITS`.
///
/// The prover chooses a bit t, which says whether x >= y. Then x - y for t = 1, or y - 1 - x for t = 0, must be below
/// 2^`SCORE_BITS`. With the other bit the number would be negative, which is an element close to the order of the
/// field.
fn greatest(b: &mut dyn Arithmetic, x: Base, y: Base) -> Base {
    let t = b.bit_of(&[x, y], |of| Goldilocks::new((of[0].as_u64() >= of[1].as_u64()).into()));
    let (not, difference) = (b.not(t), b.sub(x, y));
    let distance = b.combine([TWO, -ONE, -ONE], difference, t.into(), not.into());
    b.below(distance, SCORE_BITS);
    b.select(t, x, y)
}
