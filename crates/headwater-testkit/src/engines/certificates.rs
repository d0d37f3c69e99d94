//! Certificates of a test server: an authority, and a certificate that it signed for this machine.

use std::{
    io,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::folder::ServerFolder;

/// PEM files in a server's folder.
#[derive(Debug)]
pub(super) struct Certificates {
    /// The certificate that a client must trust.
    authority: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Certificates {
    /// Creates a key and a certificate for `localhost` and `127.0.0.1`. The authority is separate, because
    /// rustls does not accept a CA certificate for a server.
    pub(super) fn make(folder: &ServerFolder) -> io::Result<Self> {
        let other = |error: rcgen::Error| io::Error::other(format!("cannot create a certificate: {error}"));
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().map_err(other)?;
        let authority = params.self_signed(&key).map_err(other)?;
        let issuer = Issuer::new(params, key);
        let params =
            CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).map_err(other)?;
        let key = KeyPair::generate().map_err(other)?;
        let certificate = params.signed_by(&key, &issuer).map_err(other)?;
        Ok(Self {
            authority: folder.write("authority.pem", &authority.pem())?,
            certificate: folder.write("certificate.pem", &certificate.pem())?,
            key: folder.write("key.pem", &key.serialize_pem())?,
        })
    }

    pub(super) fn authority(&self) -> &Path {
        &self.authority
    }
}
