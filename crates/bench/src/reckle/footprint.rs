//! Peak memory of one scheme in a separate process: circuits, the workspace of its largest proof, a small tree.

use std::process::Command;

use anyhow::{Context, ensure};
use evergrove_commit::RecursionBackend;
use evergrove_verifier::Profile;

use super::baselines::{Circuit, Tree};
use super::compare::{SchemeName, paper};
use super::scheme::Scheme;
use super::world::World;
use crate::memory;

/// Sets up the scheme, proves a batch that needs all of its circuits, and prints the peak memory in bytes.
pub(crate) fn run(
    name: SchemeName,
    profile: Profile,
    block_height: u8,
    log_size: u8,
    batch_log: u8,
) -> anyhow::Result<()> {
    // Only twice as many slots as the batch has members are filled, so that the tree takes little memory.
    let mut world = World::build(profile, log_size, batch_log + 1, batch_log)?;
    match name {
        SchemeName::Evergrove => {
            let mut ours = super::ours(None, profile, &world, 0)?;
            let members = (ours.backend.spec().capacity + 1).min(world.members.len());
            ours.aggregate(&world.members[..members])?;
        }
        SchemeName::RecklePaper => {
            world.members.truncate(1);
            _ = paper(profile, &world, block_height, 1, 0)?.aggregate(&world.members)?;
        }
        SchemeName::TreeOfProofs => _ = Tree::build(profile, &world, 8)?.aggregate(&world.members)?,
        SchemeName::Monolithic => _ = Circuit::new(profile, &world).aggregate(&world.members)?,
    }
    println!("{}", memory::resident().1);
    Ok(())
}

/// Runs [`run`] in a separate process.
pub(crate) fn of(
    name: &str,
    profile: Profile,
    block_height: u8,
    log_size: u8,
    batch_log: u8,
    threads: usize,
) -> anyhow::Result<u64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["reckle", "--footprint", name, "--profile", profile.name()])
        .args(["--block-height", &block_height.to_string()])
        .args(["--log-size", &log_size.to_string(), "--batch-log", &batch_log.to_string()])
        .args(["--threads", &threads.to_string()])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "measuring the memory of {name} ended with {}", output.status);
    String::from_utf8(output.stdout)?.trim().parse().with_context(|| format!("the memory of {name}"))
}
