//! Points in a file, in the memory layout of arkworks, blst and gnark: see docs/formats.md.

use core::marker::PhantomData;
use std::io::{self, Read, Write};

use ark_ec::short_weierstrass::Affine;
use ark_ff::AdditiveGroup;
use evergrove_primitives::field::prime::PrimeElement;

use super::{CheckedPoints, Curve, PointError, Reason};

const MAGIC: [u8; 4] = *b"EVGC";
const VERSION: u16 = 1;

/// Points that are read at a time.
const CHUNK: usize = 1 << 12;

/// Why a file of points cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file could not be read.
    #[error("reading points: {0}")]
    Io(#[from] io::Error),
    /// The file is of another kind.
    #[error(
        "no file of points: it starts with {found:02x?} instead of EVGC, version {VERSION}; write one with PointWriter"
    )]
    Header {
        /// The first six bytes.
        found: [u8; 6],
    },
    /// Points of another curve.
    #[error("points of another curve: the file's modulus or coefficients differ")]
    Curve,
    /// The file ends too early.
    #[error("the file ends early: of {points} points, {read} or a few more are there; it was not written to its end")]
    Truncated {
        /// Points of whole blocks before the end.
        read: u64,
        /// Points that the header promises.
        points: u64,
    },
    /// The file has bytes after the last point.
    #[error("bytes follow the last of {points} points: the file was written over, or its header is wrong")]
    Trailing {
        /// Points that the header promises.
        points: u64,
    },
    /// A point is invalid.
    #[error(transparent)]
    Point(#[from] PointError),
}

/// Bytes of a coordinate.
const fn bytes<C: Curve>() -> usize {
    size_of::<<C::BaseField as PrimeElement>::Words>()
}

fn put<F: PrimeElement>(x: &F, out: &mut Vec<u8>) {
    out.extend(x.words().as_ref().iter().flat_map(|w| w.to_le_bytes()));
}

fn get<F: PrimeElement>(bytes: &[u8]) -> F {
    let mut words = F::MODULUS;
    for (word, bytes) in words.as_mut().iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    F::from_words(words)
}

/// The bytes before the number of points.
fn header<C: Curve>() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend((bytes::<C>() as u16).to_le_bytes());
    out.extend(C::BaseField::MODULUS.as_ref().iter().flat_map(|w| w.to_le_bytes()));
    put(&C::COEFF_A, &mut out);
    put(&C::COEFF_B, &mut out);
    out
}

/// Points of a file, or of a memory map of one (`&[u8]`), in order.
pub struct PointFile<R, C> {
    reader: R,
    points: u64,
    read: u64,
    trusted: bool,
    buffer: Vec<u8>,
    curve: PhantomData<fn() -> C>,
}

impl<R, C> core::fmt::Debug for PointFile<R, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { points, read, trusted, .. } = self;
        f.debug_struct("PointFile")
            .field("points", points)
            .field("read", read)
            .field("trusted", trusted)
            .finish_non_exhaustive()
    }
}

impl<R: Read, C: Curve> PointFile<R, C> {
    /// Reads the header. Points are checked as by [`CheckedPoints::new`], which takes some microseconds for each point.
    ///
    /// # Errors
    /// If the file cannot be read, is not a file of points, has points of another curve, or has bytes after a header
    /// for zero points.
    pub fn new(mut reader: R) -> Result<Self, FileError> {
        let expected = header::<C>();
        let mut found = vec![0; expected.len()];
        reader.read_exact(&mut found[..8])?;
        let found_first: [u8; 6] = *found.first_chunk().expect("eight bytes");
        if found_first != *expected.first_chunk::<6>().expect("eight bytes") {
            return Err(FileError::Header { found: found_first });
        }
        if found[..8] != expected[..8] {
            return Err(FileError::Curve);
        }
        reader.read_exact(&mut found[8..])?;
        if found != expected {
            return Err(FileError::Curve);
        }
        let mut count = [0; 8];
        reader.read_exact(&mut count)?;
        let points = u64::from_le_bytes(count);
        let mut file = Self { reader, points, read: 0, trusted: false, buffer: Vec::new(), curve: PhantomData };
        file.check_end()?;
        Ok(file)
    }

