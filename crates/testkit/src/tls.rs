//! Certificates and a TLS client for tests of services.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, IpAddr, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::http::{Answer, PATIENCE, head};

/// A self-signed certificate for `localhost` and 127.0.0.1, and its key, both in PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Issued {
    /// A new certificate that is valid until 2 January of `year`, 03:04:05.
    ///
    /// # Panics
    /// If `year` is after 9999.
    pub fn until(year: i32) -> Self {
        Self::from_to(2020, year)
    }

    /// A new certificate that is valid from 1 January of `first` until 2 January of `year`, 03:04:05.
    ///
    /// # Panics
    /// If a year is after 9999.
    pub fn from_to(first: i32, year: i32) -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names of a certificate");
        params.not_before = date_time_ymd(first, 1, 1);
        let time = std::time::Duration::from_secs(3 * 3600 + 4 * 60 + 5);
        params.not_after = date_time_ymd(year, 1, 2) + time;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { certificate, key: key.serialize_pem() }
    }
}

/// A TLS client of one server.
#[derive(Clone, Debug)]
pub struct TlsClient {
    addr: SocketAddr,
    token: Option<String>,
    config: Arc<ClientConfig>,
}

impl TlsClient {
    /// A client that trusts only these certificates.
    ///
    /// # Panics
    /// If one of them is not a certificate.
    pub fn new(addr: SocketAddr, token: Option<&str>, trusted: &[&Issued]) -> Self {
        let mut roots = RootCertStore::empty();
        for issued in trusted {
            let der = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM");
            roots.add(der).expect("a certificate");
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().expect("versions of TLS");
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        // The protocols that browsers offer.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self { addr, token: token.map(str::to_owned), config: Arc::new(config) }
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If the connection fails, or the client does not trust the server's certificate.
    pub fn connect(&self) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let mut stream = TcpStream::connect(self.addr)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::IpAddress(IpAddr::from(self.addr.ip()));
        let mut connection = ClientConnection::new(self.config.clone(), name).map_err(std::io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok(StreamOwned::new(connection, stream))
    }

    /// Sends a request on a connection and reads the answer, which must state its length.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn ask(
        &self,
        stream: &mut StreamOwned<ClientConnection, TcpStream>,
        method: &str,
        path: &str,
        body: &str,
    ) -> std::io::Result<Answer> {
        let token = self.token.as_deref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let (addr, length) = (self.addr, body.len());
        let head_text = format!("{method} {path} HTTP/1.1\r\nhost: {addr}\r\n{token}content-length: {length}\r\n\r\n");
        stream.write_all(head_text.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        stream.flush()?;
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader)?;
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Answer { status, headers, body })
    }

    /// Sends a GET request on a new connection.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn get(&self, path: &str) -> std::io::Result<Answer> {
        self.ask(&mut self.connect()?, "GET", path, "")
    }
}
