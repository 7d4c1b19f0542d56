//! `merkle-sha3`: a SHA3-256 Merkle tree over leaves of 64 bytes, all levels into one buffer, beside other libraries.

use std::time::Instant;

use evergrove_kernels::tree::sha3::{Leaf, Node, build, node_count};
use evergrove_primitives::hash::keccak::{Function, Many, NODE_BYTES};
use evergrove_primitives::lanes::{Isa, available, dispatch_on};
use rayon::prelude::*;

use crate::turns::{Row, medians};

/// Nodes that a thread hashes at a time, in the peers' trees.
const CHUNK: usize = 1024;
/// Runs of each implementation.
const RUNS: usize = 7;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leaves, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=26))]
    log_size: u32,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Hashes messages of [`NODE_BYTES`], one digest each.
type HashNodes = Box<dyn Fn(&[u8], &mut [Node]) + Sync>;

fn one_by_one(hash: impl Fn(&[u8]) -> Node + Sync + 'static) -> HashNodes {
    Box::new(move |messages, digests| {
        for (message, digest) in messages.chunks_exact(NODE_BYTES).zip(digests) {
            *digest = hash(message);
        }
    })
}

fn by_lanes(isa: Isa) -> HashNodes {
    Box::new(move |messages, digests| {
        dispatch_on(isa, Many { function: Function::Sha3_256, messages, message_bytes: NODE_BYTES, digests });
    })
}

fn peers() -> Vec<(String, HashNodes)> {
    use sha3::Digest;

    let mut peers = vec![
        ("sha3".to_owned(), one_by_one(|message| sha3::Sha3_256::digest(message).into())),
        ("keccak-asm".to_owned(), one_by_one(|message| keccak_asm::Sha3_256::digest(message).into())),
    ];
    for isa in available().filter(|isa| [Isa::Portable, Isa::Avx2].contains(isa) && *isa != Isa::detect()) {
        peers.push((format!("evergrove-{isa}"), by_lanes(isa)));
    }
    peers
}

/// The tree of a library that hashes nodes: the layout of [`build`], level by level.
fn peer_tree(hash: &HashNodes, leaves: &[Leaf], nodes: &mut [Node]) {
    let level = |messages: &[u8], digests: &mut [Node]| {
        digests
            .par_chunks_mut(CHUNK)
            .zip(messages.par_chunks(CHUNK * NODE_BYTES))
            .for_each(|(digests, messages)| hash(messages, digests));
    };
    let (mut below, mut rest) = nodes.split_at_mut(leaves.len());
    level(leaves.as_flattened(), below);
    while !rest.is_empty() {
        let (digests, above) = rest.split_at_mut(below.len() / 2);
        level(below.as_flattened(), digests);
        (below, rest) = (digests, above);
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let size = 1_usize << args.log_size;
    let leaves: Vec<Leaf> =
        (0..size).map(|i| core::array::from_fn(|j| (i.wrapping_mul(0x9e37_79b9) >> (j % 24)) as u8)).collect();
    let mut nodes: Vec<Node> = vec![[0; 32]; node_count(size)?];

    let peers = peers();
    let medians = medians(peers.len() + 1, RUNS, |k| {
        let start = Instant::now();
        match k.checked_sub(1) {
            None => build(Function::Sha3_256, &leaves, &mut nodes)?,
            Some(peer) => rayon::scope(|_| peer_tree(&peers[peer].1, &leaves, &mut nodes)),
        }
        Ok((start.elapsed().as_secs_f64(), nodes[nodes.len() - 1]))
    })?;

    let names = core::iter::once("evergrove").chain(peers.iter().map(|(name, _)| name.as_str()));
    for (k, (name, seconds)) in names.zip(&medians).enumerate() {
        let row = Row {
            kernel: "merkle-sha3",
            r#impl: name.to_owned(),
            size,
            columns: None,
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{:.2} MH/s", (2 * size - 1) as f64 / seconds / 1e6))?;
    }
    Ok(())
}
