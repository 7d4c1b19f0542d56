// The Merkle engine of the article "Poseidon Merkle Trees in Hardware": poseidon_engine with two pipelined permutations.
// Its timing is that of the model in crates/lab/src/poseidon with a permutation of 30 (3 STAGES + 6) cycles.
module poseidon_merkle #(
  parameter int LOG_ROWS   = 10,
  parameter int LOG_GROUPS = 9,
  parameter int LOG_PLACES = 10,
  parameter int STAGES     = 6
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
  output logic                leaf_valid,
  output logic [255:0]        leaf_digest,
  output logic                issue_valid,
  output logic [4:0]          issue_level,
  output logic [31:0]         issue_index,
  output logic                out_valid,
  output logic [4:0]          out_level,
  output logic [31:0]         out_index,
  output logic [255:0]        out_digest,
  output logic                overflow
);
  logic         start_last, leaves, leaves_last;
  logic [767:0] start_state, leaves_state, out_state;
  logic [511:0] issue_pair;
  poseidon_engine #(.LOG_ROWS(LOG_ROWS), .LOG_GROUPS(LOG_GROUPS), .LOG_PLACES(LOG_PLACES)) engine (.*);
  poseidon_pipe #(.STAGES(STAGES)) leaf_core (
    .clk, .rst, .in_valid(start), .in_tag(start_last), .in_state(start_state),
    .out_valid(leaves), .out_tag(leaves_last), .out_state(leaves_state)
  );
  poseidon_pipe #(.STAGES(STAGES), .TAG(5)) branch_core (
    .clk, .rst, .in_valid(issue_valid), .in_tag(issue_level + 5'd1), .in_state({256'b0, issue_pair}),
    .out_valid, .out_tag(out_level), .out_state
  );
  assign out_digest = out_state[255:0];
  logic unused;
  assign unused = &{1'b0, out_state[767:256]};
endmodule
