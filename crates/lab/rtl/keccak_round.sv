// A round of Keccak-f[1600], without a register: theta, rho, pi, chi and iota of FIPS 202, section 3.2.
//
// The word A[x, y] of 64 bits is at 64 (x + 5 y) of the state, its bit z at z.
module keccak_round (
  input  logic [1599:0] a,
  // The constant of the round, for A[0, 0].
  input  logic [63:0]   constant,
  output logic [1599:0] y
);
  /* verilator no_inline_module */  // one body in the simulator for all instances
  // Rotations of rho, for the words in the order of the state: FIPS 202, table 2, modulo 64.
  localparam logic [149:0] RHO = {
    6'd14, 6'd56, 6'd61, 6'd2,  6'd18,
    6'd8,  6'd21, 6'd15, 6'd45, 6'd41,
    6'd39, 6'd25, 6'd43, 6'd10, 6'd3,
    6'd20, 6'd55, 6'd6,  6'd44, 6'd36,
    6'd27, 6'd28, 6'd62, 6'd1,  6'd0
  };

  logic [319:0]  parity;
  logic [1599:0] b, c;
  for (genvar x = 0; x < 5; x++) begin : g_column
    assign parity[64*x +: 64] =
      a[64*x +: 64] ^ a[64*(x+5) +: 64] ^ a[64*(x+10) +: 64] ^ a[64*(x+15) +: 64] ^ a[64*(x+20) +: 64];
  end
  for (genvar i = 0; i < 25; i++) begin : g_word
    localparam int X = i % 5, Y = i / 5, R = 32'(RHO[6*i +: 6]);
    localparam int LEFT = (X + 4) % 5, RIGHT = (X + 1) % 5;
    // Pi: A[x, y] goes to [y, 2x + 3y].
    localparam int TO = Y + 5 * ((2 * X + 3 * Y) % 5);
    logic [63:0] t;
    assign t = a[64*i +: 64] ^ parity[64*LEFT +: 64] ^ {parity[64*RIGHT +: 63], parity[64*RIGHT+63]};
    assign b[64*TO +: 64] = (t << R) | (t >> (64 - R));
    assign c[64*i +: 64] = b[64*i +: 64] ^ (~b[64*(5*Y+(X+1)%5) +: 64] & b[64*(5*Y+(X+2)%5) +: 64]);
  end
  assign y = {c[1599:64], c[63:0] ^ constant};
endmodule
