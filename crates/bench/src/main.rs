//! `evergrove-bench` measures our code, compares it with peers if they exist, and pins verifier keys.
//!
//! Every measurement prints one JSON object per line with `--json`, otherwise a table for people.

#![forbid(unsafe_code)]

mod aggregate;
mod bls_keys;
mod bound;
mod cluster;
mod digest_translation;
mod engine;
mod engine_verify;
mod ethereum;
mod field;
mod figures;
mod jobs;
mod keys;
mod lab;
mod machine;
mod memory;
mod merkle;
mod merkle_snark;
mod mle;
mod msm;
mod ntt;
mod oracle;
mod p3;
mod plonky2_prove;
mod plonky2_verify;
mod published;
mod reckle;
mod sha3;
mod stack_opening;
mod stark;
mod sumcheck;
#[cfg(test)]
mod tests;
mod tries;
mod turns;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "evergrove-bench", version, about = "Benchmarks of Evergrove")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Aggregate a batch, refresh it after one change inside and one outside, verify: each profile in a process of its own.
    Reckle(reckle::Args),
    /// The answer to a query over a batch and over a whole table, beside the plain proof of the batch.
    Aggregate(aggregate::Args),
    /// A batch by workers on a queue beside one process, and a simulation for more workers.
    Cluster(cluster::Args),
    /// Draw the papers' figures with our measurements.
    Figures(figures::Args),
    /// Build every circuit and compare its key with the pinned one, or write the key files anew.
    Keys(keys::Args),
    /// Every kernel on every instruction set of this CPU, beside peers and other builds of this program.
    Machine(machine::Args),
    /// A Poseidon Merkle tree over the rows of a matrix, all levels, beside Plonky2's.
    MerklePoseidon(merkle::Args),
    /// Speed of the hardware models, and the time to reproduce all that the papers publish.
    Lab(lab::Args),
    /// Proofs of our circuits by our prover and by Plonky2's.
    Plonky2Prove(plonky2_prove::Args),
    /// A proof about two proofs by the multilinear engine, beside Plonky2's merge.
    Engine(engine::Args),
    /// A verification of a merge by the multilinear engine, with the key in memory and beside a key file.
    EngineVerify(engine_verify::Args),
    /// Prove the Poseidon and the Keccak digest of a tree, change a leaf, verify.
    DigestTranslation(digest_translation::Args),
    /// A table of Keccak permutations as a STARK, beside starky's prover.
    KeccakStark(stark::Args),
    /// Verification of a batch proof by our verifier and by Plonky2's, and of a batch's canonical digest.
    Plonky2Verify(plonky2_verify::Args),
    /// The aggregate key of a committee among many keys: proven, refreshed, used; beside one circuit for all.
    BlsKeys(bls_keys::Args),
    /// All Merkle paths of a batch in one circuit of arkworks, by Groth16: a peer of `reckle`.
    MerkleSnark(merkle_snark::Args),
    /// A SHA3-256 Merkle tree over leaves of 64 bytes, all levels, beside other libraries.
    MerkleSha3(sha3::Args),
    /// Answers about Ethereum's state read and verified, and a block executed on a partial trie.
    Tries(tries::Args),
    /// Claims about Ethereum's state proven: all that a block touches, one account with a slot, accounts of the genesis.
    Ethereum(ethereum::Args),
    /// What the engine on a queue costs beside the tasks: time of each, and the leader's memory.
    Jobs(jobs::Args),
    /// Products of prime field elements that stay in cache, beside ark-ff's.
    FieldMul(field::Args),
    /// The low-degree extension of columns on a coset, beside Plonky2's and Plonky3's.
    Ntt(ntt::Args),
    /// The low-degree extension and the Merkle tree of a matrix of values, beside Plonky2's.
    CommitMatrix(oracle::Args),
    /// SumCheck of eq(w, x) a(x) b(x) over a prime field or an extension of Goldilocks, transcript included, beside the textbook's prover.
    Sumcheck(sumcheck::Args),
    /// ZeroCheck of a(x) b(x), beside the textbook's prover.
    Zerocheck(sumcheck::Args),
    /// A stack of columns, committed to and opened by WHIR.
    StackOpening(stack_opening::Args),
    /// ProductCheck of one table, the tree of products included, beside the textbook's prover.
    ProductCheck(sumcheck::Args),
    /// Multi-scalar multiplication over BLS12-377's G1, beside ark-ec's.
    #[command(name = "msm-bls12-377")]
    MsmBls12_377(msm::Args),
    /// Multi-scalar multiplication over BLS12-381's G1, beside ark-ec's and blst's.
    #[command(name = "msm-bls12-381")]
    MsmBls12_381(msm::Args),
    /// Multi-scalar multiplication over BN254's G1, beside ark-ec's and halo2curves'.
    MsmBn254(msm::Args),
    /// The value of a multilinear extension at a point, beside ark-poly's and the textbook's.
    MleEval(mle::Args),
    /// The table of eq(x, r) for all x, beside the textbook's.
    BuildMle(mle::Args),
    /// The product MLE, all levels of a tree of products, beside the textbook's.
    ProductMle(mle::Args),
    /// The product of all values, beside the textbook's.
    MultiplicationTree(mle::Args),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Reckle(args) => reckle::run(&args),
        Command::Aggregate(args) => aggregate::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Figures(args) => figures::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Machine(args) => machine::run(&args),
        Command::MerklePoseidon(args) => merkle::run(&args),
        Command::Plonky2Prove(args) => plonky2_prove::run(&args),
        Command::Engine(args) => engine::run(&args),
        Command::EngineVerify(args) => engine_verify::run(&args),
        Command::DigestTranslation(args) => digest_translation::run(&args),
        Command::KeccakStark(args) => stark::run(&args),
        Command::Plonky2Verify(args) => plonky2_verify::run(&args),
        Command::BlsKeys(args) => bls_keys::run(&args),
        Command::MerkleSnark(args) => merkle_snark::run(&args),
        Command::MerkleSha3(args) => sha3::run(&args),
        Command::Tries(args) => tries::run(&args),
        Command::Ethereum(args) => ethereum::run(&args),
        Command::Jobs(args) => jobs::run(&args),
        Command::FieldMul(args) => field::run(&args),
        Command::Ntt(args) => ntt::run(&args),
        Command::CommitMatrix(args) => oracle::run(&args),
        Command::Sumcheck(args) => sumcheck::run(sumcheck::Protocol::Sum, &args),
        Command::StackOpening(args) => stack_opening::run(&args),
        Command::Zerocheck(args) => sumcheck::run(sumcheck::Protocol::Zero, &args),
        Command::ProductCheck(args) => sumcheck::run(sumcheck::Protocol::Product, &args),
        Command::MsmBls12_377(args) => msm::run(msm::Name::Bls12_377, &args),
        Command::MsmBls12_381(args) => msm::run(msm::Name::Bls12_381, &args),
        Command::MsmBn254(args) => msm::run(msm::Name::Bn254, &args),
        Command::MleEval(args) => mle::run(mle::Kernel::Evaluate, &args),
        Command::BuildMle(args) => mle::run(mle::Kernel::Build, &args),
        Command::ProductMle(args) => mle::run(mle::Kernel::ProductTable, &args),
        Command::MultiplicationTree(args) => mle::run(mle::Kernel::Product, &args),
    }
}
