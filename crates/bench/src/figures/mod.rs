//! Draws the papers' figures with our measurements, as SVG, PNG and CSV.

mod apps;
mod msm;
mod mtu;
mod reckle;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    item: Item,
}

#[derive(clap::Subcommand)]
enum Item {
    /// Fig. 11 of the Reckle trees paper (aggregate, verify, update by batch size), the table of one update, r, h and q.
    Reckle(reckle::Args),
    /// Fig. 12 of the Reckle trees paper: digest translation and aggregate keys by size, and one update.
    Apps(apps::Args),
    /// Fig. 4 of the MTU paper: four workloads by three traversals over threads, as plots and a table.
    Mtu(mtu::Args),
    /// Multi-scalar multiplication from 2^10 to 2^24 points on three curves, as plots and a table.
    Msm(msm::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.item {
        Item::Reckle(args) => reckle::run(args),
        Item::Apps(args) => apps::run(args),
        Item::Mtu(args) => mtu::run(args),
        Item::Msm(args) => msm::run(args),
    }
}
