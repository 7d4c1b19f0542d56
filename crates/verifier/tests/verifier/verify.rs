//! Files and key files up to the first refusal: every comparison that needs no proof that holds.

use evergrove_primitives::field::{Cubic, Field, Quadratic};
use evergrove_primitives::hash::blake3::Hasher;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::argument::{
    Claim, JOHNSON_128, Machine, Parameters, ParametersError, Reader, Refusal, Round, Schedule, UNIQUE_100, tags,
};
use evergrove_verifier::key::{
    Check, FixedColumns, Header, HeaderError, KeyError, Public, VerifyError, key_digest, variables, verify,
};
use evergrove_verifier::tables::{BLOCK, Table, Tables, bits, query};
use evergrove_verifier::verify::{Application, Failure, MAX_BODY, MAX_BYTES, Outcome, Request};
use evergrove_verifier::wire::OpeningError;
use evergrove_verifier::{
    AppId, AppOutput, BackendId, BatchProof, Commitment, NodeKind, Policy, PolicyError, Profile, Scheme, batch_digest,
};

use crate::common::{app_proof, batch_proof, opening};

/// A proof file whose body consists of elements; its proof does not hold.
fn proof() -> BatchProof {
    BatchProof { backend: BackendId::new("grove", 1), profile: Profile::Grove100, body: vec![0; 80], ..batch_proof() }
}

/// The same with the output of [`application`], in a scheme.
fn proof_in(scheme: Scheme) -> BatchProof {
    let app = Some(AppOutput { app: application().id, output: vec![Goldilocks::ONE; 4] });
    BatchProof { scheme: scheme.name().into(), app, ..proof() }
}

fn application() -> Application {
    Application { id: AppId::new("tally", &[20]), inputs: Some(vec![]), output_len: 4, key: Digest::ZERO }
}

fn commitment() -> Commitment {
    Commitment { height: 27, root: proof().statement.root }
}

/// The refusal of a file before the key, or the digest of the key that it needs.
fn start(request: Request<'_>) -> Result<Digest, Failure> {
    match request.start()? {
        Outcome::Key(check) => Ok(check.needed()),
        Outcome::Verdict(_) => Ok(Digest::ZERO),
    }
}

#[test]
fn files_and_bodies_have_a_greatest_length() {
    let (commitment, policy) = (commitment(), Policy::default());
    let of = |file: &[u8]| start(Request::new(file, &commitment, &policy));
    let long = vec![0; MAX_BYTES + 1];
    assert_eq!(of(&long), Err(Failure::TooLong { found: MAX_BYTES + 1, most: MAX_BYTES }));
    assert!(matches!(of(&long[1..]), Err(Failure::Decode(_))));
    let body = |length| of(&BatchProof { body: vec![0; length], ..proof() }.encode());
    assert!(body(MAX_BODY).is_ok());
    assert_eq!(body(MAX_BODY + 8), Err(Failure::TooLong { found: MAX_BODY + 8, most: MAX_BODY }));
    assert_eq!(body(81), Err(Failure::Body { found: 81 }));
    let high = BatchProof { body: vec![0xff; 8], ..proof() };
    assert_eq!(of(&high.encode()), Err(Failure::NonCanonical { element: 0 }));
}

#[test]
fn openings_take_no_rows_and_no_application() {
    let (opening, commitment, _) = opening();
    let (file, policy, application) = (opening.encode(), Policy::default(), application());
    let request = Request::new(&file, &commitment, &policy);
    assert_eq!(start(request), Ok(Digest::ZERO));
    assert_eq!(start(request.leaves(&[])), Err(Failure::TakesNoRows));
    assert_eq!(start(request.application(&application)), Err(Failure::TakesNoRows));
    let other = Commitment { root: Digest::ZERO, ..commitment };
    let refused = start(Request::new(&file, &other, &policy));
    assert!(matches!(refused, Err(Failure::Opening(OpeningError::Root { .. }))), "{refused:?}");
}

#[test]
fn the_policy_and_the_backend_are_compared_first() {
    let (commitment, policy) = (commitment(), Policy::default());
    let of = |proof: &BatchProof, policy: &Policy| start(Request::new(&proof.encode(), &commitment, policy));
    assert!(of(&proof(), &policy).is_ok());
    let mut other = proof();
    other.statement.root = Digest::ZERO;
    assert!(matches!(of(&other, &policy), Err(Failure::Policy(PolicyError::Root { .. }))));
    assert_eq!(of(&batch_proof(), &policy), Err(Failure::Backend(BackendId::new("plonky2", 1))));
    let paper = BatchProof { scheme: Scheme::RecklePaper.name().into(), ..proof() };
    let allowed = Policy::default().allow_scheme(Scheme::RecklePaper.name());
    assert_eq!(of(&paper, &allowed), Err(Failure::Scheme("reckle-paper")));
    let wrap = BatchProof { kind: NodeKind::Wrap, ..proof() };
    assert!(matches!(of(&wrap, &policy), Err(Failure::Policy(PolicyError::Kind { .. }))));
}

