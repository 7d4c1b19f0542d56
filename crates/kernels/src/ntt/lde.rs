//! Low-degree extension: polynomials of 2^k coefficients on a coset of 2^(k + rate_bits) points.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::Isa;
use rayon::prelude::*;

use super::{Forward, NttError, Row, check_rows, reverse};

/// Evaluation on `shift` H' with H' 2^rate_bits times as large as the number of coefficients.
///
/// H' is 2^rate_bits cosets of H. *Block* b of the values, starting at row b 2^log_size, has the values on the coset
/// `shift` w^rev(b) H with w of order 2^(log_size + rate_bits). All blocks together are the values in bit-reversed
/// order: a block is one [`Forward`], and the zeros that pad the coefficients are never multiplied.
#[derive(Clone, Debug)]
pub struct Lde {
    rate_bits: u32,
    shift: Goldilocks,
    blocks: Vec<Forward>,
}

impl Lde {
    /// The extension of 2^`log_size` coefficients by 2^`rate_bits`. Its tables take 2^(log_size + rate_bits) words, as
    /// many as the values of one column.
    ///
    /// # Panics
    /// When used on a CPU that lacks the instruction set.
    pub fn on(isa: Isa, log_size: u32, rate_bits: u32, shift: Goldilocks) -> Result<Self, NttError> {
        let log = log_size.saturating_add(rate_bits);
        let root = Goldilocks::root_of_unity(log).ok_or(NttError::LogSize { log_size: log })?;
        let block = |b| Forward::on(isa, log_size, shift * root.pow(reverse(b, rate_bits) as u64));
        let blocks = (0..1 << rate_bits).into_par_iter().map(block).collect::<Result<_, _>>()?;
        Ok(Self { rate_bits, shift, blocks })
    }

    /// Coefficients of a polynomial.
    pub fn size(&self) -> usize {
        1 << self.blocks[0].log_size()
    }

    /// log2 of the values per coefficient.
    pub fn rate_bits(&self) -> u32 {
        self.rate_bits
    }

    /// Values of a polynomial.
    pub fn extended_size(&self) -> usize {
        self.size() << self.rate_bits
    }

    /// The evaluation that makes each block.
    pub fn blocks(&self) -> &[Forward] {
        &self.blocks
    }

    /// The point of row `row` of the values, `None` after the last row.
    pub fn point(&self, row: usize) -> Option<Goldilocks> {
        let log = self.extended_size().ilog2();
        let root = Goldilocks::root_of_unity(log).expect("checked when this was made");
        (row < self.extended_size()).then(|| self.shift * root.pow(reverse(row, log) as u64))
    }

    /// Extends groups of coefficients, one after the other, to groups of values in bit-reversed order, one after the
    /// other.
    pub fn extend(&self, coefficients: &[Row], values: &mut [Row]) -> Result<(), NttError> {
        let n = self.size();
        check_rows("coefficients", coefficients, coefficients.len().next_multiple_of(n))?;
        check_rows("values", values, coefficients.len() << self.rate_bits)?;
        values.par_chunks_mut(n).enumerate().try_for_each(|(i, values)| {
            let (group, block) = (i >> self.rate_bits, i % self.blocks.len());
            self.blocks[block].transform(&coefficients[group * n..][..n], values)
        })
    }
}
