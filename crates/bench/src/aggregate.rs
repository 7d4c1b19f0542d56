//! Measures a proven answer to a query over a batch and over a whole table, compared with the plain proof of the batch.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use evergrove_apps::aggregate::{Aggregate, Query};
use evergrove_apps::catalog::Application;
use evergrove_apps::{Leaf, MapReduce};
use evergrove_commit::batch::{Batch, Input};
use evergrove_commit::schema::{Cell, Column, ColumnType, Row as TableRow, Schema};
use evergrove_commit::{MemoryStore, NodeProof, RecursionBackend, Vector};
use evergrove_grove::GroveBackend;
use evergrove_plonky2::apps::OnPlonky2;
use evergrove_plonky2::circuit::params_of;
use evergrove_plonky2::{Plonky2Backend, ProverKind};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, NodeKind, Profile, Scheme, Statement, batch_digest};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::memory::{self, Took};
use crate::reckle::{check_time, timed};
use crate::turns::print_json;

/// The default query.
const QUERY: &str = "SELECT SUM(price), COUNT(*), MIN(price), MAX(price) FROM t WHERE qty BETWEEN 5 AND 9";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// log2 of the number of rows of the table from which a batch is taken.
    #[arg(long, default_value_t = 20)]
    log_size: u8,
    /// log2 of the number of rows in the batch.
    #[arg(long, default_value_t = 12)]
    batch_log: u8,
    /// log2 of the number of rows of the table over all of whose rows the answer is proven.
    #[arg(long, default_value_t = 14)]
    complete_log: u8,
    /// The query, about a table t with columns id, price (two places), qty (nullable), day and shop (text).
    #[arg(long, default_value = QUERY)]
    sql: String,
    /// Security profiles, one after the other: rows of later ones have their seconds over those of the first.
    #[arg(long = "profile", default_values = ["grove-100", "proven"])]
    profiles: Vec<Profile>,
    /// Measure each profile of grove by circuits with pinned keys too.
    #[arg(long)]
    pinned: bool,
    /// Updates of one row; the median counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Threads, all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Directory of cached circuits.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// One line of results. Times are wall clock and include the wrap, if the profile has one.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    r#impl: &'static str,
    /// `selected`: over a batch; `complete`: over all rows; `batch`: the plain proof.
    statement: &'static str,
    profile: &'static str,
    /// True for circuits with pinned keys.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    /// Rows of the table.
    size: usize,
    /// Rows that the proof covers.
    batch: usize,
    threads: usize,
    /// Leaves of a bucket, or slots of a block.
    capacity: usize,
    /// log2 of the rows of bucket and merge circuits of Plonky2.
    #[serde(skip_serializing_if = "Option::is_none")]
    degree_bits: Option<usize>,
    setup_s: f64,
    seconds: f64,
    processor_seconds: f64,
    ns_per_element: f64,
    proofs: usize,
    update_s: f64,
    update_processor_s: f64,
    update_proofs: usize,
    verify_ms: f64,
    proof_bytes: usize,
    peak_rss_bytes: u64,
    /// Seconds divided by those of the first profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The same ratio for updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    update_ratio: Option<f64>,
    /// For the plain proof: its processor time divided by that of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_answer: Option<f64>,
}

/// A table in memory: its rows, and the vector that opens them.
struct Table {
    schema: Schema,
    rows: Vec<TableRow>,
    vector: Vector<MemoryStore>,
    rng: ChaCha8Rng,
}

impl Table {
    fn schema() -> anyhow::Result<Schema> {
        Ok(Schema::new(vec![
            Column::new("id", ColumnType::Unsigned),
            Column::new("price", ColumnType::Fixed { scale: 2 }),
            Column::new("qty", ColumnType::Unsigned).nullable(),
            Column::new("day", ColumnType::Unsigned),
            Column::new("shop", ColumnType::Bytes),
        ])?)
    }

    /// 2^`log_size` random rows from a fixed seed.
    fn build(log_size: u8) -> anyhow::Result<Self> {
        let (schema, mut rng) = (Self::schema()?, ChaCha8Rng::seed_from_u64(41));
        let rows: Vec<TableRow> = (0..1u64 << log_size).map(|id| row(id, &mut rng)).collect();
        let slots = rows.iter().enumerate().map(|(i, row)| Ok((i as u64, Some(schema.value(row)?))));
        let slots = slots.collect::<anyhow::Result<Vec<_>>>()?;
        let mut vector = Vector::new(log_size, MemoryStore::new())?;
        vector.apply(&slots)?;
        Ok(Self { schema, rows, vector, rng })
    }

