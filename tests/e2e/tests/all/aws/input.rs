//! Mistakes of users, of clouds and on the way: the right code, a message that says how to fix it, and nothing leaked.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::manifests::aws;
use e2e::{Aws, Cloud, Lab};
use ec2::{Credentials, Effect};
use jiff::{SignedDuration, Timestamp};
use kube::api::PostParams;
use serde_json::{Value, json};

use super::scene::{all, class_with, heal, installed, one_instance_each};
use crate::scene::{is_gone, is_running, nudge, patch_class, secrets};

/// The report about a Machine of class `class`: reason, code and message, everywhere where people and programs look.
async fn says(lab: &Lab<Aws>, name: &str, class: &str, code: &str, parts: &[&str]) -> Result<()> {
    waits(lab, name, class, "CreationFailed", code, parts).await
}

async fn waits(
    lab: &Lab<Aws>,
    name: &str,
    class: &str,
    reason: &str,
    code: &str,
    parts: &[&str],
) -> Result<()> {
    lab.create_machine(name, class).await?;
    for part in parts {
        lab.machine_reason(name, reason, part).await.with_context(|| format!("Machine {name}"))?;
        lab.event("Machine", name, reason, part).await?;
    }
    let operation = lab.machines().get(name).await?.status.unwrap_or_default().last_operation;
    ensure!(operation.error_code.as_deref() == Some(code), "{name}: {operation:?}");
    Ok(())
}

async fn goes(lab: &Lab<Aws>, name: &str) -> Result<()> {
    lab.delete_machine(name).await?;
    is_gone(lab, name).await
}

async fn keyed(lab: &Lab<Aws>, name: &str, credentials: &Credentials) -> Result<()> {
    lab.put_secret(&aws::secret(name, credentials)).await?;
    lab.put_class(&lab.cloud.class(name, name)).await
}

#[tokio::test]
#[ignore = "nightly: waits two minutes for the pauses between tries"]
async fn refused_credentials_have_their_own_error() {
    installed(async |lab, _| {
        let right = lab.cloud.keys().clone();
        let unknown = Credentials { access_key_id: "AKIAUNKNOWN".to_owned(), ..right.clone() };
        let wrong = Credentials { secret_access_key: "a-wrong/secret+key".to_owned(), ..right.clone() };
        let expired = Credentials {
            access_key_id: "ASIAEXPIRED".to_owned(),
            session_token: Some("a-session-token==".to_owned()),
            expires: Some(Timestamp::now() - SignedDuration::from_mins(1)),
            ..right.clone()
        };
        lab.cloud.put_credentials(expired.clone());
        let rows = [
            ("unknown", unknown, "AuthFailure", "correct the keys in the MachineClass's Secret"),
            ("wrong", wrong, "SignatureDoesNotMatch", "correct the secret access key"),
            ("expired", expired, "ExpiredToken", "renew the session token in the MachineClass's Secret"),
        ];
        for (name, credentials, cloud_code, advice) in rows {
            keyed(lab, name, &credentials).await?;
            says(lab, name, name, "Unauthenticated", &[cloud_code, advice]).await?;
            let said = lab.events("Machine", name).await?.join("\n");
            ensure!(!said.contains(&credentials.secret_access_key), "a key is told to everybody: {said}");
            // Right keys help at once, without a hand on the Machine.
            let mut there = secrets(lab).get(name).await?;
            there.data = lab.cloud.secret(name).data;
            secrets(lab).replace(name, &PostParams::default(), &there).await?;
            is_running(lab, name).await?;
            goes(lab, name).await?;
        }
        lab.cloud.set_clock_offset(SignedDuration::from_mins(10));
        says(
            lab,
            "late",
            "small",
            "Unauthenticated",
            &["this host's clock is off by", "time synchronisation (NTP)"],
        )
        .await?;
        lab.cloud.set_clock_offset(SignedDuration::ZERO);
        lab.cloud.set_clock_offset(SignedDuration::from_mins(-10));
        says(lab, "early", "small", "Unauthenticated", &["this host's clock is off by"]).await?;
        lab.cloud.set_clock_offset(SignedDuration::ZERO);
        ensure!(
            lab.cloud.stats().created == 3,
            "one for each whose keys were mended: {:?}",
            lab.cloud.stats()
        );
        Ok(())
    })
    .await;
}

/// A change of providerSpec.
type Change = fn(&mut Value);

