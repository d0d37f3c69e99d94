//! Certificates of a server for tests: an authority, and what it signed for this machine.

use std::{
    io,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::folder::Folder;

/// Files in a server's folder, as PEM.
#[derive(Debug)]
pub(super) struct Certificates {
    /// What a client must trust.
    authority: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Certificates {
    /// Makes a key and a certificate for `localhost` and `127.0.0.1`. The authority has a certificate of its own, because
    /// rustls accepts no authority as a server.
    pub(super) fn make(folder: &Folder) -> io::Result<Self> {
        let other = |error: rcgen::Error| io::Error::other(format!("cannot make a certificate: {error}"));
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
