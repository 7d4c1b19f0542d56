// msm_pe with windows of eight bits and points of 64 bits: an element of any group, for tests of its timing.
module msm_pe_unit (
  input  logic        clk,
  input  logic        rst,
  input  logic [7:0]  places,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic        in_negative,
  input  logic [7:0]  in_magnitude,
  input  logic [63:0] in_point,
  output logic        issue_valid,
  output logic [6:0]  issue_bucket,
  output logic        add_valid,
  output logic [6:0]  add_bucket,
  output logic        add_negative,
  output logic [63:0] add_sum,
  output logic [63:0] add_point,
  input  logic        sum_valid,
  input  logic [6:0]  sum_bucket,
  input  logic [63:0] sum_point,
  output logic        busy,
  input  logic [6:0]  read_bucket,
  output logic [63:0] read_sum
);
  msm_pe #(.WINDOW(8), .POINT(64)) unit (.*);
endmodule
