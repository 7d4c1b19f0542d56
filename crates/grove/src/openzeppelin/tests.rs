//! Tests of the comparison and of the ABI's types alone: the circuit accepts a choice of the prover exactly if the
//! definition holds.

use std::collections::HashMap;

use evergrove_multilinear::circuit::Circuit;
use evergrove_primitives::field::{Field, Quadratic};
use evergrove_verifier::tables::{Tables, query};

use super::*;

const SIZE: Size = Size { height_max: 8, capacity: 4 };

fn builder(types: &[AbiType]) -> Builder<Quadratic> {
    let Modes { widths, zeros, .. } = modes(SIZE, types);
    let mut distinct: Vec<core::ops::Range<usize>> = Vec::new();
    for range in zeros {
        if !distinct.contains(&range) {
            distinct.push(range);
        }
    }
    Builder::new(Tables::new(query::Parameters { bits: 20, variables: 16 }, bits::Parameters::new(widths, distinct)))
}

/// Pseudorandom bytes from a seed.
fn random(seed: &mut u64) -> AbiWord {
    core::array::from_fn(|_| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 56) as u8
    })
}

/// A word as a constant. Unlike free words it needs no rows of permutations, which would take most of the time.
fn constant(b: &mut Builder<Quadratic>, word: &AbiWord) -> [Word; 2] {
    let halves = to_elements(word);
    core::array::from_fn(|i| b.word(core::array::from_fn(|j| halves[WORD * i + j])))
}

/// True if the circuit accepts the word as a value of the type.
fn takes(kind: AbiType, word: &AbiWord, chosen: impl Fn(&[u32]) -> HashMap<u32, Goldilocks>) -> bool {
    let mut b = builder(&[kind]);
    let words = constant(&mut b, word);
    canonical(&mut b, kind, words);
    let circuit = b.finish();
    let choices: Vec<u32> = circuit.choices().collect();
    circuit.witness_with(&[], &chosen(&choices)).unwrap().check(&circuit).is_ok()
}

#[test]
fn words_are_values_of_their_types() {
    let mut types = vec!["address".to_owned(), "bool".into()];
    types.extend((1..=32).flat_map(|n| [format!("uint{}", 8 * n), format!("int{}", 8 * n), format!("bytes{n}")]));
    let mut seed = 1;
    let mut accepted = 0;
    for kind in types.iter().map(|kind| kind.parse::<AbiType>().unwrap()) {
        let honest = |word: &AbiWord| takes(kind, word, |_| HashMap::new());
        let (zeros, ones, any) = ([0; 32], [0xff; 32], random(&mut seed));
        // Positions around the first and the last byte of the type.
        let bytes = match kind {
            AbiType::Address => 20,
            AbiType::Bool => 1,
            AbiType::Uint(width) | AbiType::Int(width) | AbiType::Bytes(width) => width.bytes(),
        };
        let edges = if matches!(kind, AbiType::Bytes(_)) {
            [0, bytes - 1, bytes % 32]
        } else {
            [0, 31 - bytes % 32, 32 - bytes]
        };
        let mut cases = vec![zeros, ones, any];
        for base in [zeros, ones, any] {
            for i in edges {
                // One changed byte; all bytes before position i filled, or all bytes from it on; the former with the
                // first bit of byte i flipped.
                let mut one = base;
                one[i] ^= if i % 2 == 0 { 0x80 } else { 0x01 };
                for fill in [0, 0xff] {
                    let (mut front, mut behind) = (base, base);
                    front[..i].fill(fill);
                    behind[i..].fill(fill);
                    let mut turned = front;
                    turned[i] ^= 0x80;
                    cases.extend([front, behind, turned]);
                }
                cases.push(one);
            }
        }
        let mut two = zeros;
        two[31] = 2;
        cases.push(two);
        for word in cases {
            assert_eq!(honest(&word), kind.is_canonical(&word), "{kind} {word:02x?}");
            accepted += usize::from(kind.is_canonical(&word));
        }
    }
    // Both results are frequent.
    assert!((1_500..4_500).contains(&accepted), "{accepted}");
}

/// No choice of the sign bit and of the bits below it makes the circuit accept a word of 256 bits with the wrong sign.
#[test]
fn signs_are_those_of_numbers() {
    let kind: AbiType = "int16".parse().unwrap();
    // 0x8001 without sign extension, and 0x0001 with it.
    let mut unsigned = [0; 32];
    unsigned[30..].copy_from_slice(&[0x80, 0x01]);
    let mut signed = [0xff; 32];
    signed[30..].copy_from_slice(&[0x00, 0x01]);
    for word in [unsigned, signed] {
        for sign in 0..2 {
            for low in 0..=255 {
                let taken = takes(kind, &word, |choices| {
                    assert_eq!(choices.len(), 2);
                    HashMap::from([(choices[0], Goldilocks::new(sign)), (choices[1], Goldilocks::new(low))])
                });
                assert!(!taken, "{word:02x?} {sign} {low}");
            }
        }
    }
}

