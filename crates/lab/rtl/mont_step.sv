// A step of Montgomery's multiplication: t' = (t + d b + m p) / 2^32, for a digit d of 32 bits and the m that makes the
// sum a multiple of 2^32 (Montgomery, Modular Multiplication Without Trial Division, 1985). The order of digits is
// "coarsely integrated operand scanning" (Koc, Acar, Kaliski, Analyzing and Comparing Montgomery Multiplication
// Algorithms, 1996, section 5).
//
// t is redundant, so that no carry crosses a column: it has 2 LIMBS columns of COLUMN bits, and column j has the weight
// 2^(32 j). In each step, four halves of 64-bit products are added to a column. In total a column gets at most 8 LIMBS
// halves and a carry.
//
//   stage 1  d times the digits of b     4  m times the digits of p
//         2  halves into the columns     5  halves into the columns, which move down by one
//         3  m from column 0
//
// One step per cycle, five cycles from (a, b, t) to (a_next, b_next, t_next). The digit is the lowest one of a, and
// a_next is a without this digit.
module mont_step #(
  parameter int LIMBS = 4,
  // p, an odd number of at most 64 LIMBS - 1 bits.
  parameter logic [64*LIMBS-1:0] MODULUS = 256'h73eda753_299d7d48_3339d808_09a1d805_53bda402_fffe5bfe_ffffffff_00000001,
  localparam int DIGITS = 2 * LIMBS,
  localparam int COLUMN = 32 + $clog2(4 * DIGITS + 2)
) (
  input  logic                     clk,
  input  logic [64*LIMBS-1:0]      a,
  input  logic [64*LIMBS-1:0]      b,
  input  logic [COLUMN*DIGITS-1:0] t,
  output logic [64*LIMBS-1:0]      a_next,
  output logic [64*LIMBS-1:0]      b_next,
  output logic [COLUMN*DIGITS-1:0] t_next
);
  // -1/p modulo 2^32 by Newton's iteration. Each step doubles the number of correct bits.
  function automatic logic [31:0] negative_inverse(input logic [31:0] p);
    logic [31:0] x;
    x = 1;
    for (int i = 0; i < 5; i++) x = x * (32'd2 - p * x);
    negative_inverse = -x;
  endfunction
  localparam logic [31:0] INVERSE = negative_inverse(MODULUS[31:0]);

  logic [63:0]       d1 [DIGITS], m4 [DIGITS];
  logic [COLUMN-1:0] t1 [DIGITS], t2 [DIGITS+1], t3 [DIGITS+1], t4 [DIGITS+1], t5 [DIGITS], sum5 [DIGITS+1];
  logic [31:0]       m3;
  logic [64*LIMBS-1:0] a1, a2, a3, a4, b1, b2, b3, b4;

  // Adds the low half of product j and the high half of product j - 1 to column j.
  always_comb begin
    sum5[0] = t4[0] + COLUMN'(m4[0][31:0]);
    for (int j = 1; j < DIGITS; j++) sum5[j] = t4[j] + COLUMN'(m4[j][31:0]) + COLUMN'(m4[j-1][63:32]);
    sum5[DIGITS] = t4[DIGITS] + COLUMN'(m4[DIGITS-1][63:32]);
  end

  always_ff @(posedge clk) begin
    for (int j = 0; j < DIGITS; j++) begin
      d1[j] <= {32'b0, a[31:0]} * {32'b0, b[32*j +: 32]};
      t1[j] <= t[COLUMN*j +: COLUMN];
      m4[j] <= {32'b0, m3} * {32'b0, MODULUS[32*j +: 32]};
    end
    t2[0] <= t1[0] + COLUMN'(d1[0][31:0]);
    for (int j = 1; j < DIGITS; j++) t2[j] <= t1[j] + COLUMN'(d1[j][31:0]) + COLUMN'(d1[j-1][63:32]);
    t2[DIGITS] <= COLUMN'(d1[DIGITS-1][63:32]);
    m3 <= t2[0][31:0] * INVERSE;
    for (int j = 0; j <= DIGITS; j++) begin
      t3[j] <= t2[j];
      t4[j] <= t3[j];
    end
    // The low 32 bits of column 0 are zero; its other bits are a carry.
    t5[0] <= sum5[1] + (sum5[0] >> 32);
    for (int j = 1; j < DIGITS; j++) t5[j] <= sum5[j+1];
    a1 <= a >> 32;
    a2 <= a1;
    a3 <= a2;
    a4 <= a3;
    a_next <= a4;
    b1 <= b;
    b2 <= b1;
    b3 <= b2;
    b4 <= b3;
    b_next <= b4;
  end
  for (genvar j = 0; j < DIGITS; j++) begin : g_column
    assign t_next[COLUMN*j +: COLUMN] = t5[j];
  end
endmodule
