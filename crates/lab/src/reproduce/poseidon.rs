//! Reproduces the article on Poseidon Merkle trees.

use super::figures::{axis, figure, series};
use super::origin::{Derived, Fitted, Ours, Printed};
use super::{Closeness, Item, Section};
use crate::LabError;
use crate::poseidon::{self, Params, formula, resources};
use evergrove_plot::{Origin, Scale};

/// log2 of the rows that are run cycle by cycle. For more rows the closed form is used, which a note compares with this
/// run.
const RUN_LOG: u32 = 18;
/// The article's measurement: seconds, and watts.
const SECONDS: f64 = 5.55;
const WATTS: f64 = 138.0;
/// Cycles of a hop over Aurora. Assumed: a quarter of a microsecond.
const HOP: u64 = 64;
/// The article's "17 GB".
const GIGABYTES: f64 = 17.0;

/// Seconds of the article's tree by the closed form. Also runs a smaller tree cycle by cycle and notes the deviation.
fn seconds(out: &mut Section, name: &str, params: &Params) -> Result<f64, LabError> {
    let small = Params { log_rows: RUN_LOG, ..params.clone() };
    let found = poseidon::run(&small)?.cycles as f64;
    let deviation = found / formula::cycles(&small) - 1.0;
    out.note(format!(
        "{name}: 2^24 rows by the closed form; at 2^{RUN_LOG} the model takes {:+.3} % of it.",
        100.0 * deviation
    ));
    Ok(formula::cycles(params) / (params.frequency_mhz as f64 * 1e6))
}

