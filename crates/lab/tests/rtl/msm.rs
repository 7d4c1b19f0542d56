//! A processing element of the chiplet multiplier in hardware against its model, in every cycle of a pass. The point adder
//! is outside the module. Points are elements of the additive group of the Goldilocks field: the module adds in any group.

use std::collections::VecDeque;

use evergrove_lab::msm::{self, Params, recode, scalars};
use evergrove_primitives::Goldilocks;
use marlin_verilator::VerilatorRuntime;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{IN, Module, OUT, simulator, words};

/// Bits of the module's window.
const WINDOW: u32 = 8;

fn unit(runtime: &VerilatorRuntime) -> Module<'_> {
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("places", 8, IN),
        ("in_valid", 1, IN),
        ("in_ready", 1, OUT),
        ("in_negative", 1, IN),
        ("in_magnitude", 8, IN),
        ("in_point", 64, IN),
        ("issue_valid", 1, OUT),
        ("issue_bucket", 7, OUT),
        ("add_valid", 1, OUT),
        ("add_bucket", 7, OUT),
        ("add_negative", 1, OUT),
        ("add_sum", 64, OUT),
        ("add_point", 64, OUT),
        ("sum_valid", 1, IN),
        ("sum_bucket", 7, IN),
        ("sum_point", 64, IN),
        ("busy", 1, OUT),
        ("read_bucket", 7, IN),
        ("read_sum", 64, OUT),
    ];
    Module::new(runtime, "msm_pe_unit", &ports)
}

/// The model's events of the first pass: the cycles in which points enter, and the cycles of additions with their buckets.
pub(super) fn events(params: &Params) -> (Vec<u64>, Vec<(u64, u64)>) {
    let (_, trace) = msm::trace(params, usize::MAX).expect("a machine");
    let of = |track| trace.events().iter().filter(move |e| e.track == track);
    let points = of(0).take(1 << params.log_points).map(|e| e.start).collect();
    let bucket = |name: &str| name.strip_prefix("window 0 bucket ").map(|b| b.parse::<u64>().expect("a bucket") - 1);
    (points, of(1).filter_map(|e| Some((e.start, bucket(&e.name)?))).collect())
}

/// One pass over random points. Returns how often a point had to wait outside.
fn pass(runtime: &VerilatorRuntime, params: &Params, rng: &mut ChaCha8Rng) -> u64 {
    let (entries, additions) = events(params);
    let points = words(1 << params.log_points, rng);
    let mut digits = Vec::new();
    let digits: Vec<i32> = scalars(params)
        .iter()
        .map(|scalar| {
            recode(scalar, &params.windows, &mut digits);
            digits[0]
        })
        .collect();
    let mut module = unit(runtime);
    module.set("places", params.conflict_queue as u8);
    module.set("in_valid", 0);
    module.set("sum_valid", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);

    let (mut entries, mut additions) = (entries.into_iter().enumerate().peekable(), additions.into_iter().peekable());
    // Sums in the adder: when they leave, the bucket, the sum. The module reads its operands in a cycle of its own.
    let mut adder: VecDeque<(u64, u8, Goldilocks)> = VecDeque::new();
    let (mut cycle, mut waits) = (0, 0);
    while entries.peek().is_some() || additions.peek().is_some() || !adder.is_empty() {
        let at = format!("{params:?}, cycle {cycle}");
        let offered = entries.peek().map(|(index, _)| *index);
        module.set("in_valid", offered.is_some().into());
        if let Some(index) = offered {
            module.set("in_negative", (digits[index] < 0).into());
            module.set("in_magnitude", digits[index].unsigned_abs() as u8);
            module.word("in_point", points[index]);
        }
        let sum = adder.pop_front_if(|(when, ..)| *when == cycle);
        module.set("sum_valid", sum.is_some().into());
        if let Some((_, bucket, sum)) = sum {
            module.set("sum_bucket", bucket);
            module.word("sum_point", sum);
        }
        module.settle();
        let taken = entries.next_if(|(_, start)| *start == cycle).is_some();
        if offered.is_some() {
            assert_eq!(module.get("in_ready") == 1, taken, "{at}");
            waits += u64::from(!taken);
        }
        let issued = (module.get("issue_valid") == 1).then(|| module.get("issue_bucket"));
        assert_eq!(issued, additions.next_if(|(start, _)| *start == cycle).map(|(_, bucket)| bucket), "{at}");
        if module.get("add_valid") == 1 {
            let [sum, point] = ["add_sum", "add_point"].map(|port| Goldilocks::new(module.get(port)));
            let sum = if module.get("add_negative") == 1 { sum - point } else { sum + point };
            adder.push_back((cycle + params.padd_latency - 1, module.get("add_bucket") as u8, sum));
        }
        module.edge();
        cycle += 1;
    }
    check_buckets(&mut module, &points, &digits);
    waits
}

/// Reads every bucket and compares it with the sum of its points.
fn check_buckets(module: &mut Module<'_>, points: &[Goldilocks], digits: &[i32]) {
    let mut expected = [Goldilocks::ZERO; 1 << (WINDOW - 1)];
    for (point, digit) in points.iter().zip(digits).filter(|(_, digit)| **digit != 0) {
        let bucket = &mut expected[digit.unsigned_abs() as usize - 1];
        *bucket = if *digit < 0 { *bucket - *point } else { *bucket + *point };
    }
    module.set("in_valid", 0);
    module.set("sum_valid", 0);
    for (bucket, sum) in expected.iter().enumerate() {
        module.set("read_bucket", bucket as u8);
        module.settle();
        assert_eq!(module.get("busy"), 0);
        module.edge();
        module.settle();
        assert_eq!(Goldilocks::new(module.get("read_sum")), *sum, "bucket {bucket}");
    }
}

#[test]
fn processing_elements_do_what_the_model_does_in_every_cycle() {
    let Some(runtime) = simulator() else { return };
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    // Two windows: the digits of the first are signed.
    let base = Params {
        windows: vec![WINDOW; 2],
        scalar_bits: 2 * WINDOW - 1,
        parallel_windows: 1,
        chiplets: 1,
        log_points: 12,
        ..Params::default()
    };
    let mut waits = 0;
    for (padd_latency, conflict_queue) in [(82, 16), (82, 3), (220, 16), (10, 16), (2, 1), (30, 7)] {
        waits += pass(&runtime, &Params { padd_latency, conflict_queue, ..base.clone() }, &mut rng);
    }
    assert!(waits > 0, "no point waited for a place of the queue");
}