#[tokio::test]
#[ignore = "nightly: many classes one after the other"]
async fn a_class_that_names_what_ec2_does_not_have_says_which_field_to_correct() {
    installed(async |lab, _| {
        let rows: [(&str, Change, &str, &str, &[&str]); 6] = [
            (
                "region",
                |spec| spec["region"] = "eu-nowhere-9".into(),
                "CreationFailed",
                "Unauthenticated",
                &["AuthFailure", "enable the region for the account"],
            ),
            (
                "image",
                |spec| spec["ami"] = "ami-0123456789abcdef0".into(),
                "CreationFailed",
                "InvalidArgument",
                &["correct ami"],
            ),
            (
                "type",
                |spec| spec["machineType"] = "m5.enormous".into(),
                "CreationFailed",
                "InvalidArgument",
                &["correct machineType"],
            ),
            (
                "subnet",
                |spec| spec["networkInterfaces"][0]["subnetID"] = "subnet-0123456789abcdef0".into(),
                "CreationFailed",
                "InvalidArgument",
                &["correct networkInterfaces[].subnetID"],
            ),
            (
                "tags",
                |spec| spec["tags"] = json!({ "team": "blue" }),
                "ClassInvalid",
                "InvalidArgument",
                &["kubernetes.io/cluster/", "kubernetes.io/role/"],
            ),
            (
                "odd",
                |spec| spec["blockDevices"] = "one".into(),
                "ClassInvalid",
                "InvalidArgument",
                &["blockDevices"],
            ),
        ];
        for (name, change, reason, code, parts) in rows {
            class_with(lab, name, change).await?;
            waits(lab, name, name, reason, code, parts).await?;
            // Only a region that is there can be asked whether there is an instance.
            patch_class(lab, name, &json!({ "providerSpec": { "region": lab.cloud.region() } })).await?;
        }
        is_running(lab, "region").await?;
        ensure!(lab.cloud.stats().created == 1, "nothing else was made: {:?}", lab.cloud.stats());
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: many answers one after the other"]
async fn answers_that_are_not_ec2s_are_named_and_what_they_hid_is_found() {
    installed(async |lab, _| {
        let html = |is_after_work| Effect::Html { status: 502, is_after_work };
        let rows: [(&str, Effect, &str, &str); 5] = [
            ("cut", Effect::CutXml, "Unavailable", "half of an answer"),
            ("other", Effect::OtherShape, "Internal", "check that an EC2 API is there"),
            ("short", Effect::WrongLength, "Unavailable", "ended before the answer did"),
            ("html", html(true), "Unavailable", "an HTML page with status 502"),
            (
                "lost",
                Effect::LostAnswer { hold: Duration::from_millis(20) },
                "Unavailable",
                "ended before the answer did",
            ),
        ];
        for (name, effect, code, part) in rows {
            // The launch is done, and nothing says so; nor does a look.
            all(lab, "RunInstances", effect.clone());
            all(lab, "DescribeInstances", effect);
            says(lab, name, "small", code, &[part]).await?;
            heal(&lab.cloud);
            nudge(lab, name).await?;
            is_running(lab, name).await?;
        }
        one_instance_each(lab).await?;
        // An image that cannot be read keeps a launch from being tried.
        let launches = lab.cloud.stats().requests_of("RunInstances");
        all(lab, "DescribeImages", html(false));
        says(lab, "unread", "small", "Unavailable", &["an HTML page with status 502"]).await?;
        ensure!(lab.cloud.stats().requests_of("RunInstances") == launches);
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: waits two minutes for the pauses between tries"]
async fn a_page_token_that_repeats_ends_a_look_and_not_the_host() {
    installed(async |lab, _| {
        // The launch gets lost, so that a look comes next; its listing never ends.
        all(lab, "RunInstances", Effect::LostRequest { hold: Duration::ZERO });
        all(lab, "DescribeInstances", Effect::RepeatedPageToken);
        says(lab, "m", "small", "Internal", &["repeats a page token"]).await?;
        let looks = lab.cloud.stats().requests_of("DescribeInstances");
        ensure!(looks < 100, "{looks} requests");
        heal(&lab.cloud);
        nudge(lab, "m").await?;
        is_running(lab, "m").await.map(drop)
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a minute; lives in which a VM is gone run on each change"]
async fn an_instance_that_somebody_terminated_does_not_hold_its_machine_nor_come_again() {
    installed(async |lab, _| {
        lab.create_machine("m", "small").await?;
        is_running(lab, "m").await?;
        let instance = lab.cloud.live_instances().await?.pop().context("there is an instance")?;
        lab.cloud.terminate_by_hand(&instance.id).await?;
        goes(lab, "m").await?;
        let stats = lab.cloud.stats();
        ensure!(stats.created == 1, "{stats:?}");
        Ok(())
    })
    .await;
}
