//! TLS to PostgreSQL: rustls with aws-lc, in the modes that `sslmode` names.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How a connection is protected: `sslmode` in the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    Disable,
    Prefer,
    Require,
    VerifyFull,
}

impl Protection {
    pub(super) const ALLOWED: &str = "disable, prefer, require or verify-full";

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "disable" => Some(Self::Disable),
            "prefer" => Some(Self::Prefer),
            "require" => Some(Self::Require),
            "verify-full" => Some(Self::VerifyFull),
            _ => None,
        }
    }

    pub(super) const fn ssl_mode(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyFull => SslMode::Require,
        }
    }
}

/// What makes TLS connections of this protection. The text of an error is fit for people.
pub(super) fn connector(
    protection: Protection,
    root_file: Option<&Path>,
) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?;
    let config = match protection {
        Protection::VerifyFull => builder.with_root_certificates(roots(root_file)?).with_no_client_auth(),
        Protection::Disable | Protection::Prefer | Protection::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(file) = file else {
        let native = rustls_native_certs::load_native_certs();
        let (taken, _) = store.add_parsable_certificates(native.certs);
        if taken == 0 {
            return Err("the operating system has no root certificates; name a file with sslrootcert".into());
        }
        return Ok(store);
    };
    let read = |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| read(&error))? {
        let certificate = certificate.map_err(|error| read(&error))?;
        store.add(certificate).map_err(|error| read(&error))?;
    }
    if store.is_empty() {
        return Err(read(&"no certificate in it"));
    }
    Ok(store)
}

/// Takes any certificate, as libpq does for `prefer` and `require`: keeps listeners out, not
/// a server that pretends. The handshake's signature is still checked.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
