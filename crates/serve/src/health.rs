//! Health and metrics of services and workers.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use evergrove::jobs::metrics::Metrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::connections::{self, Bounds, Front};

/// Limits on probes, so that they take little from the process's own work.
const BOUNDS: Bounds = Bounds {
    connections: 64,
    head: Duration::from_secs(10),
    silence: Duration::from_secs(10),
    last: Duration::from_secs(5),
};

/// The reason why a process does not accept work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// The process has not begun to work, or ends.
    #[error("it has not begun, or is ending")]
    Idle,
    /// The queue of its tasks does not answer.
    #[error("the queue does not answer")]
    Queue,
    /// The service is told to stop.
    #[error("the service stops")]
    Stopping,
}

/// Returns `Ok` while a process accepts work.
type Ready = dyn Fn() -> Result<(), NotReady> + Send + Sync;

/// The health and metrics of a process.
#[derive(Clone)]
pub struct Health {
    registry: Arc<Registry>,
    ready: Arc<Ready>,
}

impl Health {
    /// Serves the metrics of `registry`. `ready` says whether the process accepts work; every caller sees its error.
    pub fn new(registry: Arc<Registry>, ready: impl Fn() -> Result<(), NotReady> + Send + Sync + 'static) -> Self {
        Self { registry, ready: Arc::new(ready) }
    }

    /// The health of a process that runs tasks, and the metrics of these tasks, which the caller updates.
    pub fn of_tasks(ready: impl Fn() -> Result<(), NotReady> + Send + Sync + 'static) -> (Self, Metrics) {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        (Self::new(Arc::new(registry), ready), metrics)
    }

    pub(crate) fn router(self) -> OpenApiRouter {
        OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics)).with_state(self)
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").finish_non_exhaustive()
    }
}

/// Answers `/healthz`, `/readyz` and `/metrics` on `listener` until `stop` completes. A worker runs this besides its
/// tasks.
pub async fn health(listener: TcpListener, health: Health, stop: impl Future<Output = ()>) {
    let (router, _) = health.router().split_for_parts();
    let router: Router = router;
    let front = Front { router, bounds: BOUNDS, tls: None, open: Gauge::default() };
    connections::answer(listener, front, stop).await;
}

/// Whether the process answers.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "It does", content_type = "text/plain", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the process accepts work.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It does", content_type = "text/plain", body = String),
    (status = 503, description = "It does not, or no longer, and why", content_type = "text/plain", body = String),
))]
async fn readyz(State(health): State<Health>) -> (StatusCode, String) {
    match (health.ready)() {
        Ok(()) => (StatusCode::OK, "ready\n".into()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")),
    }
}

/// Metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "OpenMetrics 1.0", content_type = "application/openmetrics-text", body = String),
))]
async fn metrics(State(health): State<Health>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &health.registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(std::fmt::Error) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
