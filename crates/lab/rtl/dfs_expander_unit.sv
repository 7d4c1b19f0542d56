// The accumulator of the MTU paper's Table 3, with nodes of one cycle.
module dfs_expander_unit (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  input  logic [4:0]  top,
  input  logic        two,
  input  logic [63:0] root,
  input  logic        set,
  input  logic [4:0]  set_level,
  input  logic [63:0] set_data,
  input  logic        take,
  output logic        node_valid,
  output logic [63:0] node_data,
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  output logic        out_valid,
  output logic [4:0]  out_level,
  output logic [31:0] out_index,
  output logic [63:0] out_left,
  output logic [63:0] out_right,
  output logic        overflow
);
  dfs_expander #(.STAGES(1)) unit (.*);
endmodule
