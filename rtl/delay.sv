// A delay line: y is x of CYCLES cycles before. It has no reset.
module delay #(
  parameter int WIDTH  = 377,
  parameter int CYCLES = 73
) (
  input  logic             clk,
  input  logic [WIDTH-1:0] x,
  output logic [WIDTH-1:0] y
);
  /* verilator no_inline_module */  // one body in the simulator for all instances of a kind
  logic [WIDTH-1:0] line [CYCLES];
  assign y = line[CYCLES-1];
  always_ff @(posedge clk) begin
    line[0] <= x;
    for (int i = 1; i < CYCLES; i++) line[i] <= line[i-1];
  end
endmodule
