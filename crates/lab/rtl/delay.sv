// A delay line: y is x of CYCLES cycles before. CYCLES is at least 3. The line is a ring in a memory with a port to write
// and one to read. It has no reset: its place comes into range by itself.
module delay #(
  parameter int WIDTH  = 384,
  parameter int CYCLES = 73
) (
  input  logic             clk,
  input  logic [WIDTH-1:0] x,
  output logic [WIDTH-1:0] y
);
  /* verilator no_inline_module */  // one body in the simulator for all instances of a kind
  localparam int PLACES = CYCLES - 1;
  localparam int PW     = $clog2(PLACES);
  logic [WIDTH-1:0] ring [PLACES];
  logic [PW-1:0]    place;
  always_ff @(posedge clk) begin
    y           <= ring[place];
    ring[place] <= x;
    place       <= place >= PW'(PLACES - 1) ? '0 : place + 1;
  end
endmodule
