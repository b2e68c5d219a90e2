//! Checks of a server that ask no authority.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Accepts a server that has the key of the certificate that it shows, whatever name and time that is for.
#[derive(Debug)]
pub(super) struct WithoutAuthority {
    /// The only certificate that it may be; `None`: any.
    pinned: Option<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl WithoutAuthority {
    pub(super) fn new(pinned: Option<CertificateDer<'static>>, provider: &CryptoProvider) -> Self {
        Self { pinned, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for WithoutAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.pinned {
            Some(pinned) if pinned != end_entity => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    /// The signature proves that the server has the key of the certificate, so it is checked as usual.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