    fn elements(&self, index: u64) -> anyhow::Result<Vec<Goldilocks>> {
        Ok(self.schema.elements(&self.rows[index as usize])?)
    }

    /// Puts a new random row at `index`.
    fn change(&mut self, index: u64) -> anyhow::Result<()> {
        let new = row(index, &mut self.rng);
        self.vector.apply(&[(index, Some(self.schema.value(&new)?))])?;
        self.rows[index as usize] = new;
        Ok(())
    }
}

fn row(id: u64, rng: &mut ChaCha8Rng) -> TableRow {
    let qty = if rng.gen_bool(0.1) { Cell::Null } else { Cell::Unsigned(rng.gen_range(0..20)) };
    let shop = format!("shop {}", rng.gen_range(0..50));
    let (price, day) = (rng.gen_range(-5_000..100_000_000), rng.gen_range(20_200_101..20_261_231));
    TableRow::Cells(vec![
        Cell::Unsigned(id),
        Cell::Signed(price),
        qty,
        Cell::Unsigned(day),
        Cell::Bytes(shop.into_bytes()),
    ])
}

type Proofs = HashMap<(Statement, NodeKind), NodeProof>;

/// A batch with its proofs.
struct Proven<'a> {
    backend: &'a dyn RecursionBackend,
    opened: bool,
    batch: Batch,
    proofs: Proofs,
    last: NodeProof,
}

impl<'a> Proven<'a> {
    /// Proves a batch from scratch.
    fn anew(backend: &'a dyn RecursionBackend, table: &Table, members: &[u64]) -> anyhow::Result<(Self, usize)> {
        let opened = backend.spec().choice.scheme.has_app();
        let batch = Batch::build_as(&table.vector, members, backend.spec().structure())?;
        let mut proofs = Proofs::new();
        let (last, made) = prove(backend, opened, table, &batch, &mut proofs)?;
        Ok((Self { backend, opened, batch, proofs, last }, made))
    }

    /// Refreshes the proof after a change of the row at `index`. Returns the number of proofs made.
    fn update(&mut self, table: &mut Table, index: u64) -> anyhow::Result<usize> {
        table.change(index)?;
        self.batch = self.batch.update(&table.vector, &[], &[], &[index])?;
        let (last, made) = prove(self.backend, self.opened, table, &self.batch, &mut self.proofs)?;
        self.last = last;
        Ok(made)
    }
}

/// Makes the proofs of a batch that are missing from `proofs`. Returns the last proof and the number of proofs made.
fn prove(
    backend: &dyn RecursionBackend,
    opened: bool,
    table: &Table,
    batch: &Batch,
    proofs: &mut Proofs,
) -> anyhow::Result<(NodeProof, usize)> {
    let plan = batch.plan(backend.spec().wraps, |s, kind| proofs.contains_key(&(*s, kind)));
    let mut made: Vec<NodeProof> = Vec::with_capacity(plan.len());
    for step in &plan.steps {
        let mut witness = step.witness(&table.vector)?;
        if opened {
            witness.open(|index| table.elements(index))?;
        }
        let inputs: Vec<&NodeProof> = step.inputs.iter().map(|i| find(i, &made, proofs)).collect();
        let proof = backend.prove(&witness, &inputs)?;
        made.push(proof);
    }
    let last = find(&plan.result, &made, proofs).clone();
    let count = made.len();
    proofs.extend(made.into_iter().map(|p| ((p.statement, p.kind), p)));
    Ok((last, count))
}

