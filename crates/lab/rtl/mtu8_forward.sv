// The MTU with eight processing elements on a forward tree, the table of eq. The accumulator, the eighth element,
// expands the upper levels, and a front tree of 1 + 2 + 4 elements the lowest three. Eight leaves leave per cycle.
//
// Levels count from the lowest. If `front` is low, `set_level` 0 to LEVELS - 1 are the accumulator's levels. If it is
// high, 0 to 2 are those of the front tree, and level 0 makes the leaves.
module mtu8_forward #(
  parameter int LEVELS = 20,
  parameter int DEPTH  = 32,
  parameter int STAGES = 11
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  input  logic [4:0]  top,
  input  logic        two,
  input  logic [63:0] root,
  input  logic        set,
  input  logic        front,
  input  logic [4:0]  set_level,
  input  logic [63:0] set_data,
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  output logic        leaf_valid,
  output logic [63:0] leaf0,
  output logic [63:0] leaf1,
  output logic [63:0] leaf2,
  output logic [63:0] leaf3,
  output logic [63:0] leaf4,
  output logic [63:0] leaf5,
  output logic [63:0] leaf6,
  output logic [63:0] leaf7,
  output logic        overflow
);
  localparam int FRONT = 3 * STAGES;

  logic        node_valid, out_valid;
  logic [63:0] node_data, out_left, out_right;
  logic [4:0]  out_level;
  logic [31:0] out_index;
  dfs_expander #(.LEVELS(LEVELS), .DEPTH(DEPTH), .STAGES(STAGES)) accumulator (
    .clk, .rst, .policy, .top, .two, .root, .set(set && !front), .set_level, .set_data, .take(1'b1), .node_valid, .node_data,
    .issue_valid, .issue_level, .issue_index, .out_valid, .out_level, .out_index, .out_left, .out_right, .overflow
  );
  // The child outputs are for the accumulator's tests and are not used here.
  logic unused;
  assign unused = &{1'b0, out_valid, out_level, out_index, out_left, out_right};

  logic [63:0] r [3];
  logic [FRONT-1:0] valid;
  always_ff @(posedge clk) begin
    if (set && front) r[set_level[1:0]] <= set_data;
    valid <= rst ? '0 : {valid[FRONT-2:0], node_valid};
  end
  assign leaf_valid = valid[FRONT-1];

  logic [63:0] half [2], quarter [4];
  mle_node #(.STAGES(STAGES)) pe0 (.clk, .v(node_data), .r(r[2]), .left(half[0]), .right(half[1]));
  mle_node #(.STAGES(STAGES)) pe1 (.clk, .v(half[0]), .r(r[1]), .left(quarter[0]), .right(quarter[1]));
  mle_node #(.STAGES(STAGES)) pe2 (.clk, .v(half[1]), .r(r[1]), .left(quarter[2]), .right(quarter[3]));
  mle_node #(.STAGES(STAGES)) pe3 (.clk, .v(quarter[0]), .r(r[0]), .left(leaf0), .right(leaf1));
  mle_node #(.STAGES(STAGES)) pe4 (.clk, .v(quarter[1]), .r(r[0]), .left(leaf2), .right(leaf3));
  mle_node #(.STAGES(STAGES)) pe5 (.clk, .v(quarter[2]), .r(r[0]), .left(leaf4), .right(leaf5));
  mle_node #(.STAGES(STAGES)) pe6 (.clk, .v(quarter[3]), .r(r[0]), .left(leaf6), .right(leaf7));
endmodule
