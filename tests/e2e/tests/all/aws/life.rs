//! A Machine's life on EC2.

use anyhow::{Context, Result, ensure};
use e2e::{Aws, Lab};
use ec2::{CLUSTER_TAG, UID_TAG};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::{Api, ResourceExt};
use machinist_api::names;

use super::scene::{create, installed, one_instance_each, provider_id};
use crate::scene::{is_gone, is_running};

#[tokio::test]
async fn machines_become_instances_and_nodes_and_leave_nothing_behind() {
    installed(async |lab, _| {
        let namespace = Api::<Namespace>::all(lab.client.clone()).get(e2e::manifests::NAMESPACE).await?;
        let cluster = namespace.uid().context("a namespace has a uid")?;
        for name in create(lab, "m", 3).await? {
            is_running(lab, &name).await?;
            is_marked(lab, &name, &cluster).await?;
        }
        one_instance_each(lab).await?;
        let (nodes, tokens) = lab.left_in_target().await?;
        ensure!(
            (nodes.len(), tokens.len()) == (3, 0),
            "a token is gone once its Node has joined: {tokens:?}"
        );
        // Two requests each: the image, and the launch. The answer to the launch says all that must be known.
        let stats = lab.cloud.stats();
        ensure!(stats.requests_of("RunInstances") == 3, "{:?}", stats.requests);
        lab.delete_machine("m0").await?;
        is_gone(lab, "m0").await?;
        ensure!(lab.cloud.live_instances().await?.len() == 2, "the others stay");
        Ok(())
    })
    .await;
}

/// The Machine's instance carries the class's tags and ours, was made under the Machine's key, got user data with a
/// token of its own, and is the one that the Node names.
async fn is_marked(lab: &Lab<Aws>, name: &str, cluster: &str) -> Result<()> {
    let machine = lab.machines().get(name).await?;
    let uid = machine.uid().context("a Machine has a uid")?;
    let live = lab.cloud.live_instances().await?;
    let instance = live.iter().find(|instance| instance.name() == Some(name)).context("it has a name")?;
    let tag = |key: &str| instance.tags.get(key).map(String::as_str);
    ensure!(tag(UID_TAG) == Some(&uid) && tag(CLUSTER_TAG) == Some(cluster), "{:?}", instance.tags);
    ensure!(
        tag("kubernetes.io/role/node") == Some("1") && tag("team") == Some("blue"),
        "{:?}",
        instance.tags
    );
    ensure!(instance.client_token == uid, "{} is not {uid}", instance.client_token);
    let user_data = String::from_utf8(lab.cloud.user_data(&instance.id).await?)?;
    ensure!(user_data.contains(&format!("content: {name}")), "{user_data}");
    ensure!(!user_data.contains("<<"), "nothing stands for something else: {user_data}");
    let node = machine.labels().get(names::labels::NODE).context("the Machine names its Node")?;
    ensure!(*node == instance.private_dns_name, "{node}");
    let node = Api::<Node>::all(lab.client.clone()).get(node).await?;
    ensure!(machine.provider_id() == Some(provider_id(lab, instance).as_str()), "{machine:?}");
    // In the form of the cloud's own controller.
    let of_node = node.spec.and_then(|spec| spec.provider_id);
    ensure!(of_node == Some(format!("aws:///{}/{}", instance.zone, instance.id)), "{of_node:?}");
    Ok(())
}