fn find<'p>(input: &Input, made: &'p [NodeProof], proofs: &'p Proofs) -> &'p NodeProof {
    match input {
        Input::Step(n) => &made[*n],
        Input::Existing { statement, kind } => &proofs[&(*statement, *kind)],
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.batch_log <= args.log_size, "a batch is no larger than its table");
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let class = HeightClass::of(args.log_size.max(args.complete_log)).context("sizes are from 2^1 to 2^40")?;
    let query = Query::parse(&Table::schema()?, &args.sql)?;
    let pinned = if args.pinned { Some(query.pinned()?) } else { None };
    let grove = |profile: &&Profile| profile.fits(evergrove_grove::BACKEND_NAME);
    let pinned = args.profiles.iter().filter(grove).filter_map(|profile| Some((*profile, pinned.as_ref()?)));
    let jobs: Vec<(Profile, &Query)> = args.profiles.iter().map(|profile| (*profile, &query)).chain(pinned).collect();
    let mut first: HashMap<&'static str, (f64, f64)> = HashMap::new();
    for (profile, query) in jobs {
        let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
        for mut row in rows_of(args, query, &app, profile, class, threads)? {
            row.pinned = query.plan().width().is_some();
            let of = (row.seconds, row.update_s);
            if let Some((seconds, update)) = first.get(row.statement) {
                (row.ratio, row.update_ratio) = (Some(of.0 / seconds), Some(of.1 / update));
            }
            first.entry(row.statement).or_insert(of);
            print(args, &row)?;
        }
    }
    Ok(())
}

/// Measures one profile. Returns the rows of the three statements.
fn rows_of(
    args: &Args,
    query: &Query,
    app: &Arc<dyn MapReduce>,
    profile: Profile,
    class: HeightClass,
    threads: usize,
) -> anyhow::Result<[Row; 3]> {
    let keys = args.keys.as_deref();
    let application = Application::from(app.clone());
    let load = |scheme: Scheme| {
        timed(|| {
            if profile.fits(evergrove_grove::BACKEND_NAME) {
                let circuit_set = application.circuits(scheme, profile, class)?;
                return Ok((application.backend_on_tables(&circuit_set, None)?, None));
            }
            let app = OnPlonky2::new(&application).context("circuits of Plonky2")?;
            let size = app.size(scheme, profile, class, keys)?;
            let backend = app.backend(scheme, profile, class, keys, ProverKind::default(), None)?;
            Ok((backend, Some(size.degree_bits)))
        })
    };
    let mut table = Table::build(args.log_size)?;
    let mut members: Vec<u64> = (0..table.rows.len() as u64).collect();
    members.shuffle(&mut table.rng);
    members.truncate(1 << args.batch_log);
    memory::start_peak();
    let grove = profile.fits(evergrove_grove::BACKEND_NAME);
    let (plain, setup_s) = timed(|| -> anyhow::Result<Box<dyn RecursionBackend>> {
        Ok(if grove {
            Box::new(GroveBackend::new(profile, class)?)
        } else {
            Box::new(Plonky2Backend::load(profile, class, keys)?)
        })
    })?;
    let degree_bits = if grove { None } else { Some(usize::from(params_of(profile)?.degree_bits)) };
    let measured = measure(args, plain.as_ref(), &mut table, &members)?;
    let mut batch = measured.row(profile, ("batch", setup_s, degree_bits), &table, members.len(), threads);
    drop(plain);

    memory::start_peak();
    let ((backend, degree_bits), setup_s) = load(Scheme::Selected)?;
    let measured = measure(args, backend.as_ref(), &mut table, &members)?;
    check(query, app.as_ref(), &table, &members, &measured.output)?;
    let selected = measured.row(profile, ("selected", setup_s, degree_bits), &table, members.len(), threads);
    batch.of_answer = Some(batch.processor_seconds / selected.processor_seconds);
    drop(backend);

    memory::start_peak();
    let mut table = Table::build(args.complete_log)?;
    let all: Vec<u64> = (0..table.rows.len() as u64).collect();
    let ((backend, degree_bits), setup_s) = load(Scheme::Complete)?;
    let measured = measure(args, backend.as_ref(), &mut table, &all)?;
    check(query, app.as_ref(), &table, &all, &measured.output)?;
    let complete = measured.row(profile, ("complete", setup_s, degree_bits), &table, all.len(), threads);
    Ok([selected, batch, complete])
}

/// Measurements of one backend.
struct Measured {
    capacity: usize,
    took: Took,
    proofs: usize,
    update: Took,
    update_proofs: usize,
    verify_ms: f64,
    proof_bytes: usize,
    output: Vec<Goldilocks>,
}

