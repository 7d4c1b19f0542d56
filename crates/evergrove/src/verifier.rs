//! Judging proofs.

use std::path::Path;
use std::sync::Arc;

use evergrove_store::{Backends, Verified};
use evergrove_verifier::{Commitment, Policy, Profile};

use crate::{Backend, Config, Error, Rows};

/// The largest file that [`Proof::read`] takes: a proof of the backend `native` holds its rows.
const MAX_PROOF_BYTES: u64 = 1 << 32;

/// The bytes of a proof file. They may be anything: a [`Verifier`] decides whether they are a valid proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof(Vec<u8>);

impl AsRef<[u8]> for Proof {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Proof {
    /// The proof in these bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a proof from a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let read = || {
            let file = std::fs::File::open(path)?;
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_PROOF_BYTES + 1), &mut bytes)?;
            match bytes.len() as u64 > MAX_PROOF_BYTES {
                true => Err(std::io::Error::other(format!("longer than the {MAX_PROOF_BYTES} bytes of any proof"))),
                false => Ok(Self(bytes)),
            }
        };
        read().map_err(Error::io(path))
    }

    /// Writes the proof to a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        std::fs::write(path, &self.0).map_err(Error::io(path))
    }
}

/// Accepts or refuses proofs, by a policy that is the verifier's choice and never the prover's.
///
/// The default accepts proofs of 100 bits for each layer and query, by unique decoding, without a conjecture about
/// codes: the profile `grove-100`, and the profile `proven` of Plonky2. A verifier needs no store, and only the keys
/// that this crate pins. It pins digests of grove's keys: the first proof of a profile takes some tens of milliseconds
/// more, in which its key is built and compared.
///
/// ```no_run
/// use evergrove::prelude::*;
///
/// /// The prover writes two files, and publishes `store.commitment()?` and `store.schema().to_toml()`.
/// fn publish(store: &Store) -> Result<(), Error> {
///     store.proof("dawn")?.write("dawn.proof")?;
///     store.rows("dawn")?.write_csv("dawn.csv")
/// }
///
/// /// The verifier has the files from anyone, and schema and commitment from a trusted source.
/// fn check(schema: &str, commitment: &str) -> Result<Verified, Error> {
///     let schema = Schema::from_toml(schema)?;
///     let commitment: Commitment = commitment.parse()?;
///     let rows = Rows::from_csv("dawn.csv", &schema)?;
///     Verifier::default().verify(&Proof::read("dawn.proof")?, &commitment, &rows)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Verifier {
    policy: Policy,
    #[cfg(feature = "apps")]
    config: Config,
    #[cfg(feature = "apps")]
    key_file: Option<(std::path::PathBuf, Option<evergrove_primitives::Digest>)>,
    #[cfg(feature = "apps")]
    groups: crate::Groups,
    backends: Arc<Backends>,
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new(Policy::default(), &Config::default())
    }
}

impl Verifier {
    /// A verifier with this policy. It uses only the field `keys` of `config`, for answers to queries, and trusts these
    /// keys.
    pub fn new(policy: Policy, config: &Config) -> Self {
        let backends = Arc::new(config.verifiers());
        Self {
            policy,
            #[cfg(feature = "apps")]
            config: config.clone(),
            #[cfg(feature = "apps")]
            key_file: None,
            #[cfg(feature = "apps")]
            groups: crate::Groups::default(),
            backends,
        }
    }

    /// Also accepts proofs of this backend. Proofs of [`Backend::Native`] need this: the default does not accept them.
    #[must_use]
    pub fn allow_backend(mut self, backend: Backend) -> Self {
        self.policy = self.policy.allow_backend(backend.id());
        self
    }

    /// Also accepts proofs of this profile.
    #[must_use]
    pub fn allow_profile(mut self, profile: Profile) -> Self {
        self.policy = self.policy.allow_profile(profile);
        self
    }

