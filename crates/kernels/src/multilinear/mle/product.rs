//! Products of all values, and HyperPlonk's product MLE.

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::MleError;
use crate::tree::ops::{Product, reduce_levels_on};
use crate::tree::schedule::{Plan, Schedule, Tree};

/// Values of a task.
const TASK: usize = 1 << 14;

/// Chains of products that run side by side: the latency of a product is several times its cost.
const CHAINS: usize = 4;

/// The product of any number of values; 1 for none.
///
/// One multiplication for each value: the root of the multiplication tree, with its nodes associated in another way.
pub fn product<F: Field>(values: &[F]) -> F {
    product_on(F::isa(), values)
}

/// [`product`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn product_on<F: Field>(isa: Isa, values: &[F]) -> F {
    values.par_chunks(TASK).map(|values| dispatch_on(isa, Chains(values))).product()
}

/// The product of some values.
struct Chains<'a, F>(&'a [F]);

impl<F: Field> Kernel for Chains<'_, F> {
    type Output = F;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> F {
        let f = F::on(lanes);
        let (blocks, rest) = self.0.as_chunks::<{ CHAINS * LANES }>();
        let mut chains = [f.splat(&F::ONE); CHAINS];
        for block in blocks {
            for (chain, values) in chains.iter_mut().zip(block.as_chunks().0) {
                *chain = f.mul(*chain, f.load(values));
            }
        }
        let [a, b, c, d] = chains;
        let lanes = f.to_array(f.mul(f.mul(a, b), f.mul(c, d)));
        lanes.iter().chain(rest).copied().product()
    }
}

/// HyperPlonk's product MLE of 2^mu values, into 2^mu elements: the products of pairs, then of fours, up to the product
/// of all, and finally a 0.
///
/// Entry x is the product of entries 2 x and 2 x + 1 of the values followed by the table itself. 2^mu - 1 multiplications.
pub fn product_table<F: Field>(values: &[F], table: &mut [F]) -> Result<(), MleError> {
    product_table_on(F::isa(), values, table)
}

/// [`product_table`] on a given instruction set.
///
/// # Panics
/// If this CPU lacks the instruction set.
pub fn product_table_on<F: Field>(isa: Isa, values: &[F], table: &mut [F]) -> Result<(), MleError> {
    if !values.len().is_power_of_two() {
        return Err(MleError::NotAPower { found: values.len() });
    }
    if table.len() != values.len() {
        return Err(MleError::Length { buffer: "table", found: table.len(), expected: values.len() });
    }
    let (last, nodes) = table.split_last_mut().expect("a power of two is not 0");
    let height = values.len().ilog2();
    let plan = Plan::new(Tree::ReduceLevels, height, Schedule::hybrid_for(height)).expect("the values fit memory");
    reduce_levels_on(isa, &Product::new(), &plan, values, nodes).expect("lengths were checked");
    *last = F::ZERO;
    Ok(())
}
