// Turns columns into rows. A pass is a matrix of 2^log_rows rows and eight columns of 64-bit words. It comes column by
// column, eight rows in each cycle, and leaves row by row. The rows of a pass leave after its last word has come, from the
// next cycle on; meanwhile the next pass comes.
//
// Words are in eight banks with one port to write and one to read each. The word of row i and column j is in bank
// (i + j) mod 8, so that the words of a row are in different banks, and so are eight rows of a column.
//
// Back-pressure: eight words come in a cycle with in_valid and in_ready; in_ready is low while two passes, less the rows
// that have left, are here. in_ready depends on out_take in the same cycle. The memory has room for a third pass, since
// rows leave in another order than words come.
module transposer #(
  parameter int LOG_ROWS = 10
) (
  input  logic         clk,
  input  logic         rst,
  // log2 of the rows: 4 to LOG_ROWS.
  input  logic [4:0]   log_rows,
  input  logic         in_valid,
  output logic         in_ready,
  input  logic [511:0] in_words,
  // The next row; out_take removes it.
  output logic         out_valid,
  output logic [511:0] out_words,
  input  logic         out_take
);
  // log_rows does not change while words are here, so the last row and the last eight rows are constants to the logic.
  logic [LOG_ROWS-1:0] last_row, row, next_row;
  logic [LOG_ROWS-4:0] last_eight, eight;
  assign last_row   = LOG_ROWS'((33'd1 << log_rows) - 1);
  assign last_eight = last_row[LOG_ROWS-1:3];

  logic [2:0]            column;
  logic [1:0]            to, from, next_from, complete;
  logic [LOG_ROWS+1:0]   held;
  logic                  arrives, completes, clears;
  assign in_ready  = held - (LOG_ROWS+2)'(out_take) < (LOG_ROWS+2)'({last_row, 1'b1}) + 1;
  assign arrives   = in_valid && in_ready;
  assign completes = arrives && eight == last_eight && column == 7;
  assign out_valid = complete != 0;
  assign clears    = out_take && row == last_row;
  // The row that is shown in the next cycle.
  assign next_row  = clears ? '0 : row + LOG_ROWS'(out_take);
  assign next_from = !clears ? from : from == 2 ? '0 : from + 1;

  logic [63:0] read [8];
  for (genvar b = 0; b < 8; b++) begin : g_bank
    logic [63:0] memory [3 << LOG_ROWS];
    logic [2:0]  lane;
    assign lane = 3'(b) - column;
    always_ff @(posedge clk) begin
      if (arrives) memory[{to, eight, lane}] <= in_words[64*lane +: 64];
      read[b] <= memory[{next_from, next_row}];
    end
  end
  always_comb for (int j = 0; j < 8; j++) out_words[64*j +: 64] = read[row[2:0] + 3'(j)];

  always_ff @(posedge clk) begin
    if (arrives) begin
      eight <= eight == last_eight ? '0 : eight + 1;
      if (eight == last_eight) column <= column + 1;
      if (completes) to <= to == 2 ? '0 : to + 1;
    end
    row      <= next_row;
    from     <= next_from;
    complete <= complete + 2'(completes) - 2'(clears);
    held     <= held + (LOG_ROWS+2)'(arrives) - (LOG_ROWS+2)'(out_take);
    if (rst) begin
      eight    <= '0;
      column   <= '0;
      to       <= '0;
      from     <= '0;
      row      <= '0;
      complete <= '0;
      held     <= '0;
    end
  end
endmodule
