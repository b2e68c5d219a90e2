//! No secret is in the driver's memory, whichever call it was and however it ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::manifests::aws;
use e2e::plugins::sandbox;
use e2e::{Aws, Cloud};
use ec2::{Credentials, Effect, IdentityToken, Rule};
use machinist_api::MachineClass;
use machinist_core::driver::{Creation, ListRequest, MachineRequest, SecretValues};
use machinist_core::value::id::ProviderId;
use machinist_plugin_host::PluginHost;
use machinist_plugin_host::testing::{InspectedCall, MemoryInspector};

use super::scene::AWS;

const BOOTSTRAP_TOKEN: &str = "c4n4ry.b00tstr4pt0k3n+/of=it";
const IDENTITY_TOKEN: &str = "c4n4ry-header.c4n4ry-payload.c4n4ry-signature";
const MACHINE: &str = "m-of-the-scan";

/// Looks for secrets in whatever memory it is shown.
struct Inspector {
    cloud: Aws,
    canaries: Vec<(&'static str, String)>,
    seen: Mutex<BTreeMap<&'static str, MemoryUse>>,
}

#[derive(Clone, Debug, Default)]
struct MemoryUse {
    calls: u32,
    /// The least that was looked through in a call.
    bytes: usize,
    /// The Machine's name was there: the memory that was shown is the call's.
    names_machine: bool,
    secrets: Vec<String>,
}

impl Inspector {
    /// The secrets, those included that STS gave out meanwhile.
    fn secrets(&self) -> Vec<(&'static str, String)> {
        let sessions = self.cloud.sessions().into_iter().flat_map(|session| {
            let token = session.session_token.unwrap_or_default();
            [
                ("session's key id", session.access_key_id),
                ("session's key", session.secret_access_key),
                ("session token", token),
            ]
        });
        self.canaries.iter().cloned().chain(sessions).filter(|(_, secret)| !secret.is_empty()).collect()
    }
}

impl MemoryInspector for Inspector {
    fn call_ended(&self, call: &InspectedCall<'_>) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = all.entry(call.operation.name()).or_default();
        seen.calls += 1;
        let bytes = call.memories().map(<[u8]>::len).sum();
        seen.bytes = if seen.calls == 1 { bytes } else { seen.bytes.min(bytes) };
        seen.names_machine |= call.contains(MACHINE.as_bytes());
        for (what, secret) in self.secrets() {
            for (form, bytes) in forms(&secret) {
                if call.contains(&bytes) {
                    seen.secrets.push(format!("{what}, {form}"));
                }
            }
        }
    }
}

/// How a secret could stand in memory: as it is, URL-encoded, in hex, and in base64 wherever in a longer text it
/// begins.
fn forms(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let escaped = |is_upper: bool| {
        let byte = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ if is_upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        secret.bytes().map(byte).collect::<String>().into_bytes()
    };
    let hex = secret.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut forms = vec![
        ("plain", secret.as_bytes().to_vec()),
        ("URL-encoded", escaped(true)),
        ("url-encoded", escaped(false)),
        ("hex", hex.into_bytes()),
    ];
    for before in 0..3 {
        // Whole groups of three bytes, so that neighbours do not change them.
        let skipped = (3 - before) % 3;
        let whole = secret.as_bytes().get(skipped..).unwrap_or_default();
        let whole = whole.get(..whole.len() / 3 * 3).unwrap_or_default();
        let text = STANDARD.encode(whole);
        forms.push(("base64", text.clone().into_bytes()));
        forms.push(("base64, URL-encoded", text.replace('+', "%2B").replace('/', "%2F").into_bytes()));
    }
    forms
}

/// EC2, its driver in a watched plugin host, and what is asked of it.
struct Scan {
    cloud: Aws,
    host: PluginHost,
    inspector: Arc<Inspector>,
    class: MachineClass,
    _folder: tempfile::TempDir,
}

impl Scan {
    async fn start(canaries: &Credentials) -> Result<Self> {
        let cloud = Aws::start().await?;
        cloud.put_credentials(canaries.clone());
        cloud.put_identity_token(IDENTITY_TOKEN, IdentityToken::Valid);
        let folder = tempfile::tempdir()?;
        let inspector = Arc::new(Inspector {
            cloud: cloud.clone(),
            canaries: vec![
                ("access key id", canaries.access_key_id.clone()),
                ("secret access key", canaries.secret_access_key.clone()),
                ("session token of the Secret", canaries.session_token.clone().unwrap_or_default()),
                ("identity token", IDENTITY_TOKEN.to_owned()),
                ("bootstrap token", BOOTSTRAP_TOKEN.to_owned()),
            ],
            seen: Mutex::default(),
        });
        let mut settings = sandbox::settings(folder.path())?;
        settings.memory_inspector = Some(Arc::clone(&inspector) as Arc<dyn MemoryInspector>);
        let host = PluginHost::start(settings)?;
        let grants = aws::grants_of_web_identity(&cloud.url(), folder.path())?;
        sandbox::load(&host, sandbox::raw(aws::plugin("aws", &AWS, &cloud.url(), &grants)?)).await?;
        let mut class = cloud.class("small", "aws");
        class.provider_spec.get_or_insert_default()["srcAndDstChecksEnabled"] = false.into();
        Ok(Self { cloud, host, inspector, class, _folder: folder })
    }

    fn request(&self, secrets: &SecretValues) -> MachineRequest {
        let mut request = sandbox::request(MACHINE, &self.class, &self.cloud.secret("aws"), "cluster-1");
        request.secrets = secrets.clone();
        let user_data = format!("#cloud-config\nwrite_files:\n  - content: {BOOTSTRAP_TOKEN}\n");
        request.secrets.user_data = Some(user_data.into_bytes());
        request
    }

