//! The file that holds one proof.

use super::{DecodeError, Reader, Writer};
use crate::{BackendId, HEIGHT_MAX, HeightClass, NodeKind, Profile, Statement};

/// The first bytes of a proof file.
pub const PROOF_MAGIC: [u8; 4] = *b"EVGP";

/// A proof as it is stored and handed out: what is proven, by what, and the proof itself in its backend's encoding.
///
/// All of it is a claim of whoever made the file. [`crate::Policy::check`] compares it with what a verifier accepts and
/// with the commitment; the backend then checks the body against the very same statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchProof {
    /// Name of the commitment scheme, [`crate::SCHEME`] for ours.
    pub scheme: String,
    /// Name and version of the backend.
    pub backend: BackendId,
    /// Proof parameters.
    pub profile: Profile,
    /// Height class of the circuits.
    pub class: HeightClass,
    /// The circuit.
    pub kind: NodeKind,
    /// What is proven.
    pub statement: Statement,
    /// The proof, in the backend's encoding.
    pub body: Vec<u8>,
}

impl BatchProof {
    /// The file's bytes.
    ///
    /// # Panics
    /// If scheme or backend is no name (1 to 32 of a-z, 0-9, - and _), or the body has 4 GiB or more.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::header(PROOF_MAGIC);
        w.name(&self.scheme);
        w.name(&self.backend.name);
        w.bytes(&self.backend.version.to_le_bytes());
        w.bytes(&[self.profile.code(), self.class.height_max(), self.kind.code(), self.statement.height]);
        w.bytes(&self.statement.base.to_le_bytes());
        w.digests(&[self.statement.root, self.statement.canonical]);
        let len = u32::try_from(self.body.len()).expect("a proof body has less than 4 GiB");
        w.bytes(&len.to_le_bytes());
        w.bytes(&self.body);
        w.0
    }

    /// The proof in a file. The body is not looked into.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        r.header(PROOF_MAGIC, "proof file")?;
        let scheme = r.name("scheme")?;
        let backend = BackendId { name: r.name("backend")?, version: r.u32("backend version")? };
        let code = r.u8("profile")?;
        let profile = Profile::from_code(code).ok_or(DecodeError::Code { what: "profile", found: code })?;
        let code = r.u8("height class")?;
        let class = HeightClass::from_code(code).ok_or(DecodeError::Code { what: "height class", found: code })?;
        let code = r.u8("proof kind")?;
        let kind = NodeKind::from_code(code).ok_or(DecodeError::Code { what: "proof kind", found: code })?;
        let height = r.u8("height")?;
        let max = class.height_max().min(HEIGHT_MAX);
        if height > max {
            return Err(DecodeError::Range { what: "height", found: height.into(), max: max.into() });
        }
        let base = r.u64("base")?;
        let last = (1 << class.height_max()) - 1;
        if base > last {
            return Err(DecodeError::Range { what: "base", found: base, max: last });
        }
        if base & ((1 << height) - 1) != 0 {
            return Err(DecodeError::Base { base, height });
        }
        let (root, canonical) = (r.digest("root")?, r.digest("canonical digest")?);
        let len = r.u32("body length")? as usize;
        let body = r.take(len, "body")?.to_vec();
        r.finish()?;
        Ok(Self { scheme, backend, profile, class, kind, statement: Statement { root, canonical, height, base }, body })
    }
}