    /// Accepts a proof that each of these rows is at its position in the table of this commitment, and that the batch has no
    /// other rows. Never panics on any bytes.
    ///
    /// The commitment does not name the columns: the same values under another schema verify too. Take the schema of
    /// the rows from a source that you trust, like the commitment.
    ///
    /// Costs 2 permutations for each row, the hashes of its `bytes` cells and of a row of more than 4 elements, and
    /// milliseconds for the proof. A proof of an answer to a query is refused: use `verify_answer`.
    ///
    /// # Errors
    /// [`Error::Verify`] with the reason why the proof is refused; [`Error::Row`] when a row does not fit its schema.
    pub fn verify(&self, proof: &Proof, commitment: &Commitment, rows: &Rows) -> Result<Verified, Error> {
        let leaves = rows.leaves()?;
        Ok(evergrove_store::verify(&proof.0, commitment, Some(&leaves), &self.policy, &self.backends)?)
    }

    /// Accepts a proof without rows: it covers *some* non-empty set of rows of the table of this commitment, whose canonical
    /// digest the result names. Compare that digest with one from a source that you trust.
    ///
    /// # Errors
    /// [`Error::Verify`] with the reason why the proof is refused.
    pub fn verify_statement(&self, proof: &Proof, commitment: &Commitment) -> Result<Verified, Error> {
        Ok(evergrove_store::verify(&proof.0, commitment, None, &self.policy, &self.backends)?)
    }
}

#[cfg(feature = "apps")]
mod queries {
    use std::sync::Arc;

    use std::fs::File;
    use std::path::PathBuf;

    use evergrove_apps::MapReduce;
    use evergrove_apps::aggregate::{Aggregate, Answer, Query};
    use evergrove_apps::catalog::Application;
    use evergrove_commit::schema::Schema;
    use evergrove_primitives::{Digest, Goldilocks};
    use evergrove_store::VerifyError;
    use evergrove_verifier::tree::Value;
    use evergrove_verifier::{BatchProof, Commitment, HeightClass, PolicyError, Scheme};

    use super::{Proof, Verifier};
    use crate::{AppKey, Error, Groups, Rows};

    impl Verifier {
        /// Sets the groups of a query with `GROUP BY`, `DISTINCT` or `LIKE`. They may come from anyone: an answer is
        /// refused if one is missing.
        #[must_use]
        pub fn with_groups(mut self, groups: Groups) -> Self {
            self.groups = groups;
            self
        }

        /// Takes the key of the circuits of queries and other applications from this file, which must have this digest.
        /// No circuits are built. The digest must be trusted. It belongs to one application or to the queries of one
        /// shape: for others the key is refused. See [`AppKey::read`].
        #[must_use]
        pub fn with_key_file(mut self, path: impl Into<PathBuf>, digest: Digest) -> Self {
            self.key_file = Some((path.into(), Some(digest)));
            self
        }

        /// Takes the key of queries by circuits of the fixed set from this file, which must have the digest that
        /// this program pins. Refuses proofs by other circuits. See [`Query::pinned`].
        #[must_use]
        pub fn with_pinned_key_file(mut self, path: impl Into<PathBuf>) -> Self {
            self.key_file = Some((path.into(), None));
            self
        }

        /// Accepts a proof of the answer to a query over **all** rows of the table of this commitment, and returns the
        /// answer. The schema gives the columns of the query their meaning: take it from a source that you trust.
        ///
        /// The keys of the query's circuits are in the configured directory, or follow from circuits built here
        /// (seconds).
        ///
        /// # Errors
        /// [`Error::Verify`] with the reason why the proof is refused; an error when the text is not a query about this
        /// schema.
        pub fn verify_answer(
            &self,
            proof: &Proof,
            commitment: &Commitment,
            schema: &Schema,
            sql: &str,
        ) -> Result<Answer, Error> {
            self.answer(proof, commitment, schema, sql, Scheme::Complete, None)
        }

