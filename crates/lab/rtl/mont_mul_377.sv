// mont_mul for the base field of BLS12-377, whose prime has 377 bits: six limbs, 73 cycles.
module mont_mul_377 (
  input  logic         clk,
  input  logic [383:0] a,
  input  logic [383:0] b,
  output logic [383:0] y
);
  /* verilator no_inline_module */  // one body in the simulator for all instances
  mont_mul #(
    .LIMBS(6),
    .MODULUS(384'h01ae3a46_17c510ea_c63b05c0_6ca1493b_1a22d9f3_00f5138f_1ef3622f_ba094800_170b5d44_30000000_8508c000_00000001)
  ) unit (.*);
endmodule
