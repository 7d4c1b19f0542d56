// a + b mod p, or a - b mod p with SUBTRACT. Operands and result are below p. One result per cycle, no handshake,
// LIMBS + 1 cycles from operands to result: seven for 377 bits.
//
//   LIMBS stages, one per digit of 64 bits: carries of the sum and of the sum minus p (of the difference plus p)
//   1 stage: chooses the one of the two that is below p
module mod_add #(
  parameter int LIMBS    = 6,
  parameter bit SUBTRACT = 0,
  // p, a number of at most 64 LIMBS - 1 bits. The default is the base field's prime of BLS12-377.
  parameter logic [64*LIMBS-1:0] MODULUS =
    384'h01ae3a46_17c510ea_c63b05c0_6ca1493b_1a22d9f3_00f5138f_1ef3622f_ba094800_170b5d44_30000000_8508c000_00000001
) (
  input  logic                clk,
  input  logic [64*LIMBS-1:0] a,
  input  logic [64*LIMBS-1:0] b,
  output logic [64*LIMBS-1:0] y
);
  /* verilator no_inline_module */  // one body in the simulator for all instances of a kind
  localparam int WIDTH = 64 * LIMBS;

  // Stage k has the digits of a and b from k + 1, and the digits up to k of the sum and of the sum minus p. A carry of a
  // subtraction is 1 if nothing is borrowed.
  for (genvar k = 0; k < LIMBS; k++) begin : g_digit
    logic [WIDTH-1:0] from_a, from_b, from_sum, from_other, to_a, to_b, sum, other;
    logic             from_carry, from_over, carry, over;
    if (k == 0) begin : g_first
      assign from_a     = a;
      assign from_b     = b;
      assign from_sum   = '0;
      assign from_other = '0;
      assign from_carry = SUBTRACT;
      assign from_over  = !SUBTRACT;
    end else begin : g_next
      assign from_a     = g_digit[k-1].to_a;
      assign from_b     = g_digit[k-1].to_b;
      assign from_sum   = g_digit[k-1].sum;
      assign from_other = g_digit[k-1].other;
      assign from_carry = g_digit[k-1].carry;
      assign from_over  = g_digit[k-1].over;
    end
    logic [64:0] digit, second;
    assign digit  = {1'b0, from_a[63:0]} + {1'b0, SUBTRACT ? ~from_b[63:0] : from_b[63:0]} + 65'(from_carry);
    assign second = {1'b0, digit[63:0]} + {1'b0, SUBTRACT ? MODULUS[64*k +: 64] : ~MODULUS[64*k +: 64]} + 65'(from_over);
    always_ff @(posedge clk) begin
      to_a  <= from_a >> 64;
      to_b  <= from_b >> 64;
      sum   <= WIDTH'({digit[63:0], from_sum} >> 64);
      other <= WIDTH'({second[63:0], from_other} >> 64);
      carry <= digit[64];
      over  <= second[64];
    end
  end
  always_ff @(posedge clk)
    y <= (SUBTRACT ? g_digit[LIMBS-1].carry : !g_digit[LIMBS-1].over) ? g_digit[LIMBS-1].sum : g_digit[LIMBS-1].other;

  // These outputs of the last digit are not used.
  logic unused;
  assign unused = &{1'b0, g_digit[LIMBS-1].to_a, g_digit[LIMBS-1].to_b, g_digit[LIMBS-1].carry, g_digit[LIMBS-1].over};
endmodule
