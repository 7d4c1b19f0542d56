// A queue of 2^LOG_DEPTH places in a memory that is read with a cycle's delay. The oldest entry is shown while `valid` is
// high; `pop` removes it. An entry pushed in one cycle is shown in the next, if it is then the oldest. The user does not
// push into a full queue, nor pop from an empty one.
module fifo #(
  parameter int WIDTH     = 64,
  parameter int LOG_DEPTH = 4
) (
  input  logic                 clk,
  input  logic                 rst,
  input  logic                 push,
  input  logic [WIDTH-1:0]     in,
  input  logic                 pop,
  output logic                 valid,
  output logic [WIDTH-1:0]     out,
  output logic [LOG_DEPTH:0]   count
);
  logic [WIDTH-1:0]     memory [1 << LOG_DEPTH];
  logic [LOG_DEPTH-1:0] head, tail, next;
  // The entry at `head`: read from the memory, or pushed in the cycle in which it was to be read.
  logic [WIDTH-1:0]     read, fresh;
  logic                 is_fresh;

  assign next  = head + LOG_DEPTH'(pop);
  assign valid = count != 0;
  assign out   = is_fresh ? fresh : read;
  always_ff @(posedge clk) begin
    if (push) memory[tail] <= in;
    read     <= memory[next];
    fresh    <= in;
    is_fresh <= push && tail == next;
    head     <= rst ? '0 : next;
    tail     <= rst ? '0 : tail + LOG_DEPTH'(push);
    count    <= rst ? '0 : count + (LOG_DEPTH+1)'(push) - (LOG_DEPTH+1)'(pop);
  end
endmodule
