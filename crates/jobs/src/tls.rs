//! The cryptography of connections.

/// Makes ring the process's provider of TLS, unless the process has chosen one.
pub(crate) fn install() {
    // An error says that there is a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
