//! The powers of u of every factor of X^n - s^n.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::NttError;

/// Factors that one pass splits a factor into, below the top.
pub(super) const RADIX: usize = 16;
const LOG_RADIX: u32 = RADIX.ilog2();

/// The powers u^0 to u^15 of one node.
pub(super) type Node = [Goldilocks; RADIX];

/// The direction of the transform: by u or by 1/u.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Inverse,
}

/// The factors of a transform of length 2^log_size on the coset of `shift`.
///
/// The root splits X^n - s^n into 2, 4, 8 or 16 factors, so the remaining levels come in steps of 16. Below the root,
/// level by level, are the nodes X^m - u^16 from left to right: the children of node q are 16 q to 16 q + 15 of the
/// next level. n words in all.
#[derive(Clone, Debug)]
pub(super) struct Twiddles {
    pub(super) log_size: u32,
    /// Powers of the root's u; times 1/n in an inverse. Empty for n = 1.
    pub(super) top: Vec<Goldilocks>,
    pub(super) levels: Vec<Vec<Node>>,
}

impl Twiddles {
    pub(super) fn new(isa: Isa, log_size: u32, shift: Goldilocks, direction: Direction) -> Result<Self, NttError> {
        if log_size > Goldilocks::TWO_ADICITY {
            return Err(NttError::LogSize { log_size });
        }
        let inverse = shift.inverse().ok_or(NttError::ZeroShift)?;
        let base = if direction == Direction::Forward { shift } else { inverse };
        // The root of order 2^log, or its inverse.
        let root = |log: u32| {
            let root = Goldilocks::root_of_unity(log).expect("log is at most log_size");
            if direction == Direction::Forward { root } else { root.pow((1 << log) - 1) }
        };
        let log_top = if log_size == 0 { 0 } else { (log_size - 1) % LOG_RADIX + 1 };
        let mut top = Vec::new();
        if log_size > 0 {
            let u = base.pow(1 << (log_size - log_top));
            let scale = match direction {
                Direction::Forward => Goldilocks::ONE,
                Direction::Inverse => power_of_two(log_size).inverse().expect("a power of two is not zero"),
            };
            top.extend(core::iter::successors(Some(scale), |x| Some(*x * u)).take(1 << log_top));
        }
        let mut levels = Vec::new();
        let mut log = log_size - log_top;
        while log > 0 {
            let depth = log_size - log;
            // u of node q is s^(m/16) times the root of order 2^(depth + 4) to the power rev(q).
            let mut us = Vec::with_capacity(1 << depth);
            us.push(base.pow(1 << (log - LOG_RADIX)));
            for bit in 0..depth {
                let root = root(bit + 1 + LOG_RADIX);
                us.extend_from_within(..);
                let half = us.len() / 2;
                dispatch_on(isa, Scale { elements: &mut us[half..], by: root });
            }
            let mut nodes = vec![[Goldilocks::ONE; RADIX]; us.len()];
            const CHUNK: usize = 1 << 10;
            nodes
                .par_chunks_mut(CHUNK)
                .zip(us.par_chunks(CHUNK))
                .for_each(|(nodes, us)| dispatch_on(isa, Powers { us, nodes }));
            levels.push(nodes);
            log -= LOG_RADIX;
        }
        Ok(Self { log_size, top, levels })
    }

    /// Rows of a transform.
    pub(super) fn len(&self) -> usize {
        1 << self.log_size
    }
}

/// 2^k for k <= 32.
fn power_of_two(k: u32) -> Goldilocks {
    Goldilocks::new(1 << k)
}

/// Every element times one.
struct Scale<'a> {
    elements: &'a mut [Goldilocks],
    by: Goldilocks,
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let by = f.factor(f.splat(self.by));
        let (vectors, rest) = self.elements.as_chunks_mut::<LANES>();
        for x in vectors {
            f.store(f.reduce(f.mul_by(f.load(x), by)), x);
        }
        for x in rest {
            *x *= self.by;
        }
    }
}

/// Powers of every u, eight nodes at a time.
struct Powers<'a> {
    us: &'a [Goldilocks],
    nodes: &'a mut [Node],
}

impl Kernel for Powers<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let (vectors, rest) = self.us.as_chunks::<LANES>();
        let (nodes, rest_nodes) = self.nodes.split_at_mut(vectors.len() * LANES);
        for (us, nodes) in vectors.iter().zip(nodes.as_chunks_mut::<LANES>().0) {
            let mut powers = [f.splat(Goldilocks::ONE); RADIX];
            powers[1] = f.load(us);
            for k in 2..RADIX {
                powers[k] = f.reduce(f.mul(powers[k / 2], powers[k - k / 2]));
            }
            for (half, powers) in powers.as_chunks::<LANES>().0.iter().enumerate() {
                for (node, words) in nodes.iter_mut().zip(f.transpose(*powers)) {
                    f.store(words, &mut node.as_chunks_mut().0[half]);
                }
            }
        }
        for (u, node) in rest.iter().zip(rest_nodes) {
            for k in 1..RADIX {
                node[k] = node[k - 1] * *u;
            }
        }
    }
}
