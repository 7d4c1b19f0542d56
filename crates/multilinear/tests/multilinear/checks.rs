//! Every check of the verifier, omitted: for each there is a proof that only this check refuses, in the program, in a
//! circuit and in Python. And every block that the transcript absorbs: a prover that absorbs anything else is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::Prover;
use evergrove_multilinear::writer::{Absorbed, Deviation, Writer};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::lanes::Isa;
use evergrove_verifier::argument::{Reader, Refusal, Statement, tags, verify};
use evergrove_verifier::tables::Table;
use rayon::prelude::*;

use crate::mutation::verifier;
use crate::proof::Example;

/// A circuit, its prover, and the refusals of proofs.
struct Subject {
    example: Example<Quadratic>,
    prover: Prover<Quadratic>,
}

impl Subject {
    fn new() -> Self {
        let example = Example::new();
        let prover = Prover::new(&example.circuit, &example.parameters);
        Self { example, prover }
    }
    fn prove(&self, writer: Writer<Quadratic>) -> Vec<Goldilocks> {
        let Example { statement, witness, .. } = &self.example;
        self.prover.write(Isa::detect(), writer, statement, witness, &mut |_| ())
    }
    fn deviating(&self, deviation: Deviation) -> Vec<Goldilocks> {
        self.prove(Writer::deviating(tags::TRANSCRIPT, deviation))
    }
    /// All checks that refuse a proof.
    fn refusals(&self, proof: &[Goldilocks]) -> Vec<Refusal> {
        let Example { statement, parameters, .. } = &self.example;
        let mut reader = Reader::new(proof);
        let _ = verify(&mut reader, parameters, statement);
        reader.refusals().collect()
    }
}

/// A false proof for each check: a verifier that omits the check accepts it.
#[test]
#[ignore = "slow: a minute of processor time, a proof for each element of a proof"]
fn each_check_alone_refuses_some_proof() {
    let subject = Subject::new();
    let example = &subject.example;
    let honest = subject.prove(Writer::new(tags::TRANSCRIPT));
    let equations = {
        let mut reader = Reader::<Quadratic>::new(&honest);
        let _ = verify(&mut reader, &example.parameters, &example.statement);
        reader.equations().len()
    };
    // Every element, changed when it is sent by a prover that continues honestly.
    let proofs: Vec<(Vec<Refusal>, Vec<Goldilocks>)> = (0..honest.len())
        .into_par_iter()
        .map(|element| {
            let proofs = (1..).map(|by| {
                let proof = subject.deviating(Deviation::Sends { element, by: Goldilocks::new(by) });
                (subject.refusals(&proof), proof)
            });
            // What fills up a proof of work must leave it one.
            let unlucky = |refusals: &[Refusal]| matches!(refusals, [Refusal::Work(_), Refusal::Equation(_)]);
            proofs.take(64).find(|(refusals, _)| !unlucky(refusals)).expect("a proof of work")
        })
        .collect();
    // No check covers the entries of a cap that no query needs.
    let rounds = &example.parameters.schedule().rounds;
    let caps: usize = rounds.iter().map(|round| 4 << round.cap).sum();
    let accepted = proofs.iter().filter(|(refusals, _)| refusals.is_empty()).count();
    assert!(accepted < caps, "{accepted} proofs, {caps} elements of caps");
    let alone = |(refusals, proof): (Vec<Refusal>, _)| match refusals[..] {
        [check] => Some((format!("{check:?}"), proof)),
        _ => None,
    };
    let mut alone: BTreeMap<String, Vec<Goldilocks>> = proofs.into_iter().filter_map(alone).collect();
    // Different copies, and no other error: the sum of the bus.
    let tables = example.parameters.tables();
    let unbalanced = (0..tables.columns(Table::Operation)).find_map(|column| {
        let mut witness = example.witness.clone();
        witness.row_mut(tables, Table::Operation, 0)[column] += Goldilocks::ONE;
        let proof = subject.prover.prove(&example.statement, &witness);
        match subject.refusals(&proof)[..] {
            [check] => Some((format!("{check:?}"), proof)),
            _ => None,
        }
    });
    alone.extend(unbalanced);
    // One more element.
    let longer = [&honest[..], &[Goldilocks::ZERO]].concat();
    let length = Refusal::Length { given: longer.len(), taken: honest.len() };
    assert_eq!(subject.refusals(&longer), [length]);
    alone.insert(format!("{length:?}"), longer);

    let checks = (0..equations).map(Refusal::Equation).chain((0..rounds.len()).map(Refusal::Work)).chain([length]);
    for check in checks {
        assert!(alone.contains_key(&format!("{check:?}")), "no proof is refused by {check:?} alone");
    }
    // A path ends where an earlier one has been: the opening may have no sibling of its own.
    let openings: usize = rounds.iter().map(|round| round.queries).sum();
    let paths = (0..openings).filter(|i| alone.contains_key(&format!("{:?}", Refusal::Path(*i)))).count();
    assert!(2 * paths > openings, "{paths} of {openings} paths");

    // The circuit also has each of them.
    let circuit = verifier(example);
    let free = |proof: &[Goldilocks]| {
        let flag = [u64::from(example.statement.circuit), 0, 0, 0, 0, 0, 0, 0].map(Goldilocks::new);
        [&example.statement.key[..], &example.statement.public, &flag, proof].concat()
    };
    let accepts = |proof: &[Goldilocks]| circuit.witness(&free(proof)).is_ok_and(|w| w.check(&circuit).is_ok());
    assert!(accepts(&honest));
    alone.par_iter().for_each(|(check, proof)| assert!(!accepts(proof), "{check}"));
    second_verifier(example, &honest, &alone);
}

