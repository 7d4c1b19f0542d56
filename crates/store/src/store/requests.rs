//! Requests with keys. The outcome of a request is written in the transaction of its epoch, so a request that is sent
//! again is not made again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use evergrove_verifier::wire::{DecodeError, Reader, Records, Writer};

use super::database::AnyTable;
use super::layout::{Epoch, REQUESTS, REQUESTS_OF};
use super::{Store, WriteView};
use crate::Error;

/// How long keys are kept.
pub const REQUESTS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Largest number of keys that are kept. Above it, the oldest keys are forgotten.
pub const MAX_REQUESTS: u64 = 1 << 20;
/// Length of the longest key, in bytes.
pub const MAX_REQUEST_KEY: usize = 128;

/// A request for changes, named by its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// 1 to [`MAX_REQUEST_KEY`] visible ASCII characters, chosen by the caller.
    pub key: String,
    /// A hash of the request.
    pub digest: [u8; 32],
    /// Number of its changes.
    pub changes: u64,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The epoch that contains its changes.
    pub epoch: Epoch,
    /// A hash of the request.
    pub digest: [u8; 32],
    /// Number of its changes.
    pub changes: u64,
}

/// The kinds of records of an outcome.
const REQUEST: u8 = 1;

impl Outcome {
    fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.record(REQUEST, |w| {
            w.bytes(&self.epoch.number.to_le_bytes());
            self.epoch.write(w);
            w.bytes(&self.digest);
            w.bytes(&self.changes.to_le_bytes());
        });
        w.0
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut records = Records::new(Reader::new(bytes));
        let mut r = records.next(REQUEST, "outcome of a request")?;
        let number = r.u64("epoch")?;
        let epoch = Epoch::read(number, &mut r)?;
        let outcome = Self { epoch, digest: r.array("digest")?, changes: r.u64("number of changes")? };
        r.finish()?;
        records.finish()?;
        Ok(outcome)
    }
}

impl Store {
    /// The outcome of the request with this key. `None` if it was not committed, or if its key is no longer kept.
    ///
    /// # Errors
    /// If the store is damaged.
    pub fn request(&self, key: &str) -> Result<Option<Outcome>, Error> {
        let read = self.database.begin_read()?;
        let Some(table) = read.open_table_if_any(REQUESTS)? else { return Ok(None) };
        let bytes = table.get(key)?;
        bytes.map(|b| Outcome::decode(&b).map_err(|e| self.corrupt_request(key, &e))).transpose()
    }

    /// A description of each entry in the tables of requests that cannot be read.
    pub(crate) fn check_requests(&self) -> Result<Vec<String>, Error> {
        let (read, mut wrong) = (self.begin_read()?, Vec::new());
        if let Some(requests) = read.open_table_if_any(REQUESTS)? {
            for entry in requests.entries()? {
                let (key, bytes) = entry?;
                wrong.extend(Outcome::decode(&bytes).err().map(|e| corrupt(&key, &e)));
            }
        }
        if let Some(requests_of) = read.open_table_if_any(REQUESTS_OF)? {
            for entry in requests_of.entries()? {
                let (epoch, bytes) = entry?;
                if decode_keys(&bytes).is_none() {
                    wrong.push(corrupt_keys(epoch));
                }
            }
        }
        Ok(wrong)
    }

    fn corrupt_request(&self, key: &str, e: &DecodeError) -> Error {
        Error::corrupt(self.dir(), corrupt(key, e))
    }
}

fn corrupt(key: &str, e: &DecodeError) -> String {
    format!("table {:?}: the outcome of request {key:?}: {e}", REQUESTS.title())
}

/// A description of an entry of [`REQUESTS_OF`] that [`decode_keys`] cannot read.
pub(super) fn corrupt_keys(epoch: u64) -> String {
    format!("table {:?}: the keys of the requests of epoch {epoch} are not a list", REQUESTS_OF.title())
}

/// Records requests as part of an epoch, and forgets old requests.
pub(super) fn stage(view: &mut WriteView<'_>, epoch: &Epoch, requests: &[Request]) -> Result<(), Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if !requests.is_empty() {
        let keys: Vec<&str> = requests.iter().map(|request| request.key.as_str()).collect();
        for Request { key, digest, changes } in requests {
            let plain = (1..=MAX_REQUEST_KEY).contains(&key.len()) && key.bytes().all(|c| c.is_ascii_graphic());
            if !plain {
                return Err(Error::RequestKey(key.clone()));
            }
            let outcome = Outcome { epoch: *epoch, digest: *digest, changes: *changes };
            if !view.put_request(key, &outcome.encode())? {
                return Err(Error::Repeated(key.clone()));
            }
        }
        view.put_requests_of(epoch.number, &encode_keys(now, &keys))?;
    }
    view.forget_requests(now.saturating_sub(REQUESTS_KEPT), MAX_REQUESTS)
}

/// The time when the requests of an epoch were made, in seconds since 1970, and their keys, one per line.
pub(super) fn encode_keys(time: Duration, keys: &[&str]) -> Vec<u8> {
    let mut bytes = time.as_secs().to_le_bytes().to_vec();
    bytes.extend_from_slice(keys.join("\n").as_bytes());
    bytes
}

pub(super) fn decode_keys(bytes: &[u8]) -> Option<(Duration, Vec<&str>)> {
    let (time, keys) = bytes.split_first_chunk()?;
    let keys = std::str::from_utf8(keys).ok()?.lines().collect();
    Some((Duration::from_secs(u64::from_le_bytes(*time)), keys))
}

#[cfg(test)]
mod tests {
    use evergrove_primitives::Digest;
    use evergrove_verifier::Commitment;

    use super::*;

    #[test]
    fn outcomes_and_keys_come_back() {
        let commitment = Commitment { height: 9, root: Digest::ZERO };
        let epoch = Epoch { number: 7, commitment, filled: 300 };
        let outcome = Outcome { epoch, digest: [5; 32], changes: 2 };
        assert_eq!(Outcome::decode(&outcome.encode()), Ok(outcome.clone()));
        assert!(Outcome::decode(&outcome.encode()[1..]).is_err());
        let keys = encode_keys(Duration::from_secs(9), &["a", "b-c"]);
        assert_eq!(decode_keys(&keys), Some((Duration::from_secs(9), vec!["a", "b-c"])));
        assert_eq!(decode_keys(&keys[..7]), None);
    }
}
