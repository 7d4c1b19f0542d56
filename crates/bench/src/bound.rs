//! A lower bound on a kernel's time: the number of its vector instructions, divided by the number that a core can issue
//! per second.
//!
//! The counts follow the code in `evergrove-primitives` and `evergrove-kernels`, operation by operation. The unit is an
//! instruction on one register. Loads, stores, transpositions, broadcasts, register spills and stalls are not counted,
//! so no code can reach the bound. docs/benchmarks.md explains this and the model of a core.

use std::hint::black_box;
use std::ops::{Add, Mul};
use std::time::Instant;

use evergrove_curves::Plan;
use evergrove_primitives::lanes::Isa;
use serde_json::{Value, json};

/// With at most this many points the kernel splits scalars into halves, and nothing is counted. Equals the kernel's
/// `HALVED`.
const HALVED: usize = 1 << 13;

/// Vector instructions on one register.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    all: f64,
    /// The multiplications among them, of integers or of floating-point numbers.
    products: f64,
}

const fn instructions(all: u32) -> Count {
    Count { all: all as f64, products: 0.0 }
}

const fn products(all: u32) -> Count {
    Count { all: all as f64, products: all as f64 }
}

impl Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { all: self.all + other.all, products: self.products + other.products }
    }
}

impl Mul<Count> for f64 {
    type Output = Count;
    fn mul(self, count: Count) -> Count {
        Count { all: self * count.all, products: self * count.products }
    }
}

/// Operations on the Goldilocks field, on one register of elements: `field/goldilocks/lanes/mod.rs`.
#[derive(Clone, Copy)]
struct Goldilocks(Isa);

impl Goldilocks {
    fn is_52(self) -> bool {
        self.0 == Isa::Avx512Ifma
    }
    /// A sum or a difference, folded. The count for AVX2 omits the shifts by 2^63, which cancel between two operations.
    fn sum(self) -> Count {
        instructions(if self.0 == Isa::Avx2 { 4 } else { 3 })
    }
    /// Reduces a sum or a product to the least representative.
    fn reduce(self) -> Count {
        instructions(if self.0 == Isa::Avx2 { 3 } else { 2 })
    }
    /// A product of two words with one prepared operand: 21 operations with 52-bit multipliers, 23 with 32-bit
    /// multipliers.
    fn product(self) -> Count {
        if self.is_52() {
            // Seven multiplications, and one for the fold.
            products(8) + instructions(7) + 2.0 * self.sum()
        } else {
            products(5) + instructions(12) + 2.0 * self.sum()
        }
    }
    /// A product with 2^s for s > 0.
    fn shift(self, s: u32) -> Count {
        match s {
            33..=63 => products(1) + instructions(3) + 2.0 * self.sum(),
            _ => products(1) + instructions(2) + self.sum(),
        }
    }
}

/// An NTT node with `radix` children, one register for each: `ntt/pass.rs` and `ntt/butterfly.rs`.
fn ntt_node(f: Goldilocks, radix: u32) -> Count {
    /// The root of block q is 2 to the power `TWISTS[q]`.
    const TWISTS: [u32; 8] = [0, 48, 24, 72, 12, 60, 36, 84];
    let mut count = f64::from(radix - 1) * f.product() + f64::from(radix) * f.reduce();
    for level in 0..radix.ilog2() {
        for twist in &TWISTS[..1 << level] {
            let butterfly = 2.0 * f.sum() + f.reduce();
            let twist = if *twist == 0 { Count::default() } else { f.shift(*twist) };
            count = count + f64::from(radix >> (level + 1)) * (butterfly + twist);
        }
    }
    count
}

/// The extension of eight columns of 2^`log_size` coefficients by a factor of 2^`rate_bits`.
fn extension(isa: Isa, log_size: u32, rate_bits: u32) -> Count {
    let (f, rows) = (Goldilocks(isa), f64::from(1u32 << log_size) * f64::from(1 << rate_bits) * registers(isa));
    let top = if log_size == 0 { 0 } else { (log_size - 1) % 4 + 1 };
    let levels = f64::from((log_size - top) / 4);
    let pass = |radix: u32| (rows / f64::from(radix)) * ntt_node(f, radix);
    let first = if top == 0 { Count::default() } else { pass(1 << top) };
    first + levels * pass(16)
}