/// `vectors/verifier.py` also has each of them.
fn second_verifier(example: &Example<Quadratic>, honest: &[Goldilocks], alone: &BTreeMap<String, Vec<Goldilocks>>) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("second-verifier");
    fs::create_dir_all(&dir).unwrap();
    let write = |name: &str, proof: &[Goldilocks]| {
        let bytes: Vec<u8> = proof.iter().flat_map(|x| x.as_u64().to_le_bytes()).collect();
        fs::write(dir.join(name), bytes).unwrap();
    };
    write("honest", honest);
    let mut names = Vec::new();
    for (check, proof) in alone {
        names.push(if check.starts_with("Length") { "longer".into() } else { format!("false-{}", names.len()) });
        write(names.last().unwrap(), proof);
    }
    let key = Key::new(example.parameters.clone(), [&example.circuit; 2]);
    key.write(&mut fs::File::create(dir.join("key")).unwrap()).unwrap();
    let Statement { key: digest, circuit, public } = &example.statement;
    let about = format!(
        "{{\"key\": \"key\", \"key_digest\": \"{}\", \"statement\": [{:?}, {}, {:?}], \"honest\": \"honest\", \"false\": {names:?}}}",
        Digest(key.digest()),
        digest.map(|x| x.as_u64()),
        u8::from(*circuit),
        public.map(|x| x.as_u64()),
    );
    fs::write(dir.join("about.json"), about).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/verifier.py");
    let out =
        Command::new("python3").arg(program).args(["--self-test", "--proofs"]).arg(dir).output().expect("python3");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    let expected = format!("{} false proofs of the engine that are refused", names.len());
    assert!(said.contains(&expected), "{said}");
}

const WAYS: [Absorbed; 3] = [Absorbed::Never, Absorbed::Later, Absorbed::Changed];

/// A prover that absorbs a block differently is refused, for all blocks.
fn every_block_counts(ways: fn(usize) -> Vec<Absorbed>) {
    let subject = Subject::new();
    let honest = subject.prove(Writer::new(tags::TRANSCRIPT));
    // A block that does not exist changes nothing.
    let counts = |block: usize| {
        ways(block).into_iter().all(|how| {
            let proof = subject.deviating(Deviation::Absorbs { block, how });
            assert!(proof == honest || !subject.refusals(&proof).is_empty(), "block {block} {how:?}");
            proof != honest
        })
    };
    let mut blocks = 0;
    let mut found = 64;
    while found == 64 {
        found = (blocks..blocks + 64).into_par_iter().filter(|block| counts(*block)).count();
        blocks += found;
    }
    assert!(blocks > 200, "{blocks} blocks");
}

#[test]
fn every_block_is_taken_in_in_its_order() {
    every_block_counts(|block| vec![WAYS[block % WAYS.len()]]);
}

#[test]
#[ignore = "slow: half a minute of processor time, some hundred proofs"]
fn every_block_is_taken_in_in_its_order_each_way() {
    every_block_counts(|_| WAYS.to_vec());
}

#[test]
fn no_hash_is_two_things() {
    let subject = Subject::new();
    let all = [tags::TRANSCRIPT, tags::CLAIMS, tags::PUBLIC_INPUTS, tags::BASE_ORACLE, tags::EXTENSION_ORACLE];
    for (i, tag) in all.into_iter().enumerate() {
        assert!(tag != Goldilocks::ZERO && !all[..i].contains(&tag));
        assert_eq!(subject.refusals(&subject.prove(Writer::new(tag))).is_empty(), tag == tags::TRANSCRIPT);
    }
}
