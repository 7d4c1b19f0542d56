// The accumulator of the MTU paper's Table 2, with products of one cycle.
module dfs_accumulator_unit (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  input  logic        in_valid,
  input  logic [63:0] in_data,
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  output logic        out_valid,
  output logic [4:0]  out_level,
  output logic [31:0] out_index,
  output logic [63:0] out_data,
  output logic        overflow
);
  dfs_accumulator #(.STAGES(1)) unit (.*);
endmodule
