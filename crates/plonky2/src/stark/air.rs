//! Tables given by their constraints.

use core::marker::PhantomData;

use plonky2::field::extension::FieldExtension;
use plonky2::field::packed::PackedField;
use plonky2::field::types::Field;
use plonky2::iop::ext_target::ExtensionTarget;
use plonky2::plonk::circuit_builder::CircuitBuilder;
use plonky2::util::reducing::ReducingFactorTarget;
use starky::constraint_consumer::{ConstraintConsumer, RecursiveConstraintConsumer};
use starky::evaluation_frame::StarkEvaluationFrame;
use starky::stark::Stark;

use crate::circuit::{D, F};

/// The values of constraints: field elements, vectors of them, or wires of a circuit.
///
/// Constraints come in a fixed order and number. Implementations of every function are `#[inline(always)]`, and so must be
/// the constraints ([`Air::constraints`]), since vectors need it.
pub trait Algebra {
    /// An element.
    type T: Copy;
    /// A number.
    fn constant(&mut self, x: u64) -> Self::T;
    /// a + b.
    fn add(&mut self, a: Self::T, b: Self::T) -> Self::T;
    /// a - b.
    fn sub(&mut self, a: Self::T, b: Self::T) -> Self::T;
    /// a b.
    fn mul(&mut self, a: Self::T, b: Self::T) -> Self::T;
    /// The sum of 2^i x_i, of 32 terms at most.
    fn sum_of_powers(&mut self, terms: &[Self::T]) -> Self::T;
    /// Constrains x = 0 in every row, where the first row follows the last.
    fn constraint(&mut self, x: Self::T);
    /// Constrains x = 0 in every row except the last.
    fn constraint_transition(&mut self, x: Self::T);
    /// Constrains x = 0 in the first row.
    fn constraint_first_row(&mut self, x: Self::T);
    /// Constrains x = 0 in the last row.
    fn constraint_last_row(&mut self, x: Self::T);

    /// a + b - 2ab: the sum of bits.
    #[inline(always)]
    fn xor(&mut self, a: Self::T, b: Self::T) -> Self::T {
        let product = self.mul(a, b);
        let rest = self.sub(a, product);
        let other = self.sub(b, product);
        self.add(rest, other)
    }
}

/// The columns of its rows that a table exposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The columns of a record.
    pub columns: Vec<usize>,
    /// The column that is 1 in the rows that have a record, and otherwise 0, by constraints of the table.
    pub filter: usize,
}

/// A table: a number of columns, and constraints on every two rows that follow each other.
pub trait Air: Copy + Default + Send + Sync + 'static {
    /// Columns.
    const COLUMNS: usize;
    /// Public inputs.
    const PUBLIC_INPUTS: usize;
    /// The largest degree of a constraint in the columns, factors for first, last and other rows included. At least 2.
    const DEGREE: usize;
    /// How many constraints [`Air::constraints`] makes.
    const CONSTRAINTS: usize;

    /// The constraints. Implementations carry `#[inline(always)]`.
    fn constraints<A: Algebra>(a: &mut A, local: &[A::T], next: &[A::T], public_inputs: &[A::T]);

    /// The exposed columns.
    fn exposed() -> Option<Exposed> {
        None
    }
}

/// An [`Air`] as `starky` sees tables.
#[derive(Clone, Copy, Debug, Default)]
pub struct AirStark<A>(PhantomData<A>);

/// Two rows of an [`Air`].
#[derive(Debug)]
pub struct Frame<A, T, U> {
    local: Vec<T>,
    next: Vec<T>,
    public_inputs: Vec<U>,
    air: PhantomData<A>,
}

impl<A: Air, T: Copy + Default, U: Copy + Default> StarkEvaluationFrame<T, U> for Frame<A, T, U> {
    const COLUMNS: usize = A::COLUMNS;
    const PUBLIC_INPUTS: usize = A::PUBLIC_INPUTS;

    fn get_local_values(&self) -> &[T] {
        &self.local
    }

    fn get_next_values(&self) -> &[T] {
        &self.next
    }

    fn get_public_inputs(&self) -> &[U] {
        &self.public_inputs
    }

    fn from_values(local: &[T], next: &[T], public_inputs: &[U]) -> Self {
        Self { local: local.to_vec(), next: next.to_vec(), public_inputs: public_inputs.to_vec(), air: PhantomData }
    }
}