pub(super) fn throughput() -> Result<Section, LabError> {
    let mut out = Section::new(Item::PoseidonThroughput, "Throughput: 136 columns, 2^24 rows");
    let full = Params::default();
    out.compare("input (\"17 GB\")", "GiB", Printed(17.0), full.bytes() as f64 / f64::from(1 << 30), Closeness::Exact);
    let link = 512.0 * full.frequency_mhz as f64 / 1e3;
    out.compare("link: 512 bit at 250 MHz", "Gbit/s", Printed(128.0), link, Closeness::Exact);
    let zkevm = 2_f64.powi(24) * 665.0 * 8.0;
    out.compare(
        "input of 665 columns of 2^23 by 2 (\"83 GB\")",
        "GiB",
        Printed(83.0),
        zkevm / f64::from(1 << 30),
        Closeness::Decimals(0),
    );
    out.compare("hashes", "", Derived(301_989_887.0), formula::hashes(&full) as f64, Closeness::Exact);
    out.compare("leaf hasher's bound", "s", Derived(1.1409), formula::lhe_bound_seconds(&full), Closeness::Decimals(4));
    out.compare(
        "\"best theoretical latency\"",
        "s",
        Fitted(1.27),
        formula::best_theoretical_seconds(&full),
        Closeness::Close,
    );
    let measured = Params { link_gbit_s: 24.5, ..full.clone() };
    let at_link = seconds(&mut out, "by 24.5 Gbit/s", &measured)?;
    out.compare("by 24.5 Gbit/s", "s", Printed(SECONDS), at_link, Closeness::Close);
    let text = "the same for 17 * 10^9 bytes: the article's own arithmetic";
    out.compare(text, "s", Derived(SECONDS), GIGABYTES * 8.0 / 24.5, Closeness::Decimals(2));
    let at_full = seconds(&mut out, "by 128 Gbit/s", &full)?;
    out.ours("by 128 Gbit/s, tiles of 8 columns, branches meanwhile", "s", at_full);
    let columns = Params { by_columns: true, overlapped: false, ..full.clone() };
    let by_columns = seconds(&mut out, "column by column", &columns)?;
    out.compare(
        "by 128 Gbit/s, column by column, branches after the leaves",
        "s",
        Fitted(1.27),
        by_columns,
        Closeness::Close,
    );
    let hashes = formula::hashes(&full) as f64;
    out.compare("hashes at 5.55 s", "MH/s", Derived(54.4), hashes / SECONDS / 1e6, Closeness::Decimals(1));
    out.compare("peer: 8.49 s on 128 vCPU", "MH/s", Derived(35.6), hashes / 8.49 / 1e6, Closeness::Decimals(1));
    out.compare("peer, each vCPU", "MH/s", Derived(0.278), hashes / 8.49 / 128.0 / 1e6, Closeness::Decimals(3));
    // Input words of the leaf hasher per input word of the branch hasher: "2 ceil(c / N) times slower".
    let slower = full.bytes() as f64 / (full.rows() as f64 * 32.0);
    let text = "leaf hasher's input by the branch hasher's, 2 ceil(c / N)";
    out.compare(text, "times", Derived(2.0 * 136_f64 / 8.0), slower, Closeness::Exact);
    states(&mut out, &full)?;
    out.compare("speed-up over the peer", "times", Printed(1.53), 8.49 / SECONDS, Closeness::Decimals(2));
    let x16 = seconds(&mut out, "by 256 Gbit/s", &Params { link_gbit_s: 256.0, ..full.clone() })?;
    out.ours("by 256 Gbit/s (x16): the core is the bound, not the link", "s", x16);
    // "working on system integration whereby the LDE and LHE modules would be connected directly via Aurora".
    let extended = Params { log_blowup: 1, by_columns: true, network_latency: HOP, ..full.clone() };
    for link_gbit_s in [24.5, 128.0] {
        let behind = Params { link_gbit_s, ..extended.clone() };
        let found = seconds(&mut out, &format!("behind a transform, link of {link_gbit_s} Gbit/s"), &behind)?;
        out.ours(format!("behind a transform of blowup 2 by Aurora, its link of {link_gbit_s} Gbit/s"), "s", found);
    }
    let wide = Params { link_gbit_s: 256.0, lhe_cores: 2, ..full.clone() };
    let two_cores = seconds(&mut out, "by 256 Gbit/s with two cores", &wide)?;
    out.ours("by 256 Gbit/s with two cores: an input wider than one", "s", two_cores);
    let eight = Params { link_gbit_s: 1024.0, lhe_cores: 8, hbm_gb_s: 0, ..full.clone() };
    let alone = seconds(&mut out, "eight leaf cores, one branch core", &eight)?;
    out.ours("by 1024 Gbit/s with eight cores, one branch core", "s", alone);
    let unit = seconds(&mut out, "eight leaf cores, a tree unit", &Params { front_tree: true, ..eight })?;
    out.ours("the same that feed a tree unit of eight cores", "s", unit);
    for (arity, digests) in [(4, 3), (8, 7)] {
        let wider = Params { arity, ..full.clone() };
        let share = (formula::hashes(&wider) - full.passes() * full.rows()) as f64 / (full.rows() - 1) as f64;
        out.ours(format!("arity {arity}: branch permutations by those of arity 2"), "times", share);
        let path = f64::from(wider.levels() * digests);
        out.ours(format!("arity {arity}: digests of a path, 24 in a binary tree"), "", path);
    }
    out.ours(
        "S-boxes of a branch hasher that keeps up, tree after tree",
        "",
        (118.0 / formula::branch_interval(&full)).ceil(),
    );
    // First with places for all digests, then with a queue on chip.
    let short = Params { bhe_sboxes: 7, trees: 2, log_rows: 15, ..full.clone() };
    let serial = Params { digest_queue: short.rows(), ..short.clone() };
    let report = poseidon::run(&serial)?;
    let deep = report.queues.first().copied().unwrap_or(0) as f64 / serial.rows() as f64;
    out.ours("its queue of leaves, at 2^15 rows", "of a tree's digests", deep);
    let bounded = poseidon::run(&short)?;
    let slower = Ours::of(&bounded, |r| r.leaves_at as f64).by(Ours::of(&report, |r| r.leaves_at as f64));
    out.ours(format!("its leaf hasher with a queue of {} digests", short.digest_queue), "times as long", slower);
    let link = |name: &str, params: &Params| {
        let rates = [8.0, 16.0, 24.5, 32.0, 64.0, 128.0, 256.0, 512.0];
        let time = |link_gbit_s: f64| {
            let p = Params { link_gbit_s, ..params.clone() };
            (link_gbit_s, formula::cycles(&p) / (p.frequency_mhz as f64 * 1e6))
        };
        series(name, Origin::Extrapolated, rates.map(time))
    };
    let all = vec![
        link("tiles of 8 columns, branches meanwhile", &full),
        link("column by column, branches after", &columns),
        link("two cores", &Params { lhe_cores: 2, ..full.clone() }),
        link(
            "behind a transform of blowup 2",
            &Params { log_blowup: 1, by_columns: true, network_latency: HOP, ..full.clone() },
        ),
        series("the article", Origin::Published, [(24.5, SECONDS), (128.0, 1.27)]),
    ];
    let x = axis("link (Gbit/s)", "link_gbit_s", Scale::Log10);
    let title = "Poseidon Merkle engine: 2^24 rows of 136 words";
    out.draw("poseidon-throughput", figure(title, x, axis("time (s)", "time_s", Scale::Log10), all));
    out.note("A serialised branch hasher (7 S-boxes, one hash in 17 cycles) keeps up, as claimed; but digests come in one pass of 17, and 16 in 17 of them wait for it: 505 MB at 2^24 rows, which HBM has and block RAM has not.");
    out.note("Behind a transform, the link brings the trace, half the bytes: at 24.5 Gbit/s half the time. The network brings the extension column by column, at 128 Gbit/s as the link did.");
    out.note("5.55 s at 24.5 Gbit/s holds for 17 * 10^9 bytes; the matrix has 17 * 2^30, which take 5.96 s.");
    out.note("The text does not derive 1.27 s. A pass to fetch the first group column by column and branches after the leaves explain it: (17 + 2) * 2^24 cycles.");
    out.note("\"Our single-FPGA solution\" is the one of two boards.");
    Ok(out)
}

