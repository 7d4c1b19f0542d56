//! The hardware models on the command line.

use serde_json::Value;

use crate::world::World;

#[test]
fn tables_are_reproduced_with_a_verdict() {
    let world = World::new();
    let section = world.json(&["lab", "reproduce", "mtu-table3"]);
    let line =
        section["lines"].as_array().unwrap().iter().find(|l| l["quantity"] == "cells as printed, ruler").unwrap();
    assert_eq!((&line["ours"], &line["verdict"]), (&Value::from(84.0), &Value::from("equal")));
    let text = world.run(&["lab", "reproduce", "msm-table1"]);
    assert!(text.out.contains("PEs, 13 bits") && text.out.contains("  * "), "{}", text.out);
    world.json(&["lab", "reproduce", "msm-fig3", "--out", "figures"]);
    assert!(
        world
            .text("figures/msm-fig3.lines.csv")
            .starts_with("quantity,unit,origin,published,ours,by,deviation,verdict\n")
    );
    assert!(world.text("figures/msm-fig3-area.svg").contains("Table I"));
    assert!(world.text("figures/msm-fig3-area.csv").contains(",published\n"));
    let wrong = world.run(&["lab", "reproduce", "mtu-table9"]);
    assert!(wrong.code == 2 && wrong.err.contains("mtu-table2"), "{}", wrong.err);
}

#[test]
fn a_sweep_is_run_kept_and_drawn() {
    let world = World::new();
    world.write("one.toml", "machine = 'mtu'\n[params]\nlog_size = 9\npes = 4\n");
    assert_eq!(world.json(&["lab", "run", "one.toml", "--trace", "t.vcd"])["pes"], 4.0);
    assert!(world.text("t.vcd").contains("accumulator_busy"));
    let row = world.json(&["lab", "run", "one.toml", "--data"]);
    assert_eq!((&row["data_results_equal_to_kernels"], &row["data_cycles"]), (&Value::from(511.0), &row["cycles"]));
    assert!(row["sha3_area_mm2"].as_f64().unwrap() < row["area_mm2"].as_f64().unwrap());
    world.write(
        "many.toml",
        "machine = 'mtu'\n[params]\nlog_size = 9\n[axes]\npes = [2, 4, 8]\nbandwidth_gb_s = [64, 512]\n",
    );
    let many = ["lab", "sweep", "many.toml", "--out", "out", "--quiet"];
    assert_eq!(world.json(&many)["runs"], 6);
    assert_eq!(world.json(&many)["runs"], 6);
    let refused = world.run(&["lab", "run", "many.toml"]);
    assert!(refused.code == 2 && refused.err.contains("6 designs"), "{}", refused.err);
    let front = world.run(&["lab", "pareto", "out/results.csv"]);
    assert!(front.code == 0 && front.out.lines().count() >= 2, "{}", front.out);
    assert!(
        front.out.lines().all(|line| line.starts_with("bandwidth_gb_s ") && line.contains(" pes ")),
        "{}",
        front.out
    );
    let coarse = world.run(&["lab", "pareto", "out/results.csv", "--tolerance", "0.9"]);
    assert!(coarse.out.lines().count() < front.out.lines().count(), "{}", coarse.out);
    world.json(&["lab", "plot", "out/results.csv", "--series", "bandwidth_gb_s", "--out", "out"]);
    assert!(world.text("out/plot.svg").contains("bandwidth 512 GB/s"));
    assert!(world.text("out/plot.svg").contains("time (µs)"));
    world.write("published.csv", "series,pes,time_us\nthe paper,4,0.5\n");
    let by_pes = ["lab", "plot", "out/results.csv", "--x", "pes", "--where", "bandwidth_gb_s=64", "--out", "out"];
    world.json(&[&by_pes[..], &["--series", "workload,traversal", "--published", "published.csv"]].concat());
    let svg = world.text("out/plot.svg");
    assert!(svg.contains("workload mle-evaluation, traversal hybrid") && svg.contains("published: the paper"), "{svg}");
    let none = world.run(&["lab", "pareto", "out/results.csv", "--where", "pes=3"]);
    assert!(none.code == 2 && none.err.contains("--where"), "{}", none.err);
    let column = world.run(&["lab", "plot", "out/results.csv", "--x", "nothing", "--out", "out"]);
    assert!(column.code == 2 && column.err.contains("area_mm2"), "{}", column.err);
    for named in [["--series", "nothing"], ["--where", "nothing=1"]] {
        let column = world.run(&[&["lab", "plot", "out/results.csv", "--out", "out"], &named[..]].concat());
        assert!(column.code == 2 && column.err.contains("\"nothing\": choose one of id,"), "{}", column.err);
    }
    world.write("bad.toml", "machine = 'mtu'\n[params]\npes = 0\n");
    let bad = world.run(&["lab", "run", "bad.toml"]);
    assert!(bad.code == 2 && bad.err.contains("pes = 0: choose a power of two from 2 to 256"), "{}", bad.err);
}

#[test]
fn a_trace_is_asked_which_machine_would_help() {
    let world = World::new();
    let span = |name: &str, cat: &str, dur: u32| {
        format!(
            r#"{{"ph":"X","name":"{name}","cat":"{cat}","pid":1,"tid":0,"ts":0,"dur":{dur},"args":{{"hashes":1000,"bytes":64000}}}}"#
        )
    };
    let events = [span("bucket", "proof", 1_000_000), span("wires.hashing", "hashing", 700_000)].join(",");
    let other = r#"{"format":"evergrove-trace","version":1}"#;
    world.write("t.json", format!(r#"{{"otherData":{other},"traceEvents":[{events}]}}"#));
    let answer = world.json(&["lab", "whatif", "--trace", "t.json"]);
    assert!(answer["answers"][1]["speedup"].as_f64().unwrap() > 3.3, "{answer}");
    assert!(world.run(&["lab", "whatif", "--trace", "t.json"]).out.contains("times faster"));
    world.write("bad.json", "{}");
    assert_eq!(world.run(&["lab", "whatif", "--trace", "bad.json"]).code, 2);
    // Without shapes of trees only the tree unit could be in a mix, and it has no step to take.
    let mix = world.json(&["lab", "mix", "--trace", "t.json", "--area", "10,20", "--out", "figures"]);
    assert_eq!((&mix["budgets"][0]["best"], &mix["budgets"][1]["engine"]), (&Value::Null, &Value::Null));
    assert!(mix["limit"].as_f64().unwrap() > 3.3 && world.text("figures/lab-mix.svg").contains("tree unit alone"));
    assert!(world.run(&["lab", "mix", "--trace", "t.json"]).out.contains("chiplet multiplier: the trace has no sum"));
    assert_eq!(world.run(&["lab", "mix", "--trace", "bad.json"]).code, 2);
}
