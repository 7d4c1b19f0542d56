//! Security profiles: the parameters of the recursive proofs.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::policy::{GROVE_BACKEND, PLONKY2_BACKEND};

/// A named set of proof parameters, of one backend's proofs. [`Profile::Grove100`] is the default. The default policy accepts
/// it and [`Profile::Proven`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Profile {
    /// 100 bits for each layer and query by unique decoding alone, no conjecture about codes.
    Proven,
    /// 89 bits in the Johnson regime (ePrint 2025/2055).
    Johnson,
    /// Plonky2's `standard_recursion_config`, as in the code of the Reckle paper; the 100 bits that it targets rest on
    /// a disproved conjecture.
    Paper,
    /// For the backend `grove`: 100 bits for each layer and query by unique decoding alone, no conjecture about codes.
    #[default]
    Grove100,
    /// For the backend `grove`: 128 bits in the Johnson regime.
    Grove128,
}

/// Parameters of one FRI-based proof layer of Plonky2: everything that a profile decides about the soundness of its proofs.
///
/// Code that reads parameters for a circuit's configuration, a proof's shape, a verifier's check of its keys or the
/// soundness formulas destructures this struct without `..`: a new field does not compile until each of them handles
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FriParams {
    /// log2 of the blow-up of the low-degree extension.
    pub rate_bits: u8,
    /// Number of queries.
    pub queries: u16,
    /// Bits of grinding.
    pub pow_bits: u8,
    /// Challenges of the permutation argument and of the constraint combination.
    pub challenges: u8,
    /// Degree of the extension field from which the opening point and FRI's challenges are drawn.
    pub extension_degree: u8,
    /// Height of the Merkle caps.
    pub cap_height: u8,
    /// log2 of the factor that each step of FRI folds by.
    pub arity_bits: u8,
    /// Folding stops at a final polynomial of at most 2^this coefficients: plonky2's `ConstantArityBits(arity_bits,
    /// final_poly_bits)`.
    pub final_poly_bits: u8,
    /// log2 of the number of rows of the circuit.
    pub degree_bits: u8,
}

impl Profile {
    /// All profiles: those of Plonky2, strongest first, then those of grove.
    pub const ALL: [Self; 5] = [Self::Proven, Self::Johnson, Self::Paper, Self::Grove100, Self::Grove128];

    /// The profiles of Plonky2's proofs, strongest first.
    pub const PLONKY2: [Self; 3] = [Self::Proven, Self::Johnson, Self::Paper];

    /// The profiles of grove's proofs.
    pub const GROVE: [Self; 2] = [Self::Grove100, Self::Grove128];

    /// Degree of the extension field of Plonky2's proofs. It is a constant of types, hence the same for all layers of
    /// all profiles.
    pub const EXTENSION_DEGREE: usize = {
        let mut degree = 0;
        let mut at = 0;
        while at < Self::PLONKY2.len() {
            let profile = Self::PLONKY2[at];
            let Some(node) = profile.recursion() else { panic!("a profile of Plonky2 has its parameters") };
            assert!(at == 0 || node.extension_degree == degree);
            degree = node.extension_degree;
            if let Some(wrap) = profile.wrap() {
                assert!(wrap.extension_degree == degree);
            }
            at += 1;
        }
        degree as usize
    };

