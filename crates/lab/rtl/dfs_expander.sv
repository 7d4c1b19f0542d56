// The MTU's DFS accumulator for a forward tree, the table of eq: one processing element for all levels of a tree above
// a stream of outputs. At most one output is taken per cycle.
//
// Each level has a queue of DEPTH nodes. In each cycle the policy picks a level that has a node, if the queue below has
// room for two more. The children can be used in the cycle after they leave; those of level 0 go to the output queue.
// The levels share a memory with a bank for left children and one for right children; the output queue has one of the
// same form. A bank has a port to write and one to read.
//
// Cycle c, counted from the end of the reset, belongs to level ctz(c + 2^top), as the ruler of the MTU paper's Table 3
// says. The policies are those of `Policy` in crates/lab/src/accumulator.rs, and the room is that of `Expander` in
// crates/lab/src/expander.rs.
module dfs_expander #(
  parameter int LEVELS = 20,
  parameter int DEPTH  = 32,
  parameter int STAGES = 11
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [2:0]  policy,
  // The highest level, which starts with one or two nodes.
  input  logic [4:0]  top,
  input  logic        two,
  input  logic [63:0] root,
  // The coordinate of a level, stored when `set` is high.
  input  logic        set,
  input  logic [4:0]  set_level,
  input  logic [63:0] set_data,
  // Takes the next output, if there is one.
  input  logic        take,
  output logic        node_valid,
  output logic [63:0] node_data,
  // The node that enters: its level and number.
  output logic        issue_valid,
  output logic [4:0]  issue_level,
  output logic [31:0] issue_index,
  // The children that leave: the level of their parent, and the number of the left one.
  output logic        out_valid,
  output logic [4:0]  out_level,
  output logic [31:0] out_index,
  output logic [63:0] out_left,
  output logic [63:0] out_right,
  // Stays high once a queue was too short.
  output logic        overflow
);
  localparam logic [2:0] RULER = 0, RULER_STEAL = 1, STREAM_FIRST = 2, DEEPEST = 3, SHALLOWEST = 4;  // 5: in order
  localparam int AW = $clog2(DEPTH);
  localparam int LW = $clog2(LEVELS);
  // Room in a queue in addition to the nodes that its rate and the pipeline need.
  localparam int ROOM = 4;

  logic [63:0]       lefts [1 << (LW+AW-1)], rights [1 << (LW+AW-1)];
  logic [AW-1:0]     head  [LEVELS];
  logic [AW-1:0]     tail  [LEVELS];
  // Waiting nodes; and waiting nodes plus those that the pipeline will bring.
  logic [AW:0]       count [LEVELS];
  logic [AW:0]       held  [LEVELS];
  logic [31:0]       next  [LEVELS];
  logic [63:0]       coordinate [LEVELS];
  logic [31:0]       slot;
  logic [4:0]        in_order;

  // The output queue.
  logic [63:0]   out_lefts [DEPTH/2], out_rights [DEPTH/2];
  logic [AW-1:0] out_head, out_tail;
  logic [AW:0]   out_count, out_held;
  logic          taken;
  assign node_valid = out_count != 0;
  assign node_data  = out_head[0] ? out_rights[out_head[AW-1:1]] : out_lefts[out_head[AW-1:1]];
  assign taken      = take && node_valid;

  // The policy's choice.
  logic [LEVELS-1:0] served;
  logic              owner_valid, pick_valid;
  logic [4:0]        owner, lowest, highest, pick;
  always_comb begin
    for (int l = 0; l < LEVELS; l++) begin
      if (l == 0) served[l] = count[l] != 0 && out_held - (AW+1)'(taken) + 2 <= (AW+1)'(ROOM + 2 * STAGES);
      else served[l] = count[l] != 0 && held[l-1] + 2 <= (AW+1)'(ROOM + (STAGES >> (l - 1)));
    end
    owner_valid = 0;
    owner = 0;
    for (int l = LEVELS - 1; l >= 0; l--) if (slot[l]) begin
      owner = 5'(l);
      owner_valid = 1;
    end
    lowest = 0;
    for (int l = LEVELS - 1; l >= 0; l--) if (served[l]) lowest = 5'(l);
    highest = 0;
    for (int l = 0; l < LEVELS; l++) if (served[l]) highest = 5'(l);
    owner_valid = owner_valid && served[owner];
    case (policy)
      RULER:                 {pick_valid, pick} = {owner_valid, owner};
      RULER_STEAL:           {pick_valid, pick} = {|served, owner_valid ? owner : lowest};
      STREAM_FIRST, DEEPEST: {pick_valid, pick} = {|served, lowest};
      SHALLOWEST:            {pick_valid, pick} = {|served, highest};
      default:               {pick_valid, pick} = {served[in_order], in_order};
    endcase
  end

  assign issue_valid = pick_valid;
  assign issue_level = pick;
  assign issue_index = next[pick];

  // The node that enters, and the place of the children that leave. At the reset the root takes the first two places of
  // the highest level.
  logic [LW+AW-2:0] from, to;
  logic [LW-1:0]    below;
  assign from  = {LW'(pick), head[pick][AW-1:1]};
  assign below = LW'(out_level - 1);
  assign to    = rst ? {LW'(top), (AW-1)'(0)} : {below, tail[below][AW-1:1]};
  mle_node #(.STAGES(STAGES)) pe (
    .clk, .v(head[pick][0] ? rights[from] : lefts[from]), .r(coordinate[pick]), .left(out_left), .right(out_right)
  );

  // The levels and numbers of the nodes in the pipeline.
  logic        valid_at [STAGES];
  logic [4:0]  level_at [STAGES];
  logic [31:0] index_at [STAGES];
  assign out_valid = valid_at[STAGES-1];
  assign out_level = level_at[STAGES-1];
  assign out_index = index_at[STAGES-1];

  // After level 0 the policy in order moves up to the highest completed level, given by the trailing zeros of the next
  // node's number.
  logic [31:0] done;
  logic [4:0]  up;
  always_comb begin
    done = next[pick] + 1;
    up = 0;
    for (int l = LEVELS - 1; l >= 0; l--) if (done[l]) up = 5'(l);
  end

  logic [LEVELS-1:0] push, pop, more;
  logic              out_push, out_more;
  always_comb begin
    for (int l = 0; l < LEVELS; l++) begin
      push[l] = out_valid && out_level == 5'(l + 1);
      pop[l]  = pick_valid && pick == 5'(l);
      more[l] = pick_valid && pick == 5'(l + 1);
    end
    out_push = out_valid && out_level == 0;
    out_more = pick_valid && pick == 0;
  end

  always_ff @(posedge clk) begin
    slot <= slot + 1;
    valid_at[0] <= pick_valid;
    level_at[0] <= pick;
    index_at[0] <= next[pick] << 1;
    for (int i = 1; i < STAGES; i++) begin
      valid_at[i] <= valid_at[i-1];
      level_at[i] <= level_at[i-1];
      index_at[i] <= index_at[i-1];
    end
    if (pick_valid) in_order <= pick == 0 ? up : pick - 1;
    if (rst || |push) begin
      lefts[to]  <= rst ? root : out_left;
      rights[to] <= rst ? root : out_right;
    end
    for (int l = 0; l < LEVELS; l++) begin
      if (push[l]) tail[l] <= tail[l] + 2;
      if (pop[l]) begin
        head[l] <= head[l] + 1;
        next[l] <= next[l] + 1;
      end
      count[l] <= count[l] + (push[l] ? (AW+1)'(2) : '0) - (AW+1)'(pop[l]);
      held[l]  <= held[l] + (more[l] ? (AW+1)'(2) : '0) - (AW+1)'(pop[l]);
      if (held[l] > (AW+1)'(DEPTH)) overflow <= 1;
    end
    if (out_push) begin
      out_lefts[out_tail[AW-1:1]]  <= out_left;
      out_rights[out_tail[AW-1:1]] <= out_right;
      out_tail <= out_tail + 2;
    end
    if (taken) out_head <= out_head + 1;
    out_count <= out_count + (out_push ? (AW+1)'(2) : '0) - (AW+1)'(taken);
    out_held  <= out_held + (out_more ? (AW+1)'(2) : '0) - (AW+1)'(taken);
    if (out_held > (AW+1)'(DEPTH)) overflow <= 1;
    if (set) coordinate[set_level] <= set_data;
    if (rst) begin
      slot <= 32'd1 << top;
      in_order <= top;
      overflow <= 0;
      for (int i = 0; i < STAGES; i++) valid_at[i] <= 0;
      for (int l = 0; l < LEVELS; l++) begin
        head[l] <= 0;
        tail[l] <= 0;
        count[l] <= 0;
        held[l] <= 0;
        next[l] <= 0;
      end
      tail[top] <= AW'(1) + AW'(two);
      count[top] <= (AW+1)'(1) + (AW+1)'(two);
      held[top] <= (AW+1)'(1) + (AW+1)'(two);
      out_head <= 0;
      out_tail <= 0;
      out_count <= 0;
      out_held <= 0;
    end
  end
endmodule
