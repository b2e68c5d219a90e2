//! Credentials that STS gives for a token in a file of the host's container.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use e2e::manifests::aws;
use e2e::{Aws, Cloud, Host, Lab};
use ec2::IdentityToken;
use kube::api::PostParams;

use super::scene::{AWS, create, installed, one_instance_each, swap};
use crate::scene::{is_running, secrets};

/// A role of `ec2::Options::default()`.
const ROLE: &str = "arn:aws:iam::123456789012:role/machines";
const STS: &str = "AssumeRoleWithWebIdentity";

/// A folder with a token in it, as a projected volume of Kubernetes is, and another one that is not granted.
struct Mount {
    _folder: tempfile::TempDir,
    token: PathBuf,
    outside: PathBuf,
}

impl Mount {
    fn new(token: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let granted = folder.path().join("tokens");
        std::fs::create_dir(&granted)?;
        let mount =
            Self { token: granted.join("token"), outside: folder.path().join("token"), _folder: folder };
        mount.write(token)?;
        std::fs::write(&mount.outside, token)?;
        Ok(mount)
    }

    fn write(&self, token: &str) -> Result<()> {
        Ok(std::fs::write(&self.token, format!("{token}\n"))?)
    }

    async fn granted(&self, lab: &Lab<Aws>, host: &Host) -> Result<()> {
        let folder = self.token.parent().unwrap_or(Path::new("/"));
        let grants = aws::grants_of_web_identity(&lab.cloud.url(), folder)?;
        let map = aws::plugin(Aws::NAME, &AWS, &lab.cloud.url(), &grants)?;
        swap(lab, &map, host).await
    }
}

/// A Secret and a class of the same name.
async fn identified(lab: &Lab<Aws>, name: &str, token_file: &Path, role: &str) -> Result<()> {
    lab.put_secret(&aws::secret_of_web_identity(name, token_file, role)).await?;
    lab.put_class(&lab.cloud.class(name, name)).await
}

#[tokio::test]
#[ignore = "nightly: a minute; tests of egress assume roles on each change"]
async fn a_role_is_assumed_with_the_token_of_a_file_and_its_session_is_kept_and_renewed() {
    // Deleting the Machines needs it, too.
    let mount = Mount::new("header.payload.signature").expect("a folder");
    installed(async |lab, host| {
        lab.cloud.put_identity_token("header.payload.signature", IdentityToken::Valid);
        mount.granted(lab, host).await?;
        identified(lab, "web", &mount.token, ROLE).await?;
        for name in ["a", "b", "c"] {
            lab.create_machine(name, "web").await?;
        }
        for name in ["a", "b", "c"] {
            is_running(lab, name).await?;
        }
        ensure!(
            lab.cloud.stats().requests_of(STS) == 1,
            "one session for all: {:?}",
            lab.cloud.stats().requests
        );
        let lasting = lab.cloud.keys().access_key_id.clone();
        let launches = lab.cloud.journal();
        let launches = launches.iter().filter(|entry| entry.action == "RunInstances");
        let keys: Vec<&str> = launches.map(|entry| entry.access_key_id.as_str()).collect();
        ensure!(keys.len() == 3 && keys.iter().all(|key| *key != lasting), "{keys:?}");
        // The session ends early, and the token has been renewed meanwhile, as Kubernetes does.
        mount.write("header.payload.renewed")?;
        lab.cloud.put_identity_token("header.payload.signature", IdentityToken::Expired);
        lab.cloud.put_identity_token("header.payload.renewed", IdentityToken::Valid);
        lab.cloud.expire_sessions();
        lab.create_machine("d", "web").await?;
        is_running(lab, "d").await?;
        ensure!(lab.cloud.stats().requests_of(STS) >= 2, "{:?}", lab.cloud.stats().requests);
        one_instance_each(lab).await?;
        // Static keys are of no interest beside it, and go on beside it elsewhere.
        for name in create(lab, "static-", 1).await? {
            is_running(lab, &name).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a minute; tests of egress ask a refusing token service on each change"]
async fn a_role_that_cannot_be_assumed_says_why_and_what_to_do() {
    // Deleting the Machines needs it, too.
    let mount = Mount::new("header.payload.signature").expect("a folder");
    installed(async |lab, host| {
        lab.cloud.put_identity_token("header.payload.signature", IdentityToken::Valid);
        mount.granted(lab, host).await?;
        let other_role = ROLE.replace("machines", "others");
        let missing = mount.token.with_file_name("missing");
        let rows: [(&str, &Path, &str, &str); 4] = [
            ("role", &mount.token, &other_role, "correct roleARN in the MachineClass's Secret"),
            ("outside", &mount.outside, ROLE, "leads outside of the folders"),
            ("missing", &missing, ROLE, "does not exist in the host's container"),
            ("relative", Path::new("token"), ROLE, "is no absolute path"),
        ];
        for (name, file, role, part) in rows {
            identified(lab, name, file, role).await?;
            refused(lab, name, part).await?;
        }
        lab.cloud.put_identity_token("header.payload.signature", IdentityToken::Expired);
        identified(lab, "expired", &mount.token, ROLE).await?;
        refused(lab, "expired", "must be renewed by whoever writes it").await?;
        ensure!(lab.cloud.stats().created <= 5, "each has one instance at most");
        Ok(())
    })
    .await;
}

async fn refused(lab: &Lab<Aws>, name: &str, part: &str) -> Result<()> {
    lab.create_machine(name, name).await?;
    lab.machine_reason(name, "CreationFailed", part).await?;
    lab.event("Machine", name, "CreationFailed", part).await?;
    let operation = lab.machines().get(name).await?.status.unwrap_or_default().last_operation;
    ensure!(operation.error_code.as_deref() == Some("Unauthenticated"), "{operation:?}");
    // Whether there is an instance can be asked with keys only: once they are there, the deletion goes on.
    let mut there = secrets(lab).get(name).await?;
    there.data = lab.cloud.secret(name).data;
    secrets(lab).replace(name, &PostParams::default(), &there).await?;
    Ok(())
}
