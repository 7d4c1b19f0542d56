// The Poseidon permutation of poseidon_perm as one pipeline: 30 rounds in a row, with the 118 S-boxes that the article
// "Poseidon Merkle Trees in Hardware" counts. A state enters in each cycle and leaves 30 (3 STAGES + 6) cycles later.
// Nothing stops the pipeline. A register is before each round.
//
// Word i of 64 bits is at bit 64 i of a state; all words are below p. A tag of TAG bits passes along with each state.
module poseidon_pipe #(
  parameter int STAGES = 6,
  parameter int TAG    = 1
) (
  input  logic           clk,
  input  logic           rst,
  input  logic           in_valid,
  input  logic [TAG-1:0] in_tag,
  input  logic [767:0]   in_state,
  output logic           out_valid,
  output logic [TAG-1:0] out_tag,
  output logic [767:0]   out_state
);
  `include "poseidon_constants.svh"
  localparam int DEPTH = 30 * (3 * STAGES + 6);

  logic [DEPTH-1:0]     valid;
  logic [TAG*DEPTH-1:0] tags;
  assign out_valid = valid[DEPTH-1];
  assign out_tag   = tags[TAG*DEPTH-1 -: TAG];
  always_ff @(posedge clk) begin
    valid <= rst ? '0 : {valid[DEPTH-2:0], in_valid};
    tags  <= {tags[TAG*(DEPTH-1)-1:0], in_tag};
  end

  for (genvar r = 0; r < 30; r++) begin : g_round
    localparam bit FULL = r < 4 || r >= 26;
    logic [767:0] from, state, to;
    if (r == 0) begin : g_first
      assign from = in_state;
    end else begin : g_next
      assign from = g_round[r-1].to;
    end
    always_ff @(posedge clk) state <= from;
    poseidon_round #(.STAGES(STAGES), .KIND(FULL ? 1 : 2)) unit (
      .clk, .full(FULL), .constants(POSEIDON_CONSTANTS[768*r +: 768]), .in_state(state), .out_state(to)
    );
  end
  assign out_state = g_round[29].to;
endmodule
