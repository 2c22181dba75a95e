//! The cryptography of TLS connections.

/// Makes `ring` the library that does the cryptography of every TLS connection of this process. To be called before a client
/// is built; again does nothing.
///
/// It is the smaller of the two that rustls knows: the other one takes longer to build than the rest of levain's
/// dependencies together.
pub fn prepare() {
    let _there_already = rustls::crypto::ring::default_provider().install_default();
}
