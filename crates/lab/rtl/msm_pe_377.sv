// A processing element of the chiplet multiplier over BLS12-377: bucket memory and conflict queue (msm_pe) with the point
// adder (padd_377). From the issue of a point to the cycle in which its bucket is free again are 227 cycles: one to read
// the bucket, and the adder's 226.
//
// Points and sums are (X : Y : Z : T) as padd_377 says. The neutral element is (0 : 1 : 1 : 0).
module msm_pe_377 #(
  parameter int WINDOW = 12,
  parameter int QUEUE  = 16
) (
  input  logic              clk,
  // Empties all buckets and the adder.
  input  logic              rst,
  input  logic [7:0]        places,
  input  logic              in_valid,
  output logic              in_ready,
  input  logic              in_negative,
  input  logic [WINDOW-1:0] in_magnitude,
  input  logic [1507:0]     in_point,
  // The bucket of the point that is issued.
  output logic              issue_valid,
  output logic [WINDOW-2:0] issue_bucket,
  // High while points wait or are in the adder.
  output logic              busy,
  // A bucket to read while not busy. Its sum is shown in the next cycle.
  input  logic [WINDOW-2:0] read_bucket,
  output logic [1507:0]     read_sum
);
  // 1 in Montgomery form: 2^384 mod p.
  localparam logic [376:0] ONE =
    377'h008d6661_e2fdf49a_4cf495bf_803c84e8_7b4e97b7_6e7c6305_9f7db3a9_8a7d3ff2_51409f83_7fffffb1_02cdffff_ffffff68;

  logic              add_valid, add_negative, sum_valid;
  logic [WINDOW-2:0] add_bucket, sum_bucket;
  logic [1507:0]     add_sum, add_point, sum_point;
  msm_pe #(.WINDOW(WINDOW), .QUEUE(QUEUE), .POINT(1508), .NEUTRAL({377'b0, ONE, ONE, 377'b0})) buckets (.*);
  padd_377 #(.TAG(WINDOW - 1)) adder (
    .clk, .rst, .in_valid(add_valid), .in_tag(add_bucket), .in_negative(add_negative), .in_sum(add_sum),
    .in_point(add_point), .out_valid(sum_valid), .out_tag(sum_bucket), .out_sum(sum_point)
  );
endmodule
