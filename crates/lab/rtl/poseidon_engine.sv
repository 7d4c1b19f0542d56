// The Merkle engine of the article "Poseidon Merkle Trees in Hardware", without its two permutations: input queue or
// transposer, leaf hasher, branch hasher. Eight words come in each cycle with in_valid and in_ready: eight columns of a row
// (by_columns = 0, a queue of 2^LOG_GROUPS groups) or eight rows of a column (by_columns = 1, a transposer).
//
// start_* is the row that enters the leaf hasher's permutation, leaves_* the state that leaves it. issue_* is the pair that
// enters the branch hasher's permutation, out_* the digest that leaves it. Digests of level `top` are the cap.
// poseidon_leaf and poseidon_branch have the timing and the ranges of the inputs.
module poseidon_engine #(
  parameter int LOG_ROWS   = 10,
  parameter int LOG_GROUPS = 9,
  parameter int LOG_PLACES = 10
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                by_columns,
  input  logic [4:0]          log_rows,
  input  logic [15:0]         passes,
  input  logic [3:0]          last_words,
  input  logic [4:0]          top,
  input  logic [LOG_PLACES:0] places,
  input  logic                in_valid,
  output logic                in_ready,
  input  logic [511:0]        in_words,
  output logic                start,
  output logic [31:0]         start_row,
  output logic [15:0]         start_pass,
  output logic                start_last,
  output logic [767:0]        start_state,
  input  logic                leaves,
  input  logic                leaves_last,
  input  logic [767:0]        leaves_state,
  output logic                leaf_valid,
  output logic [255:0]        leaf_digest,
  output logic                issue_valid,
  output logic [4:0]          issue_level,
  output logic [31:0]         issue_index,
  output logic [511:0]        issue_pair,
  input  logic                out_valid,
  input  logic [4:0]          out_level,
  input  logic [255:0]        out_digest,
  output logic [31:0]         out_index,
  output logic                overflow
);
  logic                rows_ready, rows_valid, groups_ready, groups_valid;
  logic [511:0]        rows_group, groups_group;
  logic [LOG_GROUPS:0] groups;
  transposer #(.LOG_ROWS(LOG_ROWS)) columns (
    .clk, .rst, .log_rows, .in_valid(in_valid && by_columns), .in_ready(rows_ready), .in_words,
    .out_valid(rows_valid), .out_words(rows_group), .out_take(start && by_columns)
  );
  fifo #(.WIDTH(512), .LOG_DEPTH(LOG_GROUPS)) tiles (
    .clk, .rst, .push(in_valid && groups_ready && !by_columns), .in(in_words), .pop(start && !by_columns),
    .valid(groups_valid), .out(groups_group), .count(groups)
  );
  // A group that starts frees its place in the same cycle.
  assign groups_ready = groups < (LOG_GROUPS+1)'(1 << LOG_GROUPS) || (start && !by_columns);
  assign in_ready     = by_columns ? rows_ready : groups_ready;

  poseidon_leaf #(.LOG_ROWS(LOG_ROWS), .LOG_PLACES(LOG_PLACES)) leaf (
    .clk, .rst, .log_rows, .passes, .last_words, .places,
    .in_valid(by_columns ? rows_valid : groups_valid), .in_group(by_columns ? rows_group : groups_group),
    .start, .start_row, .start_pass, .start_last, .start_state, .leaves, .leaves_last, .leaves_state,
    .taken(issue_valid && issue_level == 0), .out_valid(leaf_valid), .out_digest(leaf_digest)
  );

  // A digest that starts has a place, so the branch hasher is always ready.
  logic ready, lost, short_queue;
  poseidon_branch #(.LOG_PLACES(LOG_PLACES)) branch (
    .clk, .rst, .top, .places, .in_valid(leaf_valid), .in_ready(ready), .in_digest(leaf_digest),
    .issue_valid, .issue_level, .issue_index, .issue_pair, .out_valid, .out_level, .out_digest, .out_index,
    .overflow(short_queue)
  );
  always_ff @(posedge clk) lost <= !rst && (lost || (leaf_valid && !ready));
  assign overflow = lost || short_queue;
endmodule
