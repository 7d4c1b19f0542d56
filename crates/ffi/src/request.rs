//! A request, built from text and bytes, and its verdict.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::schema::Schema;
use evergrove_verifier::tree::Value;
use evergrove_verifier::verify::{self, Application, Check, Code, Failure, Outcome, Shown};
use evergrove_verifier::{AppId, Commitment, Policy, Profile, Scheme};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::rows::{Format, leaves};

/// A question about a file. Errors in its parts are reported by the verdict.
#[derive(Debug)]
pub struct Request {
    file: Vec<u8>,
    commitment: Option<Commitment>,
    policy: Policy,
    rows: Option<Vec<(u64, Value)>>,
    /// The digest of the rows' schema.
    schema: Option<Digest>,
    application: Option<Application>,
    key: Option<Digest>,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    Key(Box<Check>),
    Accepted(Box<verify::Verdict>),
    Refused(Refused),
}

/// The code and the sentence of a rejection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    code: Code,
    sentence: String,
}

impl From<Failure> for Refused {
    fn from(e: Failure) -> Self {
        Self { code: e.code(), sentence: e.to_string() }
    }
}

/// What the request needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The bytes of the key file.
    Key,
    /// Nothing: [`Request::finish`] returns the verdict.
    Verdict,
}

/// The answer to a request: a code, a sentence and JSON.
#[derive(Clone, Debug)]
pub struct Verdict {
    code: Code,
    sentence: String,
    json: String,
}

impl Request {
    /// Asks whether `file` proves something about the table of `commitment`, a text of the form
    /// `evergrove1:HEIGHT:ROOT`.
    pub fn new(file: Vec<u8>, commitment: &[u8]) -> Self {
        let mut request = Self {
            file,
            commitment: None,
            policy: Policy::default(),
            rows: None,
            schema: None,
            application: None,
            key: None,
            state: State::Open,
        };
        let text = core::str::from_utf8(commitment).map_err(|_| "the commitment is not text".to_string());
        match text.and_then(|text| text.trim().parse::<Commitment>().map_err(|e| e.to_string())) {
            Ok(commitment) => request.commitment = Some(commitment),
            Err(sentence) => request.refuse(Code::Usage, sentence),
        }
        request
    }

    /// Keeps the first error.
    pub(crate) fn refuse(&mut self, code: Code, sentence: impl Into<String>) {
        if !matches!(self.state, State::Refused(_)) {
            self.state = State::Refused(Refused { code, sentence: sentence.into() });
        }
    }

    /// Whether the question may still change. A change after [`Request::check`] is an error, because the check ignored
    /// it.
    fn open(&mut self, what: &str) -> bool {
        let open = matches!(self.state, State::Open);
        if !open {
            self.refuse(Code::Usage, format!("{what} given after the check: give all parts of the question before it"));
        }
        open
    }

    /// Asks whether the proof is about exactly these rows. The schema is TOML. Without one, a row is four field
    /// elements.
    pub fn rows(&mut self, format: Format, text: &[u8], schema: Option<&[u8]>) {
        if !self.open("rows") {
            return;
        }
        let schema = match schema.map(|text| core::str::from_utf8(text).map(Schema::from_toml)) {
            None => Schema::raw(),
            Some(Ok(Ok(schema))) => schema,
            Some(Ok(Err(e))) => return self.refuse(Code::BadRows, one_line(&e.to_string())),
            Some(Err(_)) => return self.refuse(Code::BadRows, "the schema is not UTF-8"),
        };
        match leaves(&schema, format, text) {
            Ok(leaves) => (self.rows, self.schema) = (Some(leaves), Some(schema.digest())),
            Err(e) => self.refuse(Code::BadRows, e.to_string()),
        }
    }