/// A Poseidon permutation on registers of states: `hash/poseidon/lanes/rounds.rs` and `sbox.rs`.
fn poseidon(isa: Isa) -> Count {
    let f = Goldilocks(isa);
    let split = instructions(2);
    // l + 2^32 h of two halves. With 52-bit multipliers the sum is part of the product.
    let join = products(1) + instructions(3) + f.sum();
    let (sbox, halves, word, join52) = if f.is_52() {
        // Two squares and two products. Three of the results are folded to pairs.
        let (square, product) = (products(5) + instructions(1), products(7));
        let fold = products(2) + instructions(7);
        let sbox = instructions(1) + 2.0 * square + 2.0 * product + 3.0 * fold;
        (
            sbox,
            products(2) + instructions(6),
            products(1) + instructions(6) + 2.0 * f.sum(),
            products(1) + instructions(2) + f.sum(),
        )
    } else {
        let (square, product) = (products(3) + instructions(6), products(4) + instructions(8));
        let reduce = products(1) + instructions(1) + 2.0 * f.sum();
        let joined = instructions(2);
        let sbox = instructions(4) + 2.0 * square + 2.0 * product + 3.0 * reduce + joined;
        (sbox, instructions(7), joined + reduce, join)
    };
    let matrix = instructions(106);
    let constants = instructions(2);
    let full = 12.0 * (sbox + halves + constants + join52) + 2.0 * matrix;
    let partial = sbox + word + split + 2.0 * matrix + constants + join;
    let renewed = 7.0 * 11.0 * (join + split);
    let around = 12.0 * f.sum() + 11.0 * (split + constants + join);
    8.0 * full + 22.0 * partial + renewed + around
}

/// Keccak-f\[1600\] on registers of states, for a node of a tree: `hash/keccak/lanes.rs`. Fifteen words of the first
/// round are zero, and the last round computes only four words.
fn keccak(isa: Isa) -> Count {
    // Columns, their rotations and sums; theta, rho, chi, iota.
    let rounds = match isa {
        // A rotation takes two shifts and a sum; a rotation by 8 or 56 takes one shuffle.
        Isa::Avx2 => {
            let round = 20 + 5 * 3 + 5 + 25 + 22 * 3 + 2 + 25 * 2 + 1;
            let last = 20 + 5 * 3 + 5 + 5 + 4 * 3 + 4 * 2 + 1;
            (round - 14 - 15) + 22 * round + last
        }
        _ => {
            let round = 10 + 5 + 5 + 25 + 24 + 25 + 1;
            let last = 10 + 5 + 5 + 5 + 4 + 4 + 1;
            (round - 6 - 15) + 22 * round + last
        }
    };
    instructions(rounds)
}

/// Operations on a prime field of `limbs` limbs of 52 bits: `field/prime/radix52.rs`.
#[derive(Clone, Copy)]
struct Prime {
    isa: Isa,
    limbs: u32,
}

impl Prime {
    /// `n` low or high halves of products of limbs, where `operands` limbs are integers. In floating point, a low and a
    /// high half together take two multiplications, two additions and two integer additions. Converting a limb takes
    /// three instructions.
    fn multiplications(self, n: u32, operands: u32) -> Count {
        if self.isa == Isa::Avx512Ifma { products(n) } else { products(n) + instructions(2 * n + 3 * operands) }
    }
    fn normalize(self) -> Count {
        instructions(3 * (self.limbs - 1))
    }
    /// The reduction, the sums of columns and the carries, for the given numbers of early and late steps.
    fn carries(self, early: u32, late: u32) -> Count {
        instructions(3 * early + 4 * late + self.limbs) + self.normalize()
    }
    /// a b.
    fn product(self) -> Count {
        let m = self.limbs;
        self.multiplications(4 * m * m + 1, 3 * m) + self.carries(m - 2, 1) + instructions(2)
    }
    /// a^2.
    fn square(self) -> Count {
        let m = self.limbs;
        self.multiplications(3 * m * m + m + 1, 2 * m) + self.carries(m - 2, 1) + instructions(2 * m + 2)
    }
    /// A product with a prepared factor, whose limbs are already converted.
    fn scale(self) -> Count {
        let m = self.limbs;
        self.multiplications(4 * m * m, 2 * m) + self.carries(m - 2, 2)
    }
    /// Adds a product with a weight from a table to a sum.
    fn accumulate(self) -> Count {
        let m = self.limbs;
        self.multiplications(2 * m * m, 2 * m)
    }
    /// Converts four words to five limbs.
    fn unpack(self) -> Count {
        instructions(if self.limbs == 5 { 12 } else { 0 })
    }
    /// Reduces to the least representative and converts five limbs to four words.
    fn pack(self) -> Count {
        let m = self.limbs;
        instructions(1 + 3 * m) + 2.0 * self.normalize() + instructions(if m == 5 { 11 } else { 0 })
    }
    /// An affine addition in a batch: five products and a square.
    fn addition(self) -> Count {
        5.0 * self.product() + self.square()
    }
}

