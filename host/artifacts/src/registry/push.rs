//! Bringing blobs and manifests.

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, RequestBuilder};

use super::Error;
use super::session::Session;
use crate::digest::ContentDigest;
use crate::manifest::MANIFEST;
use crate::reference::{Reference, Version};

impl Session<'_> {
    /// Brings a blob, unless it is there.
    pub(super) async fn put_blob(&self, bytes: Bytes) -> Result<(), Error> {
        let digest = ContentDigest::of(&bytes);
        let what = format!("blob {digest}");
        let known = self.address(&self.url(&format!("blobs/{digest}")), &what)?;
        let look = self.ask(&what, &Method::HEAD, &known, |request| request);
        match self.within(self.limits.question, &what, look).await {
            Ok(_) => return Ok(()),
            Err(Error::Absent { .. }) => {}
            Err(error) => return Err(error),
        }
        let begin = self.address(&self.url("blobs/uploads/"), &what)?;
        let work = async {
            let begun =
                self.ask(&what, &Method::POST, &begin, |request| request.header(CONTENT_LENGTH, 0)).await?;
            let address = begun.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let protocol_error = || self.protocol_error(&what, "the upload has no place");
            let mut location =
                begin.join(address.ok_or_else(protocol_error)?).map_err(|_| protocol_error())?;
            // A login that goes elsewhere is a login that is given away.
            if location.origin() != begin.origin() {
                return Err(self.protocol_error(&what, "the upload leads to another server"));
            }
            location.query_pairs_mut().append_pair("digest", &digest.to_string());
            let dress = |request: RequestBuilder| {
                request.header(CONTENT_TYPE, "application/octet-stream").body(bytes.clone())
            };
            self.ask(&what, &Method::PUT, &location, dress).await.map(drop)
        };
        self.within(self.limits.transfer, &what, work).await
    }

    /// Brings a manifest, under the reference's tag or digest.
    pub(super) async fn put_manifest(
        &self,
        reference: &Reference,
        bytes: Bytes,
    ) -> Result<ContentDigest, Error> {
        let digest = ContentDigest::of(&bytes);
        let version = match &reference.version {
            Version::Tag(tag) => tag.clone(),
            Version::Digest(digest) => digest.to_string(),
        };
        let what = format!("manifest {reference}");
        let url = self.address(&self.url(&format!("manifests/{version}")), &what)?;
        let dress = |request: RequestBuilder| request.header(CONTENT_TYPE, MANIFEST).body(bytes.clone());
        self.within(self.limits.question, &what, self.ask(&what, &Method::PUT, &url, dress)).await?;
        Ok(digest)
    }
}
