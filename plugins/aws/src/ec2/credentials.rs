//! Checks that the Secret has the keys with which the host signs. The values stay in the host; keys and lengths are
//! enough.

use machinist_sdk::driver::{Code, DriverError, Failure};

use crate::ec2::errors::error;

/// The first key that exists counts, even if it is empty.
const ACCESS_KEY_ID: [&str; 2] = ["providerAccessKeyId", "accessKeyID"];
const SECRET_ACCESS_KEY: [&str; 2] = ["providerSecretAccessKey", "secretAccessKey"];
/// If this key exists, the host uses web identity and ignores access keys.
const TOKEN_FILE: &str = "workloadIdentityTokenFile";
const ROLE: &str = "roleARN";

/// EC2's limit of user data in bytes, before encoding.
pub(crate) const MOST_USER_DATA_BYTES: u64 = 16 * 1024;

/// Names the missing keys. `length` returns the length of a key's value, `None` without that key.
pub(crate) fn check(length: impl Fn(&str) -> Option<u64>) -> Result<(), Failure> {
    let has_value = |key: &str| length(key).is_some_and(|bytes| bytes > 0);
    let first = |keys: [&'static str; 2]| keys.into_iter().find(|key| length(key).is_some());
    let mut missing = Vec::new();
    if length(TOKEN_FILE).is_some() {
        for (key, what) in [(TOKEN_FILE, "the path of a token file"), (ROLE, "the role to assume")] {
            if !has_value(key) {
                missing.push(format!("{key} ({what})"));
            }
        }
    } else {
        for keys in [ACCESS_KEY_ID, SECRET_ACCESS_KEY] {
            match first(keys) {
                None => missing.push(format!("{} (or {})", keys[0], keys[1])),
                Some(key) if !has_value(key) => missing.push(format!("a value of {key}")),
                Some(_) => {}
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the MachineClass's Secret lacks {}: add access keys of AWS, or {TOKEN_FILE} with {ROLE}",
        missing.join(" and ")
    );
    Err(Failure::from(DriverError { terminal: true, ..error(Code::Unauthenticated, message) }))
}

/// Checks user data by its length, `None` if there is none.
pub(crate) fn check_user_data(length: Option<u64>) -> Result<(), Failure> {
    let message = match length.unwrap_or(0) {
        0 => "the MachineClass's Secret lacks userData: add what the instance gets at boot".to_owned(),
        bytes if bytes > MOST_USER_DATA_BYTES => format!(
            "the user data has {bytes} bytes, and EC2 takes {MOST_USER_DATA_BYTES} (16 KiB) before encoding: shorten \
             userData in the MachineClass's Secret, or let it fetch the rest at boot"
        ),
        _ => return Ok(()),
    };
    Err(Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(keys: &[(&str, u64)]) -> Option<String> {
        let length = |key: &str| keys.iter().find(|(name, _)| *name == key).map(|(_, bytes)| *bytes);
        let error = check(length).err()?;
        assert_eq!((error.code, error.terminal), (Code::Unauthenticated, true));
        Some(error.into_record().message)
    }

    #[test]
    fn keys_of_either_name_and_web_identity_are_enough() {
        for keys in [
            [("providerAccessKeyId", 20), ("providerSecretAccessKey", 40)],
            [("accessKeyID", 20), ("secretAccessKey", 40)],
            [("providerAccessKeyId", 20), ("secretAccessKey", 40)],
            [("workloadIdentityTokenFile", 30), ("roleARN", 40)],
        ] {
            assert_eq!(lacks(&keys), None, "{keys:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        type Row<'a> = (&'a [(&'a str, u64)], &'a [&'a str]);
        let table: [Row<'_>; 6] = [
            (&[], &["providerAccessKeyId (or accessKeyID)", "providerSecretAccessKey (or secretAccessKey)"]),
            (&[("accessKeyID", 20)], &["lacks providerSecretAccessKey (or secretAccessKey):"]),
            // The first key that exists counts.
            (
                &[("providerAccessKeyId", 0), ("accessKeyID", 20), ("secretAccessKey", 40)],
                &["lacks a value of providerAccessKeyId:"],
            ),
            // With web identity, access keys are ignored.
            (
                &[("workloadIdentityTokenFile", 9), ("accessKeyID", 20), ("secretAccessKey", 40)],
                &["lacks roleARN"],
            ),
            (&[("workloadIdentityTokenFile", 0), ("roleARN", 9)], &["lacks workloadIdentityTokenFile"]),
            // A spelling in a comment of an old sample was never a key.
            (
                &[("accessKeyId", 20), ("secretAccessKey", 40)],
                &["lacks providerAccessKeyId (or accessKeyID):"],
            ),
        ];
        for (keys, words) in table {
            let message = lacks(keys).unwrap();
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }

    #[test]
    fn user_data_is_judged_by_its_length() {
        assert!(check_user_data(Some(MOST_USER_DATA_BYTES)).is_ok());
        for (length, word) in
            [(None, "lacks userData"), (Some(0), "lacks userData"), (Some(16_385), "16385 bytes")]
        {
            let error = check_user_data(length).unwrap_err();
            assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
            assert!(error.message.contains(word), "{}", error.message);
        }
    }
}