#[test]
fn rows_are_those_of_the_proof() {
    let (commitment, application) = (commitment(), application());
    let leaves = [(2, [Goldilocks::ONE; 4]), (7, [Goldilocks::ZERO; 4])];
    let mut proof = proof();
    proof.statement.canonical = batch_digest(27, &leaves).unwrap();
    let (file, policy) = (proof.encode(), Policy::default());
    let request = Request::new(&file, &commitment, &policy);
    assert!(start(request.leaves(&leaves)).is_ok());
    assert!(matches!(start(request.leaves(&leaves[..1])), Err(Failure::Canonical { count: 1, .. })));
    assert!(matches!(start(request.leaves(&[])), Err(Failure::Leaves(_))));
    assert_eq!(start(request.application(&application)), Err(Failure::NoOutput(application.id.clone())));
    // A proof over all rows has no digest of some of them.
    let mut complete = proof_in(Scheme::Complete);
    complete.statement.canonical = Digest::ZERO;
    let (file, policy) = (complete.encode(), Policy::default().allow_app(application.id.clone(), Scheme::Complete));
    let request = Request::new(&file, &commitment, &policy).application(&application);
    assert_eq!(start(request), Ok(application.key));
    assert_eq!(start(request.leaves(&leaves)), Err(Failure::TakesNoRows));
}

#[test]
fn outputs_are_those_of_the_application() {
    let (commitment, good) = (commitment(), application());
    let policy = Policy::default().allow_app(good.id.clone(), Scheme::Selected);
    let file = proof_in(Scheme::Selected).encode();
    let request = Request::new(&file, &commitment, &policy);
    assert_eq!(start(request.application(&good)), Ok(good.key));
    assert_eq!(start(request), Err(Failure::Unknown(good.id.clone())));
    let other = Application { id: AppId::new("tally", &[21]), ..good.clone() };
    assert_eq!(start(request.application(&other)), Err(Failure::Unknown(good.id.clone())));
    let longer = Application { output_len: 5, ..good.clone() };
    assert_eq!(start(request.application(&longer)), Err(Failure::Output { found: 4, expected: 5 }));
    // Words have four elements each.
    let words = Application { inputs: None, ..good.clone() };
    assert_eq!(start(request.application(&words)), Ok(good.key));
    let file = BatchProof { scheme: Scheme::Selected.name().into(), app: app_proof().app, ..proof() }.encode();
    let request = Request::new(&file, &commitment, &policy);
    let three = Application { output_len: 3, ..good };
    assert_eq!(start(request.application(&three)), Ok(three.key));
    let three = Application { inputs: None, ..three };
    assert_eq!(start(request.application(&three)), Err(Failure::Output { found: 3, expected: 3 }));
}

/// The header of a key for circuits of 3 blocks of permutations.
fn header(rounds: &[Round]) -> Vec<u64> {
    header_with(rounds, 0, 0)
}

/// The same with blocks of bits, in modes with zeros.
fn header_with(rounds: &[Round], modes: usize, bits: usize) -> Vec<u64> {
    let zeros = (0..modes).map(|i| i..i + 1).collect();
    let query = query::Parameters { bits: 8, variables: 9 };
    let tables = Tables::new(query, bits::Parameters::new(vec![7, 9], zeros));
    let mut blocks = [0; Table::ALL.len()];
    (blocks[Table::Permutation as usize], blocks[Table::Bits as usize]) = (3, bits);
    let schedule = Schedule::new(rounds, (3 * 128 + bits * 64) * BLOCK);
    Header(Parameters::<Quadratic>::new(tables, blocks, schedule).unwrap()).words()
}

/// The bytes of a key with this header and columns of zeros.
fn key(header: &[u64]) -> Vec<u8> {
    let elements = Header::<Quadratic>::read(header).unwrap().0.layout().fixed().elements();
    header.iter().flat_map(|word| word.to_le_bytes()).chain(core::iter::repeat_n(0, 16 * elements)).collect()
}

