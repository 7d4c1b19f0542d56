//! `sumcheck`, `zerocheck` and `product-check` run provers over the scalar field of BLS12-381 or an extension of the
//! Goldilocks field, including the transcript, compared with the textbook's provers (HyperPlonk's).
//!
//! SumCheck proves the sum of eq(w, x) a(x) b(x), which is not known beforehand. ZeroCheck proves a(x) b(x) = 0, with
//! one of the two factors 0 at every x. ProductCheck proves the product of one table's values, including the tree of
//! products.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{anyhow, ensure};
use ark_bls12_381::Fr;
use ark_ff::UniformRand;
use clap::ValueEnum;
use evergrove_kernels::multilinear::sumcheck::reference::textbook::{self, Outcome};
use evergrove_kernels::multilinear::sumcheck::{
    Order, ProductCheck, ProductWitness, ProverTranscript, SpongeProver, SumCheck, Tables, Transcript,
    VirtualPolynomial, ZeroCheck,
};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Field, Quadratic};
use evergrove_primitives::hash::poseidon::{WIDTH, permute};
use evergrove_primitives::lanes::{Isa, available};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::merkle::parse_isa;
use crate::turns::{Row, medians};

/// Runs of each implementation.
const RUNS: usize = 7;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Values of a table, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=26))]
    log_size: u32,
    /// The field.
    #[arg(long, value_enum, default_value = "bls12-381-fr")]
    field: Name,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Ours on this instruction set alone: portable, avx2, avx512, avx512ifma.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Ours alone, without the textbook's prover.
    #[arg(long)]
    no_peers: bool,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    #[value(name = "bls12-381-fr")]
    Bls12_381Fr,
    /// Goldilocks, degree two.
    Quadratic,
    /// Goldilocks, degree three.
    Cubic,
}

/// What is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The sum of eq(w, x) a(x) b(x).
    Sum,
    /// a(x) b(x) = 0.
    Zero,
    /// The product of a's values.
    Product,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Sum => "sumcheck",
            Self::Zero => "zerocheck",
            Self::Product => "product-check",
        }
    }
}

/// A field, and the transcript to use over it.
trait Case: Field {
    type Transcript: ProverTranscript<Self>;

    fn random(rng: &mut ChaCha8Rng) -> Self;
    fn transcript() -> Self::Transcript;
    /// Whether at least one message was sent.
    fn is_proof(transcript: Self::Transcript) -> bool;
}

impl Case for Fr {
    type Transcript = SpongeProver;

    fn random(rng: &mut ChaCha8Rng) -> Self {
        Self::rand(rng)
    }
    fn transcript() -> SpongeProver {
        SpongeProver::new(b"evergrove-bench", b"")
    }
    fn is_proof(transcript: SpongeProver) -> bool {
        !transcript.into_proof().is_empty()
    }
}

/// A duplex sponge of Poseidon for extensions of its field. Messages overwrite the rate, and challenges are read from
/// it.
#[derive(Default)]
struct Duplex {
    state: [Goldilocks; WIDTH],
    sent: usize,
}

impl Duplex {
    fn absorb(&mut self, elements: impl IntoIterator<Item = Goldilocks>) {
        let elements: Vec<Goldilocks> = elements.into_iter().collect();
        for block in elements.chunks(8) {
            self.state[..block.len()].copy_from_slice(block);
            permute(&mut self.state);
        }
    }
}

impl<K: Extension> Transcript<K> for Duplex {
    fn public_bytes(&mut self, bytes: &[u8]) {
        self.absorb(bytes.iter().map(|&byte| Goldilocks::new(byte.into())));
    }
    fn public(&mut self, elements: &[K]) {
        self.absorb(elements.iter().flat_map(|x| x.as_ref().to_vec()));
    }
    fn challenge(&mut self) -> K {
        permute(&mut self.state);
        K::from_coefficients(&self.state[..K::DEGREE]).expect("as many as the degree")
    }
}

impl<K: Extension> ProverTranscript<K> for Duplex {
    fn send(&mut self, message: &[K]) {
        self.sent += message.len();
        Transcript::public(self, message);
    }
}

impl Case for Quadratic {
    type Transcript = Duplex;

