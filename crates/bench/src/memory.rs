//! Memory and processor time of this process, as the operating system reports them.

use std::time::Instant;

use crate::turns::median_by;

/// Resident set now and at its peak, in bytes; zeros if the kernel does not report them.
pub(crate) fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (field("VmRSS:").unwrap_or(0) * 1024, field("VmHWM:").unwrap_or(0) * 1024)
}

/// Resets the peak and returns the resident set, in bytes. If the kernel refuses, the peak remains that of the whole
/// process.
pub(crate) fn start_peak() -> u64 {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    resident().0
}

/// Memory that programs can still use without swapping, in bytes; 0 if the kernel does not report it.
pub(crate) fn available() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Processor seconds of the live threads of this process; 0 if the kernel does not report them.
///
/// On a busy machine this is more reliable than wall clock, although threads may spin while they wait for work.
pub(crate) fn processor_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let run = |thread: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    threads.flatten().filter_map(run).sum::<u64>() as f64 / 1e9
}

/// Wall-clock seconds, and processor seconds of this process in the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
}

/// Returns the result of `work` and its times.
pub(crate) fn took<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Took)> {
    let (start, ran) = (Instant::now(), processor_seconds());
    let out = work()?;
    Ok((out, Took { seconds: start.elapsed().as_secs_f64(), processor_seconds: processor_seconds() - ran }))
}

/// The measurement with the median of the seconds.
pub(crate) fn median(times: Vec<Took>) -> Option<Took> {
    median_by(times, |took| took.seconds)
}