/// The result for a false proof of a key, with a key file in pieces.
fn with(expected: Digest, file: &[u8], piece: usize) -> Result<VerifyError, KeyError> {
    let mut check = Check::<Quadratic>::new(expected.0, &UNIQUE_100, false, vec![], vec![Goldilocks::ZERO; 99]);
    for piece in file.chunks(piece) {
        check.key(piece)?;
    }
    check.finish().map(|(verified, _)| verified.unwrap_err())
}

fn digest(file: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(file);
    key_digest(&hasher)
}

#[test]
fn without_the_right_key_a_false_proof_has_no_verdict() {
    let file = key(&header(&UNIQUE_100));
    let expected = digest(&file);
    for piece in [1 << 12, 7] {
        assert!(matches!(with(expected, &file, piece), Ok(VerifyError::Refused(Refusal::Length { .. }))));
        let mut other = file.clone();
        *other.last_mut().unwrap() = 1;
        assert_eq!(with(expected, &other, piece), Err(KeyError::Digest { found: digest(&other), expected }));
        assert_eq!(with(expected, &[], piece), Err(KeyError::Missing));
        for found in [1, 24, 25, 32] {
            assert_eq!(with(expected, &file[..found], piece), Err(KeyError::Truncated { found: found as u64 }));
        }
        let other = [&[0], &file[..]].concat();
        assert_eq!(with(digest(&other), &other, piece), Err(KeyError::Header(HeaderError::Format)));
    }
    let other = key(&header(&[UNIQUE_100[0], JOHNSON_128[1]]));
    assert_eq!(with(digest(&other), &other, 1 << 12), Err(KeyError::Schedule));
}

/// Columns in memory that agree with every claim.
struct Agreeing(Parameters<Quadratic>);

impl FixedColumns<Quadratic> for Agreeing {
    fn parameters(&self) -> &Parameters<Quadratic> {
        &self.0
    }
    fn digest(&self) -> [Goldilocks; 4] {
        Digest::ZERO.0
    }
    fn hold(&self, _: [&Claim<Quadratic>; 2]) -> [bool; 2] {
        [true; 2]
    }
}

#[test]
fn a_false_proof_is_refused_whatever_its_claims_are() {
    let columns = Agreeing(Header::read(&header(&UNIQUE_100)).unwrap().0);
    let needed = variables(&columns.0);
    let of = |given: usize, proof: &[Goldilocks]| {
        let public = Public { information: vec![], point: vec![Quadratic::ZERO; given], value: Quadratic::ZERO };
        verify(&columns, proof, false, &public).unwrap_err()
    };
    for given in [0, needed - 1, needed + 1] {
        assert_eq!(of(given, &[]), VerifyError::Point { given, needed });
    }
    // The opened leaves must be present before anything is read.
    let taken = columns.0.schedule().opened::<Quadratic>();
    let zeros = vec![Goldilocks::ZERO; taken];
    let length = Refusal::Length { given: taken - 1, taken };
    assert_eq!(of(needed, &zeros[1..]), VerifyError::Refused(length));
    let refused = of(needed, &zeros);
    assert!(matches!(refused, VerifyError::Refused(Refusal::Equation(_))), "{refused}");
}

#[test]
fn a_failed_key_stays_failed() {
    let mut check = Check::<Quadratic>::new(Digest::ZERO.0, &UNIQUE_100, false, vec![], vec![]);
    let failed = Err(KeyError::Header(HeaderError::Format));
    assert_eq!(check.key(&[1; 24]), failed);
    assert_eq!(check.key(&[]), failed);
    assert_eq!(check.finish().map(drop), failed);
}

