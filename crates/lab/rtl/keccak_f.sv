// The permutation Keccak-f[1600] of FIPS 202, section 3.3: 24 rounds.
//
//   ROUNDS_PER_CYCLE   hardware                              latency   interval of states
//   24                 24 rounds with a register each        24        1
//   R < 24, R | 24     R rounds in a row before a register   24 / R    24 / R
//
// Latency is in cycles, from the one in which a state is taken to the one in which its result is first shown. A state is taken
// in a cycle with in_valid and in_ready, a result in a cycle with out_valid and out_ready. A result stays until it is taken.
// in_ready depends on out_ready in the same cycle, and never on in_valid. When a result waits, all 24 stages wait. The widths of
// the ports are those of keccak_round.
module keccak_f #(
  parameter int ROUNDS_PER_CYCLE = 24
) (
  input  logic          clk,
  input  logic          rst,
  input  logic          in_valid,
  output logic          in_ready,
  input  logic [1599:0] in_state,
  output logic          out_valid,
  input  logic          out_ready,
  output logic [1599:0] out_state
);
  localparam int ROUNDS = 24;
  // The constants of iota, the one of round 0 in the lowest bits.
  localparam logic [64*ROUNDS-1:0] CONSTANTS = {
    64'h8000000080008008, 64'h0000000080000001, 64'h8000000000008080, 64'h8000000080008081,
    64'h800000008000000A, 64'h000000000000800A, 64'h8000000000000080, 64'h8000000000008002,
    64'h8000000000008003, 64'h8000000000008089, 64'h800000000000008B, 64'h000000008000808B,
    64'h000000008000000A, 64'h0000000080008009, 64'h0000000000000088, 64'h000000000000008A,
    64'h8000000000008009, 64'h8000000080008081, 64'h0000000080000001, 64'h000000000000808B,
    64'h8000000080008000, 64'h800000000000808A, 64'h0000000000008082, 64'h0000000000000001
  };

  generate
    if (ROUNDS_PER_CYCLE == ROUNDS) begin : g_pipe
      logic [ROUNDS-1:0] valid;
      assign out_valid = valid[ROUNDS-1];
      assign in_ready  = !out_valid || out_ready;
      always_ff @(posedge clk)
        if (rst) valid <= '0;
        else if (in_ready) valid <= {valid[ROUNDS-2:0], in_valid};
      for (genvar r = 0; r < ROUNDS; r++) begin : g_stage
        logic [1599:0] x, y, state;
        if (r == 0) begin : g_first
          assign x = in_state;
        end else begin : g_next
          assign x = g_stage[r-1].state;
        end
        keccak_round round (.a(x), .constant(CONSTANTS[64*r +: 64]), .y(y));
        always_ff @(posedge clk) if (in_ready) state <= y;
      end
      assign out_state = g_stage[ROUNDS-1].state;
    end else if (ROUNDS_PER_CYCLE >= 1 && ROUNDS % ROUNDS_PER_CYCLE == 0) begin : g_loop
      localparam int STEPS = ROUNDS / ROUNDS_PER_CYCLE;
      localparam int WIDTH = 64 * ROUNDS_PER_CYCLE;
      // The step that is next, 0 for a state that is taken now; the constants of that step are the lowest.
      logic [4:0]           step;
      logic [64*ROUNDS-1:0] constants;
      logic [1599:0]        state;
      logic                 start, run;
      assign in_ready  = step == 0 && (!out_valid || out_ready);
      assign start     = in_valid && in_ready;
      assign run       = start || step != 0;
      assign out_state = state;
      for (genvar r = 0; r < ROUNDS_PER_CYCLE; r++) begin : g_round
        logic [1599:0] x, y;
        if (r == 0) begin : g_first
          assign x = step == 0 ? in_state : state;
        end else begin : g_next
          assign x = g_round[r-1].y;
        end
        keccak_round round (.a(x), .constant(constants[64*r +: 64]), .y(y));
      end
      always_ff @(posedge clk) begin
        if (out_ready) out_valid <= 0;
        if (run) begin
          state     <= g_round[ROUNDS_PER_CYCLE-1].y;
          constants <= {constants[WIDTH-1:0], constants[64*ROUNDS-1:WIDTH]};
          step      <= step == 5'(STEPS - 1) ? '0 : step + 1;
          if (step == 5'(STEPS - 1)) out_valid <= 1;
        end
        if (rst) begin
          constants <= CONSTANTS;
          step      <= 0;
          out_valid <= 0;
        end
      end
    end else begin : g_refused
      $error("keccak_f: ROUNDS_PER_CYCLE must divide 24");
    end
  endgenerate
endmodule