/// Proves a batch, refreshes it after changes of single members, and verifies.
fn measure(
    args: &Args,
    backend: &dyn RecursionBackend,
    table: &mut Table,
    members: &[u64],
) -> anyhow::Result<Measured> {
    let ((mut proven, proofs), took) = memory::took(|| Proven::anew(backend, table, members))?;
    let (mut times, mut update_proofs) = (vec![], 0);
    for _ in 0..args.repeat {
        let index = *members.choose(&mut table.rng).context("a batch has members")?;
        let (made, took) = memory::took(|| proven.update(table, index))?;
        times.push(took);
        update_proofs = update_proofs.max(made);
    }
    let commitment = table.vector.commitment()?;
    let mut claimed = vec![];
    if backend.spec().choice.scheme != Scheme::Complete {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        for index in sorted {
            claimed.push((index, table.schema.value(&table.rows[index as usize])?));
        }
    }
    let last = proven.last;
    let verify_s = check_time(|| {
        backend.verify(&last)?;
        if !claimed.is_empty() {
            ensure!(batch_digest(commitment.height, &claimed)? == last.statement.canonical, "another batch is proven");
        }
        ensure!(commitment.grown(last.statement.height).root == last.statement.root, "another table is proven");
        Ok(())
    })?;
    Ok(Measured {
        capacity: backend.spec().capacity,
        took,
        proofs,
        update: memory::median(times).context("--repeat is at least 1")?,
        update_proofs,
        verify_ms: verify_s * 1e3,
        proof_bytes: last.bytes.len(),
        output: last.output,
    })
}

/// Checks that the output equals that of the application's code over the rows.
fn check(
    query: &Query,
    app: &dyn MapReduce,
    table: &Table,
    members: &[u64],
    output: &[Goldilocks],
) -> anyhow::Result<()> {
    let mut expected = app.identity();
    for &index in members {
        let (value, elements) = (table.schema.value(&table.rows[index as usize])?, table.elements(index)?);
        let opening = if app.opening_len() == 0 { &[] } else { elements.as_slice() };
        expected = app.reduce(&expected, &app.map(&Leaf { index, value, opening })?)?;
    }
    ensure!(output == expected, "the proof states {:?}, not {:?}", query.answer(output), query.answer(&expected));
    Ok(())
}

impl Measured {
    fn row(
        &self,
        profile: Profile,
        (statement, setup_s, degree_bits): (&'static str, f64, Option<usize>),
        table: &Table,
        batch: usize,
        threads: usize,
    ) -> Row {
        Row {
            kernel: "aggregate",
            r#impl: if profile.fits(evergrove_grove::BACKEND_NAME) { "evergrove" } else { "evergrove-plonky2" },
            statement,
            profile: profile.name(),
            pinned: false,
            size: table.rows.len(),
            batch,
            threads,
            capacity: self.capacity,
            degree_bits,
            setup_s,
            seconds: self.took.seconds,
            processor_seconds: self.took.processor_seconds,
            ns_per_element: self.took.seconds * 1e9 / batch as f64,
            proofs: self.proofs,
            update_s: self.update.seconds,
            update_processor_s: self.update.processor_seconds,
            update_proofs: self.update_proofs,
            verify_ms: self.verify_ms,
            proof_bytes: self.proof_bytes,
            peak_rss_bytes: memory::resident().1,
            ratio: None,
            update_ratio: None,
            of_answer: None,
        }
    }
}

fn print(args: &Args, row: &Row) -> anyhow::Result<()> {
    if args.json {
        return print_json(row);
    }
    println!(
        "{} of {} rows of {}, profile {}{}, {} threads",
        row.statement,
        row.batch,
        row.size,
        row.profile,
        if row.pinned { ", circuits with pinned keys" } else { "" },
        row.threads
    );
    println!("  bucket                   {:>9} rows", row.capacity);
    println!("  load circuits            {:>9.2} s", row.setup_s);
    println!("  prove                    {:>9.2} s   {} proofs", row.seconds, row.proofs);
    println!("  update of one row        {:>9.2} s   at most {} proofs", row.update_s, row.update_proofs);
    println!("  verify                   {:>9.2} ms", row.verify_ms);
    println!("  proof                    {:>9} bytes", row.proof_bytes);
    println!("  memory                   {:>9.1} MiB peak", row.peak_rss_bytes as f64 / (1 << 20) as f64);
    if let Some(ratio) = row.ratio {
        println!("  times the first profile  {ratio:>9.2}, an update {:.2}", row.update_ratio.unwrap_or_default());
    }
    Ok(())
}
