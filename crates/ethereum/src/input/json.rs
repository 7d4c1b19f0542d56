//! JSON
