//! The TLS provider of connections.

/// Makes ring the TLS provider of the process, unless the process already has one.
pub(crate) fn install() {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
