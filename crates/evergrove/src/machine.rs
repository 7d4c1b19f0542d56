//! The proving speed of this machine, by measurement.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::lanes::permute_many;
use evergrove_primitives::lanes::Isa;

use crate::Config;

/// The proving speed of a machine, which scales estimates ([`Config::costs`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The model of the CPU, as the system reports it.
    pub cpu: String,
    /// The instruction set that kernels use.
    pub isa: Isa,
    /// Threads that were measured together.
    pub threads: usize,
    /// Poseidon permutations a second, on all of these threads.
    pub permutations: f64,
    /// Seconds of one proof of a bucket in the profile `grove-100`, on all of these threads.
    pub proof_seconds: f64,
}

/// Permutations a second, and seconds of a proof, on two cores of a Zen 5 with AVX-512 IFMA: the reference machine of
/// `costs`.
const REFERENCE: (f64, f64) = (12.2e6, 0.14);

/// File in the directory of keys: one line for each measured machine.
const FILE: &str = "machines";
/// First field of a line. Another version of the program measures again.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Duration of the hashing measurement.
const HASHING: Duration = Duration::from_millis(400);
/// Permutations between two readings of the clock.
const STATES: usize = 1 << 10;

impl Machine {
    /// Measures this machine in one or two seconds.
    ///
    /// The proof runs on the threads of the current rayon pool, which should have `threads` threads.
    pub fn measure(threads: usize) -> Self {
        let permutations = permutations(threads.max(1));
        let by_hashing = REFERENCE.1 * REFERENCE.0 / permutations;
        #[cfg(feature = "grove")]
        let proof_seconds = proof_seconds().unwrap_or(by_hashing);
        #[cfg(not(feature = "grove"))]
        let proof_seconds = by_hashing;
        Self { cpu: cpu(), isa: Isa::detect(), threads, permutations, proof_seconds }
    }

    /// The figures kept in `dir` for this model of CPU, this instruction set and this number of threads.
    pub fn kept(dir: &Path, threads: usize) -> Option<Self> {
        let text = fs::read_to_string(dir.join(FILE)).ok()?;
        let (cpu, isa) = (cpu(), Isa::detect());
        text.lines().filter_map(Self::of_line).find(|it| it.is(&cpu, isa, threads))
    }

    /// Keeps the figures in a directory, which is created if it is missing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let file = dir.join(FILE);
        let before = fs::read_to_string(&file).unwrap_or_default();
        let others = before.lines().filter_map(Self::of_line);
        let others = others.filter(|it| !it.is(&self.cpu, self.isa, self.threads));
        let lines: String = others.chain([self.clone()]).map(|it| it.line()).collect();
        let part = dir.join(format!("{FILE}.{}", std::process::id()));
        fs::write(&part, lines)?;
        fs::rename(part, file)
    }

    /// Time of a proof here over the time on the reference machine of `costs`.
    pub(crate) fn slowness(&self) -> f64 {
        self.proof_seconds / REFERENCE.1
    }

    fn is(&self, cpu: &str, isa: Isa, threads: usize) -> bool {
        self.cpu == cpu && self.isa == isa && self.threads == threads
    }

    fn line(&self) -> String {
        let Self { cpu, isa, threads, permutations, proof_seconds } = self;
        format!("{VERSION}\t{cpu}\t{isa}\t{threads}\t{permutations:.0}\t{proof_seconds:.4}\n")
    }

    /// A line of this version with figures above 0.
    fn of_line(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [VERSION, cpu, isa, threads, permutations, proof_seconds] = fields[..] else { return None };
        let positive = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
        Some(Self {
            cpu: cpu.into(),
            isa: Isa::ALL.into_iter().find(|known| known.to_string() == isa)?,
            threads: threads.parse().ok()?,
            permutations: positive(permutations)?,
            proof_seconds: positive(proof_seconds)?,
        })
    }
}

impl Config {
    /// The configuration with this machine's figures: those kept in [`Config::keys`], or figures that are measured now
    /// and kept there. Calls `measures` before a measurement. Figures that cannot be kept are measured in each run.
    #[must_use]
    pub fn measured(mut self, measures: impl FnOnce()) -> Self {
        if self.machine.is_none() {
            let threads = self.threads();
            let kept = self.keys.as_deref().and_then(|dir| Machine::kept(dir, threads));
            self.machine = Some(kept.unwrap_or_else(|| {
                measures();
                let machine = Machine::measure(threads);
                // An unwritable directory costs only time.
                let _ = self.keys.as_deref().map(|dir| machine.keep(dir));
                machine
            }));
        }
        self
    }
}

/// The model of the first core in /proc/cpuinfo. Different models may share a name, but not the numbers of family,
/// model and stepping.
fn cpu() -> String {
    const KNOWN: [&str; 7] =
        ["vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part"];
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = info.lines().take_while(|line| !line.trim().is_empty());
    let fields = first.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim()));
    let words: Vec<&str> = fields.filter(|(name, _)| KNOWN.contains(name)).map(|(_, value)| value).collect();
    if words.is_empty() { std::env::consts::ARCH.into() } else { words.join(" ") }
}

