//! `evergrove completions`.

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use evergrove::Backend;
use evergrove::proof::{Profile, Scheme};

use crate::args::Cli;

/// Print the completions of a shell: commands, options, and values of options that take one of a few names, or a file
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_values(Cli::command()), "evergrove", &mut script);
    crate::report::text(&String::from_utf8_lossy(&script))
}

/// The command with the values that its options accept. Their usual parsers list no values, but name better remedies.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| match values(arg.get_id().as_str()) {
        Some(names) => arg.value_parser(PossibleValuesParser::new(names)),
        None if LISTS.contains(&arg.get_id().as_str()) => arg.value_hint(ValueHint::FilePath),
        None => arg,
    });
    command.mut_subcommands(with_values)
}

/// Options that take a list of positions or a file of such lists.
const LISTS: [&str; 2] = ["indices", "delete"];

/// The names that an option accepts, if there are only a few.
fn values(option: &str) -> Option<Vec<&'static str>> {
    Some(match option {
        "profile" | "allow_profile" => Profile::ALL.into_iter().map(Profile::name).collect(),
        "backend" | "allow_backend" => Backend::ALL.into_iter().map(Backend::name).collect(),
        "scheme" | "allow_scheme" => Scheme::PLAIN.into_iter().map(Scheme::name).collect(),
        "prover" => vec!["evergrove", "plonky2"],
        "order" => vec!["openzeppelin-js", "openzeppelin-js-unsorted"],
        "delimiter" => vec!["tab", ",", ";", "|"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_the_values_of_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut with_values(Cli::command()), "evergrove", &mut script);
            let script = String::from_utf8(script).unwrap();
            for value in ["grove-128", "reckle-paper", "native", "jsonl", "openzeppelin-js-unsorted"] {
                assert!(script.contains(value), "{shell}: {value}");
            }
        }
    }
}
