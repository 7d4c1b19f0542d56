// Montgomery's product a b / 2^(64 LIMBS) mod p. Operands and product are below p. One product per cycle, no handshake,
// 12 LIMBS + 1 cycles from operands to product: 49 for 255 bits, 73 for 377.
//
//   2 LIMBS steps of 32 bits, with five stages each (mont_step)
//   2 LIMBS stages, one per digit: carries of the redundant sum, which is below 2 p, and of the sum minus p
//   1 stage: chooses the one of the two that is below p
//
// The default modulus is the 255-bit order of the group of BLS12-381.
module mont_mul #(
  parameter int LIMBS = 4,
  // p, an odd number of at most 64 LIMBS - 1 bits.
  parameter logic [64*LIMBS-1:0] MODULUS = 256'h73eda753_299d7d48_3339d808_09a1d805_53bda402_fffe5bfe_ffffffff_00000001
) (
  input  logic                clk,
  input  logic [64*LIMBS-1:0] a,
  input  logic [64*LIMBS-1:0] b,
  output logic [64*LIMBS-1:0] y
);
  localparam int WIDTH  = 64 * LIMBS;
  localparam int DIGITS = 2 * LIMBS;
  localparam int COLUMN = 32 + $clog2(4 * DIGITS + 2);

  for (genvar i = 0; i < DIGITS; i++) begin : g_step
    logic [WIDTH-1:0]         from_a, from_b, to_a, to_b;
    logic [COLUMN*DIGITS-1:0] from_t, to_t;
    if (i == 0) begin : g_first
      assign from_a = a;
      assign from_b = b;
      assign from_t = '0;
    end else begin : g_next
      assign from_a = g_step[i-1].to_a;
      assign from_b = g_step[i-1].to_b;
      assign from_t = g_step[i-1].to_t;
    end
    mont_step #(.LIMBS(LIMBS), .MODULUS(MODULUS)) step (
      .clk, .a(from_a), .b(from_b), .t(from_t), .a_next(to_a), .b_next(to_b), .t_next(to_t)
    );
  end

  // Stage k has the columns from k + 1, and the digits up to k of the sum and of the sum minus p.
  for (genvar k = 0; k < DIGITS; k++) begin : g_carry
    logic [COLUMN*DIGITS-1:0] from_t, t;
    logic [WIDTH-1:0]         from_sum, from_less, sum, less;
    logic [COLUMN-32:0]       from_carry, carry;
    logic                     from_borrow, borrow;
    if (k == 0) begin : g_first
      assign from_t      = g_step[DIGITS-1].to_t;
      assign from_sum    = '0;
      assign from_less   = '0;
      assign from_carry  = '0;
      assign from_borrow = 0;
    end else begin : g_next
      assign from_t      = g_carry[k-1].t;
      assign from_sum    = g_carry[k-1].sum;
      assign from_less   = g_carry[k-1].less;
      assign from_carry  = g_carry[k-1].carry;
      assign from_borrow = g_carry[k-1].borrow;
    end
    logic [COLUMN:0] column;
    logic [32:0]     digit;
    assign column = {1'b0, from_t[COLUMN-1:0]} + {32'b0, from_carry};
    assign digit  = {1'b0, column[31:0]} - {1'b0, MODULUS[32*k +: 32]} - 33'(from_borrow);
    always_ff @(posedge clk) begin
      t      <= from_t >> COLUMN;
      sum    <= WIDTH'({column[31:0], from_sum} >> 32);
      less   <= WIDTH'({digit[31:0], from_less} >> 32);
      carry  <= column[COLUMN:32];
      borrow <= digit[32];
    end
  end
  always_ff @(posedge clk) y <= g_carry[DIGITS-1].borrow ? g_carry[DIGITS-1].sum : g_carry[DIGITS-1].less;

  // These outputs of the last step and of the last digit are not used.
  logic unused;
  assign unused = &{1'b0, g_step[DIGITS-1].to_a, g_step[DIGITS-1].to_b, g_carry[DIGITS-1].t, g_carry[DIGITS-1].carry};
endmodule