#[test]
fn each_number_of_a_header_is_compared() {
    let good = header(&UNIQUE_100);
    let read = |words: &[u64]| Header::<Quadratic>::read(words).map(drop);
    let with = |at: usize, number: u64| {
        let mut words = good.clone();
        words[at] = number;
        read(&words)
    };
    let range = |what| Err(HeaderError::Range(what));
    assert_eq!(read(&good), Ok(()));
    assert_eq!(with(0, good[0] + 1), Err(HeaderError::Format));
    for version in [0, 13] {
        assert_eq!(with(1, version), Err(HeaderError::Format));
    }
    assert_eq!(with(2, good[2] + 1), range("the number of parameters"));
    assert_eq!(Header::<Quadratic>::length([good[0], 1, 257]).map(drop), range("the number of parameters"));
    // After three words: degree, bits and variables of a query, two widths, no zeros, seven tables, the opening.
    assert_eq!(with(3, 3), range("the degree of the extension"));
    for at in [4, 5] {
        assert_eq!(with(at, 0), range("bits or variables of a query"));
    }
    assert_eq!(good[6..10], [2, 7, 9, 0]);
    let mut exchanged = good.clone();
    exchanged.swap(7, 8);
    assert_eq!(read(&exchanged), range("the order of parameters"));
    let mut empty = good.clone();
    empty[2] += 2;
    empty.splice(9..10, [1, 5, 5]);
    assert_eq!(read(&empty), range("a range of zeros"));
    let first = 19;
    assert_eq!(good[first..first + 3], [7, 1, 208]);
    assert_eq!(with(first + 2, (1 << 16) + 1), range("a round"));
    for at in [0, 1, 3, 4, 5] {
        assert_eq!(with(first + at, 65), range("a round"));
    }
    // Bits in 66 modes have 70 fixed columns, rounded up to 72: 2^23 elements have room for 226 blocks, beside the permutations.
    assert_eq!(read(&header_with(&UNIQUE_100, 64, 226)), Ok(()));
    assert_eq!(read(&header_with(&UNIQUE_100, 64, 227)), range("the number of fixed elements"));
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let good = header(&UNIQUE_100);
    let with = |changes: &[(usize, u64)]| {
        let mut words = good.clone();
        changes.iter().for_each(|&(at, number)| words[at] = number);
        match Header::<Quadratic>::read(&words).unwrap_err() {
            HeaderError::Parameters(e) => e,
            e => panic!("{e}"),
        }
    };
    let stack = |variables, width| ParametersError::Stack { elements: 3 << 16, variables, width };
    // Seven tables, variables and columns of the stack, and for each oracle: fold, rate, queries, cap, grinding, samples.
    let (tables, variables, width, first, second) = (10, 17, 18, 19, 25);
    assert_eq!(good[tables..width + 1], [3, 0, 0, 0, 0, 0, 0, 18, 96]);
    assert_eq!(with(&[(tables, 0)]), ParametersError::Permutations);
    assert_eq!(with(&[(variables, 40)]), stack(40, 96));
    assert_eq!(with(&[(variables, 32), (second, 13)]), stack(32, 96));
    assert_eq!(with(&[(second, 12)]), stack(18, 96));
    assert_eq!(with(&[(width, 200)]), stack(18, 200));
    assert_eq!(with(&[(width, 88)]), stack(18, 88));
    assert_eq!(with(&[(width, 100)]), ParametersError::Leaf { oracle: 0, elements: 100 });
    for (at, number) in [(1, 0), (2, 0), (3, 0), (3, 30), (4, 0), (4, 33)] {
        assert!(matches!(with(&[(first + at, number)]), ParametersError::Round { oracle: 0, .. }));
    }
    assert!(matches!(with(&[(variables, 26)]), ParametersError::Round { depth: 20, .. }));
    // One oracle, whose columns are shorter than a chunk.
    let mut short = good[..second].to_vec();
    (short[2], short[width], short[first]) = (second as u64 - 3, 768, 10);
    assert_eq!(Header::<Quadratic>::read(&short), Err(HeaderError::Parameters(stack(18, 768))));
    let mut none = good[..first].to_vec();
    none[2] = first as u64 - 3;
    assert_eq!(Header::<Quadratic>::read(&none), Err(HeaderError::Parameters(stack(18, 96))));
}

#[test]
fn a_reader_remembers_what_does_not_hold() {
    let zeros = [Goldilocks::ZERO; 12];
    let refused = |read: fn(&mut Reader<'_, Quadratic>), length: usize| {
        let mut reader = Reader::new(&zeros[..length]);
        read(&mut reader);
        reader.finish()
    };
    assert_eq!(refused(|r| drop(r.receive(1)), 4), Ok(()));
    assert_eq!(refused(|r| drop(r.receive(1)), 5), Err(Refusal::Length { given: 5, taken: 4 }));
    assert_eq!(refused(|r| r.assert_equal(Quadratic::ONE, Quadratic::ZERO), 0), Err(Refusal::Equation(0)));
    assert_eq!(refused(|r| r.grind(64), 4), Err(Refusal::Work(0)));
    let path = |r: &mut Reader<'_, Quadratic>| {
        let tree = r.receive_cap(1, 0);
        r.open(tree, tags::BASE_ORACLE, 1, 1);
    };
    assert_eq!(refused(path, 12), Err(Refusal::Path(0)));
    // A word has room for one element of degree three.
    let word = [1, 2, 3, 4].map(Goldilocks::new);
    let mut reader = Reader::<Cubic>::new(&word);
    reader.receive(1);
    assert_eq!(reader.finish(), Err(Refusal::Padding { element: 3 }));
}
