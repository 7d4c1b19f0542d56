//! The backup of a service, over HTTP.

use std::io::{self, Read};
use std::time::Duration;

use anyhow::{Context, Result};
use evergrove::Config;
use evergrove::store::{BackupError, BackupHead, BackupReader, Error};
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;
use serde_json::Value;

use super::counter;
use crate::commands::Terminal;
use crate::exit::CliError;
use crate::files::Out;

/// The variable that holds the token.
const TOKEN: &str = "EVERGROVE_SERVE_TOKEN";
/// Time for which the service may be silent.
const SILENCE: Duration = Duration::from_secs(60);
/// Greatest number of bytes that are read of the text of an error.
const PROBLEM_BYTES: u64 = 1 << 16;

/// A reader that also writes what it reads to `to`.
struct Tee<'a, 'o> {
    from: Response,
    to: &'a mut Out<'o>,
    /// Number of bytes read.
    bytes: &'a mut u64,
    /// The error of a write to `to`.
    failed: &'a mut Option<io::Error>,
}

impl Read for Tee<'_, '_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(bytes)?;
        *self.bytes += read as u64;
        self.to.write_all(&bytes[..read]).map_err(|e| {
            let kind = e.kind();
            *self.failed = Some(e);
            io::Error::from(kind)
        })?;
        Ok(read)
    }
}

/// Copies the backup that a service sends, and checks it on the way. Returns its head and its length in bytes.
pub(super) fn copy(url: &str, out: &mut Out<'_>, terminal: Terminal) -> Result<(BackupHead, u64)> {
    let answer = ask(url)?;
    let (mut bytes, mut failed) = (0, None);
    let read = || -> Result<(BackupHead, u64), BackupError> {
        let reader = BackupReader::new(Tee { from: answer, to: out, bytes: &mut bytes, failed: &mut failed })?;
        let (progress, mut counted) = (counter(terminal, Some(reader.head().estimate)), 0);
        let copied = reader.verify(&mut |read| {
            (counted..read >> 20).for_each(|_| progress.step());
            counted = read >> 20;
        })?;
        progress.finish();
        Ok(copied)
    };
    match (read(), failed) {
        (_, Some(e)) => Err(e.into()),
        (Err(BackupError::Read(_) | BackupError::CutOff(_)), None) => {
            let message = format!("{url}: broken off after {bytes} bytes");
            Err(CliError::io(message, "see the log of the service, and run it again"))
        }
        (copied, None) => copied.map_err(Error::from).with_context(|| url.to_owned()),
    }
}

fn ask(url: &str) -> Result<Response> {
    let shown = url.split('@').next_back().unwrap_or_default();
    let parsed = reqwest::Url::parse(&format!("{}/v1/backup", url.trim_end_matches('/'))).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
    let parsed = parsed.filter(|url| url.query().is_none() && url.fragment().is_none());
    let Some(address) = parsed.filter(|_| shown == url) else {
        let message = format!("--url: not the address of a service: {shown}");
        return Err(CliError::usage(message, "give one like http://127.0.0.1:7070, and the token in the environment"));
    };
    // An error means that another part of the program has installed a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A proxy from the environment would see the token and all rows.
    let client = Client::builder().no_proxy().connect_timeout(SILENCE).timeout(SILENCE).redirect(Policy::none());
    let client = client.build();
    let token = Config::from_env().environment.serve_token;
    let answer = client.and_then(|client| {
        let request = client.get(address);
        match &token {
            Some(token) => request.bearer_auth(token.trim()).send(),
            None => request.send(),
        }
    });
    let answer = answer.map_err(|e| {
        // The causes say what happened; the error itself repeats the address.
        let causes = std::iter::successors(std::error::Error::source(&e), |e| e.source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        let message = format!("{url}: the service does not answer: {}", causes.join(": "));
        CliError::io(message, "check the address, and whether the service runs")
    })?;
    if answer.status() == StatusCode::OK { Ok(answer) } else { Err(refused(url, answer)) }
}

/// The error for an answer that is not a backup.
fn refused(url: &str, answer: Response) -> anyhow::Error {
    let status = answer.status();
    let mut text = Vec::new();
    // If the text breaks off, the error has no detail.
    let _ = answer.take(PROBLEM_BYTES).read_to_end(&mut text);
    let problem: Value = serde_json::from_slice(&text).unwrap_or_default();
    let detail = problem["detail"].as_str().map_or(String::new(), |detail| format!(": {detail}"));
    let message = format!("{url}: the service answers {status}{detail}");
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            CliError::usage(message, format!("put a token that may back up into {TOKEN}"))
        }
        StatusCode::NOT_FOUND => {
            CliError::usage(message, "check the address: it is not that of a service of this version")
        }
        StatusCode::TOO_MANY_REQUESTS => CliError::io(message, "wait until the other backup ends"),
        _ => CliError::io(message, "see the log of the service"),
    }
}
