// The point adder of the chiplet multiplier over BLS12-377: a full one, with nine products (section III-A of the paper).
// The curve has the twisted Edwards form -x^2 + y^2 = 1 + d x^2 y^2, and a point is (X : Y : Z : T) with x = X / Z,
// y = Y / Z and T = X Y / Z (Hisil, Wong, Carter, Dawson, Twisted Edwards Curves Revisited, 2008, section 3.1):
//
//   A = (Y1 - X1)(Y2 - X2)   C = 2 d T1 T2   E = B - A   G = D + C   X3 = E F   T3 = E H
//   B = (Y1 + X1)(Y2 + X2)   D = 2 Z1 Z2     F = D - C   H = B + A   Y3 = G H   Z3 = F G
//
// Points of odd order, such as those of the group of BLS12-377, have no exceptions: operands may be equal, opposite or
// neutral. `negative` adds the inverse (-X2 : Y2 : Z2 : -T2) of the second point, which exchanges Y2 - X2 with Y2 + X2 and
// F with G.
//
//   cycle   0            7            73           80            146           153           226
//           Y - X, Y + X | A, B                    | E, H, delay               | X3, Y3, Z3, T3
//           Z1 + Z1      | D                       | delay       | F, G        |
//           T1 2d                     | C                        |             |
//
// Coordinates are in Montgomery form, below p. X is at bit 0 of a point, then Y, Z and T, with 377 bits each. One sum per
// cycle, 226 cycles from operands to sum. Nothing stops the pipeline. A tag of TAG bits passes along.
module padd_377 #(
  parameter int TAG = 11
) (
  input  logic           clk,
  input  logic           rst,
  input  logic           in_valid,
  input  logic [TAG-1:0] in_tag,
  input  logic           in_negative,
  input  logic [1507:0]   in_sum,
  input  logic [1507:0]   in_point,
  output logic           out_valid,
  output logic [TAG-1:0]  out_tag,
  output logic [1507:0]   out_sum
);
  localparam int BITS   = 377;
  localparam int MUL    = 73;
  localparam int ADD    = 7;
  localparam int STAGES = 3 * MUL + ADD;
  // 2 d in Montgomery form.
  localparam logic [383:0] TWICE_D =
    384'h01784602_fbff628a_8bf6c1dd_0d95a93e_5597097d_c5f2bb26_0f4d7cf2_7ef38fa5_eae02375_80faa8fa_f24b7e84_44a706c6;

  logic [383:0] x1, y1, z1, t1, x2, y2, z2, t2;
  assign {t1, z1, y1, x1} = {7'b0, in_sum[3*BITS +: BITS], 7'b0, in_sum[2*BITS +: BITS],
                             7'b0, in_sum[BITS +: BITS], 7'b0, in_sum[0 +: BITS]};
  assign {t2, z2, y2, x2} = {7'b0, in_point[3*BITS +: BITS], 7'b0, in_point[2*BITS +: BITS],
                             7'b0, in_point[BITS +: BITS], 7'b0, in_point[0 +: BITS]};

  // Whether the second point is negated, for the factors of A and B, and for F and G.
  logic negative_ab, negative_fg;
  delay #(.WIDTH(1), .CYCLES(ADD)) for_ab (.clk, .x(in_negative), .y(negative_ab));
  delay #(.WIDTH(1), .CYCLES(2 * MUL)) for_fg (.clk, .x(negative_ab), .y(negative_fg));

  logic [383:0] less1, more1, less2, more2, twice_z1, z2_late;
  mod_add #(.SUBTRACT(1)) sub1 (.clk, .a(y1), .b(x1), .y(less1));
  mod_add #(.SUBTRACT(0)) add1 (.clk, .a(y1), .b(x1), .y(more1));
  mod_add #(.SUBTRACT(1)) sub2 (.clk, .a(y2), .b(x2), .y(less2));
  mod_add #(.SUBTRACT(0)) add2 (.clk, .a(y2), .b(x2), .y(more2));
  mod_add #(.SUBTRACT(0)) twice (.clk, .a(z1), .b(z1), .y(twice_z1));
  delay #(.WIDTH(384), .CYCLES(ADD)) for_z2 (.clk, .x(z2), .y(z2_late));

  logic [383:0] a, b, c, d, d_late, kt1, t2_late;
  mont_mul_377 mul_a (.clk, .a(less1), .b(negative_ab ? more2 : less2), .y(a));
  mont_mul_377 mul_b (.clk, .a(more1), .b(negative_ab ? less2 : more2), .y(b));
  mont_mul_377 mul_d (.clk, .a(twice_z1), .b(z2_late), .y(d));
  mont_mul_377 mul_k (.clk, .a(t1), .b(TWICE_D), .y(kt1));
  delay #(.WIDTH(384), .CYCLES(MUL)) for_t2 (.clk, .x(t2), .y(t2_late));
  mont_mul_377 mul_c (.clk, .a(kt1), .b(t2_late), .y(c));
  delay #(.WIDTH(384), .CYCLES(MUL - ADD)) for_d (.clk, .x(d), .y(d_late));

  logic [383:0] e, f, g, h, e_late, h_late, difference, total;
  mod_add #(.SUBTRACT(1)) sub_e (.clk, .a(b), .b(a), .y(e));
  mod_add #(.SUBTRACT(0)) add_h (.clk, .a(b), .b(a), .y(h));
  delay #(.WIDTH(384), .CYCLES(MUL - ADD)) for_e (.clk, .x(e), .y(e_late));
  delay #(.WIDTH(384), .CYCLES(MUL - ADD)) for_h (.clk, .x(h), .y(h_late));
  mod_add #(.SUBTRACT(1)) sub_f (.clk, .a(d_late), .b(c), .y(difference));
  mod_add #(.SUBTRACT(0)) add_g (.clk, .a(d_late), .b(c), .y(total));
  assign f = negative_fg ? total : difference;
  assign g = negative_fg ? difference : total;

  logic [383:0] x3, y3, z3, t3;
  mont_mul_377 mul_x (.clk, .a(e_late), .b(f), .y(x3));
  mont_mul_377 mul_y (.clk, .a(g), .b(h_late), .y(y3));
  mont_mul_377 mul_z (.clk, .a(f), .b(g), .y(z3));
  mont_mul_377 mul_t (.clk, .a(e_late), .b(h_late), .y(t3));
  assign out_sum = {t3[BITS-1:0], z3[BITS-1:0], y3[BITS-1:0], x3[BITS-1:0]};

  delay #(.WIDTH(TAG), .CYCLES(STAGES)) for_tag (.clk, .x(in_tag), .y(out_tag));
  logic [STAGES-1:0] valid;
  assign out_valid = valid[STAGES-1];
  always_ff @(posedge clk) valid <= rst ? '0 : {valid[STAGES-2:0], in_valid};

  // Products are below p, which has 377 bits.
  logic unused;
  assign unused = &{1'b0, x3[383:BITS], y3[383:BITS], z3[383:BITS], t3[383:BITS]};
endmodule
