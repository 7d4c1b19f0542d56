// The Poseidon permutation over the Goldilocks field with width 12: 4 full rounds, 22 partial rounds and 4 full rounds,
// with the constants and the matrix of crates/primitives/src/hash/poseidon (poseidon_constants.svh).
//
// A ring of one pipelined round, with one state in each of its DEPTH = 3 STAGES + 6 stages. A state passes 30 times and
// then leaves. The ring completes DEPTH states in 30 DEPTH cycles, one per 30 cycles on average.
//
// Word i of 64 bits is at bit 64 i of a state; all words are below p. A state is taken in a cycle with in_valid and
// in_ready, and its result appears with out_valid 30 DEPTH cycles later, for one cycle. in_ready depends only on the
// ring. It is low while the returning state has more rounds to do. DEPTH states can therefore follow each other, and
// then none for 29 DEPTH cycles.
module poseidon_perm #(
  parameter int STAGES = 6
) (
  input  logic         clk,
  input  logic         rst,
  input  logic         in_valid,
  output logic         in_ready,
  input  logic [767:0] in_state,
  output logic         out_valid,
  output logic [767:0] out_state
);
  `include "poseidon_constants.svh"
  localparam int         DEPTH = 3 * STAGES + 6;
  localparam logic [4:0] LAST  = 29;

  // Whether a stage has a state, and the number of that state's round. The first stage is a register before the round.
  logic       valid [DEPTH];
  logic [4:0] round [DEPTH];
  logic [767:0] state, next, constants;

  // The returning state, after its round.
  logic       back_valid;
  logic [4:0] back_round;
  assign back_valid = valid[DEPTH-1];
  assign back_round = round[DEPTH-1];
  assign out_valid  = back_valid && back_round == LAST;
  assign out_state  = next;
  assign in_ready   = !back_valid || out_valid;

  logic [4:0] from_round;
  assign from_round = in_ready ? '0 : back_round + 1;
  // The constants of that round, from a table.
  logic [767:0] entry;
  always_comb begin
    entry = '0;
    for (int r = 0; r < 30; r++) entry = entry | ({768{from_round == 5'(r)}} & POSEIDON_CONSTANTS[768*r +: 768]);
  end
  always_ff @(posedge clk) begin
    state     <= in_ready ? in_state : next;
    constants <= entry;
    valid[0]  <= !rst && (in_ready ? in_valid : back_valid);
    round[0]  <= from_round;
    for (int i = 1; i < DEPTH; i++) begin
      valid[i] <= !rst && valid[i-1];
      round[i] <= round[i-1];
    end
  end

  poseidon_round #(.STAGES(STAGES)) unit (
    .clk, .full(round[0] < 4 || round[0] >= 26), .constants, .in_state(state), .out_state(next)
  );
endmodule