/// Permutations a second on this many threads at a time.
fn permutations(threads: usize) -> f64 {
    let hash = || {
        let mut states = vec![[Goldilocks::ZERO; 12]; STATES];
        let (start, mut n) = (Instant::now(), 0usize);
        while start.elapsed() < HASHING {
            permute_many(&mut states);
            n += STATES;
        }
        n as f64 / start.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(hash)).collect();
        let own = hash();
        own + others.into_iter().filter_map(|other| other.join().ok()).sum::<f64>()
    })
}

/// Seconds of a proof of a bucket: the faster of two, since the first one also allocates.
#[cfg(feature = "grove")]
fn proof_seconds() -> Option<f64> {
    use evergrove_commit::{Batch, MemoryStore, RecursionBackend, Vector};
    use evergrove_grove::GroveBackend;
    use evergrove_verifier::{HeightClass, Profile};

    let class = HeightClass::H27;
    let backend = GroveBackend::new(Profile::Grove100, class).ok()?;
    let members: Vec<u64> = (0..backend.spec().capacity as u64).collect();
    let mut vector = Vector::new(class.height_max(), MemoryStore::new()).ok()?;
    let value = |i: u64| [i, 1, 2, 3].map(Goldilocks::new);
    vector.apply(&members.iter().map(|i| (*i, Some(value(*i)))).collect::<Vec<_>>()).ok()?;
    let batch = Batch::build_as(&vector, &members, backend.spec().structure()).ok()?;
    let witness = batch.nodes().first()?.witness(&vector).ok()?;
    let mut least = None;
    for _ in 0..2 {
        let start = Instant::now();
        backend.prove(&witness, &[]).ok()?;
        let seconds = start.elapsed().as_secs_f64();
        least = Some(least.map_or(seconds, |least: f64| least.min(seconds)));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(threads: usize, proof_seconds: f64) -> Machine {
        Machine { cpu: cpu(), isa: Isa::detect(), threads, permutations: 3e6, proof_seconds }
    }

    #[test]
    fn figures_are_kept_by_cpu_and_threads() {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("keys");
        assert_eq!(Machine::kept(&keys, 1), None);
        let (one, two) = (machine(1, 0.5), machine(2, 0.25));
        one.keep(&keys).unwrap();
        two.keep(&keys).unwrap();
        assert_eq!([1, 2, 3].map(|n| Machine::kept(&keys, n)), [Some(one.clone()), Some(two), None]);
        let faster = Machine { proof_seconds: 0.125, ..one };
        faster.keep(&keys).unwrap();
        assert_eq!(Machine::kept(&keys, 1), Some(faster));
        assert_eq!(fs::read_dir(&keys).unwrap().count(), 1);
    }

    #[test]
    fn lines_of_others_are_no_figures() {
        let dir = tempfile::tempdir().unwrap();
        let good = machine(1, 0.5);
        for (from, to) in
            [(VERSION, "0.0.1"), ("0.5000", "0.0000"), ("0.5000", "NaN"), ("0.5000", ""), ("\t1\t", "\t-1\t")]
        {
            let line = good.line().replacen(from, to, 1);
            fs::write(dir.path().join(FILE), &line).unwrap();
            assert_eq!(Machine::kept(dir.path(), 1), None, "{line}");
        }
        // Another CPU's line is kept when this one's is added.
        let other = Machine { cpu: "another".into(), ..good.clone() };
        fs::write(dir.path().join(FILE), format!("{}damaged\n", other.line())).unwrap();
        good.keep(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert_eq!(text, format!("{}{}", other.line(), good.line()));
    }

    #[test]
    fn costs_are_in_proportion_to_the_machine() {
        let spec = Config::default().provers().specs().next().cloned().expect("the backend native, in every build");
        let config = |proof_seconds| Config { machine: Some(machine(2, proof_seconds)), ..Config::default() };
        let [fast, slow] = [0.14, 0.56].map(|seconds| config(seconds).costs(&spec));
        assert!((slow.bucket_seconds - 4.0 * fast.bucket_seconds).abs() < 1e-9);
        assert!((slow.setup_seconds - 4.0 * fast.setup_seconds).abs() < 1e-9);
        assert_eq!(slow.memory_bytes, fast.memory_bytes);
    }

    #[test]
    fn a_measurement_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let config = || Config { keys: Some(dir.path().into()), threads: Some(1), ..Config::default() };
        let mut times = 0;
        let first = config().measured(|| times += 1).machine.unwrap();
        let again = config().measured(|| times += 1).machine.unwrap();
        assert_eq!(times, 1);
        assert!(first.permutations > 0.0 && first.proof_seconds > 0.0);
        assert_eq!((again.cpu, again.isa, again.threads), (first.cpu, first.isa, 1));
    }
}
