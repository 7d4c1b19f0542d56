// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// @title Rows of a table, checked on chain
/// @notice Knows only the OpenZeppelin root of a table with the columns `address` and `uint256`.
/// `evergrove app openzeppelin-proof --store DIR --row I` prints the root and the proofs.
contract Rows {
    bytes32 public immutable root;

    constructor(bytes32 root_) {
        root = root_;
    }

    /// @notice True if the table has the row (account, amount). The position of the row is not checked, and a row that
    /// the table contains twice has one leaf. A contract that pays must remember the leaves that it has paid.
    function holds(address account, uint256 amount, bytes32[] calldata proof) external view returns (bool) {
        bytes32 leaf = keccak256(bytes.concat(keccak256(abi.encode(account, amount))));
        return MerkleProof.verifyCalldata(proof, root, leaf);
    }

    /// @notice The same as `holds` for a row of any two words. Hashing a leaf twice keeps a node's 64 bytes from being
    /// a row.
    function holdsWords(bytes32 a, bytes32 b, bytes32[] calldata proof) external view returns (bool) {
        bytes32 leaf = keccak256(bytes.concat(keccak256(abi.encode(a, b))));
        return MerkleProof.verifyCalldata(proof, root, leaf);
    }

    /// @notice What a contract must not do: hash a row only once. It accepts the 64 bytes of an inner node as a row.
    function holdsHashedOnce(bytes32 a, bytes32 b, bytes32[] calldata proof) external view returns (bool) {
        return MerkleProof.verifyCalldata(proof, root, keccak256(abi.encode(a, b)));
    }
}
