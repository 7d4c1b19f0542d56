// A round of Poseidon over the Goldilocks field with width 12: constants, S-boxes, and the product with the MDS matrix
// (Grassi et al., Poseidon: A New Hash Function for Zero-Knowledge Proof Systems, 2021, section 2.3). A full round has
// twelve S-boxes. In a partial round only word 0 has an S-box, and the other words are delayed.
//
// Word i of 64 bits is at bit 64 i of a state; all words are below p. One state per cycle, 3 STAGES + 5 cycles from
// in_state to out_state:
//
//   stage 1          + constants mod p              3 STAGES + 3  sums of twelve, below 2^42
//         2 ..       x^7 in 3 STAGES stages                  + 4  2^64 = 2^32 - 1, below 2^65
//   3 STAGES + 2     sums of four multiples                  + 5  - p where p is reached
//
// The entries of the matrix are below 2^6 and have a sum below 2^10 in each row. A multiple is a sum of shifted words. Low
// and high halves of the words have sums of their own until stage 3 STAGES + 4.
//
// KIND 0 is a round of either kind, as `full` says. 1 is always a full round, and 2 always a partial one, which has no
// other S-boxes than that of word 0.
module poseidon_round #(
  parameter int STAGES = 6,
  parameter int KIND   = 0
) (
  input  logic         clk,
  input  logic         full,
  input  logic [767:0] constants,
  input  logic [767:0] in_state,
  output logic [767:0] out_state
);
  /* verilator no_inline_module */  // one body in the simulator for all instances of a kind
  `include "poseidon_constants.svh"
  localparam logic [63:0] P   = 64'hFFFF_FFFF_0000_0001;
  localparam logic [63:0] EPS = 64'h0000_0000_FFFF_FFFF;

  // Reduces a sum below 2 p modulo p. A carry is 2^64, which equals EPS modulo p.
  function automatic logic [63:0] canonical(input logic [64:0] s);
    canonical = s[64] ? s[63:0] + EPS : s[63:0] >= P ? s[63:0] - P : s[63:0];
  endfunction

  // k h for a constant k < 2^6 and half of a word.
  function automatic logic [41:0] multiple(input logic [31:0] h, input logic [5:0] k);
    multiple = (k[0] ? {10'b0, h} : '0) + (k[1] ? {9'b0, h, 1'b0} : '0) + (k[2] ? {8'b0, h, 2'b0} : '0)
             + (k[3] ? {7'b0, h, 3'b0} : '0) + (k[4] ? {6'b0, h, 4'b0} : '0) + (k[5] ? {5'b0, h, 5'b0} : '0);
  endfunction

  // low + 2^32 high, whose part above 2^64 becomes a multiple of 2^32 - 1.
  function automatic logic [64:0] fold(input logic [41:0] low, input logic [41:0] high);
    logic [42:0] upper;
    upper = {1'b0, high} + {33'b0, low[41:32]};
    fold = {1'b0, upper[31:0], low[31:0]} + {22'b0, upper[42:32], 32'b0} - {54'b0, upper[42:32]};
  endfunction

  logic [63:0]       added [12], boxed [12];
  // Halves of words, and sums of multiples for the low halves (even numbers) and the high ones (odd numbers).
  logic [31:0]       half  [24];
  logic [41:0]       part  [72], sum [24];
  logic [64:0]       folded [12];
  logic [63:0]       out   [12];
  // Whether the round of a stage's state is full.
  logic [3*STAGES:0] kind;

  for (genvar i = 0; i < 12; i++) begin : g_word
    logic [63:0] word, power, late;
    assign word = added[i];
    if (i == 0 || KIND != 2) begin : g_box
      poseidon_sbox #(.STAGES(STAGES)) box (.clk, .word, .power);
    end else begin : g_none
      assign power = '0;
    end
    if (i == 0 || KIND == 1) begin : g_prompt
      assign late = '0;
    end else begin : g_wait
      logic [63:0] delay [3*STAGES];
      always_ff @(posedge clk) begin
        delay[0] <= word;
        for (int s = 1; s < 3 * STAGES; s++) delay[s] <= delay[s-1];
      end
      assign late = delay[3*STAGES-1];
    end
    assign boxed[i] = i == 0 || KIND == 1 || (KIND == 0 && kind[3*STAGES]) ? power : late;
    assign {half[2*i+1], half[2*i]} = boxed[i];
    assign out_state[64*i +: 64] = out[i];
  end

  // What the registers get. The loops are not unrolled in the simulator, which keeps its code small.
  logic [63:0] next_added [12], next_out [12];
  logic [41:0] next_part [72], next_sum [24];
  logic [64:0] next_folded [12];
  always_comb begin
    /* verilator unroll_disable */
    for (int r = 0; r < 12; r++) begin
      next_added[r] = canonical({1'b0, in_state[64*r +: 64]} + {1'b0, constants[64*r +: 64]});
      next_folded[r] = fold(sum[2*r], sum[2*r+1]);
      next_out[r] = canonical(folded[r]);
      /* verilator unroll_disable */
      for (int h = 0; h < 2; h++) begin
        /* verilator unroll_disable */
        for (int g = 0; g < 3; g++) begin
          next_part[6*r+2*g+h] = '0;
          /* verilator unroll_disable */
          for (int c = 4 * g; c < 4 * g + 4; c++)
            next_part[6*r+2*g+h] = next_part[6*r+2*g+h] + multiple(half[2*c+h], POSEIDON_MATRIX[6*(12*r+c) +: 6]);
        end
        next_sum[2*r+h] = part[6*r+h] + part[6*r+2+h] + part[6*r+4+h];
      end
    end
  end
  always_ff @(posedge clk) begin
    kind <= {kind[3*STAGES-1:0], full};
    for (int i = 0; i < 12; i++) begin
      added[i]  <= next_added[i];
      folded[i] <= next_folded[i];
      out[i]    <= next_out[i];
    end
    for (int i = 0; i < 24; i++) sum[i] <= next_sum[i];
    for (int i = 0; i < 72; i++) part[i] <= next_part[i];
  end
endmodule