/// Memory for the states of the leaf hasher, and their bandwidth at one group per cycle.
fn states(out: &mut Section, full: &Params) -> Result<(), LabError> {
    for (state_words, gibibytes, rate) in [(12, 1.5, 48.0), (4, 0.5, 16.0)] {
        let bytes = full.rows() * state_words * 8;
        let name = format!("states of {state_words} words");
        out.compare(name.clone(), "GiB", Derived(gibibytes), bytes as f64 / f64::from(1 << 30), Closeness::Exact);
        let p = Params { log_rows: 14, state_words: state_words as u32, ..full.clone() };
        let report = poseidon::run(&p)?;
        // Every pass except the first reads the states, and every pass except the last writes them: 16 of 17 passes
        // count.
        let passes = (p.passes() - 1) as f64 / p.passes() as f64;
        let found = report.hbm_bytes as f64 / p.seconds(report.leaves_at) / passes / 1e9;
        let found = Ours::of(&report, |_| found);
        out.compare(format!("{name}, in and out"), "GB/s", Derived(rate), found, Closeness::Close);
    }
    Ok(())
}

pub(super) fn latency() -> Result<Section, LabError> {
    let mut out = Section::new(Item::PoseidonLatency, "Table 1: latencies of the cores");
    let params = Params { log_rows: 14, columns: 8, ..Params::default() };
    let report = poseidon::run(&params)?;
    let micros = |cycles: f64| params.seconds(1) * cycles * 1e6;
    let l = report.leaf_latency;
    out.rtl("input: stages of a permutation (poseidon_pipe)", "cycles", params.pipelines.permutation() as f64);
    for (name, value) in [("min", l.min as f64), ("mean", l.mean), ("max", l.max as f64), ("median", l.median as f64)] {
        out.rtl(format!("leaf hasher, {name}"), "us", Ours::of(&report, |_| micros(value)));
    }
    for log_rows in [12, 13, 14] {
        let r = poseidon::run(&Params { log_rows, ..params.clone() })?;
        let (tail, pipelines) =
            ((r.cycles - 1 - r.leaves_at) as f64, f64::from(log_rows) * params.pipelines.permutation() as f64);
        out.rtl(format!("branch hasher, last leaf to root, 2^{log_rows} leaves"), "us", Ours::of(&r, |_| micros(tail)));
        out.ours(format!("the same beyond log2(n) pipelines, 2^{log_rows} leaves"), "cycles", tail - pipelines);
        let deepest = r.queues.iter().copied().max().unwrap_or(0) as f64;
        out.ours(format!("deepest queue of the branch hasher, 2^{log_rows} leaves"), "digests", deepest);
    }
    out.note("The table's cells are missing from the text. Published in words: the leaf hasher's latency is constant, as here; the branch hasher's spread of 0.11 us comes from the host's stream.");
    out.note("The article does not print the stages of a permutation. The 720 are those of rtl/: in each of 30 rounds an adder, three multipliers of six stages, the MDS sum in four, and a register.");
    out.note("The latencies are measured in the run, from the cycle in which a row's last group could enter the core: with the stages as given and a link at the core's rate nothing waits.");
    out.note("The article gives a Merkle branch ceil(log2 n) - 1 digests; it has log2 n.");
    Ok(out)
}

