// The leaf hasher of the article "Poseidon Merkle Trees in Hardware" (Fig. 2): one pipelined permutation, outside
// this module, absorbs eight words of each of 2^log_rows rows in turn, round robin, `passes` times. The states of the rows
// wait in a queue between passes. In the last pass one digest leaves per cycle: the first four words of a state. Trees
// follow each other without a pause.
//
// The sponge is Plonky2's: words replace the first words of the state. The last group of a row may be short.
//
// The permutation never stops. A row therefore starts only if
//
//   - its group is here, and its state has left the permutation, be it in this cycle;
//   - in the last pass: there is a place for its digest. Digests have `places` places. One is used from the start of the
//     last absorption until the branch hasher takes a pair (`taken`), which frees two for the next cycle.
//
// This is the timing of the model in crates/lab/src/poseidon/engine.rs with one core and states on chip.
module poseidon_leaf #(
  parameter int LOG_ROWS   = 10,
  parameter int LOG_PLACES = 10
) (
  input  logic                clk,
  input  logic                rst,
  // log2 of the rows: at most LOG_ROWS.
  input  logic [4:0]          log_rows,
  // Groups of a row, and words of the last one: at least 1, and 1 to 8.
  input  logic [15:0]         passes,
  input  logic [3:0]          last_words,
  input  logic [LOG_PLACES:0] places,
  // The next group.
  input  logic                in_valid,
  input  logic [511:0]        in_group,
  // The row that starts: it takes the group, and its state enters the permutation.
  output logic                start,
  output logic [31:0]         start_row,
  output logic [15:0]         start_pass,
  output logic                start_last,
  output logic [767:0]        start_state,
  // The state that leaves the permutation, and whether it is of the last pass.
  input  logic                leaves,
  input  logic                leaves_last,
  input  logic [767:0]        leaves_state,
  input  logic                taken,
  output logic                out_valid,
  output logic [255:0]        out_digest
);
  logic [LOG_ROWS-1:0]   row, last_row;
  logic [15:0]           pass;
  // Rows in the permutation, and places in use.
  logic [LOG_ROWS:0]     flight;
  logic [LOG_PLACES+1:0] used;
  logic                  is_last, is_row_free, has_place;
  assign last_row    = LOG_ROWS'((33'd1 << log_rows) - 1);
  assign is_last     = pass == passes - 1;
  assign is_row_free = flight - (LOG_ROWS+1)'(leaves) <= {1'b0, last_row};
  assign has_place   = !is_last || used < {1'b0, places};
  assign start       = in_valid && is_row_free && has_place;
  assign start_row   = 32'(row);
  assign start_pass  = pass;
  assign start_last  = is_last;

  // The oldest state: in the queue, or just leaving the permutation.
  logic         queued, needs_state;
  logic [767:0] oldest, earlier;
  logic [LOG_ROWS:0] waiting;
  assign needs_state = start && pass != 0;
  assign earlier    = pass == 0 ? '0 : queued ? oldest : leaves_state;
  always_comb begin
    start_state = earlier;
    for (int i = 0; i < 8; i++) if (!is_last || 4'(i) < last_words) start_state[64*i +: 64] = in_group[64*i +: 64];
  end
  fifo #(.WIDTH(768), .LOG_DEPTH(LOG_ROWS)) states (
    .clk, .rst, .push(leaves && !leaves_last && !(needs_state && !queued)), .in(leaves_state), .pop(needs_state && queued),
    .valid(queued), .out(oldest), .count(waiting)
  );

  assign out_valid  = leaves && leaves_last;
  assign out_digest = leaves_state[255:0];
  logic unused;
  assign unused = &{1'b0, waiting};

  always_ff @(posedge clk) begin
    if (start) begin
      row <= row == last_row ? '0 : row + 1;
      if (row == last_row) pass <= is_last ? '0 : pass + 1;
    end
    flight <= flight + (LOG_ROWS+1)'(start) - (LOG_ROWS+1)'(leaves);
    used   <= used + (LOG_PLACES+2)'(start && is_last) - (taken ? (LOG_PLACES+2)'(2) : '0);
    if (rst) begin
      row    <= '0;
      pass   <= '0;
      flight <= '0;
      used   <= '0;
    end
  end
endmodule