impl<A: Air> Stark<F, D> for AirStark<A> {
    type EvaluationFrame<FE, P, const D2: usize>
        = Frame<A, P, FE>
    where
        FE: FieldExtension<D2, BaseField = F>,
        P: PackedField<Scalar = FE>;
    type EvaluationFrameTarget = Frame<A, ExtensionTarget<D>, ExtensionTarget<D>>;

    fn eval_packed_generic<FE, P, const D2: usize>(
        &self,
        vars: &Self::EvaluationFrame<FE, P, D2>,
        consumer: &mut ConstraintConsumer<P>,
    ) where
        FE: FieldExtension<D2, BaseField = F>,
        P: PackedField<Scalar = FE>,
    {
        let public_inputs: Vec<P> = vars.public_inputs.iter().map(|x| P::from(*x)).collect();
        A::constraints(&mut Packed { consumer }, &vars.local, &vars.next, &public_inputs);
    }

    fn eval_ext_circuit(
        &self,
        builder: &mut CircuitBuilder<F, D>,
        vars: &Self::EvaluationFrameTarget,
        consumer: &mut RecursiveConstraintConsumer<F, D>,
    ) {
        A::constraints(&mut Wires { builder, consumer }, &vars.local, &vars.next, &vars.public_inputs);
    }

    fn constraint_degree(&self) -> usize {
        A::DEGREE
    }

    fn requires_ctls(&self) -> bool {
        A::exposed().is_some()
    }
}

/// plonky2's fields.
struct Packed<'a, P: PackedField> {
    consumer: &'a mut ConstraintConsumer<P>,
}

impl<P: PackedField> Algebra for Packed<'_, P> {
    type T = P;

    #[inline(always)]
    fn constant(&mut self, x: u64) -> P {
        P::from(P::Scalar::from_noncanonical_u64(x))
    }
    #[inline(always)]
    fn add(&mut self, a: P, b: P) -> P {
        a + b
    }
    #[inline(always)]
    fn sub(&mut self, a: P, b: P) -> P {
        a - b
    }
    #[inline(always)]
    fn mul(&mut self, a: P, b: P) -> P {
        a * b
    }
    #[inline(always)]
    fn sum_of_powers(&mut self, terms: &[P]) -> P {
        terms.iter().rev().fold(P::ZEROS, |sum, x| sum.doubles() + *x)
    }
    #[inline(always)]
    fn constraint(&mut self, x: P) {
        self.consumer.constraint(x);
    }
    #[inline(always)]
    fn constraint_transition(&mut self, x: P) {
        self.consumer.constraint_transition(x);
    }
    #[inline(always)]
    fn constraint_first_row(&mut self, x: P) {
        self.consumer.constraint_first_row(x);
    }
    #[inline(always)]
    fn constraint_last_row(&mut self, x: P) {
        self.consumer.constraint_last_row(x);
    }
}

/// Wires of a circuit.
struct Wires<'a> {
    builder: &'a mut CircuitBuilder<F, D>,
    consumer: &'a mut RecursiveConstraintConsumer<F, D>,
}

impl Algebra for Wires<'_> {
    type T = ExtensionTarget<D>;

    fn constant(&mut self, x: u64) -> Self::T {
        let x = self.builder.constant(F::from_noncanonical_u64(x));
        self.builder.convert_to_ext(x)
    }
    fn add(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.builder.add_extension(a, b)
    }
    fn sub(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.builder.sub_extension(a, b)
    }
    fn mul(&mut self, a: Self::T, b: Self::T) -> Self::T {
        self.builder.mul_extension(a, b)
    }
    fn sum_of_powers(&mut self, terms: &[Self::T]) -> Self::T {
        let two = F::TWO.into();
        let two = self.builder.constant_extension(two);
        ReducingFactorTarget::new(two).reduce(terms, self.builder)
    }
    fn constraint(&mut self, x: Self::T) {
        self.consumer.constraint(self.builder, x);
    }
    fn constraint_transition(&mut self, x: Self::T) {
        self.consumer.constraint_transition(self.builder, x);
    }
    fn constraint_first_row(&mut self, x: Self::T) {
        self.consumer.constraint_first_row(self.builder, x);
    }
    fn constraint_last_row(&mut self, x: Self::T) {
        self.consumer.constraint_last_row(self.builder, x);
    }
    /// a (1 - 2b) + b.
    fn xor(&mut self, a: Self::T, b: Self::T) -> Self::T {
        let sum = self.builder.add_extension(a, b);
        self.builder.arithmetic_extension(-F::TWO, F::ONE, a, b, sum)
    }
}
