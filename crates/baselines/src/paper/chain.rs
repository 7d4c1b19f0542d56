//! The circuits of the paper's scheme, each built from the one below, or taken from a cache, when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evergrove_commit::BackendError;
use evergrove_verifier::keys::PaperKeys;
use evergrove_verifier::{Profile, Scheme};
use plonky2::gates::constant::ConstantGate;
use plonky2::gates::gate::GateRef;
use plonky2::gates::noop::NoopGate;
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};
use plonky2::recursion::dummy_circuit::{dummy_circuit, dummy_proof};

use super::{BlockTargets, CompactionTargets, LevelTargets};
use evergrove_plonky2::CircuitVerifier;
use evergrove_plonky2::backend_id;
use evergrove_plonky2::cache;
use evergrove_plonky2::circuit::{Builder, C, D, F, PlonkyProof, circuit_config, from_hash, params_of};
use evergrove_plonky2::gates::Gates;
use evergrove_plonky2::keys::{CommonData, VerifierKey, to_pinned};
use evergrove_plonky2::setup::Circuit;

/// The stand-in that a level verifies instead of a child without members: a proof, with public inputs zero, by a
/// circuit without constraints.
pub struct StandIn {
    common: CommonData,
    key: VerifierKey,
    proof: PlonkyProof,
}

impl StandIn {
    fn new(common: &CommonData) -> Self {
        let circuit = dummy_circuit::<F, C, D>(common);
        let proof = dummy_proof(&circuit, Default::default()).expect("a circuit without constraints has a proof");
        Self { common: common.clone(), key: circuit.verifier_only, proof }
    }

    /// From `cache`, otherwise built and left there.
    fn load_or_new(common: &CommonData, cache: &Cache) -> Self {
        let path = cache.stand_in(common);
        let load = |path: &PathBuf| {
            let bytes = cache::read(path)?;
            let (len, rest) = bytes.split_first_chunk::<8>()?;
            let (key, proof) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
            let key = VerifierKey::from_bytes(key.to_vec()).ok()?;
            let proof = PlonkyProof::from_bytes(proof.to_vec(), common).ok()?;
            Some(Self { common: common.clone(), key, proof })
        };
        path.as_ref().and_then(load).unwrap_or_else(|| {
            let new = Self::new(common);
            if let (Some(path), Ok(key)) = (path, new.key.to_bytes()) {
                let body = [&(key.len() as u64).to_le_bytes(), &key[..], &new.proof.to_bytes()].concat();
                // An unwritable cache costs the next start a second and nothing else.
                let _ = cache::write(&path, &body);
            }
            new
        })
    }

    /// The key.
    pub fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// The proof.
    pub fn proof(&self) -> &PlonkyProof {
        &self.proof
    }
}

/// The directory of circuits. A file's name binds what a circuit is built from: the configuration, and the key of the
/// circuit below, if there is one. So a file never holds another circuit than its name says, whatever chain left it.
struct Cache {
    dir: Option<PathBuf>,
}

impl Cache {
    fn path(&self, what: &str, inputs: &[&[u8]]) -> Option<PathBuf> {
        let mut hasher = blake3::Hasher::new();
        for input in inputs {
            hasher.update(&(input.len() as u64).to_le_bytes());
            hasher.update(input);
        }
        let name = format!("{}-{what}-{}.circuit", Scheme::RecklePaper, &hasher.finalize().to_hex()[..32]);
        self.dir.as_ref().map(|dir| dir.join(name))
    }

    /// A circuit of this configuration over circuits with these keys.
    fn circuit(&self, what: &str, config: &CircuitConfig, below: &[&VerifierKey]) -> Option<PathBuf> {
        let config = format!("{config:?}");
        let digests: Vec<_> = below.iter().map(|k| from_hash(&k.circuit_digest).to_bytes()).collect();
        let inputs: Vec<&[u8]> = std::iter::once(config.as_bytes()).chain(digests.iter().map(|d| &d[..])).collect();
        self.path(what, &inputs)
    }

    fn stand_in(&self, common: &CommonData) -> Option<PathBuf> {
        let bytes = common.to_bytes(&Gates).ok()?;
        self.path("stand-in", &[&bytes])
    }
}