pub(super) fn energy() -> Section {
    let mut out = Section::new(Item::PoseidonEnergy, "Tables 2 to 4: rates and energy at 5.55 s and 138 W");
    let hashes = formula::hashes(&Params::default()) as f64;
    out.compare("trees", "MT/s", Derived(0.180), 1.0 / SECONDS, Closeness::Decimals(3));
    out.compare("energy of a tree", "J", Derived(766.0), SECONDS * WATTS, Closeness::Decimals(0));
    out.compare("hashes by energy", "MH/J", Derived(0.394), hashes / (SECONDS * WATTS) / 1e6, Closeness::Decimals(3));
    out.assumed("input: power of two boards", "W", WATTS);
    out.ours("with the idle server's 110 W", "MH/J", hashes / (SECONDS * (WATTS + 110.0)) / 1e6);
    out.ours(
        "at the link's 128 Gbit/s, if the power stayed",
        "MH/J",
        hashes / (formula::lhe_bound_seconds(&Params::default()) * WATTS) / 1e6,
    );
    out.note("MT/s stands for trees a second, not for millions. 138 W leave out the 110 W of the idle server.");
    out
}

pub(super) fn resources() -> Section {
    let mut out = Section::new(Item::PoseidonResources, "Resources of a permutation");
    let (dense, sparse, shifts) = (resources::dense(), resources::sparse(), resources::sparse_by_shifts());
    out.compare("adders of constants", "", Printed(360.0), dense.constant_adders as f64, Closeness::Exact);
    out.compare("S-boxes", "", Printed(118.0), dense.sboxes as f64, Closeness::Exact);
    out.compare("multipliers of S-boxes", "", Derived(472.0), dense.multipliers as f64, Closeness::Exact);
    for (name, r) in [("dense", dense), ("sparse, multipliers", sparse), ("sparse, shifts", shifts)] {
        out.ours(format!("{name}: DSP slices"), "", r.dsps as f64);
        out.ours(format!("{name}: additions in the linear layers"), "", r.linear_adders as f64);
    }
    out.note("Table 5's cells are missing from the text. A product of words is counted as 12 DSP48E2 slices (26 x 17 bits); a VU47P has 9,024.");
    out.note("Verdict on \"sub-optimal in hardware\": holds. Sparse partial rounds double the slices, beyond the device; by shifts they take more additions than the dense ones.");
    out
}

pub(super) fn boards() -> Result<Section, LabError> {
    let mut out = Section::new(Item::PoseidonMultifpga, "Several boards: four leaf hashers, two branch hashers");
    let full = Params::default();
    out.compare(
        "the article's estimate",
        "ms",
        Fitted(333.0),
        1e3 * formula::boards_seconds(&full, GIGABYTES, 4),
        Closeness::Decimals(0),
    );
    out.assumed("input: a hop between boards", "cycles", HOP as f64);
    let exact = formula::boards_seconds(&full, full.bytes() as f64 / 1e9, 4);
    out.ours("the same with all bytes", "ms", 1e3 * exact);
    let mut all = Vec::new();
    for (branch_boards, leaves) in [(1, &[1, 2, 4][..]), (2, &[2, 4, 8]), (4, &[4, 8, 16])] {
        let mut points = Vec::new();
        for &leaf_boards in leaves {
            let split = Params { leaf_boards, branch_boards, network_latency: HOP, ..full.clone() };
            let name = format!("modelled: {leaf_boards} leaf boards and {branch_boards} branch boards");
            let found = 1e3 * seconds(&mut out, &name, &split)?;
            out.ours(name, "ms", found);
            points.push((f64::from(leaf_boards), found));
        }
        all.push(series(format!("branch boards: {branch_boards}"), Origin::Extrapolated, points));
    }
    all.push(series("the article: 4 and 2", Origin::Published, [(4.0, 333.0)]));
    let title = "Poseidon Merkle engine: 2^24 rows of 136 words on several boards";
    let x = axis("leaf boards", "leaf_boards", Scale::Log2);
    out.draw("poseidon-multifpga", figure(title, x, axis("time (ms)", "time_ms", Scale::Log10), all));
    out.note("The estimate takes 10^9 for link bytes and lets one branch hasher begin after the last leaf. Two that begin with the last pass, in which two leaf boards bring each two digests a cycle, end a pass of 2^22 cycles after the leaves.");
    Ok(out)
}
