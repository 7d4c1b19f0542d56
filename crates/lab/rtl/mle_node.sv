// A node of the table of eq over the Goldilocks field: below v, for the coordinate r of its level, are v - v r and v r. One node
// a cycle, STAGES cycles from v to its children: a product of STAGES - 1 stages and a difference of one, or both in the only
// stage, the time unit of the MTU paper's Table 3.
module mle_node #(
  parameter int STAGES = 11
) (
  input  logic        clk,
  input  logic [63:0] v,
  input  logic [63:0] r,
  output logic [63:0] left,
  output logic [63:0] right
);
  localparam logic [63:0] P = 64'hFFFF_FFFF_0000_0001;
  localparam int PRODUCT = STAGES == 1 ? 1 : STAGES - 1;

  logic [63:0] product;
  goldilocks_mul #(.STAGES(PRODUCT)) multiplier (.clk, .a(v), .b(r), .y(product));

  // The node beside its product.
  logic [63:0] node [PRODUCT];
  always_ff @(posedge clk) begin
    node[0] <= v;
    for (int i = 1; i < PRODUCT; i++) node[i] <= node[i-1];
  end
  logic [63:0] difference;
  assign difference = node[PRODUCT-1] - product + (node[PRODUCT-1] < product ? P : 64'd0);

  generate
    if (STAGES == 1) begin : g_unit
      assign left  = difference;
      assign right = product;
    end else begin : g_pipe
      always_ff @(posedge clk) begin
        left  <= difference;
        right <= product;
      end
    end
  endgenerate
endmodule
