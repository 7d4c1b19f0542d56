//! The paths of a service.

mod changes;
mod events;
mod read;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use prometheus_client::registry::Registry;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{self, OpenApi as Document};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::health::Health;
use crate::problem::Problem;
use crate::service::Shared;

/// What is said of the service as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Evergrove",
        description = "A stream of changes of a committed table in, a fresh proof of every epoch out.",
        license(name = "MIT OR Apache-2.0")
    ),
    tags(
        (name = "changes", description = "Changes in"),
        (name = "proofs", description = "Commitments and proofs out"),
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
        .routes(routes!(read::status))
        .routes(routes!(read::epoch))
        .routes(routes!(read::batches))
        .routes(routes!(read::batch))
        .routes(routes!(read::members))
        .routes(routes!(read::proof))
        .routes(routes!(read::opening))
        .routes(routes!(events::stream))
}

/// The description of the service: what `/openapi.json` answers.
pub fn openapi() -> Document {
    let health = Health::new(Arc::new(Registry::default()), || true);
    let (_, guarded) = guarded().split_for_parts();
    let (_, open) = health.router().split_for_parts();
    guarded.merge_from(open)
}

/// Everything that the service answers to.
pub(crate) fn router(shared: Arc<Shared>, health: Health) -> Router {
    let document = openapi();
    let (guarded, _) = guarded().split_for_parts();
    let (open, _) = health.router().split_for_parts();
    guarded
        .route_layer(from_fn_with_state(shared.clone(), authorize))
        .with_state(shared.clone())
        .merge(open)
        .route("/openapi.json", get(move || std::future::ready(Json(document.clone()))))
        .method_not_allowed_fallback(async || Problem::method())
        .fallback(async || Problem::not_found("there is no such path: see /openapi.json"))
        .layer(from_fn_with_state(shared, count))
}

/// Lets a request pass that shows the token.
async fn authorize(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let Some(token) = &shared.config.token else { return next.run(request).await };
    let shown = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let shown = shown.and_then(|value| value.split_at_checked("Bearer ".len()));
    match shown {
        Some((scheme, shown)) if scheme.eq_ignore_ascii_case(b"Bearer ") && token.is(shown) => next.run(request).await,
        _ => Problem::unauthorized().into_response(),
    }
}

/// Counts answers.
async fn count(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    shared.metrics.answered(route.as_deref().unwrap_or("other"), response.status().as_u16());
    response
}
