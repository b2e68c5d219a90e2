//! Answers of token services.

use jiff::Timestamp;
use machinist_plugin_host::testing::fuzz::token_answer;

use super::pace;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "token",
    about: "answers of OAuth2, Keystone and STS: a credential is taken only from a whole answer, and ends in the future",
    grammar: Grammar::Text,
    samples,
    words: &[
        "access_token", "token_type", "bearer", "expires_in", "x-subject-token", "expires_at",
        "9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z", "Credentials", "<AccessKeyId>", "</AccessKeyId>",
        "<!DOCTYPE a [<!ENTITY b \"&b;&b;\">]>", "&b;",
    ],
    share: 30,
    check,
};

const STS: &str = "\n\n<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
    <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>TOKEN==</SessionToken>\
    <SecretAccessKey>SECRET</SecretAccessKey><Expiration>2027-03-01T13:00:00Z</Expiration>\
    <AccessKeyId>ASIA1</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>\
    </AssumeRoleWithWebIdentityResponse>";
const SCHEMES: [&str; 3] = ["oauth2", "keystone", "sts"];

fn samples() -> Vec<Vec<u8>> {
    samples::texts(&[
        "content-type: application/json\n\n{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"expires_in\":3600}",
        "\n\n{\"access_token\":\"t\",\"expires_in\":\"3600\"}",
        "x-subject-token: gAAAA\n\n{\"token\":{\"expires_at\":\"2027-03-01T13:00:00.000000Z\"}}",
        STS,
    ])
}

fn check(input: &[u8]) -> Verdict {
    let (headers, body) = pace::split(input);
    let now = Timestamp::from_second(1_800_000_000).unwrap_or_default();
    let mut shape = Shape::of("");
    for scheme in SCHEMES {
        let taken = token_answer(scheme, &headers, body, now).ok_or("a scheme is unknown")?;
        let long_ago =
            token_answer(scheme, &headers, body, Timestamp::from_second(250_000_000_000).unwrap_or_default())
                .is_some_and(|taken| taken.is_ok());
        // A token without an end counts from now.
        promise(!long_ago || scheme == "oauth2", || "a credential is good at the end of time".to_owned())?;
        shape = shape.and(Shape::of_result(&taken));
    }
    Ok(shape)
}
