//! The files of `--tls-cert` and `--tls-key`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use evergrove::commit::schema::time::format_timestamp;
use evergrove_serve::{Tls, TlsError};

use crate::exit::Mistake;
use crate::files;
use crate::watch::watch;

/// Longest file of certificates, and longest file of a key.
const FILE_BYTES: u64 = 1 << 20;

/// The certificates and the key of two files, which are read again when they change.
pub(crate) fn start(cert: &Path, key: &Path) -> Result<Tls> {
    let bytes = read(cert, key)?;
    let tls = pair(cert, key, &bytes)?;
    tell(&tls, key);
    let (held, paths) = (tls.clone(), (cert.to_owned(), key.to_owned()));
    let again = paths.clone();
    watch("certificate and key", bytes, move || read(&paths.0, &paths.1), move |bytes| take(&held, &again, bytes))?;
    Ok(tls)
}

fn take(held: &Tls, (cert, key): &(PathBuf, PathBuf), bytes: &[Vec<u8>; 2]) -> Result<()> {
    held.replace(&pair(cert, key, bytes)?);
    tell(held, key);
    Ok(())
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
        Mistake::usage(format!("{paths}: {e}"), remedy)
    })
}

/// Logs until when the certificate is valid, and who else may read the key.
fn tell(tls: &Tls, key: &Path) {
    let expires = format_timestamp(tls.expires().saturating_mul(1_000_000));
    tracing::info!(expires, "certificate");
    if std::fs::metadata(key).is_ok_and(|file| file.permissions().mode() & 0o004 != 0) {
        tracing::warn!(file = %key.display(), "every user of this machine may read the private key: use chmod o-r");
    }
}