    /// Each call of the contract once; all must succeed.
    async fn everything(&self, secrets: &SecretValues, attempt: &str) -> Result<()> {
        let mut request = self.request(secrets);
        request.idempotency_key = format!("key-{attempt}");
        self.host.validate_class(request.class.clone()).await?;
        let Creation::Created(vm) = self.host.create(request.clone()).await? else {
            anyhow::bail!("it is created at once");
        };
        let data = String::from_utf8(
            self.cloud.user_data(vm.provider_id.as_str().rsplit('/').next().unwrap_or("")).await?,
        )?;
        ensure!(data.contains(BOOTSTRAP_TOKEN), "the instance gets its token: {data}");
        request.machine.provider_id = Some(ProviderId::new(vm.provider_id.as_str()));
        self.host.initialize(request.clone()).await?;
        self.host.get_status(request.clone()).await?;
        self.host.reboot(request.clone()).await?;
        let list = ListRequest {
            class: request.class.clone(),
            cluster: request.cluster.clone(),
            token: None,
            secrets: request.secrets.clone(),
        };
        self.host.list(list).await?;
        let volumes = vec![r#"{"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1"}}"#.to_owned()];
        self.host.get_volume_ids("AWS".into(), None, volumes).await?;
        self.host.delete(request).await?;
        Ok(())
    }

    fn is_clean(&self) -> Result<()> {
        let seen = self.inspector.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (operation, seen) in &seen {
            ensure!(seen.secrets.is_empty(), "{operation}: {:?}", seen.secrets);
            ensure!(seen.bytes >= 64 * 1024, "{operation}: only {} bytes were shown", seen.bytes);
        }
        let of = |operation: &str| {
            seen.get(operation).cloned().with_context(|| format!("{operation} was not shown"))
        };
        for operation in [
            "CreateMachine", "InitializeMachine", "GetMachineStatus", "DeleteMachine", "RebootMachine",
            "ListMachines", "GetVolumeIDs", "ValidateClass", "Describe",
        ] {
            of(operation)?;
        }
        for operation in ["CreateMachine", "InitializeMachine", "GetMachineStatus", "DeleteMachine"] {
            ensure!(of(operation)?.names_machine, "{operation}: what was shown is not the call's memory");
        }
        Ok(())
    }
}

fn values(pairs: &[(&str, &str)]) -> SecretValues {
    let values = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    SecretValues { values: values.collect(), ..SecretValues::default() }
}

#[tokio::test]
async fn no_key_and_no_token_is_in_the_drivers_memory_after_any_call() {
    scanned().await.expect("nothing is found");
}

async fn scanned() -> Result<()> {
    let canaries = Credentials {
        session_token: Some("c4n4ry/session+token/that/is/long/enough==".to_owned()),
        ..Credentials::lasting("default", "ASIAC4N4RYK3Y1D00001", "c4n4ry/secret+access/key/of/forty/chars0")
    };
    let scan = Scan::start(&canaries).await?;
    let keys = |secret: &str| {
        values(&[
            ("providerAccessKeyId", &canaries.access_key_id),
            ("providerSecretAccessKey", secret),
            ("providerSessionToken", canaries.session_token.as_deref().unwrap_or_default()),
        ])
    };
    scan.everything(&keys(&canaries.secret_access_key), "static").await.context("with static keys")?;
    let file = scan._folder.path().join("token");
    std::fs::write(&file, IDENTITY_TOKEN)?;
    let role = "arn:aws:iam::123456789012:role/machines";
    let web = values(&[("workloadIdentityTokenFile", &file.to_string_lossy()), ("roleARN", role)]);
    scan.everything(&web, "web").await.context("with web identity")?;
    ensure!(!scan.cloud.sessions().is_empty(), "a session was made");
    // Calls that fail say more about why, and must not say this either.
    let request = scan.request(&keys("c4n4ry/secret+access/key/of/forty/chars1"));
    ensure!(scan.host.create(request).await.is_err(), "the key is wrong");
    let failing = [Effect::CutXml, Effect::throttle(None), Effect::Html { status: 502, is_after_work: true }];
    for (number, effect) in failing.into_iter().enumerate() {
        scan.cloud.faults().add(Rule::new(effect).on("RunInstances"));
        let mut request = scan.request(&keys(&canaries.secret_access_key));
        request.idempotency_key = format!("key-failing-{number}");
        ensure!(scan.host.create(request).await.is_err(), "it fails");
        scan.cloud.faults().clear();
    }
    scan.cloud.put_identity_token(IDENTITY_TOKEN, IdentityToken::Expired);
    scan.cloud.expire_sessions();
    ensure!(scan.host.get_status(scan.request(&web)).await.is_err(), "the session is over");
    scan.is_clean()?;
    scan.host.shutdown().await;
    Ok(())
}

#[test]
fn the_scan_finds_what_is_there() {
    let secret = "c4n4ry/secret+key";
    for (form, text) in [
        ("plain", format!("x{secret}y")),
        ("base64", STANDARD.encode(format!("x{secret}y"))),
        ("base64", STANDARD.encode(format!("xy{secret}"))),
        ("base64", STANDARD.encode(secret)),
        ("URL-encoded", "c4n4ry%2Fsecret%2Bkey".to_owned()),
        ("url-encoded", "c4n4ry%2fsecret%2bkey".to_owned()),
        ("hex", "6334".to_owned() + "6e3472792f7365637265742b6b6579"),
    ] {
        let found: Vec<&str> = forms(secret)
            .into_iter()
            .filter(|(_, bytes)| text.as_bytes().windows(bytes.len()).any(|window| window == bytes))
            .map(|(form, _)| form)
            .collect();
        assert!(found.contains(&form), "{form} in {text}: {found:?}");
    }
}
