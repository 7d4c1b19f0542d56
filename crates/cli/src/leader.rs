//! Shared parts of the commands that prove: configuration, threads, signals, logs and metrics.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use evergrove::Config;
#[cfg(feature = "queue")]
use evergrove::Workers;
use evergrove::apps::catalog::Catalog;
use evergrove::commit::watch::{Observer, Trace};
use evergrove::jobs::Cancel;
use evergrove::jobs::metrics::Metrics;
use evergrove::primitives::lanes::Isa;
use serde_json::Map;

use crate::args::ProvingArgs;
use crate::commands::Terminal;
use crate::files;
use crate::logging::{self, Level, Log};
use crate::report::Report;
use crate::signals::stop_on_signals;

/// The configuration of this process, with the keys in this directory.
///
/// # Errors
/// If keys cannot be kept in the directory.
pub(crate) fn config(keys: Option<&Path>) -> Result<Config> {
    let config = Config::from_env();
    let config = Config { keys: keys.map(Path::to_path_buf).or(config.keys.clone()), ..config };
    config.check()?;
    Ok(config)
}

impl ProvingArgs {
    /// The configuration for proving, with the applications of a catalog. `trace` observes the proofs.
    pub(crate) fn config(&self, catalog: &Catalog, trace: Option<&Trace>) -> Result<Config> {
        let config = config(self.keys.as_deref())?;
        #[cfg(feature = "queue")]
        let workers = match (&self.engine, &self.objects) {
            (Some(redis), Some(objects)) => {
                let queue = self.queue.config(redis, &config.environment)?;
                Some(Workers { queue, objects: crate::queue::objects(objects, &config.environment)? })
            }
            _ => None,
        };
        Ok(self.prover.of(Config {
            threads: Some(threads(self.threads)),
            max_memory: self.max_memory,
            catalog: catalog.clone(),
            observer: observer(trace),
            #[cfg(feature = "queue")]
            workers,
            ..config
        }))
    }
}

/// The configuration with this machine's figures, on which estimates are based. Says so if they must be measured now.
pub(crate) fn measured(config: Config, terminal: Terminal) -> Config {
    config.measured(|| {
        if !terminal.quiet {
            eprintln!("measuring this machine, once: about 2 s");
        }
    })
}

fn observer(trace: Option<&Trace>) -> Option<Arc<dyn Observer>> {
    let trace = trace.map(|trace| Arc::new(trace.clone()) as Arc<dyn Observer>);
    #[cfg(feature = "otlp")]
    let trace = Some(Arc::new(crate::spans::Spans { next: trace }) as Arc<dyn Observer>);
    trace
}

/// The log of errors, the spans and the metrics of `--health`, which live as long as this value.
pub(crate) struct Watched {
    _log: Log,
    /// The metrics of the leader's tasks.
    pub(crate) metrics: Metrics,
}

/// Starts the log and the metrics that the arguments ask for.
#[cfg_attr(not(feature = "health"), expect(unused_variables, reason = "the flag belongs to a feature"))]
pub(crate) fn watched(args: &ProvingArgs, config: &Config, terminal: Terminal) -> Result<Watched> {
    let _log = logging::start(Level::Error, terminal.format);
    #[cfg(feature = "health")]
    {
        #[cfg(feature = "queue")]
        let queue = config.workers.as_ref().map(|workers| &workers.queue);
        let (probes, taken) = crate::probes::Probes::new(
            args.health,
            #[cfg(feature = "queue")]
            queue,
        )?;
        probes.set_ready(true);
        if let Some(addr) = taken.filter(|_| !terminal.quiet) {
            eprintln!("health at http://{addr}");
        }
        Ok(Watched { _log, metrics: probes.metrics.clone() })
    }
    #[cfg(not(feature = "health"))]
    Ok(Watched { _log, metrics: Metrics::new(&mut Default::default()) })
}

/// A token that the signals that end a program cancel. With workers, no job of this run stays in the queue. Otherwise
/// the proofs that this process is making are finished and kept.
#[cfg_attr(not(feature = "queue"), expect(unused_variables, reason = "there are no workers"))]
pub(crate) fn cancel(config: &Config) -> Result<Cancel> {
    let notice = "stopping when the proofs that are being made are finished: interrupt again to stop at once";
    #[cfg(feature = "queue")]
    let alone = config.workers.is_none();
    #[cfg(not(feature = "queue"))]
    let alone = true;
    let cancel = Cancel::new();
    stop_on_signals(&cancel, alone.then_some(notice))?;
    Ok(cancel)
}

/// Gives the process the requested number of threads, or one for each core, and returns their number.
pub(crate) fn threads(asked: Option<u16>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, Into::into);
    let threads = asked.map_or(available, usize::from);
    // A second call would keep the first pool, but a process runs only one command.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    threads
}

/// A record of all proofs of this run, if `--timings` asks for it.
pub(crate) fn trace(args: &ProvingArgs) -> Option<Trace> {
    let start = Instant::now();
    args.timings.is_some().then(|| Trace::new(move || start.elapsed()))
}

/// Writes the record to the file of `--timings`, and adds its table to the report.
pub(crate) fn write_trace(report: &mut Report, args: &ProvingArgs, trace: Option<&Trace>) -> Result<()> {
    let (Some(path), Some(trace)) = (&args.timings, trace) else { return Ok(()) };
    let about = [
        ("program", concat!("evergrove ", env!("CARGO_PKG_VERSION")).into()),
        ("prover", args.prover.name().into()),
        ("isa", Isa::detect().to_string().into()),
        ("threads", rayon::current_num_threads().into()),
    ];
    let json = trace.to_json(Map::from_iter(about.map(|(key, value)| (key.into(), value))));
    files::write(path, |out| writeln!(out, "{json}").context("timings"))?;
    report.add("timings", path.display().to_string());
    report.note(trace.to_string());
    Ok(())
}
