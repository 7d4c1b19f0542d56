// A processing element of the chiplet multiplier without its point adder: bucket memory, and a queue for points whose bucket
// is in the adder. One window of WINDOW bits has 2^(WINDOW - 1) buckets, since digits are signed.
//
//   point, digit --> [ bucket free? ] --> [ bucket memory ] --> adder, outside --+
//                          |   ^                                                 |
//                      [ queue of QUEUE points ]      <--------------------------+ sum
//
// In each cycle the adder takes, if there is one, the point that comes, if its bucket is not in the adder; else the oldest
// point of the queue whose bucket is not in the adder. A bucket whose sum returns is free in the same cycle. A point whose
// bucket is in the adder goes to the queue, or waits outside while the queue is full. This is the timing of the model in
// crates/lab/src/msm with one PE and the policy `queue`.
//
// The operands reach the adder a cycle after the point is issued (the bucket memory is read with a delay), so an adder of N
// stages counts as N + 1 in the model. The adder negates points; it also keeps the bucket's number with the sum.
module msm_pe #(
  parameter int WINDOW = 12,
  parameter int QUEUE  = 16,    // a power of two
  parameter int POINT  = 1508,  // four coordinates of 377 bits
  // The neutral element.
  parameter logic [POINT-1:0] NEUTRAL = '0
) (
  input  logic              clk,
  // Empties all buckets.
  input  logic              rst,
  // Places of the queue: at most QUEUE.
  input  logic [7:0]        places,
  // A point with its digit: -1^negative * magnitude, and magnitude at most 2^(WINDOW - 1). It is taken if in_ready.
  input  logic              in_valid,
  output logic              in_ready,
  input  logic              in_negative,
  input  logic [WINDOW-1:0] in_magnitude,
  input  logic [POINT-1:0]  in_point,
  // The bucket of the point that is issued.
  output logic              issue_valid,
  output logic [WINDOW-2:0] issue_bucket,
  // The operands of the adder, a cycle later.
  output logic              add_valid,
  output logic [WINDOW-2:0] add_bucket,
  output logic              add_negative,
  output logic [POINT-1:0]  add_sum,
  output logic [POINT-1:0]  add_point,
  // The sum that leaves the adder.
  input  logic              sum_valid,
  input  logic [WINDOW-2:0] sum_bucket,
  input  logic [POINT-1:0]  sum_point,
  // High while points wait or are in the adder.
  output logic              busy,
  // A bucket to read while not busy. Its sum is shown in the next cycle.
  input  logic [WINDOW-2:0] read_bucket,
  output logic [POINT-1:0]  read_sum
);
  localparam int BW      = WINDOW - 1;
  localparam int BUCKETS = 1 << BW;
  localparam int QW      = $clog2(QUEUE);
  localparam int CW      = QW + 1;

  // Buckets in the adder, and buckets that have a sum.
  logic [BUCKETS-1:0] in_adder, filled;
  logic [WINDOW:0]    in_flight;

  // The queue, the oldest point at 0. `blocked` says whether the point's bucket is in the adder.
  logic [BW-1:0]    bucket   [QUEUE];
  logic [QUEUE-1:0] negative, blocked;
  logic [POINT-1:0] point    [QUEUE];
  logic [CW-1:0]    count;

  logic [BW-1:0]    in_bucket;
  logic             nonzero, in_free, direct, waits, retires;
  logic [QUEUE-1:0] eligible;
  logic [QW-1:0]    oldest;
  assign in_bucket = BW'(in_magnitude - 1);
  assign nonzero   = in_magnitude != 0;
  assign in_free   = !in_adder[in_bucket] || (sum_valid && sum_bucket == in_bucket);
  assign in_ready  = !nonzero || in_free || 8'(count) < places;
  assign direct    = in_valid && nonzero && in_free;
  assign waits     = in_valid && nonzero && !in_free && 8'(count) < places;
  always_comb begin
    for (int i = 0; i < QUEUE; i++)
      eligible[i] = CW'(i) < count && (!blocked[i] || (sum_valid && sum_bucket == bucket[i]));
    oldest = 0;
    for (int i = QUEUE - 1; i >= 0; i--) if (eligible[i]) oldest = QW'(i);
  end
  assign retires      = !direct && |eligible;
  assign issue_valid  = direct || retires;
  assign issue_bucket = direct ? in_bucket : bucket[oldest];

  // Whether a waiting point's bucket is in the adder after this cycle.
  function automatic logic still(input logic [BW-1:0] b, input logic was);
    still = (was && !(sum_valid && sum_bucket == b)) || (issue_valid && issue_bucket == b);
  endfunction

  // The queue after this cycle: the point that leaves it closes its gap, and the point that comes is the last.
  logic [CW-1:0] left;
  assign left = count - CW'(retires);
  always_ff @(posedge clk) begin
    for (int i = 0; i < QUEUE; i++) begin
      if (waits && CW'(i) == left) begin
        bucket[i]   <= in_bucket;
        negative[i] <= in_negative;
        point[i]    <= in_point;
        blocked[i]  <= 1;
      end else if (retires && QW'(i) >= oldest && i < QUEUE - 1) begin
        bucket[i]   <= bucket[i+1];
        negative[i] <= negative[i+1];
        point[i]    <= point[i+1];
        blocked[i]  <= still(bucket[i+1], blocked[i+1]);
      end else begin
        blocked[i]  <= still(bucket[i], blocked[i]);
      end
    end
    count <= rst ? '0 : left + CW'(waits);
  end

  // The bucket memory: a port to write and one to read. A sum that returns in the cycle in which it is to be read is kept.
  logic [POINT-1:0] sums [BUCKETS];
  logic [POINT-1:0] read, fresh;
  logic             is_fresh, is_filled;
  logic [BW-1:0]    address;
  assign address  = issue_valid ? issue_bucket : read_bucket;
  assign read_sum = is_fresh ? fresh : is_filled ? read : NEUTRAL;
  assign add_sum  = read_sum;
  always_ff @(posedge clk) begin
    if (sum_valid) sums[sum_bucket] <= sum_point;
    read      <= sums[address];
    fresh     <= sum_point;
    is_fresh  <= sum_valid && sum_bucket == address;
    is_filled <= filled[address];

    add_valid    <= !rst && issue_valid;
    add_bucket   <= issue_bucket;
    add_negative <= direct ? in_negative : negative[oldest];
    add_point    <= direct ? in_point : point[oldest];

    if (sum_valid) begin
      in_adder[sum_bucket] <= 0;
      filled[sum_bucket]   <= 1;
    end
    if (issue_valid) in_adder[issue_bucket] <= 1;
    in_flight <= rst ? '0 : in_flight + (WINDOW+1)'(issue_valid) - (WINDOW+1)'(sum_valid);
    if (rst) begin
      in_adder <= '0;
      filled   <= '0;
    end
  end
  assign busy = count != 0 || in_flight != 0;
endmodule
