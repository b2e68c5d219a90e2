//! Attacks by a driver, by its cloud, and by both. Each is contained, leaves a notice or a count, shows no secret, and
//! an honest driver answers afterwards.
//!
//! | module | content |
//! | --- | --- |
//! | `accounts` | a throttled cloud account, beside others of the same driver |
//! | `addresses` | ways to the inside, by every notation of an address |
//! | `bundles` | attacks of a writer of ConfigMaps without a key, where plugins must be signed |
//! | `claims` | attacks on the provider of another plugin, for its Secrets and user data |
//! | `declarations` | attacks of a writer of ConfigMaps without access to Secrets |
//! | `floods` | floods of common resources, and texts that break careless code |
//! | `neighbours` | attacks cost only their own plugin |
//! | `requests` | requests that are two, or another one, when they are read carelessly |
//! | `secrets` | attacks on the secrets, through every import |
//! | `servers` | a hostile cloud, or one that an attacker has taken over |
//! | `tables` | tables of functions that grow without end, in components written by hand |
//! | `scene` | a host with a hostile and an honest driver, a hostile name service, and a cloud |

mod accounts;
mod addresses;
mod bundles;
mod claims;
mod declarations;
mod floods;
mod neighbours;
mod requests;
mod scene;
mod secrets;
mod servers;
mod tables;
