// Runs npm's packages for the Solidity test: compiles examples/solidity/Rows.sol and computes roots with OpenZeppelin's
// library.
//
//   node scripts/test_eth.mjs TOOLS <<<'{"types": ["address", "uint256"], "values": [["0x..", "1"]]}'
//
// TOOLS is the folder that scripts/eth-tools.sh fills. Prints JSON: the contract's `bytecode`, its `selectors`, and the
// roots `sorted` and `unsorted`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const tools = resolve(process.argv[2]);
const require = createRequire(join(tools, "package.json"));
const solc = require("solc");
const { StandardMerkleTree } = require("@openzeppelin/merkle-tree");

const input = {
  language: "Solidity",
  sources: { "Rows.sol": { content: readFileSync(new URL("../examples/solidity/Rows.sol", import.meta.url), "utf8") } },
  settings: { outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.methodIdentifiers"] } } },
};
const read = (path) => {
  try {
    return { contents: readFileSync(join(tools, "node_modules", path), "utf8") };
  } catch (e) {
    return { error: e.message };
  }
};
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: read }));
for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
if (output.errors?.length) process.exit(1);
const { evm } = output.contracts["Rows.sol"].Rows;

const { types, values } = JSON.parse(readFileSync(0, "utf8"));
const root = (sortLeaves) => StandardMerkleTree.of(values, types, { sortLeaves }).root;
console.log(
  JSON.stringify({
    bytecode: evm.bytecode.object,
    selectors: Object.fromEntries(Object.entries(evm.methodIdentifiers).map(([name, id]) => [name.split("(")[0], id])),
    sorted: root(true),
    unsorted: root(false),
  }),
);
