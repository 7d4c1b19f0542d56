//! Compares our scheme with the others, in one process and with the same prover.

use std::str::FromStr;

use anyhow::{Context, bail};
use evergrove_baselines::paper::PaperBackend;
use evergrove_plonky2::Plonky2Backend;
use evergrove_verifier::Profile;
use serde::Serialize;

use super::baselines::{Circuit, Tree};
use super::footprint;
use super::recursive::Recursive;
use super::scheme::{Facts, Scheme, Timing, timed};
use super::world::World;
use crate::turns::{median, print_json};

/// A scheme that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemeName {
    Evergrove,
    RecklePaper,
    TreeOfProofs,
    Monolithic,
}

impl SchemeName {
    pub(crate) const ALL: [Self; 4] = [Self::Evergrove, Self::RecklePaper, Self::TreeOfProofs, Self::Monolithic];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Evergrove => "evergrove",
            Self::RecklePaper => "reckle-paper",
            Self::TreeOfProofs => "tree-of-proofs",
            Self::Monolithic => "monolithic",
        }
    }
}

impl FromStr for SchemeName {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|n| n.name() == s).ok_or_else(|| format!("choose from {}", names()))
    }
}

/// One value of `--schemes`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemeArg(Option<SchemeName>);

impl FromStr for SchemeArg {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        if s == "all" { Ok(Self(None)) } else { s.parse().map(|n| Self(Some(n))) }
    }
}

impl SchemeArg {
    /// The named schemes without duplicates. Ours always comes first.
    pub(crate) fn names(args: &[Self]) -> Vec<SchemeName> {
        let named = |n: &SchemeName| args.iter().any(|a| a.0.is_none_or(|one| one == *n));
        SchemeName::ALL.into_iter().filter(|n| *n == SchemeName::Evergrove || named(n)).collect()
    }
}

/// The costs of a scheme for one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    pub(crate) batch: usize,
    pub(crate) aggregate: Timing,
    /// The median of the updates.
    pub(crate) update: Timing,
    pub(crate) verify: Timing,
    pub(crate) facts: Facts,
    /// Peak of a separate process; 0 if it was not measured.
    pub(crate) peak_rss_bytes: u64,
    /// q of the paper's scheme; `None` for others.
    block_height: Option<u8>,
    /// The seconds of our scheme: aggregate, update, verify. `None` for our own row.
    ours: Option<[f64; 3]>,
}

/// One line of results.
#[derive(Serialize)]
struct Row<'a> {
    kernel: &'a str,
    r#impl: &'a str,
    profile: &'a str,
    log_size: u8,
    /// Members of the batch.
    size: usize,
    threads: usize,
    seconds: f64,
    ns_per_element: f64,
    /// Seconds divided by ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The seconds are computed from measured proofs and the number of proofs of this batch.
    extrapolated: bool,
    /// Members of the batch whose proofs were measured.
    measured_batch: usize,
    proofs: usize,
    setup_s: f64,
    key_bytes: usize,
    verification_key_bytes: usize,
    proof_bytes: usize,
    peak_rss_bytes: u64,
    /// q of the paper's scheme; `None` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_height: Option<u8>,
}

impl Compared {
    /// Prints three rows: aggregation, update, verification.
    pub(crate) fn print(&self, profile: Profile, world: &World, threads: usize, json: bool) -> anyhow::Result<()> {
        let kernels = ["reckle-aggregate", "reckle-update", "reckle-verify"];
        for (k, (kernel, timing)) in kernels.into_iter().zip([self.aggregate, self.update, self.verify]).enumerate() {
            let Timing { seconds, proofs, extrapolated, measured_batch } = timing;
            let row = Row {
                kernel,
                r#impl: self.name,
                profile: profile.name(),
                log_size: world.height,
                size: self.batch,
                threads,
                seconds,
                ns_per_element: seconds * 1e9 / self.batch as f64,
                ratio: self.ours.map(|ours| seconds / ours[k]),
                extrapolated,
                measured_batch,
                proofs,
                setup_s: self.facts.setup_s,
                key_bytes: self.facts.proving_key_bytes,
                verification_key_bytes: self.facts.verification_key_bytes,
                proof_bytes: self.facts.proof_bytes,
                peak_rss_bytes: self.peak_rss_bytes,
                block_height: self.block_height,
            };
            if json {
                print_json(&row)?;
                continue;
            }
            let ratio = row.ratio.map_or(String::new(), |r| format!(", {r:.2} times ours"));
            let how = if extrapolated { "extrapolated from a batch" } else { "measured on a batch" };
            let blocks = self.block_height.map_or(String::new(), |q| format!(", blocks of 2^{q}"));
            println!(
                "{kernel} {:15} {seconds:.4} s, {proofs} proofs{blocks}, {how} of {measured_batch}{ratio}",
                self.name
            );
        }
        if !json {
            let Facts { setup_s, proving_key_bytes, verification_key_bytes, proof_bytes } = self.facts;
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            println!(
                "  set-up {setup_s:.1} s, proving keys {:.1} MiB, verification key {verification_key_bytes} B, proof {proof_bytes} B, peak memory {:.0} MiB",
                mib(proving_key_bytes as u64),
                mib(self.peak_rss_bytes)
            );
        }
        Ok(())
    }
}