    /// Also accepts proofs of this profile.
    pub fn allow_profile(&mut self, name: &[u8]) {
        if !self.open("a profile") {
            return;
        }
        match core::str::from_utf8(name).ok().and_then(|name| name.parse::<Profile>().ok()) {
            Some(profile) => self.policy = self.policy.clone().allow_profile(profile),
            None => self.refuse(Code::Usage, format!("unknown profile {:?}", String::from_utf8_lossy(name))),
        }
    }

    /// Also accepts outputs of this application, given by its name, the digest of its parameters, the inputs of its
    /// circuits and the number of elements of its output. Without inputs the output is words of four elements, as in
    /// digest translation. Also call [`Request::key_digest`].
    pub fn application(&mut self, name: &[u8], parameters: &[u8; 32], inputs: Option<&[u64]>, output_len: usize) {
        if !self.open("an application") {
            return;
        }
        let Ok(name) = core::str::from_utf8(name) else {
            return self.refuse(Code::Usage, "the application's name is not text");
        };
        let Ok(parameters) = Digest::from_bytes(parameters) else {
            return self.refuse(Code::Usage, "the digest of the application's parameters is not four elements");
        };
        let elements = inputs.map(|inputs| inputs.iter().map(|&x| Goldilocks::from_canonical(x)).collect());
        let Ok(inputs) = elements.transpose() else {
            return self.refuse(Code::Usage, "an input of the application is not below p");
        };
        let id = AppId { name: name.into(), parameters };
        let schemes = if inputs.is_some() { &[Scheme::Selected, Scheme::Complete][..] } else { &[Scheme::Tree] };
        for scheme in schemes {
            self.policy = self.policy.clone().allow_app(id.clone(), *scheme);
        }
        self.application = Some(Application { id, inputs, output_len, key: Digest::ZERO });
    }

    /// Sets the trusted digest of the key file, which replaces the pinned one.
    pub fn key_digest(&mut self, digest: &[u8; 32]) {
        if !self.open("the digest of the key") {
            return;
        }
        match Digest::from_bytes(digest) {
            Ok(digest) => self.key = Some(digest),
            Err(_) => self.refuse(Code::Usage, "the digest of the key is not four elements"),
        }
    }

    /// Checks everything that needs no key.
    pub fn check(&mut self) -> Next {
        if let (State::Open, Some(commitment)) = (&self.state, &self.commitment) {
            let application =
                self.application.take().map(|app| Application { key: self.key.unwrap_or(app.key), ..app });
            if application.is_some() && self.key.is_none() {
                self.refuse(Code::Usage, "the key of an application is not pinned: give the digest of the key");
                return Next::Verdict;
            }
            let mut request = verify::Request::new(&self.file, commitment, &self.policy);
            if let Some(rows) = &self.rows {
                request = request.leaves(rows);
            }
            if let Some(application) = &application {
                request = request.application(application);
            }
            if let Some(key) = self.key {
                request = request.key(key);
            }
            self.state = match request.start() {
                Ok(Outcome::Key(check)) => State::Key(Box::new(check)),
                Ok(Outcome::Verdict(verdict)) => State::Accepted(Box::new(verdict)),
                Err(e) => State::Refused(e.into()),
            };
            // The check holds the parts of the proof.
            self.file = Vec::new();
        }
        match self.state {
            State::Key(_) => Next::Key,
            State::Open | State::Accepted(_) | State::Refused(_) => Next::Verdict,
        }
    }

    /// Takes the next bytes of the key file.
    pub fn key(&mut self, bytes: &[u8]) -> Next {
        if let State::Key(check) = &mut self.state
            && let Err(e) = check.key(bytes)
        {
            self.state = State::Refused(e.into());
        }
        match self.state {
            State::Key(_) => Next::Key,
            State::Open | State::Accepted(_) | State::Refused(_) => Next::Verdict,
        }
    }