/// Registers for eight elements.
fn registers(isa: Isa) -> f64 {
    if isa == Isa::Avx2 { 2.0 } else { 1.0 }
}

/// Additions in a multi-scalar multiplication with random scalars, whose magnitudes have `bits` bits.
fn additions(points: usize, bits: usize, threads: u32) -> f64 {
    // A fraction 2^-k of the magnitudes is at least k bits shorter.
    let mut lengths = vec![0; bits + 1];
    let mut left = points;
    for length in lengths.iter_mut().rev() {
        *length = left.div_ceil(2);
        left -= *length;
    }
    let expected = Plan::of_lengths(&lengths, threads as usize).expected(96);
    expected.additions + expected.aggregation
}

/// A measured kernel on one of our implementations.
pub(crate) struct Measured<'a> {
    pub(crate) kernel: &'a str,
    /// Arguments other than size, threads and instruction set.
    pub(crate) arguments: &'a [&'a str],
    pub(crate) isa: Isa,
    pub(crate) size: usize,
    pub(crate) columns: usize,
    pub(crate) threads: u32,
}

impl Measured<'_> {
    /// The instructions of all threads, and the source of the counts. `None` for plain Rust, and for kernels that do
    /// more work than is counted here.
    fn count(&self) -> Option<(Count, &'static str)> {
        let isa = self.isa;
        if isa == Isa::Portable {
            return None;
        }
        let (size, eighth) = (self.size as f64, registers(isa) / 8.0);
        let permutations = |rows: f64| rows * self.columns.div_ceil(8) as f64;
        let fr = Prime { isa, limbs: 5 };
        Some(match self.kernel {
            "merkle-poseidon" => {
                let hashes = permutations(size) + size - 1.0;
                (hashes * eighth * poseidon(isa), "permutations of leaves and nodes; hash/poseidon/lanes/rounds.rs")
            }
            "merkle-sha3" => {
                ((2.0 * size - 1.0) * eighth * keccak(isa), "Keccak-f of leaves and nodes; hash/keccak/lanes.rs")
            }
            "ntt" => {
                let groups = self.columns.div_ceil(8) as f64;
                (groups * extension(isa, self.size.ilog2(), 3), "butterflies and twiddle factors; ntt/pass.rs")
            }
            "commit-matrix" => {
                let (groups, rows) = (self.columns.div_ceil(8) as f64, 8.0 * size);
                let hashes = (permutations(rows) + rows - 16.0) * eighth * poseidon(isa);
                let extended = groups * extension(isa, self.size.ilog2(), 3);
                (hashes + extended, "permutations and extension, without interpolation; ntt/pass.rs, rounds.rs")
            }
            "field-mul" => {
                let limbs = if self.arguments.contains(&"bls12-381-fr") { 5 } else { 8 };
                (size * eighth * Prime { isa, limbs }.product(), "a product of limbs; field/prime/radix52.rs")
            }
            "mle-eval" => {
                let each = fr.accumulate() + fr.unpack();
                (size * eighth * each, "a product added to a sum for each value; mle/evaluate.rs")
            }
            "build-mle" => {
                let each = fr.scale() + fr.pack();
                (size * eighth * each, "a product and a store for each value; mle/build.rs")
            }
            "product-mle" => {
                let each = fr.product() + fr.pack() + fr.unpack();
                ((size - 1.0) * eighth * each, "a product and a store for each value; mle/product.rs")
            }
            "msm-bls12-377" | "msm-bls12-381" | "msm-bn254" if self.size > HALVED => {
                let (bits, limbs) = match self.kernel {
                    "msm-bls12-377" => (252, 8),
                    "msm-bls12-381" => (254, 8),
                    _ => (253, 5),
                };
                let count = additions(self.size, bits, self.threads) * eighth * Prime { isa, limbs }.addition();
                (count, "five products and a square for each addition that the plan expects; msm/plan.rs")
            }
            _ => return None,
        })
    }

    /// The bound, as fields of a row whose time is `seconds`.
    pub(crate) fn json(&self, core: &Core, seconds: f64) -> Option<Value> {
        let (count, source) = self.count()?;
        let ports = core.ports(self.isa);
        let cycles = (count.all / f64::from(ports)).max(count.products / f64::from(ports.min(MULTIPLIERS)));
        let bound = cycles / f64::from(self.threads) / core.rate / 1e9;
        Some(json!({
            "seconds": bound,
            "ns_per_element": bound * 1e9 / self.size as f64,
            "times": seconds / bound,
            "instructions": count.all,
            "multiplications": count.products,
            "ports": ports,
            "multipliers": ports.min(MULTIPLIERS),
            "ghz": core.rate,
            "source": source,
        }))
    }
}

