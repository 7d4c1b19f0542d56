//! The files of `--tls-cert` and `--tls-key`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use evergrove::commit::schema::time::format_timestamp;
use evergrove_serve::{Tls, TlsError};

use crate::exit::CliError;
use crate::files;
use crate::watch::watch;

/// Greatest size of a file of certificates or of a key, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// Time before a start reads the files again if certificate and key do not match: somebody may be writing them.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// The certificates and the key in two files, which are read again when they change.
pub(crate) fn start(cert: &Path, key: &Path) -> Result<Tls> {
    let mut bytes = read(cert, key)?;
    if matches!(Tls::new(&bytes[0], &bytes[1]), Err(TlsError::Pair(_))) {
        thread::sleep(SECOND_LOOK);
        bytes = read(cert, key)?;
    }
    let tls = pair(cert, key, &bytes)?;
    tell(&tls, key);
    let (held, paths) = (tls.clone(), (cert.to_owned(), key.to_owned()));
    let again = paths.clone();
    watch("certificate and key", bytes, move || read(&paths.0, &paths.1), move |bytes| take(&held, &again, bytes))?;
    Ok(tls)
}

fn take(held: &Tls, (cert, key): &(PathBuf, PathBuf), bytes: &[Vec<u8>; 2]) -> Result<()> {
    let new = pair(cert, key, bytes)?;
    let now = now();
    if is_valid(held, now) && !is_valid(&new, now) {
        let message = format!("{}: the certificate is {}", cert.display(), times(&new));
        return Err(CliError::usage(message, "give one that is valid now"));
    }
    held.replace(&new);
    tell(held, key);
    Ok(())
}

/// Seconds from 1970-01-01.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

fn is_valid(tls: &Tls, now: i64) -> bool {
    (tls.begins()..=tls.expires()).contains(&now)
}

fn times(tls: &Tls) -> String {
    let [begins, expires] = [tls.begins(), tls.expires()].map(|at| format_timestamp(at.saturating_mul(1_000_000)));
    format!("valid from {begins} to {expires}")
}

fn read(cert: &Path, key: &Path) -> Result<[Vec<u8>; 2]> {
    let cert =
        files::read(cert, FILE_BYTES, "give a file in PEM format that holds the certificates of this service alone")?;
    let key = files::read(key, FILE_BYTES, "give a file in PEM format that holds the private key alone")?;
    Ok([cert, key])
}

fn pair(cert: &Path, key: &Path, [certificates, secret]: &[Vec<u8>; 2]) -> Result<Tls> {
    Tls::new(certificates, secret).map_err(|e| {
        let (paths, remedy) = match e {
            TlsError::NoKey => (key.display().to_string(), "give the private key of the certificate in PEM format"),
            TlsError::Pair(_) => {
                let paths = format!("{}, {}", cert.display(), key.display());
                (paths, "give the key of the first certificate: ECDSA, Ed25519, or RSA of at least 2048 bits")
            }
            _ => (
                cert.display().to_string(),
                "give the service's certificate in PEM format, then those that vouch for it",
            ),
        };
        CliError::usage(format!("{paths}: {e}"), remedy)
    })
}

/// Logs the end of the certificate. Warns if the certificate is not valid now, or if other users may read the key.
fn tell(tls: &Tls, key: &Path) {
    let expires = format_timestamp(tls.expires().saturating_mul(1_000_000));
    tracing::info!(expires, "certificate");
    if !is_valid(tls, now()) {
        tracing::warn!("callers will refuse the certificate, which is {}", times(tls));
    }
    if std::fs::metadata(key).is_ok_and(|file| file.permissions().mode() & 0o004 != 0) {
        tracing::warn!(file = %key.display(), "every user of this machine may read the private key: use chmod o-r");
    }
}

#[cfg(test)]
mod tests {
    use evergrove_testkit::tls::Issued;

    use super::*;

    #[test]
    fn a_certificate_that_is_valid_stays_before_one_that_is_not() {
        let [valid, longer, over, over_too] = [2098, 2099, 2023, 2024].map(Issued::until);
        let later = Issued::from_to(2098, 2099);
        let bytes = |issued: &Issued| [issued.certificate.clone().into_bytes(), issued.key.clone().into_bytes()];
        let made = |issued: &Issued| Tls::new(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap();
        let paths = (PathBuf::from("tls.crt"), PathBuf::from("tls.key"));
        let held = made(&valid);
        for (refused, says) in [
            (&over, "tls.crt: the certificate is valid from 2020-01-01T00:00:00Z to 2023-01-02T03:04:05Z"),
            (&later, "tls.crt: the certificate is valid from 2098-01-01T00:00:00Z to 2099-01-02T03:04:05Z"),
        ] {
            let error = take(&held, &paths, &bytes(refused)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(held.expires(), made(&valid).expires());
        }
        take(&held, &paths, &bytes(&longer)).unwrap();
        assert_eq!(held.expires(), made(&longer).expires());
        // Another expired certificate may replace an expired one.
        let held = made(&over);
        take(&held, &paths, &bytes(&over_too)).unwrap();
        assert_eq!(held.expires(), made(&over_too).expires());
        take(&held, &paths, &bytes(&valid)).unwrap();
        assert_eq!(held.expires(), made(&valid).expires());
    }

    #[test]
    fn a_start_takes_a_second_look_at_a_pair_that_does_not_fit() {
        let dir = tempfile::tempdir().unwrap();
        let [cert, key] = ["tls.crt", "tls.key"].map(|name| dir.path().join(name));
        let [old, new] = [2098, 2099].map(Issued::until);
        std::fs::write(&cert, &new.certificate).unwrap();
        std::fs::write(&key, &old.key).unwrap();
        let writer = thread::spawn({
            let key = key.clone();
            move || {
                thread::sleep(SECOND_LOOK / 4);
                std::fs::write(&key, &new.key).unwrap();
            }
        });
        let tls = start(&cert, &key).unwrap();
        writer.join().unwrap();
        // 2099-01-02T03:04:05Z.
        assert_eq!(tls.expires(), 4_071_006_245);
        std::fs::write(&key, &old.key).unwrap();
        let error = start(&cert, &key).unwrap_err().to_string();
        assert!(error.contains("cannot be used together"), "{error}");
    }
}