    /// [`PointFile::new`] for points that the caller vouches for, as by [`CheckedPoints::trusted`]: for example, points
    /// of a file that was checked when it was written. Coordinates are still checked to be canonical.
    ///
    /// # Errors
    /// As for [`PointFile::new`].
    pub fn trusted(reader: R) -> Result<Self, FileError> {
        Ok(Self { trusted: true, ..Self::new(reader)? })
    }

    /// Points in all.
    pub fn len(&self) -> u64 {
        self.points
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }

    /// Replaces `out` by the next `most` points, or by fewer at the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read, ends early or has bytes after the last point, or if a point is invalid.
    pub fn next(&mut self, most: usize, out: &mut Vec<Affine<C>>) -> Result<(), FileError> {
        out.clear();
        let first = self.read;
        let count = (self.points - self.read).min(most as u64) as usize;
        let size = 2 * bytes::<C>();
        while out.len() < count {
            self.buffer.resize((count - out.len()).min(CHUNK) * size, 0);
            self.reader.read_exact(&mut self.buffer).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => FileError::Truncated { read: self.read, points: self.points },
                _ => error.into(),
            })?;
            for point in self.buffer.chunks_exact(size) {
                let (x, y) = point.split_at(size / 2);
                let (x, y): (C::BaseField, C::BaseField) = (get(x), get(y));
                if !x.is_canonical() || !y.is_canonical() {
                    return Err(PointError { index: self.read as usize, reason: Reason::Coordinate }.into());
                }
                let infinite = x == C::BaseField::ZERO && y == C::BaseField::ZERO;
                out.push(if infinite { Affine::identity() } else { Affine::new_unchecked(x, y) });
                self.read += 1;
            }
        }
        self.check_end()?;
        if !self.trusted {
            CheckedPoints::new(out).map_err(|e| PointError { index: first as usize + e.index, ..e })?;
        }
        Ok(())
    }

    /// After the last point, the file must end.
    fn check_end(&mut self) -> Result<(), FileError> {
        if self.read == self.points && self.reader.read(&mut [0])? != 0 {
            return Err(FileError::Trailing { points: self.points });
        }
        Ok(())
    }
}

/// Writes a file of points.
pub struct PointWriter<W, C> {
    writer: W,
    left: u64,
    curve: PhantomData<fn() -> C>,
}

impl<W: Write, C: Curve> PointWriter<W, C> {
    /// Writes the header, for `points` points.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(mut writer: W, points: u64) -> io::Result<Self> {
        writer.write_all(&header::<C>())?;
        writer.write_all(&points.to_le_bytes())?;
        Ok(Self { writer, left: points, curve: PhantomData })
    }

    /// Writes further points.
    ///
    /// # Errors
    /// If they cannot be written, or exceed the announced number ([`io::ErrorKind::InvalidInput`]).
    pub fn write(&mut self, points: &[Affine<C>]) -> io::Result<()> {
        let Some(left) = self.left.checked_sub(points.len() as u64) else {
            return Err(invalid(format!("{} points where {} were left of those announced", points.len(), self.left)));
        };
        let mut out = Vec::with_capacity(points.len().min(CHUNK) * 2 * bytes::<C>());
        for points in points.chunks(CHUNK) {
            out.clear();
            for point in points {
                let zero = C::BaseField::ZERO;
                let [x, y] = if *point == Affine::identity() { [zero; 2] } else { [point.x, point.y] };
                put(&x, &mut out);
                put(&y, &mut out);
            }
            self.writer.write_all(&out)?;
        }
        self.left = left;
        Ok(())
    }

    /// The writer, with all points written and flushed.
    ///
    /// # Errors
    /// If announced points are missing ([`io::ErrorKind::InvalidInput`]), or bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if self.left > 0 {
            return Err(invalid(format!("{} points are missing of those announced", self.left)));
        }
        self.writer.flush()?;
        Ok(self.writer)
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