/// The schemes, with their circuits.
pub(crate) struct Comparison {
    pub(crate) ours: Recursive<Plonky2Backend>,
    pub(crate) paper: Option<Recursive<PaperBackend>>,
    tree: Option<Tree>,
    circuit: Option<Circuit>,
    /// q of the paper's scheme.
    block_height: u8,
    repeat: usize,
    footprints: Vec<(&'static str, u64)>,
}

impl Comparison {
    /// Builds the circuits of the named schemes. Blocks of `reckle-paper` have 2^`block_height` slots. `largest` is the
    /// largest batch that `reckle-paper` and `tree-of-proofs` really prove, and `repeat` is the number of updates.
    pub(crate) fn load(
        names: &[SchemeName],
        profile: Profile,
        world: &World,
        ours: Recursive<Plonky2Backend>,
        block_height: u8,
        largest: usize,
        repeat: usize,
    ) -> anyhow::Result<Self> {
        let has = |name| names.contains(&name);
        let largest = largest.min(world.members.len());
        let of_paper = || paper(profile, world, block_height, largest, repeat);
        Ok(Self {
            ours,
            paper: has(SchemeName::RecklePaper).then(of_paper).transpose()?,
            tree: has(SchemeName::TreeOfProofs).then(|| Tree::build(profile, world, largest)).transpose()?,
            circuit: has(SchemeName::Monolithic).then(|| Circuit::new(profile, world)),
            block_height,
            repeat,
            footprints: vec![],
        })
    }

    /// Measures the peak memory of each scheme in a separate process.
    pub(crate) fn footprints(
        &mut self,
        profile: Profile,
        log_size: u8,
        batch_log: u8,
        threads: usize,
    ) -> anyhow::Result<()> {
        let names: Vec<_> = self.schemes().map(|s| s.name()).collect();
        for name in names {
            let peak = footprint::of(name, profile, self.block_height, log_size, batch_log, threads)?;
            self.footprints.push((name, peak));
        }
        Ok(())
    }

    fn schemes(&mut self) -> impl Iterator<Item = &mut dyn Scheme> {
        let Self { ours, paper, tree, circuit, .. } = self;
        let ours: &mut dyn Scheme = ours;
        let others = [
            paper.as_mut().map(|s| s as &mut dyn Scheme),
            tree.as_mut().map(|s| s as &mut dyn Scheme),
            circuit.as_mut().map(|s| s as &mut dyn Scheme),
        ];
        core::iter::once(ours).chain(others.into_iter().flatten())
    }

    /// Measures all schemes on the batch of these members. The first result is ours. Updates take turns, so that
    /// changes of the machine's speed affect all schemes.
    pub(crate) fn run(&mut self, members: &[u64]) -> anyhow::Result<Vec<Compared>> {
        let (repeat, q) = (self.repeat, self.block_height);
        let footprints = self.footprints.clone();
        let mut aggregates = vec![];
        for scheme in self.schemes() {
            aggregates.push(scheme.aggregate(members).with_context(|| format!("aggregating by {}", scheme.name()))?);
        }
        let mut updates: Vec<Vec<Timing>> = vec![vec![]; aggregates.len()];
        for _ in 0..repeat {
            for (scheme, updates) in self.schemes().zip(&mut updates) {
                updates.push(scheme.update().with_context(|| format!("updating by {}", scheme.name()))?);
            }
        }
        let mut out: Vec<Compared> = vec![];
        for ((scheme, aggregate), updates) in self.schemes().zip(aggregates).zip(updates) {
            let Some(last) = updates.last() else { bail!("--repeat is at least 1") };
            let seconds: Vec<f64> = updates.iter().map(|t| t.seconds).collect();
            let proofs = updates.iter().map(|t| t.proofs).max().unwrap_or(0);
            let update = Timing { seconds: median(seconds), proofs, ..*last };
            let (verify, _) = scheme.verify()?;
            let ours = out.first().map(|o| [o.aggregate.seconds, o.update.seconds, o.verify.seconds]);
            let name = scheme.name();
            let peak_rss_bytes = footprints.iter().find(|f| f.0 == name).map_or(0, |f| f.1);
            let facts = scheme.facts()?;
            let (batch, block_height) = (members.len(), (name == SchemeName::RecklePaper.name()).then_some(q));
            out.push(Compared { name, batch, aggregate, update, verify, facts, peak_rss_bytes, block_height, ours });
        }
        Ok(out)
    }
}

/// The paper's scheme with blocks of 2^`block_height` slots and all circuits for the vector's height.
pub(crate) fn paper(
    profile: Profile,
    world: &World,
    block_height: u8,
    largest: usize,
    repeat: usize,
) -> anyhow::Result<Recursive<PaperBackend>> {
    let (backend, setup_s) = timed(|| {
        let backend = PaperBackend::with_block_height(profile, world.class, block_height)?;
        backend.setup(world.height);
        Ok(backend)
    })?;
    let facts = Facts {
        setup_s,
        proving_key_bytes: backend.proving_key_bytes(world.height)?,
        verification_key_bytes: backend.verification_key_bytes(world.height),
        proof_bytes: 0,
    };
    Ok(Recursive::new("reckle-paper", backend, world, facts, largest, repeat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_always_compared_and_each_scheme_once() {
        let names = |text: &str| -> Result<Vec<&str>, String> {
            let args = text.split(',').map(str::parse).collect::<Result<Vec<SchemeArg>, _>>()?;
            Ok(SchemeArg::names(&args).into_iter().map(SchemeName::name).collect())
        };
        let all = ["evergrove", "reckle-paper", "tree-of-proofs", "monolithic"];
        assert_eq!(names("all").unwrap(), all);
        assert_eq!(names("monolithic,all").unwrap(), all);
        assert_eq!(names("reckle-paper,reckle-paper").unwrap(), ["evergrove", "reckle-paper"]);
        assert_eq!(names("evergrove").unwrap(), ["evergrove"]);
        assert!(names("groth16").unwrap_err().contains("reckle-paper"));
    }
}
