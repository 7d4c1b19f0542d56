//! TLS: certificates and key of the service's address.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use evergrove::commit::schema::time::parse_timestamp;
use prometheus_client::metrics::gauge::Gauge;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Certificates and private key of a service, which can be replaced while it runs. Clones share the pair.
///
/// Supports TLS 1.2 and 1.3 with the ALPN protocol `http/1.1`.
#[derive(Clone)]
pub struct Tls(Arc<Current>);

struct Current {
    pair: RwLock<Pair>,
    /// Seconds from 1970-01-01 to the end of the certificate, for the metrics.
    expiry: Gauge,
}

#[derive(Clone)]
struct Pair {
    config: Arc<ServerConfig>,
    begins: i64,
    expires: i64,
}

/// The texts are not the certificates and the key of a server. Messages show no part of the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The text of the certificates is not PEM.
    #[error("the certificates are not in PEM format: base64 between the lines BEGIN CERTIFICATE and END CERTIFICATE")]
    Certificates,
    /// The text of the certificates has no certificate.
    #[error("the file of certificates has no CERTIFICATE in PEM format")]
    NoCertificate,
    /// The first certificate cannot be read.
    #[error("the first certificate is not an X.509 certificate with a time until which it is valid")]
    Malformed,
    /// The text of the key has no private key.
    #[error("the key file has no PRIVATE KEY in PEM format without a password")]
    NoKey,
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("certificate and key cannot be used together: {0}")]
    Pair(String),
}

impl Tls {
    /// Reads the certificates of a text in PEM, the server's own first, and the private key of another one (PKCS #8,
    /// SEC 1 or PKCS #1).
    ///
    /// # Errors
    /// [`TlsError`], which does not show the key.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let pair = Pair::new(certificates, key)?;
        let expiry = Gauge::default();
        expiry.set(pair.expires);
        Ok(Self(Arc::new(Current { pair: RwLock::new(pair), expiry })))
    }

    /// Shows this pair to new connections from now on. Open connections keep theirs.
    pub fn replace(&self, with: &Self) {
        let new = with.pair();
        self.0.expiry.set(new.expires);
        *self.0.pair.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// Seconds from 1970-01-01 to the end of the certificate.
    pub fn expires(&self) -> i64 {
        self.pair().expires
    }

    /// Seconds from 1970-01-01 to the beginning of the certificate.
    pub fn begins(&self) -> i64 {
        self.pair().begins
    }

    /// [`Self::expires`] as a gauge, which [`Self::replace`] updates.
    pub(crate) fn expiry(&self) -> &Gauge {
        &self.0.expiry
    }

    /// The acceptor for the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.pair().config.into()
    }

    fn pair(&self) -> Pair {
        self.0.pair.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("expires", &self.expires()).finish_non_exhaustive()
    }
}

impl Pair {
    fn new(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        // Errors of the parser may contain a line of the text, so they are dropped.
        let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|_| TlsError::Certificates)?;
        let first = chain.first().ok_or(TlsError::NoCertificate)?;
        let (begins, expires) = validity(first).ok_or(TlsError::Malformed)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
        let unfit = |e: tokio_rustls::rustls::Error| TlsError::Pair(e.to_string());
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(unfit)?;
        let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(unfit)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), begins, expires })
    }
}

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The tag of the version field, which certificates of version 1 omit.
const VERSION: u8 = 0xa0;

/// Start and end of a certificate's validity in seconds from 1970-01-01 (RFC 5280, 4.1); `None` if the bytes are not a
/// certificate.
fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // Skip serial number, signature algorithm and issuer.
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (SEQUENCE, validity, _) = element(fields)? else { return None };
    let (begin, end) = (element(validity)?, element(element(validity)?.2)?);
    Some((seconds(begin.0, begin.1)?, seconds(end.0, end.1)?))
}

/// Seconds from 1970-01-01 to a DER time with this tag.
fn seconds(tag: u8, time: &[u8]) -> Option<i64> {
    let time = std::str::from_utf8(time).ok().filter(|time| time.is_ascii())?;
    // Years of two digits: 50 to 99 mean 1950 to 1999 (4.1.2.5.1).
    let time = match tag {
        UTC_TIME => format!("{}{time}", if time.get(..2)? < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => time.into(),
        _ => return None,
    };
    let part = |from: usize| time.get(from..from + 2);
    let (date, clock) = ((time.get(..4)?, part(4)?, part(6)?), (part(8)?, part(10)?, part(12)?));
    let text = format!("{}-{}-{}T{}:{}:{}{}", date.0, date.1, date.2, clock.0, clock.1, clock.2, time.get(14..)?);
    parse_timestamp(text.as_bytes()).ok().map(|micros| micros.div_euclid(1_000_000))
}

/// Tag and content of the first DER element, and the bytes after it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // An indefinite length (0x80) is not DER.
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use evergrove_testkit::tls::Issued;

    use super::*;

    #[test]
    fn pairs_are_checked_and_never_shown() {
        let (one, other) = (Issued::until(2031), Issued::until(2099));
        let made = |certificates: &str, key: &str| Tls::new(certificates.as_bytes(), key.as_bytes());
        let tls = made(&one.certificate, &one.key).unwrap();
        // 2031-01-02T03:04:05Z, and a year that UTCTime does not have.
        assert_eq!((tls.begins(), tls.expires()), (1_577_836_800, 1_925_089_445));
        let far = made(&other.certificate, &other.key).unwrap();
        assert_eq!(far.expires(), 4_071_006_245);
        assert!(!format!("{tls:?}").contains("PRIVATE"));
        tls.clone().replace(&far);
        assert_eq!((tls.expires(), tls.expiry().get()), (far.expires(), far.expires()));

        for (certificates, key, says) in [
            (one.certificate.as_str(), other.key.as_str(), "cannot be used together"),
            (&one.key, &one.key, "has no CERTIFICATE"),
            ("", &one.key, "has no CERTIFICATE"),
            (&one.certificate, &one.certificate, "has no PRIVATE KEY"),
            (&one.certificate, &one.key[..one.key.len() / 2], "has no PRIVATE KEY"),
            (&one.certificate[..one.certificate.len() / 2], &one.key, "not in PEM format"),
            (&one.key.replace('\n', " "), &one.key, "not in PEM format"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &one.key, "not an X.509 certificate"),
        ] {
            let error = made(certificates, key).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            let secret = one.key.lines().nth(1).unwrap();
            assert!(!error.contains(&secret[..16]) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn bytes_of_any_kind_are_no_certificate() {
        let der = CertificateDer::from_pem_slice(Issued::until(2031).certificate.as_bytes()).unwrap();
        assert!(validity(&der).is_some());
        for cut in 0..der.len() {
            assert_eq!(validity(&der[..cut]), None);
        }
        for at in 0..der.len() {
            // Any result will do, but no panic.
            for bit in 0..8 {
                let mut changed = der.to_vec();
                changed[at] ^= 1 << bit;
                let _ = validity(&changed);
            }
        }
    }
}