    /// The verdict.
    pub fn finish(mut self) -> Verdict {
        self.check();
        let result = match self.state {
            State::Key(check) => check.finish().map_err(Refused::from),
            State::Accepted(verdict) => Ok(*verdict),
            State::Refused(refused) => Err(refused),
            State::Open => Err(Refused { code: Code::Usage, sentence: "no commitment".into() }),
        };
        match result {
            Ok(verdict) => Verdict {
                code: Code::Accepted,
                sentence: "accepted".into(),
                json: accepted(&verdict, self.schema, &self.policy).text(),
            },
            Err(Refused { code, sentence }) => {
                let policy = policy(&self.policy);
                let json = Json { code: code.name(), sentence: sentence.clone(), policy, ..Json::default() };
                Verdict { code, sentence, json: json.text() }
            }
        }
    }
}

impl Verdict {
    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }
    /// The sentence.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }
    /// The whole verdict as a JSON object.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Shortens an error with an excerpt of the text to its first line, which says where, and its last line, which says
/// what.
fn one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim_end).filter(|line| !line.is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first}: {last}"),
        (first, _) => first.unwrap_or_default().into(),
    }
}

fn policy(policy: &Policy) -> String {
    let names = |names: Vec<String>| names.join(", ");
    let profiles = names(policy.profiles().iter().map(ToString::to_string).collect());
    let mut text = format!("schemes {}; profiles {profiles}", policy.schemes().join(", "));
    let apps: Vec<String> = policy.apps().iter().map(|(app, scheme)| format!("{app} in {scheme}")).collect();
    if !apps.is_empty() {
        text.push_str("; applications ");
        text.push_str(&names(apps));
    }
    text
}

/// A verdict as JSON, without the fields that are `None`.
#[derive(Default, Serialize)]
struct Json {
    accepted: bool,
    code: &'static str,
    sentence: String,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_shown: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Option<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_pinned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<Bits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    /// As text, because not every JSON reader keeps 64-bit numbers exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Bits {
    unique_decoding: Box<RawValue>,
    johnson: Box<RawValue>,
    conjectured: Box<RawValue>,
}

impl Json {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("an object of strings and integers")
    }
}

/// A number with one decimal. Formatting floats would take a tenth of the WebAssembly module.
fn tenths(bits: f64) -> Box<RawValue> {
    let tenths = (bits * 10.0 + 0.5) as u32;
    RawValue::from_string(format!("{}.{}", tenths / 10, tenths % 10)).expect("a number")
}

fn accepted(verdict: &verify::Verdict, schema: Option<Digest>, by: &Policy) -> Json {
    let json = Json {
        accepted: true,
        code: Code::Accepted.name(),
        sentence: "accepted".into(),
        height: Some(verdict.commitment.height),
        root: Some(verdict.commitment.root.to_string()),
        shown: Some(verdict.shown()),
        not_shown: Some(verdict.not_shown()),
        policy: policy(by),
        schema_digest: schema.map(|digest| digest.to_string()),
        ..Json::default()
    };
    match &verdict.shown {
        Shown::Slot(opening) => Json {
            kind: Some("opening".into()),
            index: Some(opening.index),
            value: Some(opening.value.map(|value| Digest(value).to_string())),
            ..json
        },
        Shown::Batch { statement, leaves, scheme, profile, class, kind, app, key, pinned, bits } => Json {
            kind: Some(kind.to_string()),
            scheme: Some(scheme.name()),
            backend: Some(evergrove_verifier::policy::GROVE_BACKEND.0),
            profile: Some(profile.name()),
            class: Some(class.height_max()),
            canonical: Some(statement.canonical.to_string()),
            rows: Some(*leaves),
            key_digest: Some(key.to_string()),
            key_pinned: Some(*pinned),
            bits: Some(Bits {
                unique_decoding: tenths(bits.unique_decoding),
                johnson: tenths(bits.johnson),
                conjectured: tenths(bits.conjectured),
            }),
            application: app.as_ref().map(|app| app.app.to_string()),
            output: app.as_ref().map(|app| app.output.iter().map(ToString::to_string).collect()),
            ..json
        },
    }
}
