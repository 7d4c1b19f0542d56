// keccak_f with 2 rounds per cycle: a state every 12 cycles.
module keccak_f_12 (
  input  logic          clk,
  input  logic          rst,
  input  logic          in_valid,
  output logic          in_ready,
  input  logic [1599:0] in_state,
  output logic          out_valid,
  input  logic          out_ready,
  output logic [1599:0] out_state
);
  keccak_f #(.ROUNDS_PER_CYCLE(2)) unit (.*);
endmodule
