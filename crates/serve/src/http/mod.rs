//! The paths of a service.

mod backup;
mod changes;
pub(crate) mod connections;
pub(crate) mod epochs;
mod events;
mod page;
mod read;
mod rows;
mod tree;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::StreamExt;
use prometheus_client::registry::Registry;
use tokio::time::timeout;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{self, OpenApi as Document};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Record, note};
use crate::config::{Right, Token};
use crate::health::Health;
use crate::problem::Problem;
use crate::service::Shared;

pub(crate) use events::public_streams;

/// The parts of the OpenAPI document that describe the whole service.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Evergrove",
        description = "A stream of changes of a committed table in, fresh proofs out.",
        license(name = "MIT OR Apache-2.0")
    ),
    tags(
        (name = "changes", description = "Changes in"),
        (name = "proofs", description = "Commitments and proofs out"),
        (name = "backup", description = "The whole store out"),
        (name = "health", description = "For probes and Prometheus; without a token"),
    ),
    components(schemas(crate::Event, Problem)),
    modifiers(&Bearer),
)]
struct Described;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}

/// The paths that need a token.
fn guarded() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(changes::post))
        .routes(routes!(changes::outcome))
        .routes(routes!(read::status))
        .routes(routes!(epochs::epochs))
        .routes(routes!(epochs::epoch))
        .routes(routes!(epochs::changes))
        .routes(routes!(read::batches))
        .routes(routes!(read::batch))
        .routes(routes!(read::members))
        .routes(routes!(read::proof))
        .routes(routes!(read::key))
        .routes(routes!(rows::rows))
        .routes(routes!(tree::tree))
        .routes(routes!(read::opening))
        .routes(routes!(backup::stream))
        .routes(routes!(events::stream))
}

/// The OpenAPI document of the service, which `/openapi.json` answers.
pub fn openapi() -> Document {
    let health = Health::new(Arc::new(Registry::default()), || Ok(()));
    let (_, guarded) = guarded().split_for_parts();
    let (_, open) = health.router().split_for_parts();
    guarded.merge_from(open)
}

/// All paths of the service.
pub(crate) fn router(shared: Arc<Shared>, health: Health) -> Router {
    let document = openapi();
    let (guarded, _) = guarded().split_for_parts();
    let (open, _) = health.router().split_for_parts();
    guarded
        .route_layer(from_fn_with_state(shared.clone(), authorize))
        .route_layer(map_response(seal))
        .merge(page::router())
        .with_state(shared.clone())
        .merge(open)
        .route("/openapi.json", get(move || std::future::ready(Json(document.clone()))))
        .method_not_allowed_fallback(async || Problem::method())
        .fallback(async || Problem::not_found("this path does not exist: see /openapi.json"))
        .layer(from_fn(bound_head))
        .layer(from_fn_with_state(shared.clone(), count))
        .layer(from_fn_with_state(shared, note))
}

/// Refuses callers without TLS at an address with TLS, and says why. Their requests are also logged and counted.
pub(crate) fn plain(shared: Arc<Shared>) -> Router {
    let patience = shared.config.head_time;
    let refusal = move |body: Body| async move {
        // A caller that is still sending would not see the answer.
        let _ = timeout(patience, discard(body)).await;
        Problem::plain()
    };
    Router::new()
        .fallback(refusal)
        .layer(from_fn_with_state(shared.clone(), count))
        .layer(from_fn_with_state(shared, note))
}

/// Greatest number of bytes that are read of a refused body.
const DISCARDED_BYTES: usize = 4 << 20;

async fn discard(body: Body) {
    let (mut chunks, mut read) = (body.into_data_stream(), 0);
    while let Some(Ok(chunk)) = chunks.next().await {
        read += chunk.len();
        if read > DISCARDED_BYTES {
            break;
        }
    }
}

/// Marks the answer to a caller who may ask: its connection stays open.
#[derive(Clone, Copy)]
struct Admitted;

/// Refuses a head that is longer than [`connections::BUFFER`]: hyper may read more than that at once.
async fn bound_head(request: Request, next: Next) -> Response {
    let line = request.method().as_str().len() + request.uri().to_string().len() + " HTTP/1.1\r\n".len() + 1;
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
    let size = line + request.headers().iter().map(header).sum::<usize>() + "\r\n".len();
    if size > connections::BUFFER {
        return Problem::head_too_large(connections::BUFFER).into_response();
    }
    next.run(request).await
}

