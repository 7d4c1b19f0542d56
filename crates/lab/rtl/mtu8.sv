// The MTU with eight processing elements on an inverted tree of products. A front tree of 4 + 2 + 1 multipliers takes
// eight leaves per cycle, and the accumulator, the eighth element, takes its output.
module mtu8 #(
  parameter int LEVELS = 20,
  parameter int DEPTH  = 32,
  parameter int STAGES = 10
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  input  logic        in_valid,
  input  logic [63:0] in0,
  input  logic [63:0] in1,
  input  logic [63:0] in2,
  input  logic [63:0] in3,
  input  logic [63:0] in4,
  input  logic [63:0] in5,
  input  logic [63:0] in6,
  input  logic [63:0] in7,
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  output logic        out_valid,
  output logic [4:0]  out_level,
  output logic [31:0] out_index,
  output logic [63:0] out_data,
  output logic        overflow
);
  localparam int FRONT = 3 * STAGES;

  logic [63:0] pair [4], quad [2], group;
  goldilocks_mul #(.STAGES(STAGES)) pe0 (.clk, .a(in0), .b(in1), .y(pair[0]));
  goldilocks_mul #(.STAGES(STAGES)) pe1 (.clk, .a(in2), .b(in3), .y(pair[1]));
  goldilocks_mul #(.STAGES(STAGES)) pe2 (.clk, .a(in4), .b(in5), .y(pair[2]));
  goldilocks_mul #(.STAGES(STAGES)) pe3 (.clk, .a(in6), .b(in7), .y(pair[3]));
  goldilocks_mul #(.STAGES(STAGES)) pe4 (.clk, .a(pair[0]), .b(pair[1]), .y(quad[0]));
  goldilocks_mul #(.STAGES(STAGES)) pe5 (.clk, .a(pair[2]), .b(pair[3]), .y(quad[1]));
  goldilocks_mul #(.STAGES(STAGES)) pe6 (.clk, .a(quad[0]), .b(quad[1]), .y(group));

  logic [FRONT-1:0] valid;
  always_ff @(posedge clk) valid <= rst ? '0 : {valid[FRONT-2:0], in_valid};

  dfs_accumulator #(.LEVELS(LEVELS), .DEPTH(DEPTH), .STAGES(STAGES), .PHASE(FRONT)) accumulator (
    .clk, .rst, .policy, .in_valid(valid[FRONT-1]), .in_data(group),
    .issue_valid, .issue_level, .issue_index, .out_valid, .out_level, .out_index, .out_data, .overflow
  );
endmodule
