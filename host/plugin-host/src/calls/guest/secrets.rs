//! `machinist:host/secrets`: the handles that a driver holds instead of values.

use wasmtime::Result;
use wasmtime::component::Resource;

use super::GuestState;
use crate::calls::bindings::driver::machinist::host::secrets as wit;
use crate::vault::{self, Encoding, SecretId};

/// What stands behind the resource `secret`.
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
        Ok(self.tape.starts_with(&name, &prefix, || self.vault.starts_with(id, &prefix)))
    }

    fn placeholder(
        &mut self,
        secret: Resource<SecretHandle>,
        encodings: Vec<wit::Encoding>,
    ) -> Result<Result<String, wit::Refusal>> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        let encodings: Vec<Encoding> = encodings.into_iter().map(encoding).collect();
        let real = || self.vault.placeholder(id, &encodings);
        Ok(self.tape.placeholder(&self.vault.name(id), &encodings, real).map_err(refusal))
    }

    fn reveal(&mut self, secret: Resource<SecretHandle>) -> Result<Result<Vec<u8>, wit::Refusal>> {
        let SecretHandle(id) = *self.table.get(&secret)?;
        let (real, stand_in) = (|| self.vault.reveal(id), || self.vault.stand_in(id));
        Ok(self.tape.reveal(&self.vault.name(id), real, stand_in).map_err(refusal))
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

fn encoding(encoding: wit::Encoding) -> Encoding {
    match encoding {
        wit::Encoding::Plain => Encoding::Plain,
        wit::Encoding::Base64 => Encoding::Base64,
        wit::Encoding::Form => Encoding::Form,
        wit::Encoding::JsonEscape => Encoding::JsonEscape,
        wit::Encoding::Gzip => Encoding::Gzip,
    }
}

fn refusal(refusal: vault::Refusal) -> wit::Refusal {
    match refusal {
        vault::Refusal::NotGranted => wit::Refusal::NotGranted,
        vault::Refusal::Encodings => wit::Refusal::Encodings,
        vault::Refusal::TooMany => wit::Refusal::TooMany,
    }
}
