// The MTU's DFS accumulator for an inverted tree of products: one processing element for all levels of a tree above a
// stream of nodes. At most one node of the stream arrives per cycle.
//
// Each level has a queue of DEPTH nodes. In each cycle the policy picks a level with two nodes, which enter the
// multiplier. A node of the stream can be used in the cycle of its arrival, and a product in the cycle after it leaves.
// The queue of the stream has a memory of its own, and the others share one. Each has a bank for left nodes and one for
// right nodes, with a port to write and one to read.
//
// Cycle c, counted from the end of the reset, belongs to level ctz(c - PHASE), as the ruler of the MTU paper's Table 2
// says. The policies are those of `Policy` in crates/lab/src/accumulator.rs.
module dfs_accumulator #(
  parameter int LEVELS = 20,
  parameter int DEPTH  = 32,
  parameter int STAGES = 10,
  parameter int PHASE  = 0
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  input  logic        in_valid,
  input  logic [63:0] in_data,
  // The pair that enters: its level above the stream's, and the number of its left node.
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  // The node that leaves.
  output logic        out_valid,
  output logic [4:0]  out_level,
  output logic [31:0] out_index,
  output logic [63:0] out_data,
  // Stays high once a queue was too short.
  output logic        overflow
);
  localparam logic [2:0] RULER = 0, RULER_STEAL = 1, STREAM_FIRST = 2, DEEPEST = 3, SHALLOWEST = 4;  // 5: in order
  localparam int AW = $clog2(DEPTH);
  localparam int LW = $clog2(LEVELS);

  logic [63:0]       stream_lefts [DEPTH/2], stream_rights [DEPTH/2];
  logic [63:0]       lefts [1 << (LW+AW-1)], rights [1 << (LW+AW-1)];
  logic [AW-1:0]     head  [LEVELS];
  logic [AW-1:0]     tail  [LEVELS];
  logic [AW:0]       count [LEVELS];
  logic [31:0]       next  [LEVELS];
  logic [31:0]       slot;
  logic [4:0]        in_order;
  logic [LEVELS-1:0] ready;

  // The policy's choice.
  logic       owner_valid, pick_valid;
  logic [4:0] owner, deepest, shallowest, pick;
  always_comb begin
    for (int l = 0; l < LEVELS; l++) ready[l] = count[l] >= 2;
    ready[0] = count[0] + (AW+1)'(in_valid) >= 2;
    owner_valid = 0;
    owner = 0;
    for (int l = LEVELS - 1; l >= 0; l--) if (slot[l]) begin
      owner = 5'(l);
      owner_valid = 1;
    end
    deepest = 0;
    for (int l = 0; l < LEVELS; l++) if (ready[l]) deepest = 5'(l);
    shallowest = 0;
    for (int l = LEVELS - 1; l >= 0; l--) if (ready[l]) shallowest = 5'(l);
    owner_valid = owner_valid && ready[owner];
    case (policy)
      RULER:        {pick_valid, pick} = {owner_valid, owner};
      RULER_STEAL:  {pick_valid, pick} = {|ready, owner_valid ? owner : deepest};
      STREAM_FIRST: {pick_valid, pick} = {|ready, ready[0] ? 5'd0 : deepest};
      DEEPEST:      {pick_valid, pick} = {|ready, deepest};
      SHALLOWEST:   {pick_valid, pick} = {|ready, shallowest};
      default:      {pick_valid, pick} = {ready[in_order], in_order};
    endcase
  end

  // The pair. The right node of the stream's level may arrive in this cycle.
  logic [63:0]      left, right;
  logic [LW+AW-2:0] from, to;
  assign from  = {LW'(pick), head[pick][AW-1:1]};
  assign to    = {LW'(out_level), tail[LW'(out_level)][AW-1:1]};
  assign left  = pick == 0 ? stream_lefts[head[0][AW-1:1]] : lefts[from];
  assign right = pick != 0 ? rights[from] : count[0] == 1 ? in_data : stream_rights[head[0][AW-1:1]];
  assign issue_valid = pick_valid;
  assign issue_level = pick;
  assign issue_index = next[pick];

  goldilocks_mul #(.STAGES(STAGES)) pe (.clk, .a(left), .b(right), .y(out_data));

  // The levels and numbers of the products in the multiplier.
  logic        valid_at [STAGES];
  logic [4:0]  level_at [STAGES];
  logic [31:0] index_at [STAGES];
  assign out_valid = valid_at[STAGES-1];
  assign out_level = level_at[STAGES-1];
  assign out_index = index_at[STAGES-1];

  logic [LEVELS-1:0] push, pop;
  logic [AW:0]       after [LEVELS];
  always_comb
    for (int l = 0; l < LEVELS; l++) begin
      push[l]  = l == 0 ? in_valid : out_valid && out_level == 5'(l);
      pop[l]   = pick_valid && pick == 5'(l);
      after[l] = count[l] + (AW+1)'(push[l]) - (pop[l] ? (AW+1)'(2) : '0);
    end

  always_ff @(posedge clk) begin
    slot <= slot + 1;
    valid_at[0] <= pick_valid;
    level_at[0] <= pick + 1;
    index_at[0] <= next[pick] >> 1;
    // The policy in order moves up after a right node; otherwise it returns to the stream.
    if (pick_valid) in_order <= next[pick][1] ? pick + 1 : '0;
    for (int i = 1; i < STAGES; i++) begin
      valid_at[i] <= valid_at[i-1];
      level_at[i] <= level_at[i-1];
      index_at[i] <= index_at[i-1];
    end
    if (push[0] && !tail[0][0]) stream_lefts[tail[0][AW-1:1]] <= in_data;
    if (push[0] && tail[0][0]) stream_rights[tail[0][AW-1:1]] <= in_data;
    if (|push[LEVELS-1:1] && !tail[LW'(out_level)][0]) lefts[to] <= out_data;
    if (|push[LEVELS-1:1] && tail[LW'(out_level)][0]) rights[to] <= out_data;
    for (int l = 0; l < LEVELS; l++) begin
      if (push[l]) tail[l] <= tail[l] + 1;
      if (pop[l]) begin
        head[l] <= head[l] + 2;
        next[l] <= next[l] + 2;
      end
      count[l] <= after[l];
      if (after[l] > (AW+1)'(DEPTH)) overflow <= 1;
    end
    if (rst) begin
      slot <= 32'(-PHASE);
      in_order <= 0;
      overflow <= 0;
      for (int i = 0; i < STAGES; i++) valid_at[i] <= 0;
      for (int l = 0; l < LEVELS; l++) begin
        head[l] <= 0;
        tail[l] <= 0;
        count[l] <= 0;
        next[l] <= 0;
      end
    end
  end
endmodule
