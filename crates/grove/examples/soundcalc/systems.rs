//! Computes the figures that ethereum/soundcalc prints for a system from our formulas.
//!
//! **Our formulas.** Everything that concerns a Reed-Solomon code is a method of [`Code`]: combinations, folds,
//! queries, samples outside the domain, and the factor of the list. The figures of our profiles use the same methods.
//!
//! **Only in this check.** The counts that these methods take (degrees of DEEP-ALI, places of lookups, the SumChecks of
//! Jagged and GKR), and the gap to the Johnson bound that soundcalc assumes if a configuration has none. They follow
//! soundcalc's documented model.

use evergrove_primitives::reed_solomon::Code;
use serde_json::Value;

/// One term of one circuit in one regime.
pub(crate) struct Figure {
    pub(crate) circuit: String,
    pub(crate) regime: String,
    pub(crate) term: String,
    /// The figure in soundcalc's report, in whole bits.
    pub(crate) printed: f64,
    /// The figure that soundcalc computes before it rounds down.
    pub(crate) bits: f64,
    /// The figure by our formulas.
    pub(crate) ours: f64,
}

/// All systems in a file that `record.py` wrote.
pub(crate) fn read(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("a list of systems")
}

/// All figures of a system.
pub(crate) fn figures(system: &Value) -> Vec<Figure> {
    let field = &system["field"];
    let order: f64 = text(&field["order"]).parse().expect("a number");
    let field_bits = order.log2() * number(field, "degree");
    let mut figures = Vec::new();
    for circuit in list(system, "circuits") {
        for (regime, expected) in circuit["figures"].as_object().expect("regimes") {
            let circuit = Circuit { values: circuit, field_bits, johnson: regime == "JBR" };
            let terms = circuit.terms(text(&system["family"]));
            let expected = expected.as_object().expect("terms");
            let names = |name: &String| terms.iter().any(|(term, _)| term == name);
            assert!(expected.keys().all(names) && expected.len() == terms.len(), "{}: {expected:?}", circuit.name());
            figures.extend(terms.into_iter().map(|(term, ours)| {
                let [printed, bits] = [0, 1].map(|i| expected[&term][i].as_f64().expect("bits"));
                Figure { circuit: circuit.name().into(), regime: regime.clone(), term, printed, bits, ours }
            }));
        }
    }
    figures
}

/// The greatest difference between our formulas and soundcalc's.
pub(crate) fn worst(figures: &[Figure]) -> f64 {
    figures.iter().map(|figure| (figure.ours - figure.bits).abs()).fold(0.0, f64::max)
}

type Terms = Vec<(String, f64)>;

/// One circuit in one regime.
struct Circuit<'a> {
    values: &'a Value,
    field_bits: f64,
    johnson: bool,
}