    fn random(rng: &mut ChaCha8Rng) -> Self {
        Self([(); 2].map(|()| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))))
    }
    fn transcript() -> Duplex {
        Duplex::default()
    }
    fn is_proof(transcript: Duplex) -> bool {
        transcript.sent > 0
    }
}

impl Case for Cubic {
    type Transcript = Duplex;

    fn random(rng: &mut ChaCha8Rng) -> Self {
        Self([(); 3].map(|()| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))))
    }
    fn transcript() -> Duplex {
        Duplex::default()
    }
    fn is_proof(transcript: Duplex) -> bool {
        transcript.sent > 0
    }
}

/// Challenges that depend only on their number, so that implementations with other messages can be compared.
#[derive(Default)]
struct Scripted(u64);

impl<F: Field> Transcript<F> for Scripted {
    fn public_bytes(&mut self, _bytes: &[u8]) {}
    fn public(&mut self, _elements: &[F]) {}
    fn challenge(&mut self) -> F {
        self.0 += 1;
        F::from_u64(self.0).pow(99)
    }
}

impl<F: Field> ProverTranscript<F> for Scripted {
    fn send(&mut self, _message: &[F]) {}
}

/// The statement and its tables.
struct Input<F> {
    protocol: Protocol,
    polynomial: VirtualPolynomial<F>,
    tables: [Arc<Vec<F>>; 2],
    w: Vec<F>,
}

impl<F: Case> Input<F> {
    fn random(protocol: Protocol, log_size: u32) -> anyhow::Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(255);
        let mut random = |n: usize| (0..n).map(|_| F::random(&mut rng)).collect::<Vec<_>>();
        let (mut a, mut b, w) = (random(1 << log_size), random(1 << log_size), random(log_size as usize));
        if protocol == Protocol::Zero {
            a.iter_mut().step_by(2).for_each(|a| *a = F::ZERO);
            b.iter_mut().skip(1).step_by(2).for_each(|b| *b = F::ZERO);
        }
        let polynomial = VirtualPolynomial::product(log_size as usize, 2)?;
        Ok(Self { protocol, polynomial, tables: [a, b].map(Arc::new), w })
    }

    /// Elements of the workspace.
    fn workspace(&self) -> anyhow::Result<usize> {
        let polynomial = || self.polynomial.clone();
        Ok(match self.protocol {
            Protocol::Sum | Protocol::Zero => ZeroCheck::new(polynomial(), Order::LowFirst).workspace(),
            Protocol::Product => {
                let check = self.product_check(Order::LowFirst)?;
                check.workspace() + check.witness_len()
            }
        })
    }

    fn product_check(&self, order: Order) -> anyhow::Result<ProductCheck<F>> {
        Ok(ProductCheck::new(self.polynomial.variables(), 1, 0, order)?)
    }

    /// Our prover: the sum or product, and the values at the end.
    fn ours(
        &self,
        isa: Isa,
        order: Order,
        workspace: &mut [F],
        transcript: &mut impl ProverTranscript<F>,
    ) -> anyhow::Result<(F, Vec<F>)> {
        let slices = [&self.tables[0][..], &self.tables[1][..]];
        let polynomial = self.polynomial.clone();
        Ok(match self.protocol {
            Protocol::Sum => {
                let check = SumCheck::weighted(polynomial, self.w.clone(), order)?;
                let (sum, end) = check.prove_on(isa, Tables { tables: &slices, workspace }, None, transcript)?;
                (sum, end.values)
            }
            Protocol::Zero => {
                let check = ZeroCheck::new(polynomial, order);
                let end = check.prove_on(isa, Tables { tables: &slices, workspace }, transcript)?;
                (F::ZERO, end.values)
            }
            Protocol::Product => {
                let check = self.product_check(order)?;
                let (buffer, workspace) = workspace.split_at_mut(check.witness_len());
                let witness = ProductWitness::new_on(isa, &check, &slices[..1], &[], buffer)?;
                let (_, end) = check.prove_on(isa, &witness, &slices[..1], &[], workspace, transcript)?;
                // The sum of a ZeroCheck.
                (F::ZERO, vec![end.left, end.right, end.product])
            }
        })
    }

    /// The textbook's prover. Its last value is that of eq.
    fn textbook(&self, transcript: &mut impl ProverTranscript<F>) -> Outcome<F> {
        match self.protocol {
            Protocol::Sum => textbook::weighted_sum_check(&self.polynomial, &self.tables, &self.w, transcript),
            Protocol::Zero => textbook::zero_check(&self.polynomial, &self.tables, transcript),
            Protocol::Product => textbook::product_check(&self.tables[0], transcript),
        }
    }
}