    /// The name of the SNARK with these parameters.
    pub const fn backend(self) -> &'static str {
        match self {
            Self::Proven | Self::Johnson | Self::Paper => PLONKY2_BACKEND.0,
            Self::Grove100 | Self::Grove128 => GROVE_BACKEND.0,
        }
    }

    /// True if proofs of a backend may have this profile: a SNARK has its own profiles, and other backends may have
    /// any.
    pub fn fits(self, backend: &str) -> bool {
        let snark = [PLONKY2_BACKEND.0, GROVE_BACKEND.0].contains(&backend);
        !snark || backend == self.backend()
    }

    /// The name in proofs and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Johnson => "johnson",
            Self::Paper => "paper",
            Self::Grove100 => "grove-100",
            Self::Grove128 => "grove-128",
        }
    }

    /// The number of this profile in wire formats.
    pub const fn code(self) -> u8 {
        match self {
            Self::Proven => 0,
            Self::Johnson => 1,
            Self::Paper => 2,
            Self::Grove100 => 3,
            Self::Grove128 => 4,
        }
    }

    /// The profile with this number in wire formats.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.code() == code)
    }

    /// Parameters of Plonky2's bucket and merge circuits, `None` for a profile of another backend.
    pub const fn recursion(self) -> Option<FriParams> {
        let params = match self {
            Self::Proven => FriParams {
                rate_bits: 3,
                queries: 102,
                pow_bits: 16,
                challenges: 3,
                extension_degree: 2,
                cap_height: 4,
                arity_bits: 4,
                final_poly_bits: 7,
                degree_bits: 15,
            },
            Self::Johnson => FriParams {
                rate_bits: 3,
                queries: 56,
                pow_bits: 18,
                challenges: 3,
                extension_degree: 2,
                cap_height: 4,
                arity_bits: 4,
                final_poly_bits: 6,
                degree_bits: 14,
            },
            Self::Paper => FriParams {
                rate_bits: 3,
                queries: 28,
                pow_bits: 16,
                challenges: 2,
                extension_degree: 2,
                cap_height: 4,
                arity_bits: 4,
                final_poly_bits: 5,
                degree_bits: 13,
            },
            Self::Grove100 | Self::Grove128 => return None,
        };
        Some(params)
    }

    /// Parameters of Plonky2's final wrap, if the profile has one; grove's have none. The number of rows of the wrap
    /// follows from the circuit.
    pub const fn wrap(self) -> Option<FriParams> {
        match self {
            Self::Paper => Some(FriParams {
                rate_bits: 4,
                queries: 21,
                pow_bits: 16,
                challenges: 2,
                extension_degree: 2,
                cap_height: 4,
                arity_bits: 4,
                final_poly_bits: 5,
                degree_bits: 12,
            }),
            Self::Proven | Self::Johnson | Self::Grove100 | Self::Grove128 => None,
        }
    }

    /// m, the number of leaves that one bucket of this profile holds: the most that fits in the rows of the profile's circuits.
    pub const fn bucket_capacity(self, class: HeightClass) -> usize {
        match (self, class) {
            (Self::Proven, HeightClass::H27) => 846,
            (Self::Johnson, HeightClass::H27) => 423,
            (Self::Paper, HeightClass::H27) => 211,
            (Self::Grove100, HeightClass::H27) => 673,
            (Self::Grove128, HeightClass::H27) => 434,
            (Self::Proven, HeightClass::H40) => 602,
            (Self::Johnson, HeightClass::H40) => 301,
            (Self::Paper, HeightClass::H40) => 150,
            (Self::Grove100, HeightClass::H40) => 403,
            (Self::Grove128, HeightClass::H40) => 263,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(pub String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown profile {:?}: choose proven, johnson, paper, grove-100 or grove-128", self.0)
    }
}

impl core::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| UnknownProfile(s.into()))
    }
}

/// The class of a vector's height: each class has its own circuits and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeightClass {
    /// Heights 1 to 27.
    H27,
    /// Heights 28 to 40.
    H40,
}

impl HeightClass {
    /// Both classes.
    pub const ALL: [Self; 2] = [Self::H27, Self::H40];

    /// The class of vectors of this height, `None` when the height is not from 1 to 40.
    pub const fn of(height: u8) -> Option<Self> {
        match height {
            1..=27 => Some(Self::H27),
            28..=40 => Some(Self::H40),
            _ => None,
        }
    }

    /// The class with this number, its H_max, in wire formats.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.height_max() == code)
    }

    /// H_max, the greatest height of the class; also the number of the class in wire formats.
    pub const fn height_max(self) -> u8 {
        match self {
            Self::H27 => 27,
            Self::H40 => 40,
        }
    }
}
