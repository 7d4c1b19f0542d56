//! The file that holds one proof.

use alloc::string::String;
use alloc::vec::Vec;

use super::{DecodeError, FORMAT_VERSION, Reader, Records, Writer};
use crate::{AppId, AppOutput, BackendId, HeightClass, NodeKind, Profile, Scheme, Statement};

/// The first bytes of a proof file.
pub const PROOF_MAGIC: [u8; 4] = *b"EVGP";
/// The greatest number of elements of an application's output.
const OUTPUT_MAX: usize = u16::MAX as usize;

/// The kinds of records.
const CLAIM: u8 = 1;
const STATEMENT: u8 = 2;
const OUTPUT: u8 = 3;
const BODY: u8 = 4;

/// A proof as it is stored and published: the statement, the prover, and the proof itself in its backend's encoding.
///
/// All fields are claims of whoever made the file. [`crate::Policy::check`] compares them with the verifier's policy
/// and with the commitment; the backend then checks the body against the same statement.
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
    /// The proven statement.
    pub statement: Statement,
    /// The application with its output, exactly in the schemes that have them ([`Scheme::has_app`]).
    pub app: Option<AppOutput>,
    /// The proof, in the backend's encoding.
    pub body: Vec<u8>,
}

impl BatchProof {
    /// The file's bytes.
    ///
    /// # Panics
    /// If scheme, backend or application is not a valid name (1 to 32 of a-z, 0-9, - and _), an application is present
    /// or missing contrary to the scheme, its output has no or more than 65,535 elements, or the body has 4 GiB or
    /// more.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::header(PROOF_MAGIC, FORMAT_VERSION);
        w.record(CLAIM, |w| {
            w.name(&self.scheme);
            w.name(&self.backend.name);
            w.bytes(&self.backend.version.to_le_bytes());
            w.bytes(&[self.profile.code(), self.class.height_max(), self.kind.code()]);
        });
        w.record(STATEMENT, |w| w.statement(&self.statement));
        assert_eq!(self.app.is_some(), has_app(&self.scheme), "an application in a proof of scheme {}", self.scheme);
        if let Some(AppOutput { app, output }) = &self.app {
            assert!((1..=OUTPUT_MAX).contains(&output.len()), "1 to {OUTPUT_MAX} elements of output");
            w.record(OUTPUT, |w| {
                w.name(&app.name);
                w.digests(&[app.parameters]);
                w.elements(output);
            });
        }
        w.record(BODY, |w| w.bytes(&self.body));
        w.0
    }

    /// The proof in a file of version 1 or 2. The body is not examined.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        match r.header(PROOF_MAGIC, "proof file", &[1, FORMAT_VERSION])? {
            1 => Self::decode_v1(r),
            _ => Self::decode_records(Records::new(r)),
        }
    }

    fn decode_records(mut records: Records<'_>) -> Result<Self, DecodeError> {
        let mut r = records.next(CLAIM, "claim")?;
        let Claim { scheme, backend, profile, class, kind } = Claim::read(&mut r)?;
        r.finish()?;
        let mut r = records.next(STATEMENT, "statement")?;
        let statement = r.statement(class)?;
        r.finish()?;
        let app = if has_app(&scheme) {
            let mut r = records.next(OUTPUT, "output")?;
            let app = read_app(&mut r)?;
            let len = r.left() / 8;
            if !(1..=OUTPUT_MAX).contains(&len) {
                return Err(DecodeError::Range { what: "output length", found: len as u64, max: OUTPUT_MAX as u64 });
            }
            let output = r.elements(len, "output")?;
            r.finish()?;
            Some(AppOutput { app, output })
        } else {
            None
        };
        let body = records.next(BODY, "body")?.rest().to_vec();
        records.finish()?;
        Ok(Self { scheme, backend, profile, class, kind, statement, app, body })
    }

    fn decode_v1(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let Claim { scheme, backend, profile, class, kind } = Claim::read(&mut r)?;
        let statement = r.statement(class)?;
        let app = if has_app(&scheme) {
            let app = read_app(&mut r)?;
            let len = usize::from(r.u16("output length")?);
            if len == 0 {
                return Err(DecodeError::Code { what: "output length", found: 0 });
            }
            Some(AppOutput { app, output: r.elements(len, "output")? })
        } else {
            None
        };
        let len = r.u32("body length")? as usize;
        let body = r.take(len, "body")?.to_vec();
        r.finish()?;
        Ok(Self { scheme, backend, profile, class, kind, statement, app, body })
    }
}

/// The fields of a file about its proof, before the statement.
struct Claim {
    scheme: String,
    backend: BackendId,
    profile: Profile,
    class: HeightClass,
    kind: NodeKind,
}

impl Claim {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let scheme = r.name("scheme")?;
        let backend = BackendId { name: r.name("backend")?, version: r.u32("backend version")? };
        let code = r.u8("profile")?;
        let profile = Profile::from_code(code).ok_or(DecodeError::Code { what: "profile", found: code })?;
        let code = r.u8("height class")?;
        let class = HeightClass::from_code(code).ok_or(DecodeError::Code { what: "height class", found: code })?;
        let code = r.u8("proof kind")?;
        let kind = NodeKind::from_code(code).ok_or(DecodeError::Code { what: "proof kind", found: code })?;
        Ok(Self { scheme, backend, profile, class, kind })
    }
}

fn read_app(r: &mut Reader<'_>) -> Result<AppId, DecodeError> {
    Ok(AppId { name: r.name("application")?, parameters: r.digest("application parameters")? })
}

fn has_app(scheme: &str) -> bool {
    scheme.parse().is_ok_and(Scheme::has_app)
}
