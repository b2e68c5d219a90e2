//! A life of an instance of EC2, recorded against the emulator.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ec2::{Ec2, Effect, Rule};
use futures::future::BoxFuture;
use machinist_core::driver::{ClassRequest, Creation, ListRequest, MachineRequest, SecretValues};
use machinist_core::value::id::Uid;
use machinist_plugin_host::testing::EgressSettings;
use machinist_plugin_host::{Recording, Resolve};

use super::{recorded, recording_into};
use crate::fixture::{Fixture, Map, class, request};

const GRANTS: &str = include_str!("../../../../../plugins/aws/grants.yaml");
const USER_DATA: &str = "#cloud-config\nbootstrap: canary.0123456789abcdef\n";
const PROVIDER: &str = "AWS";

/// Values that no recording may have, in the spellings in which they travel.
pub(super) fn secrets_of_the_tests() -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let keys = &ec2::Options::default().credentials[0];
    let values = [&keys.access_key_id, &keys.secret_access_key, USER_DATA, "canary.0123456789abcdef"];
    let packed = STANDARD.encode(USER_DATA);
    let mut all: Vec<String> = values.iter().map(ToString::to_string).collect();
    all.push(packed.trim_end_matches('=').to_owned());
    all.push(keys.secret_access_key.replace('/', "%2F").replace('+', "%2B"));
    all
}

/// Every name has a public address, which is never dialled: the detour is.
struct Anywhere;

impl Resolve for Anywhere {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::new(192, 0, 78, 1))]) })
    }
}

fn spec(ec2: &Ec2) -> String {
    let fixture = ec2.fixture();
    serde_json::json!({
        "region": ec2.region(),
        "ami": fixture.image_id,
        "machineType": fixture.instance_type,
        "iam": { "name": fixture.profile_name },
        "blockDevices": [{ "ebs": { "volumeSize": 20, "volumeType": "gp3", "encrypted": true } }],
        "networkInterfaces": [{ "subnetID": fixture.subnet_id(), "securityGroupIDs": [fixture.security_group_id] }],
        "srcAndDstChecksEnabled": false,
        "tags": { "kubernetes.io/cluster/lab": "1", "kubernetes.io/role/node": "1" },
    })
    .to_string()
}

fn secrets(ec2: &Ec2) -> SecretValues {
    let keys = &ec2.credentials()[0];
    let values = BTreeMap::from([
        ("providerAccessKeyId".to_owned(), keys.access_key_id.clone().into_bytes()),
        ("providerSecretAccessKey".to_owned(), keys.secret_access_key.clone().into_bytes()),
    ]);
    SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() }
}