/// A circuit with its verifier.
pub(crate) struct Link<T> {
    pub(crate) circuit: Circuit<T>,
    pub(crate) verifier: CircuitVerifier,
}

impl<T> Link<T> {
    /// The circuit in the file `cached`, otherwise built and left there.
    fn new(config: &CircuitConfig, cached: Option<PathBuf>, build: impl FnOnce(&mut Builder) -> T) -> Self {
        let mut builder = Builder::new(config.clone());
        let targets = build(&mut builder);
        // The gates of the stand-in, which has the same common data.
        builder.add_gate_to_gate_set(GateRef::new(NoopGate));
        builder.add_gate_to_gate_set(GateRef::new(ConstantGate::new(config.num_constants)));
        let rows = builder.num_gates();
        let data = cached.as_deref().and_then(cache::load_circuit).unwrap_or_else(|| {
            let data: CircuitData<F, C, D> = builder.build();
            if let Some(path) = &cached {
                cache::store_circuit(path, &data);
            }
            data
        });
        let verifier = CircuitVerifier::new(&data.common, &data.verifier_only);
        Self { circuit: Circuit::new(targets, data, rows), verifier }
    }
}

impl Link<BlockTargets> {
    fn block(config: &CircuitConfig, height: u8, cache: &Cache) -> Self {
        let cached = cache.circuit(&format!("block-{height}"), config, &[]);
        Self::new(config, cached, |b| BlockTargets::build(b, height))
    }
}

impl Link<LevelTargets> {
    fn level(config: &CircuitConfig, below: &CircuitVerifier, stand_in: &VerifierKey, cache: &Cache) -> Self {
        let keys = [below.key(), stand_in];
        let cached = cache.circuit("level", config, &keys);
        let [key, stand_in] = keys.map(|k| k.circuit_digest);
        Self::new(config, cached, |b| LevelTargets::build(b, below.common(), key, stand_in))
    }
}

impl Link<CompactionTargets> {
    fn wrap(config: &CircuitConfig, below: &CircuitVerifier, cache: &Cache) -> Self {
        let cached = cache.circuit("wrap", config, &[below.key()]);
        Self::new(config, cached, |b| CompactionTargets::build(b, below.common(), below.key().circuit_digest))
    }
}

/// A level with the stand-in for its absent children.
pub(crate) struct LevelLink {
    pub(crate) link: Link<LevelTargets>,
    pub(crate) stand_in: Arc<StandIn>,
}

/// The circuits of the paper's scheme for one configuration: block and levels up to a greatest height, and a wrap for
/// each height. The circuit of a height depends only on the heights below it.
pub struct Chain {
    config: CircuitConfig,
    compaction: Option<CircuitConfig>,
    block_height: u8,
    /// By height, 0 to q; only vectors lower than q use the lower ones.
    blocks: Vec<OnceLock<Link<BlockTargets>>>,
    /// By height, q + 1 and up.
    levels: Vec<OnceLock<LevelLink>>,
    /// By height.
    wraps: Vec<OnceLock<Link<CompactionTargets>>>,
    stand_ins: Mutex<Vec<Arc<StandIn>>>,
    cache: Cache,
}

/// The circuit that proves the nodes of a height.
pub(crate) enum Node<'a> {
    Block(&'a Link<BlockTargets>),
    Level(&'a LevelLink),
}

impl<'a> Node<'a> {
    pub(crate) fn verifier(&self) -> &'a CircuitVerifier {
        match self {
            Self::Block(block) => &block.verifier,
            Self::Level(level) => &level.link.verifier,
        }
    }

    pub(crate) fn data(&self) -> &'a CircuitData<F, C, D> {
        match self {
            Self::Block(block) => &block.circuit.data,
            Self::Level(level) => &level.link.circuit.data,
        }
    }
}

impl Chain {
    /// The circuits of a profile, with blocks of 2^`block_height` slots. Builds nothing yet.
    ///
    /// # Errors
    /// For a profile of another backend.
    pub fn new(profile: Profile, height_max: u8, block_height: u8) -> Result<Self, BackendError> {
        let compaction = profile.wrap().map(|params| circuit_config(&params));
        Ok(Self::with_configs(circuit_config(&params_of(profile)?), compaction, height_max, block_height))
    }