fn comparison(low: &AbiWord, high: &AbiWord) -> Circuit<Quadratic> {
    let mut b = builder(&[]);
    let weights = Weights::new(&mut b);
    let operands = [low, high].map(|word| constant(&mut b, word));
    ordered(&mut b, weights.x(), operands);
    b.finish()
}

/// Free data: a flag at this half, or no flag.
fn flags(flag: Option<usize>) -> Vec<Goldilocks> {
    (0..DIGEST_HALVES).map(|i| Goldilocks::new((Some(i) == flag).into())).collect()
}

#[test]
fn operands_are_in_the_order_of_their_bytes() {
    let mut seed = 2;
    let mut cases = vec![([0; 32], [0xff; 32]), ([0; 32], [0; 32]), ([0xff; 32], [0xff; 32])];
    for i in 0..32 {
        let any = random(&mut seed);
        cases.push((random(&mut seed), random(&mut seed)));
        cases.push((any, any));
        // Equal up to one byte; different in one byte only, and then with the opposite order in all later bytes.
        for (x, y) in [(0x00, 0xff), (0x7f, 0x80), (0x80, 0xff), (any[i], any[i].wrapping_add(1))] {
            let (mut low, mut high) = (any, any);
            (low[i], high[i]) = (x, y);
            cases.push((low, high));
            low[i + 1..].fill(0xff);
            high[i + 1..].fill(0);
            cases.push((low, high));
        }
    }
    for (a, b) in cases {
        for (low, high) in [(a, b), (b, a)] {
            let circuit = comparison(&low, &high);
            let halves = [low, high].map(|word| to_elements(&word));
            let first = (0..DIGEST_HALVES).find(|&i| halves[0][i] != halves[1][i]);
            let all = [None].into_iter().chain((0..DIGEST_HALVES).map(Some));
            // Every flag that a prover may set. Exactly one choice is accepted, and only if the operands are in order.
            for flag in all {
                let witness = circuit.witness(&flags(flag)).unwrap();
                let expected = low <= high && flag == first;
                assert_eq!(witness.check(&circuit).is_ok(), expected, "{low:02x?} {high:02x?} {flag:?} {first:?}");
            }
        }
    }
}

#[test]
fn flags_are_one_bit_and_bytes_are_bytes() {
    let (mut low, mut high) = ([7; 32], [7; 32]);
    (low[0], low[4]) = (9, 1);
    (high[0], high[4]) = (8, 2);
    let refused = |circuit: &Circuit<Quadratic>, free: &[Goldilocks], chosen: &HashMap<u32, Goldilocks>| {
        assert!(circuit.witness_with(free, chosen).unwrap().check(circuit).is_err());
    };
    // Two flags whose differences would sum to the right order; flags of 2 and -1; a flag of one half.
    let circuit = comparison(&low, &high);
    let two = Goldilocks::new(2);
    for (i, j, x, y) in [(0, 1, ONE, ONE), (0, 1, ZERO, two), (1, 2, two, -ONE), (0, 1, -ONE, two)] {
        let mut free = flags(None);
        (free[i], free[j]) = (x, y);
        refused(&circuit, &free, &HashMap::new());
    }
    let mut free = flags(Some(1));
    free[1] = Goldilocks::half();
    refused(&circuit, &free, &HashMap::new());
    // Bytes chosen by the prover, from all three rows: wrong splits of the halves.
    let (low, high) = (high, low);
    let (circuit, free) = (comparison(&low, &high), flags(Some(0)));
    assert!(circuit.witness(&free).unwrap().check(&circuit).is_ok());
    let choices: Vec<u32> = circuit.choices().collect();
    assert_eq!(choices.len(), 3);
    let halves = [low, high].map(|word| to_elements(&word)[0]);
    let hints: [Hint; 3] = [bytes::<0>, bytes::<1>, bytes::<2>];
    for (&row, hint) in choices.iter().zip(&hints[..2]) {
        for place in 0..3 {
            let chosen = hint(&halves) + Goldilocks::new(1 << (21 * place));
            refused(&circuit, &free, &HashMap::from([(row, chosen)]));
        }
    }
    // The ninth byte and the bits between the numbers are unused: any values are accepted.
    for chosen in [Goldilocks::new(77 << 42), hints[0](&halves) + Goldilocks::new(1 << 20)] {
        let row = if chosen.as_u64() == 77 << 42 { choices[2] } else { choices[0] };
        let own = if row == choices[2] { hints[2](&halves) } else { Goldilocks::ZERO };
        let witness = circuit.witness_with(&free, &HashMap::from([(row, chosen + own)])).unwrap();
        assert!(witness.check(&circuit).is_ok());
    }
}
