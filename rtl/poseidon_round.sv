// A round of Poseidon over the Goldilocks field with width 12: constants, S-boxes, and the product with the MDS matrix
// (Grassi et al., Poseidon: A New Hash Function for Zero-Knowledge Proof Systems, 2021, section 2.3). A full round has
// twelve S-boxes. In a partial round only word 0 has an S-box, and the other words are delayed.
//
// Word i of 64 bits is at bit 64 i of a state; all words are below p. One state per cycle, 3 STAGES + 5 cycles from
// in_state to out_state:
//
//   stage 1          + constants mod p              3 STAGES + 3  sums of twelve, below 2^74
//         2 ..       x^7 in 3 STAGES stages                  + 4  2^64 = 2^32 - 1, below 2^65
//   3 STAGES + 2     sums of four multiples                  + 5  - p where p is reached
//
// The entries of the matrix are below 2^6, so a multiple is a sum of shifted words.
module poseidon_round #(
  parameter int STAGES = 6
) (
  input  logic         clk,
  input  logic         full,
  input  logic [767:0] constants,
  input  logic [767:0] in_state,
  output logic [767:0] out_state
);
  `include "poseidon_constants.svh"
  localparam logic [63:0] P   = 64'hFFFF_FFFF_0000_0001;
  localparam logic [63:0] EPS = 64'h0000_0000_FFFF_FFFF;

  // Reduces a sum below 2 p modulo p. A carry is 2^64, which equals EPS modulo p.
  function automatic logic [63:0] canonical(input logic [64:0] s);
    canonical = s[64] ? s[63:0] + EPS : s[63:0] >= P ? s[63:0] - P : s[63:0];
  endfunction

  // k w for a constant k < 2^6.
  function automatic logic [73:0] multiple(input logic [63:0] w, input logic [5:0] k);
    multiple = '0;
    for (int i = 0; i < 6; i++) if (k[i]) multiple = multiple + ({10'b0, w} << i);
  endfunction

  // Adds the high part times 2^32 - 1 to the low 64 bits.
  function automatic logic [64:0] fold(input logic [73:0] s);
    fold = {1'b0, s[63:0]} + {23'b0, s[73:64], 32'b0} - {55'b0, s[73:64]};
  endfunction

  logic [63:0]       added [12], boxed [12];
  logic [73:0]       part  [36], sum [12];
  logic [64:0]       folded [12];
  logic [63:0]       out   [12];
  // Whether the round of a stage's state is full.
  logic [3*STAGES:0] kind;

  for (genvar i = 0; i < 12; i++) begin : g_word
    logic [63:0] word, power;
    assign word = added[i];
    poseidon_sbox #(.STAGES(STAGES)) box (.clk, .word, .power);
    if (i == 0) begin : g_box
      assign boxed[i] = power;
    end else begin : g_wait
      logic [63:0] delay [3*STAGES];
      always_ff @(posedge clk) begin
        delay[0] <= word;
        for (int s = 1; s < 3 * STAGES; s++) delay[s] <= delay[s-1];
      end
      assign boxed[i] = kind[3*STAGES] ? power : delay[3*STAGES-1];
    end
    assign out_state[64*i +: 64] = out[i];
  end

  always_ff @(posedge clk) begin
    kind <= {kind[3*STAGES-1:0], full};
    for (int r = 0; r < 12; r++) begin
      added[r] <= canonical({1'b0, in_state[64*r +: 64]} + {1'b0, constants[64*r +: 64]});
      for (int g = 0; g < 3; g++)
        part[3*r+g] <= multiple(boxed[4*g],   POSEIDON_MATRIX[6*(12*r+4*g)   +: 6])
                     + multiple(boxed[4*g+1], POSEIDON_MATRIX[6*(12*r+4*g+1) +: 6])
                     + multiple(boxed[4*g+2], POSEIDON_MATRIX[6*(12*r+4*g+2) +: 6])
                     + multiple(boxed[4*g+3], POSEIDON_MATRIX[6*(12*r+4*g+3) +: 6]);
      sum[r]    <= part[3*r] + part[3*r+1] + part[3*r+2];
      folded[r] <= fold(sum[r]);
      out[r]    <= canonical(folded[r]);
    end
  end
endmodule