        /// As [`Self::verify_answer`], over exactly these rows, each of which is shown to be at its position. The
        /// schema is that of the rows.
        ///
        /// # Errors
        /// The errors of [`Self::verify_answer`].
        pub fn verify_answer_over(
            &self,
            proof: &Proof,
            commitment: &Commitment,
            rows: &Rows,
            sql: &str,
        ) -> Result<Answer, Error> {
            self.answer(proof, commitment, rows.schema(), sql, Scheme::Selected, Some(&rows.leaves()?))
        }

        /// Accepts a proof of an application's output in a scheme, and returns the output: over all rows of the table
        /// of this commitment, or in scheme [`Selected`](Scheme::Selected) over these rows, each of which is shown to
        /// be at its position. In that scheme without rows, the output is over *some* rows, each once. Take the
        /// application's parameters from a source that you trust.
        ///
        /// # Errors
        /// [`Error::Verify`] with the reason why the proof is refused; an error when the application has no circuits
        /// for the proof's profile.
        pub fn verify_app(
            &self,
            proof: &Proof,
            commitment: &Commitment,
            app: &Application,
            scheme: Scheme,
            rows: Option<&Rows>,
        ) -> Result<Vec<Goldilocks>, Error> {
            let leaves = rows.map(Rows::leaves).transpose()?;
            self.output(proof, commitment, app, scheme, leaves.as_deref())
        }

        fn answer(
            &self,
            proof: &Proof,
            commitment: &Commitment,
            schema: &Schema,
            sql: &str,
            scheme: Scheme,
            leaves: Option<&[(u64, Value)]>,
        ) -> Result<Answer, Error> {
            let mut query = self.groups.query(schema, sql)?;
            let app = |query: &Query| -> Application {
                let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
                app.into()
            };
            // The file decides which circuits answer; both kinds prove this query.
            evergrove_store::check_length(proof.as_bytes(), &self.policy)?;
            let claimed =
                BatchProof::decode(proof.as_bytes()).map_err(VerifyError::from)?.app.map(|claimed| claimed.app);
            if let Ok(pinned) = query.pinned()
                && claimed == Some(app(&pinned).id())
            {
                query = pinned;
            }
            let output = self.output(proof, commitment, &app(&query), scheme, leaves)?;
            Ok(query.answer(&output)?)
        }

        pub(crate) fn output(
            &self,
            proof: &Proof,
            commitment: &Commitment,
            app: &Application,
            scheme: Scheme,
            leaves: Option<&[(u64, Value)]>,
        ) -> Result<Vec<Goldilocks>, Error> {
            let policy = self.policy.clone().allow_app(app.id(), scheme);
            // The file decides which keys are built; only the policy decides whether it is accepted.
            evergrove_store::check_length(proof.as_bytes(), &policy)?;
            let claimed = BatchProof::decode(proof.as_bytes()).map_err(VerifyError::from)?;
            policy.check(&claimed, commitment).map_err(VerifyError::from)?;
            if claimed.scheme != scheme.name() {
                let (found, accepted) = (claimed.scheme, scheme.to_string());
                return Err(VerifyError::from(PolicyError::Scheme { found, accepted }).into());
            }
            let class = HeightClass::of(commitment.height).unwrap_or(HeightClass::H40);
            let mut backends = evergrove_store::Backends::new();
            match &self.key_file {
                Some((path, digest)) => {
                    let pinned = || AppKey::pinned_digest(app, scheme, claimed.profile, class);
                    let digest = digest.or_else(pinned).ok_or(Error::NoDigest)?;
                    let mut file = File::open(path).map_err(Error::io(path))?;
                    AppKey::read(app, scheme, claimed.profile, class, &mut file, digest)?.add_to(&mut backends);
                }
                None => {
                    self.config.add_app_verifier(&mut backends, app, scheme, claimed.profile, class)?;
                }
            }
            let verified = evergrove_store::verify(proof.as_bytes(), commitment, leaves, &policy, &backends)?;
            // The policy accepts this scheme only with this application.
            Ok(verified.app.map_or(Vec::new(), |app| app.output))
        }
    }
}
