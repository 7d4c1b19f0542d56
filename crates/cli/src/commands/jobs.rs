//! `evergrove jobs`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Subcommand;
use evergrove::Config;
use evergrove::jobs::bullmq::admin::{Admin, JobInfo, State};
use evergrove::jobs::bullmq::{QueueError, RunRecord};
use serde_json::Value;

use super::Terminal;
use crate::args::Output;
use crate::queue::{self, QueueArgs};
use crate::report::{self, Report, count, plain, seconds};

/// Look at the queue that workers take their tasks from: runs and jobs; retry, cancel and clean
///
/// A run is one call of a leader: a batch that is proven by workers. Its jobs begin with its name. The queue is plain BullMQ, so that
/// its other tools can look at it as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the runs and count the jobs, or list the jobs in a state
    List {
        #[command(flatten)]
        at: At,
        /// List the jobs in this state: wait, prioritized, waiting-children, delayed, active, completed or failed
        #[arg(long, value_name = "STATE")]
        state: Option<State>,
        /// Jobs to leave out at the beginning
        #[arg(long, value_name = "N", default_value_t = 0, requires = "state")]
        offset: usize,
        /// Jobs to list at most
        #[arg(long, value_name = "N", default_value_t = 50, requires = "state")]
        limit: usize,
    },
    /// Show everything about a run or a job
    Show {
        #[command(flatten)]
        at: At,
        /// Name of the run or job
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let a failed job run again: the next run of its batch finds the result
    Retry {
        #[command(flatten)]
        at: At,
        /// Name of the job
        #[arg(value_name = "JOB")]
        job: String,
    },
    /// Stop a run. Running jobs end by themselves, and finished proofs are kept
    Cancel {
        #[command(flatten)]
        at: At,
        /// Name of the run
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Forget runs that have ended or whose leader is gone, with their jobs. Proofs are kept
    Clean {
        #[command(flatten)]
        at: At,
        /// Seconds for which a run must have been silent
        #[arg(long, value_name = "S", default_value_t = 3600)]
        grace: u64,
        /// Where proofs and payloads lie: takes the payloads of these runs away
        #[arg(long, value_name = "URL")]
        objects: Option<String>,
    },
}

/// Where the queue is.
#[derive(Debug, clap::Args)]
struct At {
    /// The server: redis://HOST:PORT, or rediss:// for TLS
    #[arg(long, value_name = "URL")]
    redis: String,
    #[command(flatten)]
    queue: QueueArgs,
}

impl At {
    fn admin(&self) -> Result<Admin> {
        Ok(Admin::connect(&self.queue.config(&self.redis, &Config::from_env().environment)?)?)
    }
}

pub(crate) fn run(args: &Args, terminal: Terminal) -> Result<()> {
    let mut report = Report::default();
    match &args.command {
        Command::List { at, state: Some(state), offset, limit } => {
            for job in at.admin()?.list(*state, *offset, *limit)? {
                match terminal.format {
                    Output::Json => report::line(&object(job_fields(&job))),
                    Output::Text => report::text(&format!("{}\n", job_line(&job))),
                }?;
            }
            return Ok(());
        }
        Command::List { at, .. } => list(&mut report, &at.admin()?)?,
        Command::Show { at, name } => {
            let admin = at.admin()?;
            match admin.record(name) {
                Ok(run) => add_all(&mut report, run_fields(&run)),
                Err(QueueError::Unknown { .. }) => add_all(&mut report, job_fields(&admin.show(name)?)),
                Err(e) => return Err(e.into()),
            }
        }
        Command::Retry { at, job } => {
            let retried = at.admin()?.retry(job)?;
            report.add("job", job.clone());
            report.add_as("retried", retried, if retried { "yes" } else { "no: it has not failed" });
        }
        Command::Cancel { at, run } => {
            let admin = at.admin()?;
            admin.cancel(run)?;
            report.add("run", run.clone());
            report.add("state", state_of(&admin.record(run)?));
        }
        Command::Clean { at, grace, objects } => {
            let admin = match objects {
                Some(url) => at.admin()?.with_objects(queue::objects(url, &Config::from_env().environment)?),
                None => at.admin()?,
            };
            let cleaned = admin.clean(Duration::from_secs(*grace))?;
            report.add("runs", cleaned.runs);
            report.add("jobs", cleaned.jobs);
        }
    }
    report.print(terminal.format)
}

fn list(report: &mut Report, admin: &Admin) -> Result<()> {
    let counts = admin.counts()?;
    report.add("workers", admin.workers()?);
    for (state, jobs) in &counts {
        if *jobs > 0 {
            report.note(format!("{state}: {}", count(usize::try_from(*jobs).unwrap_or(usize::MAX), "job")));
        }
    }
    let counts = counts.into_iter().map(|(state, jobs)| (state.name().to_owned(), jobs.into()));
    report.hidden("jobs", Value::Object(counts.collect()));
    let runs = admin.runs()?;
    for run in &runs {
        report.note(run_line(run));
    }
    report.hidden("runs", runs.iter().map(|run| object(run_fields(run))).collect::<Vec<_>>());
    Ok(())
}

/// Names and values.
type Fields = Vec<(&'static str, Value)>;

fn add_all(report: &mut Report, fields: Fields) {
    for (key, value) in fields {
        report.add(key, value);
    }
}

fn object(fields: Fields) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn state_of(run: &RunRecord) -> &'static str {
    use evergrove::jobs::bullmq::RunState as S;
    match run.state {
        S::Running if run.is_abandoned() => "abandoned",
        S::Running => "running",
        S::Done => "done",
        S::Failed => "failed",
        S::Cancelled => "cancelled",
    }
}

fn run_fields(run: &RunRecord) -> Fields {
    vec![
        ("run", run.run.clone().into()),
        ("state", state_of(run).into()),
        ("kind", run.kind.clone().into()),
        ("root", run.root.clone().into()),
        ("tasks", run.tasks.into()),
        ("planned", run.planned.into()),
        ("done", run.done.into()),
        ("retries", run.retries.into()),
        ("replans", run.replans.into()),
        ("cause", run.cause.clone().into()),
        ("began_ms", run.began_ms.into()),
        ("seen_ms", run.seen_ms.into()),
    ]
}

fn run_line(run: &RunRecord) -> String {
    let cause = run.cause.as_ref().map_or(String::new(), |cause| format!(": {}", plain(cause)));
    let (done, planned, age) = (run.done, run.planned, ago(run.began_ms));
    format!("{}: {}, {done} of {planned} proofs, began {age} ago{cause}", plain(&run.run), state_of(run))
}

fn job_fields(job: &JobInfo) -> Fields {
    vec![
        ("job", job.name.clone().into()),
        ("kind", job.kind.clone().into()),
        ("state", job.state.map(State::name).into()),
        ("attempts", job.attempts.into()),
        ("priority", job.priority.into()),
        ("key", job.key.clone().into()),
        ("payload", job.payload.clone().into()),
        ("inputs", job.inputs.clone().into()),
        ("worker", job.worker.clone().into()),
        ("parent", job.parent.clone().into()),
        ("cause", Some(&job.failed_reason).filter(|r| !r.is_empty()).cloned().into()),
        ("added_ms", job.added_ms.into()),
        ("taken_ms", job.taken_ms.into()),
        ("ended_ms", job.ended_ms.into()),
    ]
}

fn job_line(job: &JobInfo) -> String {
    let state = job.state.map_or("gone", State::name);
    let worker = job.worker.as_ref().map_or(String::new(), |worker| format!(", by {}", plain(worker)));
    let cause = if job.failed_reason.is_empty() { String::new() } else { format!(": {}", plain(&job.failed_reason)) };
    let attempts = count(job.attempts as usize, "attempt");
    let (name, kind) = (plain(&job.name), plain(&job.kind));
    format!("{name}: {kind} {state}, {attempts}{worker}, added {} ago{cause}", ago(job.added_ms))
}

/// The time since `ms`, in milliseconds since 1970.
fn ago(ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64);
    seconds(now.saturating_sub(ms) as f64 / 1000.0)
}
