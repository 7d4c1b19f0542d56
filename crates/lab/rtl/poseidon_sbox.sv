// The S-box word^7 over the Goldilocks field, with four products. One word per cycle, 3 STAGES cycles from word to
// power. Both are below p.
module poseidon_sbox #(
  parameter int STAGES = 6
) (
  input  logic        clk,
  input  logic [63:0] word,
  output logic [63:0] power
);
  /* verilator no_inline_module */  // one body in the simulator for all instances
  logic [63:0] x2, x3, x4;
  // Delays the word until its square is ready.
  logic [63:0] held [STAGES];
  always_ff @(posedge clk) begin
    held[0] <= word;
    for (int i = 1; i < STAGES; i++) held[i] <= held[i-1];
  end
  goldilocks_mul #(.STAGES(STAGES)) square (.clk, .a(word), .b(word), .y(x2));
  goldilocks_mul #(.STAGES(STAGES)) cube (.clk, .a(x2), .b(held[STAGES-1]), .y(x3));
  goldilocks_mul #(.STAGES(STAGES)) fourth (.clk, .a(x2), .b(x2), .y(x4));
  goldilocks_mul #(.STAGES(STAGES)) seventh (.clk, .a(x3), .b(x4), .y(power));
endmodule