/// A VM is created, queried, listed, restarted and deleted; then refusals of the cloud and the class, and a cloud that
/// throttles.
pub(super) async fn life() -> Vec<Recording> {
    // Fails only when another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let ec2 = Ec2::start(ec2::Options::default()).await.expect("moto starts");
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = recording_into(folder.path());
    let address: SocketAddr = ec2.url().trim_start_matches("http://").parse().expect("an address");
    settings.egress =
        EgressSettings { detour: Some(address), resolver: Arc::new(Anywhere), ..EgressSettings::default() };
    let world = Fixture::with(settings);
    let map = Map::new("aws", guests::bytes("aws-driver").expect("the driver builds"))
        .data("grants.yaml", &format!("regions: [{}]\n{GRANTS}", ec2.region()));
    world.ready(map).await;
    let spec = spec(&ec2);
    let ask = |uid: &str| {
        let mut ask = MachineRequest { secrets: secrets(&ec2), ..request(PROVIDER, &spec) };
        ask.machine.uid = Uid::new(uid);
        ask.idempotency_key = format!("key-of-{uid}");
        ask
    };
    let host = &world.host;

    let created = host.create(ask("uid-1")).await;
    let Ok(Creation::Created(vm)) = created else { panic!("{created:?}") };
    let mut known = ask("uid-1");
    known.machine.provider_id = Some(vm.provider_id.clone());
    known.machine.last_known_state.clone_from(&vm.last_known_state);
    host.initialize(known.clone()).await.expect("is finished");
    host.get_status(known.clone()).await.expect("is there");
    host.get_status(ask("uid-1")).await.expect("is found by its marks");
    let list =
        |class| ListRequest { class, cluster: "cluster-1".to_owned(), token: None, secrets: secrets(&ec2) };
    assert_eq!(host.list(list(class(PROVIDER, &spec))).await.expect("lists").machines.len(), 1);
    host.reboot(known.clone()).await.expect("starts anew");
    host.validate_class(class(PROVIDER, &spec)).await.expect("is a class");
    host.validate_class(class(PROVIDER, "{}")).await.expect_err("is no class");
    let volume = r#"{"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1"}}"#;
    host.get_volume_ids(PROVIDER.into(), None, vec![volume.to_owned()]).await.expect("one");
    let zone = vm.failure_domain.clone().expect("is in a zone");
    let node = host.node_id(known.clone(), vm).await.expect("has a zone in its id");
    assert!(node.as_str().starts_with(&format!("aws:///{zone}/i-")), "{node}");
    let mut zoned: serde_json::Value = serde_json::from_str(&spec).expect("JSON");
    zoned["subnetsByZone"] = serde_json::json!({ (zone.as_str()): ec2.fixture().subnet_id() });
    let mut placed = known.clone();
    placed.class.spec = zoned.to_string();
    placed.class.spec = host.place(placed.clone(), zone.clone()).await.expect("has a subnet there");
    placed.machine.uid = Uid::new("uid-3");
    (placed.machine.provider_id, placed.machine.last_known_state) = (None, None);
    placed.idempotency_key = "key-of-uid-3".to_owned();
    let there = host.create(placed.clone()).await;
    let Ok(Creation::Created(there)) = there else { panic!("{there:?}") };
    assert_eq!(there.failure_domain, Some(zone));
    host.delete(placed).await.expect("goes");
    let class_request = ClassRequest { class: class(PROVIDER, &spec), secrets: secrets(&ec2) };
    let resources = host.node_capacity(class_request).await.expect("has a size").resources;
    assert!(resources.contains_key("cpu") && resources.contains_key("memory"), "{resources:?}");
    host.delete(known.clone()).await.expect("goes");
    host.delete(known).await.expect("has gone");

    host.get_status(ask("uid-2")).await.expect_err("was never made");
    let mut misbehaving = ask("uid-2");
    misbehaving.class.spec = spec.replace(&ec2.fixture().image_id, "ami-0000000000000000f");
    host.create(misbehaving).await.expect_err("there is no such image");
    let mut stranger = ask("uid-2");
    stranger.secrets.values.insert("providerAccessKeyId".to_owned(), b"AKIASTRANGER".to_vec());
    host.create(stranger).await.expect_err("nobody knows the key");
    let refuse = |code: &str| {
        ec2.faults().clear();
        ec2.faults().add(Rule::new(Effect::error(code)).on("RunInstances"));
    };
    for code in
        ["InsufficientInstanceCapacity", "InstanceLimitExceeded", "UnauthorizedOperation", "InternalError"]
    {
        refuse(code);
        host.create(ask("uid-2")).await.expect_err("is refused");
    }
    ec2.faults().clear();
    ec2.faults().add(Rule::new(Effect::throttle(None)));
    host.create(ask("uid-2")).await.expect_err("too many requests");
    host.get_status(ask("uid-2")).await.expect_err("too many requests");
    let mut spot: serde_json::Value = serde_json::from_str(&spec).expect("JSON");
    spot["instanceMarketOptions"] = serde_json::json!({ "marketType": "spot" });
    let mut interruptible = ask("uid-2");
    interruptible.class.spec = spot.to_string();
    assert_eq!(host.is_interruptible(interruptible).await, Ok(true));
    recorded(&world, folder.path()).await
}