/// Vector multiplications that a core can issue per cycle. No x86-64 core has more than two units for them.
const MULTIPLIERS: u32 = 2;

/// The maximum throughput of a core.
pub(crate) struct Core {
    /// Vector instructions per cycle, if the caller gave a number.
    ports: Option<u32>,
    amd: bool,
    /// Cycles per nanosecond.
    rate: f64,
}

impl Core {
    /// The core of this machine.
    pub(crate) fn new(ports: Option<u32>) -> Self {
        let amd = std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("AuthenticAMD"));
        Self { ports, amd, rate: 0.0 }
    }

    /// Measures the clock rate again. The highest rate counts, so that the bound stays a lower bound.
    pub(crate) fn measure(&mut self) {
        self.rate = self.rate.max(rate());
    }

    /// Vector instructions per cycle: four on AMD's cores; on Intel's cores three of 256 bits or two of 512 bits.
    fn ports(&self, isa: Isa) -> u32 {
        let usual = match isa {
            _ if self.amd => 4,
            Isa::Avx512 | Isa::Avx512Ifma => 2,
            Isa::Portable | Isa::Avx2 => 3,
        };
        self.ports.unwrap_or(usual)
    }
}

/// Cycles per nanosecond: the best of several runs of a chain of dependent one-cycle operations.
fn rate() -> f64 {
    const TURNS: usize = 16;
    const STEPS: u32 = 1 << 19;
    // `black_box` keeps the compiler from merging the operations.
    let (mask, addend) = black_box((0x9e37_79b9_7f4a_7c15_u64, 0xd1b5_4a32_d192_ed03_u64));
    let turn = |_| {
        let (start, mut x) = (Instant::now(), black_box(1_u64));
        for _ in 0..STEPS {
            x = (x ^ mask).wrapping_add(addend);
        }
        black_box(x);
        2.0 * f64::from(STEPS) / start.elapsed().as_nanos() as f64
    };
    (0..TURNS).map(turn).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts that `field/goldilocks/lanes/mod.rs` and docs/performance.md state.
    #[test]
    fn counts_are_those_of_the_bodies() {
        let product = |isa| Goldilocks(isa).product().all;
        assert_eq!([product(Isa::Avx512Ifma), product(Isa::Avx512)], [21.0, 23.0]);
        let shift = |s| Goldilocks(Isa::Avx512).shift(s).all;
        assert_eq!([shift(12), shift(48), shift(84)], [6.0, 10.0, 6.0]);
        let documented = 8.0 * 1070.0 + 22.0 * 325.0;
        let found = poseidon(Isa::Avx512Ifma).all;
        assert!((found / documented - 1.0).abs() < 0.01, "{found} operations of a permutation");
        let prime = |limbs| Prime { isa: Isa::Avx512Ifma, limbs };
        assert_eq!([prime(5), prime(8)].map(|f| f.product().products), [101.0, 257.0]);
        assert_eq!([prime(5).scale().products, prime(8).square().products], [100.0, 201.0]);
        // 15 products, 32 butterflies, 17 products with powers of two, 16 reductions.
        assert_eq!(ntt_node(Goldilocks(Isa::Avx512Ifma), 16).all, 315.0 + 256.0 + 138.0 + 32.0);
    }

    #[test]
    fn bounds_are_for_what_is_counted() {
        let core = Core { ports: Some(2), amd: false, rate: 2.0 };
        let measured = |kernel, isa| Measured { kernel, arguments: &[], isa, size: 1 << 10, columns: 8, threads: 1 };
        // 1,024 permutations for leaves and 1,023 for nodes, eight at a time.
        let bound = measured("merkle-poseidon", Isa::Avx512Ifma).json(&core, 1.0).unwrap();
        let seconds = 2047.0 / 8.0 * poseidon(Isa::Avx512Ifma).all / 2.0 / 2e9;
        assert!((bound["seconds"].as_f64().unwrap() / seconds - 1.0).abs() < 1e-9, "{bound}");
        for (kernel, isa) in [("ntt", Isa::Portable), ("sumcheck", Isa::Avx2), ("msm-bn254", Isa::Avx2)] {
            assert_eq!(measured(kernel, isa).json(&core, 1.0), None);
        }
    }

    #[test]
    fn the_clock_has_a_rate() {
        let rate = rate();
        assert!(0.1 < rate && rate < 10.0, "{rate} GHz");
    }
}
