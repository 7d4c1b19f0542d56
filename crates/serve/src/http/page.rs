//! The web page of the service. Its files are part of the program.
//!
//! `make web` builds them from `web/page`. They hold no secrets and need no token. The page reads its data from paths
//! that may need one.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::service::Shared;

/// Allows the page's own files and this service: nothing inline, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page: its path, type and bytes.
type File = (&'static str, &'static str, &'static [u8]);

const FILES: [File; 7] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../page/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_bytes!("../../page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_bytes!("../../page/page.css")),
    ("/verify.js", "text/javascript; charset=utf-8", include_bytes!("../../page/verify.js")),
    ("/verifier.wasm", "application/wasm", include_bytes!("../../page/verifier.wasm")),
    ("/icon.svg", "image/svg+xml", include_bytes!("../../page/icon.svg")),
    ("/LICENSES.txt", "text/plain; charset=utf-8", include_bytes!("../../page/LICENSES.txt")),
];

/// The routes of the page's files.
pub(crate) fn router() -> Router<Arc<Shared>> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, bytes)| {
        let digest = blake3::hash(bytes).to_hex();
        let etag = format!("\"{}\"", &digest[..32]);
        router.route(path, get(move |headers: HeaderMap| std::future::ready(answer(&headers, kind, bytes, &etag))))
    })
}

fn answer(headers: &HeaderMap, kind: &'static str, bytes: &'static [u8], etag: &str) -> Response {
    let fixed = |name: HeaderName, value| (name, HeaderValue::from_static(value));
    let about = [
        fixed(header::CONTENT_SECURITY_POLICY, POLICY),
        fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(header::REFERRER_POLICY, "no-referrer"),
        fixed(HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        fixed(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // Browsers ask each time, and get a file only if it has changed.
        fixed(header::CACHE_CONTROL, "no-cache"),
        fixed(header::CONTENT_TYPE, kind),
    ];
    let etag = [(header::ETAG, etag.to_owned())];
    if super::read::is_known(headers, &etag[0].1) {
        (StatusCode::NOT_MODIFIED, about, etag).into_response()
    } else {
        (about, etag, Bytes::from_static(bytes)).into_response()
    }
}
