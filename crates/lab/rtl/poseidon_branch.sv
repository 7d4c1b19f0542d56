// The branch hasher of the article "Poseidon Merkle Trees in Hardware" (Fig. 3): one pipelined permutation for all levels of
// a Merkle tree above a stream of digests, of which at most one arrives per cycle. The permutation is outside this module.
//
//   stream --> [merge | queue of pairs] --+
//              [merge | two pairs     ] --+--> priority encoder --> permutation --+--> digests with level and number
//              ...                        |    (nearest the root)                 |
//              [merge | two pairs     ] --+      <--------------------------------+
//
// A merge keeps the first digest of a pair until the second comes. The priority encoder takes the level nearest the root,
// so two pairs are enough for each level above the stream. A digest of the stream can be hashed in the cycle of its
// arrival, and a result in the cycle after it leaves. This is the timing of `Accumulator` in crates/lab/src/accumulator.rs
// with the policy `Deepest`.
//
// Back-pressure: a digest enters in a cycle with in_valid and in_ready. in_ready is low while `places` digests wait in the
// stream's queue. A pair that enters the permutation frees two places for the next cycle. A source that has digests under
// way counts these pairs itself: issue_valid is high and issue_level is 0.
//
// Digests of level `top` leave and are not hashed. They are the cap, or the root. Trees follow each other without a pause;
// numbers go on from tree to tree.
module poseidon_branch #(
  parameter int LEVELS     = 24,
  parameter int LOG_PLACES = 10
) (
  input  logic                  clk,
  input  logic                  rst,
  // The levels that are hashed are 0 to top - 1; 1 to LEVELS.
  input  logic [4:0]            top,
  // Places of the stream's queue: 2 to 2^LOG_PLACES, even.
  input  logic [LOG_PLACES:0]   places,
  input  logic                  in_valid,
  output logic                  in_ready,
  input  logic [255:0]          in_digest,
  // The pair that enters the permutation, left digest in the low bits: its level, and the number of its left digest.
  output logic                  issue_valid,
  output logic [4:0]            issue_level,
  output logic [31:0]           issue_index,
  output logic [511:0]          issue_pair,
  // The digest that leaves the permutation, with its level, which is one above that of its pair. Its number is an output.
  input  logic                  out_valid,
  input  logic [4:0]            out_level,
  input  logic [255:0]          out_digest,
  output logic [31:0]           out_index,
  // Stays high once a queue was too short.
  output logic                  overflow
);
  // The stream: a merge, and a queue.
  logic                  arrives, has_first, meets, queued;
  logic [255:0]          first;
  logic [511:0]          oldest;
  logic [LOG_PLACES-1:0] pairs_waiting;
  logic                  take_queued, keep;
  assign in_ready = {pairs_waiting, has_first} < places;
  assign arrives  = in_valid && in_ready;
  assign meets    = arrives && has_first;
  fifo #(.WIDTH(512), .LOG_DEPTH(LOG_PLACES - 1)) stream (
    .clk, .rst, .push(keep), .in({in_digest, first}), .pop(take_queued), .valid(queued), .out(oldest),
    .count(pairs_waiting)
  );

  // The levels above: a merge and two pairs each, in memories with one port to write and one to read.
  logic [255:0]      half  [LEVELS];
  logic [511:0]      pairs [2*LEVELS];
  logic [LEVELS-1:0] has_half, head, tail;
  logic [1:0]        count [LEVELS];

  // The priority encoder.
  logic [LEVELS-1:0] ready;
  logic [4:0]        pick;
  always_comb begin
    ready[0] = queued || meets;
    for (int l = 1; l < LEVELS; l++) ready[l] = count[l] != 0;
    pick = 0;
    for (int l = 1; l < LEVELS; l++) if (ready[l]) pick = 5'(l);
  end
  logic from_stream;
  assign from_stream = issue_valid && pick == 0;
  assign take_queued = from_stream && queued;
  assign keep        = meets && !(from_stream && !queued);
  assign issue_valid = |ready;
  assign issue_level = pick;
  assign issue_pair = pick != 0 ? pairs[{pick, head[pick]}] : queued ? oldest : {in_digest, first};

  // The numbers of the next pair and of the next result of each level. Memories have no reset, so a bit says whether the
  // level has one.
  logic [31:0]     next_issue [LEVELS], next_out [LEVELS+1];
  logic [LEVELS-1:0] has_issue;
  logic [LEVELS:0]   has_out;
  assign issue_index = has_issue[pick] ? next_issue[pick] : '0;
  assign out_index   = has_out[out_level] ? next_out[out_level] : '0;

  // A result that is not at the top goes to its level's merge, or makes a pair with the digest there.
  logic              back, completes;
  logic [LEVELS-1:0] push, pop;
  assign back      = out_valid && out_level != top;
  assign completes = back && has_half[out_level];
  always_comb
    for (int l = 0; l < LEVELS; l++) begin
      push[l] = completes && out_level == 5'(l);
      pop[l]  = issue_valid && pick == 5'(l) && l != 0;
    end

  always_ff @(posedge clk) begin
    if (arrives) has_first <= !has_first;
    if (arrives && !has_first) first <= in_digest;
    if (back && !completes) half[out_level] <= out_digest;
    if (completes) pairs[{out_level, tail[out_level]}] <= {out_digest, half[out_level]};
    if (issue_valid) next_issue[pick] <= issue_index + 2;
    if (out_valid) next_out[out_level] <= out_index + 1;
    for (int l = 0; l < LEVELS; l++) begin
      if (back && out_level == 5'(l)) has_half[l] <= !has_half[l];
      if (push[l]) tail[l] <= !tail[l];
      if (pop[l]) head[l] <= !head[l];
      count[l] <= count[l] + 2'(push[l]) - 2'(pop[l]);
      if (issue_valid && pick == 5'(l)) has_issue[l] <= 1;
      if (count[l] == 2 && push[l] && !pop[l]) overflow <= 1;
    end
    if (out_valid) has_out[out_level] <= 1;
    if (rst) begin
      has_first <= 0;
      has_half  <= '0;
      has_issue <= '0;
      has_out   <= '0;
      head      <= '0;
      tail      <= '0;
      overflow  <= 0;
      for (int l = 0; l < LEVELS; l++) count[l] <= 0;
    end
  end
endmodule
