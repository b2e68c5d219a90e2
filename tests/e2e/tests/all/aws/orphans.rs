//! The listing by which orphans are found: complete, without doubles, of this cluster and of what it adopts alone.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use e2e::{Aws, Cloud};
use ec2::{CLUSTER_TAG, Effect, Rule, UID_TAG};
use machinist_core::driver::error::{CallError, Code};
use machinist_core::driver::{ListRequest, Listed};
use machinist_plugin_host::PluginHost;
use serde_json::json;

use super::scene::AWS;
use super::takeover::KEYS;

const CLUSTER: &str = "cluster-1";
/// More than two pages of a hundred.
const OURS: usize = 210;

/// EC2, and its driver in a plugin host of this process.
struct Listing {
    cloud: Aws,
    host: PluginHost,
    _folder: tempfile::TempDir,
}

impl Listing {
    async fn start() -> Result<Self> {
        let cloud = Aws::start().await?;
        let folder = tempfile::tempdir()?;
        let host = PluginHost::start(sandbox::settings(folder.path())?)?;
        let mut map = cloud.plugin(&AWS)?;
        let settings = json!({ "endpoint": cloud.url(), "adopt": { CLUSTER: KEYS } });
        map.data.get_or_insert_default().insert("settings.json".to_owned(), settings.to_string());
        sandbox::load(&host, sandbox::raw(map)).await?;
        Ok(Self { cloud, host, _folder: folder })
    }

    async fn page(&self, token: Option<String>) -> Result<(Vec<Listed>, Option<String>), CallError> {
        let class = sandbox::class(&self.cloud.class("small", "aws"));
        let secrets = sandbox::secrets(&self.cloud.secret("aws"));
        let request = ListRequest { class, cluster: CLUSTER.to_owned(), token, secrets };
        self.host.list(request).await.map(|page| (page.machines, page.next))
    }

    async fn all(&self) -> Result<Vec<Vec<Listed>>> {
        let mut pages = Vec::new();
        let mut token = None;
        loop {
            let (machines, next) = self.page(token).await?;
            pages.push(machines);
            match next {
                None => return Ok(pages),
                next => token = next,
            }
        }
    }
}

fn tags(name: &str, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let class = [("Name", name), ("kubernetes.io/cluster/lab", "1"), ("kubernetes.io/role/node", "1")];
    class.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn a_listing_is_complete_over_all_pages_and_knows_whose_each_instance_is() {
    listed().await.expect("the listing holds");
}

async fn listed() -> Result<()> {
    let listing = Listing::start().await?;
    let cloud = &listing.cloud;
    let mut ours = BTreeSet::new();
    for number in 0..OURS {
        let (name, uid) = (format!("m{number}"), format!("uid-{number}"));
        ours.insert(cloud.create_foreign(&tags(&name, &[(CLUSTER_TAG, CLUSTER), (UID_TAG, &uid)])).await?);
    }
    let by_mcm = cloud.create_foreign(&tags("by-mcm", &[])).await?;
    for number in 0..5 {
        let more = [(CLUSTER_TAG, "another"), (UID_TAG, "another-uid")];
        cloud.create_foreign(&tags(&format!("m{number}"), &more)).await?;
    }
    let gone = cloud.create_foreign(&tags("gone", &[(CLUSTER_TAG, CLUSTER), (UID_TAG, "uid-gone")])).await?;
    cloud.terminate_by_hand(&gone).await?;
    cloud.create_foreign(&BTreeMap::from([("Name".to_owned(), "m0".to_owned())])).await?;

    let pages = listing.all().await?;
    ensure!(pages.len() >= 3 && pages.iter().all(|page| page.len() <= 100), "{} pages", pages.len());
    let found: Vec<&Listed> = pages.iter().flatten().collect();
    let ids: BTreeSet<&str> =
        found.iter().filter_map(|vm| vm.provider_id.as_str().rsplit('/').next()).collect();
    ensure!(ids.len() == found.len(), "one is listed twice");
    let wanted: BTreeSet<&str> = ours.iter().chain([&by_mcm]).map(String::as_str).collect();
    ensure!(ids == wanted, "{:?}", ids.symmetric_difference(&wanted).collect::<Vec<_>>());
    ensure!(found.iter().all(|vm| vm.created_at.is_some()), "the age of each is known");

    // An instance without a Machine is found by its uid, not by its name: uid-7's Machine was created again under its
    // name.
    let machines: BTreeSet<String> = (0..OURS)
        .map(|number| if number == 7 { "uid-anew".to_owned() } else { format!("uid-{number}") })
        .collect();
    let is_orphan =
        |vm: &&&Listed| vm.machine_uid.as_ref().is_some_and(|uid| !machines.contains(uid.as_str()));
    let orphans: Vec<&str> = found.iter().filter(is_orphan).map(|vm| vm.machine_name.as_str()).collect();
    ensure!(orphans == ["m7"], "{orphans:?}");
    let by_mcm = found.iter().find(|vm| vm.machine_name.as_str() == "by-mcm").context("it is listed")?;
    ensure!(by_mcm.machine_uid.is_none(), "{by_mcm:?}");
    listing.host.shutdown().await;
    Ok(())
}

#[tokio::test]
#[ignore = "nightly: tests of the driver show it on each change"]
async fn a_listing_that_is_broken_off_is_an_error_and_never_a_short_listing() {
    let listing = Listing::start().await.expect("it starts");
    for number in 0..3 {
        let tags = tags(&format!("m{number}"), &[(CLUSTER_TAG, CLUSTER), (UID_TAG, "uid")]);
        listing.cloud.create_foreign(&tags).await.expect("it is made");
    }
    let html = Effect::Html { status: 503, is_after_work: false };
    let rows = [
        (Effect::CutXml, Code::Unavailable),
        (Effect::OtherShape, Code::Internal),
        (html, Code::Unavailable),
        (Effect::WrongLength, Code::Unavailable),
    ];
    for (effect, code) in rows {
        listing.cloud.faults().add(Rule::new(effect.clone()).on("DescribeInstances"));
        let answer = listing.page(None).await;
        assert!(
            matches!(&answer, Err(CallError::Guest(error)) if error.code == code),
            "{effect:?}: {answer:?}"
        );
        listing.cloud.faults().clear();
    }
    listing.cloud.faults().add(Rule::new(Effect::RepeatedPageToken).on("DescribeInstances"));
    let mut token = None;
    let error = loop {
        match listing.page(token).await {
            Ok((_, next)) => token = Some(next.expect("each page says that there is one more")),
            Err(error) => break error,
        }
    };
    let CallError::Guest(error) = error else { panic!("the driver itself finds it: {error:?}") };
    assert!(error.code == Code::Internal && error.message.contains("repeats a page token"), "{error:?}");
    listing.host.shutdown().await;
}
