// keccak_f with 1 round a cycle: a state each 24 cycles.
module keccak_f_24 (
  input  logic          clk,
  input  logic          rst,
  input  logic          in_valid,
  output logic          in_ready,
  input  logic [1599:0] in_state,
  output logic          out_valid,
  input  logic          out_ready,
  output logic [1599:0] out_state
);
  keccak_f #(.ROUNDS_PER_CYCLE(1)) unit (.*);
endmodule
