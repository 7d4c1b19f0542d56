//! Records of format 1 (version 0.1). They are read but no longer written. Pages and slots are those of format 2.

use evergrove_verifier::wire::Reader;
use evergrove_verifier::{AppSpec, Scheme, UnknownScheme};
use serde::Deserialize;

use super::database::TableDefinition;
use super::layout::{BackendRecord, BatchRecord, Epoch, ProvenRecord, read_differences};

/// The number of the format.
pub(super) const FORMAT: u32 = 1;
/// Epoch -> 41 bytes: height, root, number of filled slots (little-endian).
pub(super) const EPOCHS: TableDefinition<u64, &[u8; 41]> = TableDefinition::new("epochs");

pub(super) fn epoch(number: u64, bytes: &[u8]) -> Option<Epoch> {
    let mut r = Reader::new(bytes);
    let epoch = Epoch::read(number, &mut r).ok()?;
    r.finish().ok().map(|()| epoch)
}

/// Strictly increasing indices as LEB128: the first one, then the differences.
pub(super) fn members(bytes: &[u8]) -> Option<Vec<u64>> {
    read_differences(bytes)
}

#[derive(Deserialize)]
struct Batch {
    backend: Backend,
    len: u64,
    span: (u64, u64),
    since: u64,
    proven: Option<ProvenRecord>,
}

#[derive(Deserialize)]
struct Backend {
    name: String,
    version: u32,
    profile: u8,
    height_max: u8,
    capacity: u32,
    wraps: bool,
}

/// The record in postcard. If the scheme is not ours, its name follows. If there is an application, a zero byte, its
/// name, a zero byte and its parameters follow.
pub(super) fn batch(bytes: &[u8]) -> Result<BatchRecord, String> {
    let (batch, rest): (Batch, _) = postcard::take_from_bytes(bytes).map_err(|e| e.to_string())?;
    let Batch { backend, len, span, since, proven } = batch;
    let Backend { name, version, profile, height_max, capacity, wraps } = backend;
    let (mut scheme, mut app) = (Scheme::default(), None);
    if !rest.is_empty() {
        let mut parts = rest.splitn(3, |b| *b == 0);
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        scheme = text(parts.next().unwrap_or_default()).parse().map_err(|e: UnknownScheme| e.to_string())?;
        app = parts
            .next()
            .zip(parts.next())
            .map(|(name, parameters)| AppSpec { name: text(name), parameters: parameters.to_vec() });
    }
    let backend = BackendRecord { name, version, profile, height_max, capacity, wraps, scheme, app };
    BatchRecord { backend, len, span, since, proven }.checked()
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::samples;
    use super::*;

    /// The bytes that version 0.1 wrote for these records.
    #[test]
    fn records_of_batches_are_read() {
        let head = [&b"\x07plonky2\x01\x02\x1b\xd3\x01\x01\xa3\x1a\x01\x8f\x4e\x01"[..]].concat();
        let proof =
            [&b"\x01\xac\x02\x0e"[..], &[1; 32], &[2; 32], &[3; 32], b"\x02\x98\xe6\x05\x09\x05", &[4; 32]].concat();
        let tail = b"\x00evergrove1-selected\x00tally\x00\x07\x00\x08";
        for (record, bytes) in samples().into_iter().zip([[&head[..], &proof].concat(), [&head[..], tail].concat()]) {
            assert_eq!(batch(&bytes), Ok(record));
        }
        assert!(batch(&[&head[..], b"\x00evergrove1-selected"].concat()).is_err(), "no application");
    }
}
