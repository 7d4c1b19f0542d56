//! Nodes: answers of `debug_executionWitness`, and files of nodes with their claims.

use evergrove_verifier::ethereum::{Claim, Header, Hex};
use serde_json::{Value, json};

use super::claims::{claim_value, claims_of};
use super::header::header_of;
use super::json::{At, InputError, InputFault, all_bytes, bytes, list, optional, parse, printable, required};
use crate::Nodes;

/// The nodes of the state *before* a block that the block reads. It has no new nodes or values: those follow from the
/// block's changes.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The nodes.
    pub nodes: Vec<Vec<u8>>,
    /// Headers of blocks before, each the parent of the next.
    pub headers: Vec<Header>,
    /// Claims that the nodes show, if a file has claims as well: clients return none.
    pub claims: Vec<Claim>,
}

/// Claims and nodes in the form that [`read_witness`] reads: nodes in the order of their hashes.
pub fn witness_value(claims: &[Claim], nodes: &Nodes) -> Value {
    let claims: Vec<Value> = claims.iter().map(claim_value).collect();
    let nodes: Vec<String> = nodes.in_order().into_iter().map(|node| Hex(node).to_string()).collect();
    json!({ "claims": claims, "state": nodes })
}

/// Reads a witness: a list of nodes, or an object with `state` (a list of nodes, or an object of nodes by their hashes)
/// and optionally `headers` and `claims`. Codes and keys are not needed.
///
/// # Errors
/// When the text is too large, is not JSON, or has another form; when a header does not follow the one before it.
pub fn read_witness(text: &[u8]) -> Result<Witness, InputError> {
    let value = parse(text)?;
    let Value::Object(answer) = &value else {
        return Ok(Witness { nodes: all_bytes(list(&value)?, "node")?, headers: Vec::new(), claims: Vec::new() });
    };
    let nodes = match required(answer, "state")? {
        Value::Object(map) => {
            let node = |(hash, node): (&String, &Value)| bytes(node).at(|| format!("state {}", printable(hash)));
            map.iter().map(node).collect::<Result<_, _>>()?
        }
        state => all_bytes(list(state).at(|| "state".into())?, "state")?,
    };
    let mut headers = Vec::new();
    if let Some(values) = optional(answer, "headers") {
        for (i, value) in list(values).at(|| "headers".into())?.iter().enumerate() {
            headers.push(header_of(value).map_err(|e| e.inside(&format!("headers {i}")))?);
        }
    }
    headers.sort_unstable_by_key(|h| (h.number, h.hash));
    headers.dedup_by_key(|h| h.hash);
    for pair in headers.windows(2) {
        if pair[1].parent != pair[0].hash {
            Err(InputFault::Link { number: pair[1].number, parent: pair[1].parent })?;
        }
    }
    let claims = optional(answer, "claims").map(list).transpose().at(|| "claims".into())?;
    let claims = claims.map_or(Ok(Vec::new()), claims_of)?;
    Ok(Witness { nodes, headers, claims })
}
