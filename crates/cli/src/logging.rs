//! The log of long-running commands on stderr, as text for people or as one JSON object per line, and spans for an
//! OpenTelemetry collector.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::args::Output;

/// The variable with the address of the collector, as OpenTelemetry defines it.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::ERROR,
            Level::Warn => Self::WARN,
            Level::Info => Self::INFO,
            Level::Debug => Self::DEBUG,
        }
    }
}

/// The log of this process. Dropping it sends the spans that are queued for a collector.
#[must_use]
pub(crate) struct Log(#[cfg(feature = "otlp")] Option<opentelemetry_sdk::trace::SdkTracerProvider>);

/// Starts the log of this process. A second call changes nothing.
pub(crate) fn start(level: Level, format: Output) -> Log {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let colors = !plain && std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colors).with_target(false);
    let lines = match format {
        Output::Text => lines.boxed(),
        Output::Json => lines.json().flatten_event(true).boxed(),
    };
    let registry = tracing_subscriber::registry().with(lines.with_filter(LevelFilter::from(level)));
    let endpoint = std::env::var_os(ENDPOINT).is_some_and(|v| !v.is_empty());
    #[cfg(feature = "otlp")]
    {
        let provider = if endpoint { collector() } else { None };
        let layer = provider.as_ref().map(|provider| {
            use opentelemetry::trace::TracerProvider;
            // For spans that set their own start time.
            opentelemetry::global::set_tracer_provider(provider.clone());
            let tracer = provider.tracer("evergrove");
            tracing_opentelemetry::layer().with_tracer(tracer).with_filter(LevelFilter::INFO)
        });
        // Only a second start fails.
        let _ = registry.with(layer).try_init();
        Log(provider)
    }
    #[cfg(not(feature = "otlp"))]
    {
        // Only a second start fails.
        let _ = registry.try_init();
        if endpoint {
            tracing::warn!("{ENDPOINT} is set, and this program was built without the feature otlp");
        }
        Log()
    }
}

/// Sends spans to the collector that the environment names: in batches, as protobuf over HTTP.
#[cfg(feature = "otlp")]
fn collector() -> Option<opentelemetry_sdk::trace::SdkTracerProvider> {
    use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    // The HTTP client needs a TLS provider even if it does not use TLS. An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build() {
        Ok(exporter) => {
            let resource = Resource::builder().with_service_name("evergrove").build();
            Some(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
        }
        Err(e) => {
            // The log does not exist yet, and nothing else depends on the collector.
            eprintln!("warning: no spans are sent to {ENDPOINT}: {e}");
            None
        }
    }
}

#[cfg(feature = "otlp")]
impl Drop for Log {
    fn drop(&mut self) {
        if let Some(Err(e)) = self.0.take().map(|provider| provider.shutdown()) {
            eprintln!("warning: not all spans were sent: {e}");
        }
    }
}