/// Keeps answers that need a token out of caches, and keeps browsers from guessing their type.
async fn seal(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Marks a request without a token that [`Config::public_read`](crate::Config) allows: no positions, no causes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Public;

/// Admits a request with a valid token. A service without tokens admits all requests that no foreign page has sent.
async fn authorize(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let admit = async |next: Next, request| {
        let mut response = next.run(request).await;
        response.extensions_mut().insert(Admitted);
        response
    };
    let Some(tokens) = &shared.config.tokens else {
        if is_foreign(request.headers()) {
            return Problem::foreign().into_response();
        }
        request.extensions_mut().insert(Right::Write);
        return admit(next, request).await;
    };
    let shown = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let shown = shown.and_then(|value| value.split_at_checked("Bearer ".len()));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
    let Some(shown) = shown.map(|(_, shown)| Token::shown(shown)) else {
        if shared.config.public_read && is_public(&request) {
            request.extensions_mut().insert(Public);
            // Not `Admitted`: a caller without a token holds its connection for one request only.
            return next.run(request).await;
        }
        return Problem::unauthorized().into_response();
    };
    let holder = tokens.holder_of(&shown);
    request.extensions_mut().insert(shown);
    let right = holder.map(|(right, name)| {
        if let Some(record) = request.extensions().get::<Arc<Record>>() {
            record.set_token(name);
        }
        right
    });
    match right {
        None => Problem::unauthorized().into_response(),
        Some(right) if right < Right::Write && !request.method().is_safe() => Problem::read_only().into_response(),
        Some(right) => {
            request.extensions_mut().insert(right);
            admit(next, request).await
        }
    }
}

/// The paths that [`Config::public_read`](crate::Config) opens to callers without a token: commitments, proofs and
/// their progress. The answers have no rows and no values of slots, and [`Public`] removes positions from them. Proofs
/// whose files contain cells are refused.
const PUBLIC: [&str; 9] = [
    "/v1/status",
    "/v1/epochs",
    "/v1/epochs/{epoch}",
    "/v1/batches",
    "/v1/batches/{name}",
    "/v1/batches/{name}/proof",
    "/v1/batches/{name}/key",
    "/v1/batches/{name}/tree",
    "/v1/events",
];

/// True for a request that only reads a path of [`PUBLIC`] and that no page of another site has sent.
fn is_public(request: &Request) -> bool {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, origin)| Some(origin) == host)
    };
    request.method().is_safe()
        && path.is_some_and(|path| PUBLIC.contains(&path))
        && headers.get(header::ORIGIN).is_none_or(own)
        && is_own_fetch(headers)
}

/// False if the browser says that another site, or another host of the same site, has sent the request.
fn is_own_fetch(headers: &HeaderMap) -> bool {
    headers.get_all("sec-fetch-site").iter().all(|site| site == "same-origin" || site == "none")
}

/// True for a request that a browser sends for a foreign page: it has the page's origin, or a mark that it crosses
/// sites, or a host name that is not local but leads to this machine (DNS rebinding).
fn is_foreign(headers: &HeaderMap) -> bool {
    let is_local = |host: &HeaderValue| {
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        host.is_some_and(|host| {
            let name = host.host().trim_start_matches('[').trim_end_matches(']');
            name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        })
    };
    headers.contains_key(header::ORIGIN)
        || !is_own_fetch(headers)
        || !headers.get_all(header::HOST).iter().all(is_local)
}

/// Counts answers and measures their times. The answer to a caller that is not [`Admitted`] closes its connection, so
/// such a caller holds a connection for one request only. Answers of a leaving service also close theirs, so callers
/// connect elsewhere.
async fn count(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let started = Instant::now();
    let mut response = next.run(request).await;
    if shared.is_leaving() || response.extensions().get::<Admitted>().is_none() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    shared.metrics.answered(route.as_deref().unwrap_or("other"), status, started.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_foreign() {
        let foreign = |pairs: &[(header::HeaderName, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            is_foreign(&pairs.collect())
        };
        for host in ["localhost", "LOCALHOST:7070", "127.0.0.1", "127.8.0.1:80", "[::1]", "[::1]:7070"] {
            assert!(!foreign(&[(header::HOST, host)]), "{host}");
            assert!(foreign(&[(header::HOST, host), (header::ORIGIN, "https://example.org")]), "{host}");
            let fetched = |site| foreign(&[(header::HOST, host), (HeaderName::from_static("sec-fetch-site"), site)]);
            assert_eq!(
                ["none", "same-origin", "same-site", "cross-site", ""].map(fetched),
                [false, false, true, true, true]
            );
        }
        for host in ["example.org", "localhost.example.org:7070", "10.0.0.1", "[fe80::1]", "", "a b"] {
            assert!(foreign(&[(header::HOST, host)]), "{host}");
        }
    }
}