/// Proves. Returns the seconds and the sum.
type Run<'a, F> = Box<dyn FnMut() -> anyhow::Result<(f64, F)> + Send + 'a>;

pub(crate) fn run(protocol: Protocol, args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    match args.field {
        Name::Bls12_381Fr => measure::<Fr>(protocol, args),
        Name::Quadratic => measure::<Quadratic>(protocol, args),
        Name::Cubic => measure::<Cubic>(protocol, args),
    }
}

fn measure<F: Case>(protocol: Protocol, args: &Args) -> anyhow::Result<()> {
    let input = Input::<F>::random(protocol, args.log_size)?;
    let best = args.isa.unwrap_or_else(Isa::detect);
    let own = |isa: Isa, order: Order| {
        let suffix = if args.isa.is_some() || isa != best { format!("-{isa}") } else { String::new() };
        format!("evergrove{suffix}{}", if order == Order::HighFirst { "-high-first" } else { "" })
    };

    let mut variants = vec![(best, Order::LowFirst), (best, Order::HighFirst)];
    if args.isa.is_none() {
        variants.extend(
            available()
                .filter(|isa| [Isa::Portable, Isa::Avx2].contains(isa) && *isa != best)
                .map(|isa| (isa, Order::LowFirst)),
        );
    }
    // All of our runs share one workspace.
    let shared = Mutex::new(vec![F::ONE; input.workspace()?]);
    let mut runs: Vec<(String, Run<'_, F>)> = Vec::new();
    for &(isa, order) in &variants {
        let (input, shared) = (&input, &shared);
        let run = move || {
            let mut workspace = shared.lock().map_err(|_| anyhow!("a run before this one has failed"))?;
            let start = Instant::now();
            let mut transcript = F::transcript();
            let (sum, _) = input.ours(isa, order, &mut workspace, &mut transcript)?;
            ensure!(F::is_proof(transcript), "a proof");
            Ok((start.elapsed().as_secs_f64(), sum))
        };
        runs.push((own(isa, order), Box::new(run)));
    }
    if !args.no_peers {
        let mut workspace = shared.lock().map_err(|_| anyhow!("nobody has run yet"))?;
        let (sum, values) = input.ours(best, Order::LowFirst, &mut workspace, &mut Scripted::default())?;
        let theirs = input.textbook(&mut Scripted::default());
        ensure!((sum, &values[..]) == (theirs.sum, &theirs.values[..values.len()]), "the textbook's prover disagrees");
        drop(workspace);
        let input = &input;
        let run = move || {
            let start = Instant::now();
            let mut transcript = F::transcript();
            let outcome = input.textbook(&mut transcript);
            ensure!(F::is_proof(transcript), "a proof");
            Ok((start.elapsed().as_secs_f64(), outcome.sum))
        };
        runs.push(("reference".to_owned(), Box::new(run)));
        if protocol == Protocol::Sum {
            // Two factors without weights, as in HyperPlonk's SumCheck. This sum is a different one, so it is not
            // compared.
            let polynomial = &input.polynomial;
            let run = move || {
                let start = Instant::now();
                textbook::sum_check(polynomial, &input.tables, &mut F::transcript());
                Ok((start.elapsed().as_secs_f64(), sum))
            };
            runs.push(("reference-two-factors".to_owned(), Box::new(run)));
        }
    }
    let medians = medians(runs.len(), RUNS, |k| rayon::scope(|_| runs[k].1()))?;

    let size = 1usize << args.log_size;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let row = Row {
            kernel: protocol.name(),
            r#impl: name,
            size,
            columns: None,
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, "transcript included")?;
    }
    Ok(())
}