impl Circuit<'_> {
    fn name(&self) -> &str {
        text(&self.values["name"])
    }
    fn number(&self, name: &str) -> f64 {
        number(self.values, name)
    }
    /// 0 if it is missing.
    fn optional(&self, name: &str) -> f64 {
        self.values[name].as_f64().unwrap_or(0.0)
    }

    fn code(&self, rate: f64) -> Code {
        if !self.johnson {
            return Code::unique_decoding(self.field_bits, rate);
        }
        let root = rate.sqrt();
        let default = if self.field_bits > 150.0 { root / 100.0 } else { (rate / 20.0).max(root / 100.0) };
        let gap = self.values["gap_to_radius"].as_f64().unwrap_or(default);
        // soundcalc computes the gap again from the radius. At some rates its rounding turns a multiplicity of 50 into
        // 51.
        let gap = 1.0 - root - (1.0 - root - gap);
        Code::below_johnson(self.field_bits, rate, gap)
    }

    fn terms(&self, family: &str) -> Terms {
        let mut terms = match family {
            "FRI_STARK" => {
                let (rate, rows) = (self.number("rho"), self.number("trace_length"));
                [self.fri(rows, self.number("batch_size")), self.deep_ali(&self.code(rate), rows)].concat()
            }
            "WHIR" => {
                let rate = 2f64.powf(-self.number("log_inv_rate"));
                let rows = 2f64.powf(self.number("log_degree"));
                [self.whir(), self.deep_ali(&self.code(rate), rows)].concat()
            }
            "JAGGED" => [self.fri(self.number("dense_length"), self.number("dense_batch")), self.jagged()].concat(),
            _ => panic!("unknown family {family}"),
        };
        let lookups = self.values["lookups"].as_array().into_iter().flatten();
        terms.extend(lookups.map(|lookup| (text(&lookup["name"]).to_owned(), self.lookup(lookup))));
        let total = terms.iter().map(|&(_, bits)| bits).fold(f64::INFINITY, f64::min);
        terms.push(("total".into(), total));
        terms
    }

    fn fri(&self, rows: f64, batch: f64) -> Terms {
        let code = self.code(self.number("rho"));
        let mut points = rows / code.rate;
        let flag = |name: &str| self.values[name].as_bool().unwrap_or(false);
        let degree = match (flag("power_batching"), flag("multilinear_batching")) {
            (true, _) => batch - 1.0,
            // Folds one coordinate after the other.
            (false, true) => batch.log2().ceil(),
            // Independent coefficients form a line.
            (false, false) => 1.0,
        };
        let mut terms =
            vec![("batching".into(), code.curve(points, degree) + self.optional("grinding_batching_phase"))];
        for (i, factor) in numbers(self.values, "fri_folding_factors").into_iter().enumerate() {
            points /= factor;
            let bits = code.curve(points, factor - 1.0) + self.optional("grinding_commit_phase");
            terms.push((format!("commit round {}", i + 1), bits));
        }
        let queries = code.queries(self.number("num_queries"), self.optional("grinding_query_phase"));
        terms.push(("query phase".into(), queries));
        terms
    }

    fn whir(&self) -> Terms {
        let [folds, queries, samples] =
            ["folding_factors", "num_queries", "num_ood_samples"].map(|name| numbers(self.values, name));
        let [query_work, sample_work] =
            ["grinding_bits_queries", "grinding_bits_ood"].map(|name| numbers(self.values, name));
        let fold_work = list(self.values, "grinding_bits_folding");
        let degree = self.number("constraint_degree");
        let (mut variables, mut log_rate) = (self.number("log_degree"), self.number("log_inv_rate"));
        let mut terms = Vec::new();
        let mut before: Option<Code> = None;
        for (i, &fold) in folds.iter().enumerate() {
            let code = self.code(2f64.powf(-log_rate));
            let points = 2f64.powf(variables + log_rate);
            let batch = self.number("batch_size");
            if i == 0 && batch > 1.0 {
                terms.push((
                    "batching".into(),
                    code.curve(points, batch - 1.0) + self.number("grinding_batching_phase"),
                ));
            }
            if let Some(before) = before {
                terms.push((format!("OOD(i={i})"), code.samples(variables, samples[i - 1]) + sample_work[i - 1]));
                // The queries, and combining their results.
                let [missed, joined] = [before.queries(queries[i - 1], 0.0), code.each(queries[i - 1] + 1.0)];
                let shift = -((-missed).exp2() + (-joined).exp2()).log2();
                terms.push((format!("Shift(i={i})"), shift + query_work[i - 1]));
            }
            for s in 1..=fold as i32 {
                let work = fold_work[i][s as usize - 1].as_f64().expect("bits");
                terms.push((format!("fold(i={i},s={s})"), code.fold(points / 2f64.powi(s), degree) + work));
            }
            // Each round halves the domain.
            (variables, log_rate) = (variables - fold, log_rate + fold - 1.0);
            before = Some(code);
        }
        let last = folds.len() - 1;
        terms.push(("fin".into(), before.expect("an oracle").queries(queries[last], query_work[last])));
        terms
    }

    /// ePrint 2022/1216, theorem 8, as soundcalc counts it.
    fn deep_ali(&self, code: &Code, rows: f64) -> Terms {
        let degree = self.number("air_max_degree") * (rows + self.number("opening_points") - 1.0) + rows - 1.0;
        let deep = code.each(degree) + self.optional("grinding_deep");
        vec![("ALI".into(), code.each(self.number("num_constraints"))), ("DEEP".into(), deep)]
    }

    /// The SumChecks that reduce a table of columns of many heights to a dense one, and the zerocheck.
    fn jagged(&self) -> Terms {
        let log = |name: &str| self.number(name).log2().ceil();
        let code = self.code(self.number("rho"));
        let variables = log("dense_length") + log("dense_batch");
        let reduce = log("trace_columns") + 2.0 * variables + 2.0 * (2.0 * variables + 2.0);
        let zerocheck = self.number("num_constraints") + (self.number("air_max_degree") + 2.0) * log("trace_length");
        vec![("reduce to dense PCS".into(), code.each(reduce)), ("zerocheck".into(), code.each(zerocheck))]
    }

    /// LogUp: the numerator of the sum of fractions, and GKR if GKR proves the sum.
    fn lookup(&self, lookup: &Value) -> f64 {
        let value = |name: &str, default: f64| lookup[name].as_f64().unwrap_or(default);
        let rows = number(lookup, "rows_L") + number(lookup, "rows_T");
        let (columns, lookups) = (value("num_columns_S", 1.0), value("num_lookups_M", 1.0));
        let multivariate = lookup["logup_type"] == "multivariate";
        let by_coordinates = lookup["multilinear_fingerprint"].as_bool().unwrap_or(multivariate);
        let fingerprint = if by_coordinates { columns.log2().max(1.0) } else { columns };
        let mut count = lookups * rows * fingerprint;
        if multivariate {
            let variables = rows.log2() + lookups.log2();
            count += 0.5 * variables * (3.0 * variables + 1.0);
        }
        self.field_bits - count.log2() + value("grinding_bits_lookup", 0.0)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("a number {name}"))
}
fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("a list {name}"))
}
fn numbers(value: &Value, name: &str) -> Vec<f64> {
    list(value, name).iter().map(|value| value.as_f64().expect("a number")).collect()
}
