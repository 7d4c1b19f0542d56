//! The serialization of generators: plonky2's, those of our gates, and an application's.

use plonky2::iop::generator::{SimpleGenerator, WitnessGeneratorRef};
use plonky2::plonk::circuit_data::CommonCircuitData;
use plonky2::util::serialization::{
    Buffer, DefaultGeneratorSerializer, IoError, IoResult, WitnessGeneratorSerializer, Write,
};

use super::product::CoefficientGenerator;
use super::range::DigitGenerator;
use super::{CARRY_BITS, product};
use crate::circuit::{C, D, F};

/// The tag of our first kind; plonky2 numbers its own from 0.
const FIRST: u32 = 1 << 16;

/// A kind of generator: its name, which distinguishes it from others, and how it is read.
pub struct GeneratorKind {
    id: fn() -> String,
    read: fn(&mut Buffer<'_>, &CommonCircuitData<F, D>) -> IoResult<WitnessGeneratorRef<F, D>>,
}

impl GeneratorKind {
    /// The kind of `G`, all of whose generators have one name.
    pub const fn of<G: SimpleGenerator<F, D> + Default>() -> Self {
        Self {
            id: || G::default().id(),
            read: |src, common| Ok(WitnessGeneratorRef::new(G::deserialize(src, common)?.adapter())),
        }
    }
}

/// The generators of our gates.
static GATES: [GeneratorKind; 3] = [
    GeneratorKind::of::<CoefficientGenerator>(),
    GeneratorKind::of::<DigitGenerator<{ product::LIMB_BITS }>>(),
    GeneratorKind::of::<DigitGenerator<CARRY_BITS>>(),
];

/// Writes and reads generators: plonky2's as its default serializer does, ours by their places in a list.
pub struct Generators {
    kinds: Vec<(String, &'static GeneratorKind)>,
}

impl Generators {
    /// The generators of our gates, and `more`.
    pub fn with(more: &'static [GeneratorKind]) -> Self {
        Self { kinds: GATES.iter().chain(more).map(|kind| ((kind.id)(), kind)).collect() }
    }
}

impl WitnessGeneratorSerializer<F, D> for Generators {
    fn read_generator(
        &self,
        src: &mut Buffer<'_>,
        common: &CommonCircuitData<F, D>,
    ) -> IoResult<WitnessGeneratorRef<F, D>> {
        let tag = src.unread_bytes().first_chunk().map(|tag| u32::from_le_bytes(*tag)).ok_or(IoError)?;
        let Some(place) = tag.checked_sub(FIRST) else {
            return DefaultGeneratorSerializer::<C, D>::default().read_generator(src, common);
        };
        let (_, kind) = self.kinds.get(place as usize).ok_or(IoError)?;
        plonky2::util::serialization::Read::read_u32(src)?;
        (kind.read)(src, common)
    }

    fn write_generator(
        &self,
        dst: &mut Vec<u8>,
        generator: &WitnessGeneratorRef<F, D>,
        common: &CommonCircuitData<F, D>,
    ) -> IoResult<()> {
        let id = generator.0.id();
        match self.kinds.iter().position(|(name, _)| *name == id) {
            Some(place) => {
                dst.write_u32(FIRST + place as u32)?;
                generator.0.serialize(dst, common)
            }
            None => DefaultGeneratorSerializer::<C, D>::default().write_generator(dst, generator, common),
        }
    }
}
