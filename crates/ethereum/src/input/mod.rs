//! What Ethereum's clients answer: proofs, witnesses, changes, headers; and files of claims.
//!
//! Every function takes the bytes of a JSON text, bare or in the envelope of JSON-RPC. Errors are one line that names the value and the remedy.

mod json;
