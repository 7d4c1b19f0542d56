//! Commands that this build does not have.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Optional commands: name, feature, whether this build has it, and purpose.
const OPTIONAL: [(&str, &str, bool, &str); 4] = [
    ("serve", "serve", cfg!(feature = "serve"), "take changes over HTTP and keep every batch proven"),
    ("worker", "queue", cfg!(feature = "queue"), "make the proofs that other commands put into a queue"),
    ("jobs", "queue", cfg!(feature = "queue"), "list runs and jobs of the queue, retry, cancel and clean"),
    ("lab", "lab", cfg!(feature = "lab"), "models of proving hardware"),
];

/// Other optional parts: feature, whether this build has it, and purpose.
const PARTS: [(&str, bool, &str); 4] = [
    ("parquet", cfg!(feature = "parquet"), "tables in Parquet files"),
    ("queue", cfg!(feature = "queue"), "--engine and --objects: proofs by workers"),
    ("cloud", cfg!(feature = "cloud"), "objects in s3://, gs:// and az://"),
    ("otlp", cfg!(feature = "otlp"), "spans to a collector of OpenTelemetry"),
];

/// How to get all commands and parts.
pub(crate) const REMEDY: &str = "install a build that has it: make install";

/// The text of the help about commands and parts that this build lacks. Empty if it has all.
pub(crate) fn text() -> String {
    let mut lines = Vec::new();
    for (command, feature, _, about) in OPTIONAL.iter().filter(|(_, _, there, _)| !there) {
        lines.push(format!("  {command:<12} feature {feature:<8} {about}"));
    }
    for (feature, _, about) in PARTS.iter().filter(|(_, there, _)| !there) {
        lines.push(format!("  {:<12} feature {feature:<8} {about}", ""));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("Not in this build (make install adds all of these):\n{}", lines.join("\n"))
}

/// The error for a command that only another build has.
pub(crate) fn command(said: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = said.get(ContextKind::InvalidSubcommand) else { return None };
    let of_other_build = OPTIONAL.iter().find(|(command, _, there, _)| command == name && !there);
    let (command, feature, ..) = of_other_build.filter(|_| said.kind() == ErrorKind::InvalidSubcommand)?;
    Some(format!("this build does not have the command {command}, which the feature {feature} has"))
}
