//! `machinist:host/secrets`: the handles that a driver holds instead of values.

use wasmtime::Result;
use wasmtime::component::Resource;

use super::GuestState;
use crate::calls::bindings::driver::machinist::host::secrets as wit;
use crate::vault::{self, PlaceholderEncoding, SecretId};

/// The value of the resource `secret`.
#[derive(Clone, Copy, Debug)]
pub struct SecretHandle(SecretId);

impl wit::Host for GuestState {
    fn keys(&mut self) -> Result<Vec<String>> {
        Ok(self.vault.keys())
    }

    fn open(&mut self, key: String) -> Result<Option<Resource<SecretHandle>>> {
        let id = self.vault.open(&key);
        self.handle(id)
    }

    fn user_data(&mut self) -> Result<Option<Resource<SecretHandle>>> {
        let id = self.vault.user_data();
        self.handle(id)
    }
}

impl wit::HostSecret for GuestState {
    fn length(&mut self, secret: Resource<SecretHandle>) -> Result<u64> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        Ok(self.vault.length(id))
    }

    fn starts_with(&mut self, secret: Resource<SecretHandle>, prefix: Vec<u8>) -> Result<bool> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        let name = self.vault.name(id);
        Ok(self.recording.starts_with(&name, &prefix, || self.vault.starts_with(id, &prefix)))
    }

    fn placeholder(
        &mut self,
        secret: Resource<SecretHandle>,
        encodings: Vec<wit::Encoding>,
    ) -> Result<Result<String, wit::Refusal>> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        let encodings: Vec<PlaceholderEncoding> = encodings.into_iter().map(encoding).collect();
        let real = || self.vault.placeholder(id, &encodings);
        Ok(self.recording.placeholder(&self.vault.name(id), &encodings, real).map_err(refusal))
    }

    fn reveal(&mut self, secret: Resource<SecretHandle>) -> Result<Result<Vec<u8>, wit::Refusal>> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        let (real, stand_in) = (|| self.vault.reveal(id), || self.vault.stand_in(id));
        Ok(self.recording.reveal(&self.vault.name(id), real, stand_in).map_err(refusal))
    }

    fn drop(&mut self, secret: Resource<SecretHandle>) -> Result<()> {
        self.table.delete(secret)?;
        Ok(())
    }
}

impl GuestState {
    fn handle(&mut self, id: Option<SecretId>) -> Result<Option<Resource<SecretHandle>>> {
        Ok(match id {
            Some(id) => Some(self.table.push(SecretHandle(id))?),
            None => None,
        })
    }
}

fn encoding(encoding: wit::Encoding) -> PlaceholderEncoding {
    match encoding {
        wit::Encoding::Plain => PlaceholderEncoding::Plain,
        wit::Encoding::Base64 => PlaceholderEncoding::Base64,
        wit::Encoding::Form => PlaceholderEncoding::Form,
        wit::Encoding::JsonEscape => PlaceholderEncoding::JsonEscape,
        wit::Encoding::Gzip => PlaceholderEncoding::Gzip,
    }
}

fn refusal(refusal: vault::Refusal) -> wit::Refusal {
    match refusal {
        vault::Refusal::NotGranted => wit::Refusal::NotGranted,
        vault::Refusal::Encodings => wit::Refusal::Encodings,
        vault::Refusal::TooMany => wit::Refusal::TooMany,
    }
}
