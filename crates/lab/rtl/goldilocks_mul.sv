// Product in the Goldilocks field, p = 2^64 - 2^32 + 1. Operands and product are below p; one product a cycle, STAGES cycles
// from operands to product.
//
//   stage 1  four products of 32 bits          4  low 64 bits - highest 32 bits      (2^96 = -1)
//         2  the two middle products, summed   5  + next 32 bits * (2^32 - 1)        (2^64 = 2^32 - 1)
//         3  128 bits                          6  - p where p is reached
//
// Stages beyond six are registers behind the product, for a synthesis tool to move. STAGES = 1 is the same arithmetic before
// one register: the time unit of the MTU paper's Tables 2 and 3.
module goldilocks_mul #(
  parameter int STAGES = 10
) (
  input  logic        clk,
  input  logic [63:0] a,
  input  logic [63:0] b,
  output logic [63:0] y
);
  localparam logic [63:0] P   = 64'hFFFF_FFFF_0000_0001;
  localparam logic [63:0] EPS = 64'h0000_0000_FFFF_FFFF;

  // x - z mod p for z < 2^32: a borrow took 2^64 too much, which is EPS.
  function automatic logic [63:0] minus(input logic [63:0] x, input logic [31:0] z);
    logic [64:0] t;
    t = {1'b0, x} - {33'b0, z};
    minus = t[64] ? t[63:0] - EPS : t[63:0];
  endfunction

  // x + z (2^32 - 1) mod p: a carry lost 2^64, which is EPS.
  function automatic logic [63:0] plus_eps(input logic [63:0] x, input logic [31:0] z);
    logic [64:0] t;
    t = {1'b0, x} + {1'b0, {z, 32'b0} - {32'b0, z}};
    plus_eps = t[64] ? t[63:0] + EPS : t[63:0];
  endfunction

  function automatic logic [63:0] canonical(input logic [63:0] x);
    canonical = (x >= P) ? x - P : x;
  endfunction

  generate
    if (STAGES == 1) begin : g_unit
      logic [127:0] x;
      assign x = {64'b0, a} * {64'b0, b};
      always_ff @(posedge clk) y <= canonical(plus_eps(minus(x[63:0], x[127:96]), x[95:64]));
    end else if (STAGES >= 6) begin : g_pipe
      logic [63:0] ll1, lh1, hl1, hh1, ll2, hh2, x4, x5;
      logic [64:0] mid2;
      logic [127:0] x3;
      logic [31:0] next4;
      logic [63:0] product [STAGES-5];
      always_ff @(posedge clk) begin
        ll1 <= {32'b0, a[31:0]} * {32'b0, b[31:0]};
        lh1 <= {32'b0, a[31:0]} * {32'b0, b[63:32]};
        hl1 <= {32'b0, a[63:32]} * {32'b0, b[31:0]};
        hh1 <= {32'b0, a[63:32]} * {32'b0, b[63:32]};
        ll2  <= ll1;
        mid2 <= {1'b0, lh1} + {1'b0, hl1};
        hh2  <= hh1;
        x3 <= {hh2, ll2} + {31'b0, mid2, 32'b0};
        x4    <= minus(x3[63:0], x3[127:96]);
        next4 <= x3[95:64];
        x5 <= plus_eps(x4, next4);
        product[0] <= canonical(x5);
        for (int i = 1; i < STAGES - 5; i++) product[i] <= product[i-1];
      end
      assign y = product[STAGES-6];
    end else begin : g_refused
      $error("goldilocks_mul: STAGES must be 1 or at least 6");
    end
  endgenerate
endmodule
