//! Errors in the format of RFC 9457.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evergrove::store::input::{self, InputError};
use evergrove::store::{Error, ErrorClass};
use serde::Serialize;
use utoipa::ToSchema;

/// The error answer to a request: `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:evergrove:problem:` and a name that programs can rely on.
    #[schema(example = "urn:evergrove:problem:queue-full")]
    pub r#type: String,
    /// The name for people.
    pub title: String,
    /// The status code.
    pub status: u16,
    /// What happened in this case, with the remedy if there is one.
    pub detail: String,
    /// Seconds after which the same request may succeed. Also in the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The id of the request. Also in the header `X-Request-Id`, and in the log of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, name: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            r#type: format!("urn:evergrove:problem:{name}"),
            title: title.into(),
            status: status.as_u16(),
            detail: detail.into(),
            retry_after: None,
            request_id: None,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds.max(1)), ..self }
    }

    pub(crate) fn unauthorized() -> Self {
        let detail = "send the header Authorization: Bearer TOKEN with the token of this service";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "No valid token", detail)
    }

    pub(crate) fn foreign() -> Self {
        let detail = "a service without a token answers to no web pages and to no name but localhost: give it a token";
        Self::new(StatusCode::FORBIDDEN, "foreign", "Request from elsewhere", detail)
    }

    pub(crate) fn plain() -> Self {
        let detail = "this address speaks TLS alone: use https://, and exchange a token that was sent without it";
        Self::new(StatusCode::BAD_REQUEST, "plain-http", "Plain HTTP at an address with TLS", detail)
    }

    pub(crate) fn read_only() -> Self {
        let detail = "this token may ask, and make no changes: show one that may";
        Self::new(StatusCode::FORBIDDEN, "read-only", "A token for reading", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    pub(crate) fn method() -> Self {
        let detail = "this path answers to other methods: see /openapi.json";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "Method not allowed", detail)
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", "Malformed request", detail)
    }

    pub(crate) fn refused(detail: impl Into<String>) -> Self {
        let title = "The changes cannot be made";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", title, detail)
    }

    pub(crate) fn key_reused(key: &str) -> Self {
        let detail =
            format!("the key {key:?} is that of another request, which was made: take a new key for new changes");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", "The key is another request's", detail)
    }

    pub(crate) fn changed(expected: u64, found: u64) -> Self {
        let detail = format!(
            "the table is in epoch {found}, If-Match names {expected}: read what has changed, and decide again"
        );
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", "The table has changed", detail)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("a request has at most {limit} bytes: send the changes in several requests");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Request too large", detail)
    }

    pub(crate) fn head_too_large(limit: usize) -> Self {
        let detail =
            format!("the request line and the headers have at most {limit} bytes: send fewer or shorter headers");
        Self::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head-too-large", "Head too large", detail)
    }

    pub(crate) fn slow(seconds: u64) -> Self {
        let detail = format!("the request did not arrive within {seconds} s: send fewer changes at a time");
        Self::new(StatusCode::REQUEST_TIMEOUT, "slow", "Request too slow", detail)
    }

    pub(crate) fn queue_full(waiting: usize, seconds: u64) -> Self {
        let detail = format!("{waiting} requests wait for the next epoch: send this one again later");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "queue-full", "The queue is full", detail).after(seconds)
    }

    pub(crate) fn late(waited: u64, seconds: u64) -> Self {
        let detail = format!(
            "no commit within {waited} s: the changes are dropped, unless they are being committed. Send the request \
             again with the same Idempotency-Key, so that it is made once"
        );
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "late", "No commit in time", detail).after(seconds)
    }

    pub(crate) fn busy(waited: u64) -> Self {
        let detail = format!("too many other requests: no turn for this one within {waited} s");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Too many requests", detail).after(10)
    }

    pub(crate) fn streams(limit: usize) -> Self {
        let detail = format!("{limit} streams of events are open already");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "streams", "Too many streams", detail).after(10)
    }

    pub(crate) fn no_backup() -> Self {
        let detail = "this token may ask, and make no backups: show one that may back up or write";
        Self::new(StatusCode::FORBIDDEN, "no-backup", "A token for reading", detail)
    }

    pub(crate) fn backup_running() -> Self {
        let detail = "another backup is being made, and one is made at a time: see backups in /v1/status";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "backup-running", "A backup is being made", detail).after(10)
    }

    pub(crate) fn stopping() -> Self {
        let detail = "the service stops: these changes were not committed, send them again to its successor";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "The service stops", detail).after(5)
    }

    pub(crate) fn full() -> Self {
        let detail =
            "the disk of the store is full: these changes were not committed. Make room on it, then send them again";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "full", "No room on the disk", detail).after(10)
    }

    /// The store failed: it is unknown whether the request was carried out.
    pub(crate) fn store() -> Self {
        let detail = "the store failed, see the service's log: read /v1/status before sending changes again";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", "The store failed", detail)
    }
}

/// Errors of the library. Callers see the errors that they can act on; the others go to the log.
impl From<Error> for Problem {
    fn from(e: Error) -> Self {
        match &e {
            Error::UnknownBatch { .. } | Error::UnknownEpoch { .. } => Self::not_found(e.to_string()),
            Error::NotProven { .. } | Error::Stale { .. } => {
                Self::new(StatusCode::NOT_FOUND, "not-proven", "Not proven", e.to_string())
            }
            Error::LostProof { name, .. } => {
                tracing::error!(error = %e, "a proof is lost");
                let detail = format!("the stored proof of batch {name:?} is missing or damaged");
                Self::new(StatusCode::NOT_FOUND, "not-proven", "Not proven", detail)
            }
            _ if e.class() == ErrorClass::Usage => Self::refused(e.to_string()),
            _ => {
                tracing::error!(error = %e, "the store failed");
                Self::store()
            }
        }
    }
}

/// Errors in the lines of a request.
impl From<InputError> for Problem {
    fn from(e: InputError) -> Self {
        match &*e.problem {
            input::Problem::Row(row) => Self::malformed(format!("{e}; {}", row.remedy())),
            _ => Self::malformed(e.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], self.to_json()).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // `access::note` adds the id of the request.
        response.extensions_mut().insert(self);
        response
    }
}