    /// The circuits with these configurations of plonky2; `compaction` is that of the wrap.
    pub fn with_configs(
        config: CircuitConfig,
        compaction: Option<CircuitConfig>,
        height_max: u8,
        block_height: u8,
    ) -> Self {
        let cells = |n: u8| usize::from(n);
        Self {
            config,
            compaction,
            block_height,
            blocks: (0..=cells(block_height.min(height_max))).map(|_| OnceLock::new()).collect(),
            levels: (0..cells(height_max.saturating_sub(block_height))).map(|_| OnceLock::new()).collect(),
            wraps: (0..=cells(height_max)).map(|_| OnceLock::new()).collect(),
            stand_ins: Mutex::default(),
            cache: Cache { dir: None },
        }
    }

    /// Keeps the circuits in `dir`, and uses those that are already there.
    #[must_use]
    pub fn with_cache(mut self, dir: Option<&Path>) -> Self {
        self.cache.dir = dir.map(Path::to_path_buf);
        self
    }

    /// q.
    pub fn block_height(&self) -> u8 {
        self.block_height
    }

    /// The greatest height.
    pub fn height_max(&self) -> u8 {
        (self.wraps.len() - 1) as u8
    }

    /// True when the proof of a whole vector is wrapped.
    pub fn wraps(&self) -> bool {
        self.compaction.is_some()
    }

    /// The circuit of the nodes of a height. Builds it and all circuits below if they are missing, about a second each.
    pub(crate) fn node(&self, height: u8) -> Node<'_> {
        match height.checked_sub(self.block_height + 1) {
            None => {
                let cell = &self.blocks[usize::from(height)];
                Node::Block(cell.get_or_init(|| Link::block(&self.config, height, &self.cache)))
            }
            Some(at) => Node::Level(self.levels[usize::from(at)].get_or_init(|| {
                let below = self.node(height - 1).verifier();
                let stand_in = self.stand_in(below.common());
                LevelLink { link: Link::level(&self.config, below, stand_in.key(), &self.cache), stand_in }
            })),
        }
    }

    /// The wrap of the vectors of a height, `None` if the profile has no wrap.
    pub(crate) fn wrap(&self, height: u8) -> Option<&Link<CompactionTargets>> {
        let config = self.compaction.as_ref()?;
        let cell = &self.wraps[usize::from(height)];
        Some(cell.get_or_init(|| Link::wrap(config, self.node(height).verifier(), &self.cache)))
    }

    /// The stand-in for proofs of circuits with these common data: most levels share them.
    fn stand_in(&self, common: &CommonData) -> Arc<StandIn> {
        let mut made = self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = made.iter().find(|s| s.common == *common) {
            return found.clone();
        }
        let new = Arc::new(StandIn::load_or_new(common, &self.cache));
        made.push(new.clone());
        new
    }
}

/// The keys of a profile for vectors of heights 1 to `height_max`, as they are pinned. Builds every circuit and keeps one at
/// a time: seconds each.
///
/// # Errors
/// For a profile of another backend.
pub fn paper_keys(profile: Profile, block_height: u8, height_max: u8) -> Result<PaperKeys, BackendError> {
    let config = circuit_config(&params_of(profile)?);
    let compaction = profile.wrap().map(|params| circuit_config(&params));
    let cache = Cache { dir: None };
    let mut stand_in: Option<StandIn> = None;
    let mut node: Option<CircuitVerifier> = None;
    let keys = (1..=height_max).map(|height| {
        let verifier = match &node {
            Some(below) if height > block_height => {
                let fits = |s: &StandIn| s.common == *below.common();
                let stand_in = match stand_in.take().filter(fits) {
                    Some(same) => stand_in.insert(same),
                    None => stand_in.insert(StandIn::new(below.common())),
                };
                Link::level(&config, below, stand_in.key(), &cache).verifier
            }
            _ => Link::block(&config, height, &cache).verifier,
        };
        let node = node.insert(verifier);
        let wrap = compaction.as_ref().map(|config| Link::wrap(config, node, &cache).verifier);
        let top = wrap.as_ref().unwrap_or(node);
        to_pinned(PaperKeys::kind(profile, block_height, height), top.common(), top.key())
    });
    Ok(PaperKeys { backend: backend_id(), profile, block_height, keys: keys.collect() })
}
