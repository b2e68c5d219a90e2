//! Selects the trees that a command shows. Pure.

use anyhow::{Result, anyhow, bail};

use super::model::{ClusterApiForest, ClusterNode, DeploymentNode, Forest, SetNode};
use crate::cluster::instead;
use crate::cluster::subject::{Kind, named, split};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    All,
    /// A name without a kind: a MachineDeployment of either API.
    Any(String),
    Deployment(String),
    Set(String),
    Cluster(String),
    /// The same of Cluster API.
    CoreDeployment(String),
    CoreSet(String),
}

impl Subject {
    pub(super) fn parse(words: &[String], program: &str) -> Result<Self> {
        if words.is_empty() {
            return Ok(Self::All);
        }
        let help = format!(
            "write machinedeployment/NAME, machineset/NAME or cluster/NAME, as in `{program} tree machinedeployment/workers`, \
             or no name for all"
        );
        let Some((kind, name)) = split(words) else { bail!("one tree at a time is shown: {help}") };
        let named = |kind: &str| named(name, kind, &help).map(str::to_owned);
        match kind {
            None => Ok(Self::Any(named("MachineDeployment")?)),
            Some(Kind::Deployment) => Ok(Self::Deployment(named("MachineDeployment")?)),
            Some(Kind::Set) => Ok(Self::Set(named("MachineSet")?)),
            Some(Kind::Cluster) => Ok(Self::Cluster(named("Cluster")?)),
            Some(Kind::CoreDeployment) => Ok(Self::CoreDeployment(named("MachineDeployment")?)),
            Some(Kind::CoreSet) => Ok(Self::CoreSet(named("MachineSet")?)),
            Some(Kind::Machine) => bail!("`{program} explain machine/{name}` is about one Machine; {help}"),
            Some(Kind::CoreMachine) => {
                bail!("`{program} explain machines.cluster.x-k8s.io/{name}` is about one Machine; {help}")
            }
            Some(Kind::MachinistMachine) => {
                bail!("`{program} explain machinistmachine/{name}` is about one MachinistMachine; {help}")
            }
            Some(Kind::MachinistRemediation) => {
                bail!("`{program} explain machinistremediation/{name}` is about one remediation; {help}")
            }
            Some(Kind::Node | Kind::PodDeployment | Kind::Other(_)) => {
                bail!("only MachineDeployments, MachineSets and Clusters have trees: {help}")
            }
        }
    }
}

/// Keeps the selected trees.
pub(super) fn pick(forest: Forest, subject: &Subject) -> Result<Forest> {
    match subject {
        Subject::All => Ok(forest),
        Subject::Any(wanted) => {
            let of_core = || core_deployments(&forest).any(|deployment| deployment.name == *wanted);
            let has_own = forest.deployments.iter().any(|deployment| deployment.name == *wanted);
            if !has_own && of_core() { core_deployment(forest, wanted) } else { deployment(forest, wanted) }
        }
        Subject::Deployment(wanted) => deployment(forest, wanted),
        Subject::Set(wanted) => set(forest, wanted),
        Subject::Cluster(wanted) => cluster(forest, wanted),
        Subject::CoreDeployment(wanted) => core_deployment(forest, wanted),
        Subject::CoreSet(wanted) => core_set(forest, wanted),
    }
}

fn deployment(forest: Forest, wanted: &str) -> Result<Forest> {
    let rest = rest(&forest);
    let is_in_core = core_deployments(&forest).any(|deployment| deployment.name == wanted);
    let deployments = one(forest.deployments, |deployment| deployment.name.as_str(), wanted);
    let deployments = deployments.map_err(|names| match is_in_core {
        true => in_core("MachineDeployment", "machinedeployments", wanted, &rest),
        false => absent(&names, wanted, "MachineDeployment", &rest),
    })?;
    Ok(Forest { deployments, ..rest })
}

fn set(forest: Forest, wanted: &str) -> Result<Forest> {
    let rest = rest(&forest);
    let is_in_core = core_sets(&forest).any(|set| set.name == wanted);
    let owned = forest.deployments.into_iter().flat_map(|deployment| deployment.sets);
    let sets = one(owned.chain(forest.sets), |set| set.name.as_str(), wanted);
    let sets = sets.map_err(|names| match is_in_core {
        true => in_core("MachineSet", "machinesets", wanted, &rest),
        false => absent(&names, wanted, "MachineSet", &rest),
    })?;
    Ok(Forest { sets, ..rest })
}

fn cluster(forest: Forest, wanted: &str) -> Result<Forest> {
    let (rest, clusters) = clusters(forest)?;
    let clusters = one(clusters, |cluster| cluster.name.as_str(), wanted);
    Ok(of_clusters(clusters.map_err(|names| absent(&names, wanted, "Cluster", &rest))?, rest))
}

fn core_deployments(forest: &Forest) -> impl Iterator<Item = &DeploymentNode> {
    let clusters = forest.cluster_api.iter().flat_map(|forest| &forest.clusters);
    clusters.flat_map(|cluster| &cluster.deployments)
}

fn core_sets(forest: &Forest) -> impl Iterator<Item = &SetNode> {
    let clusters = forest.cluster_api.iter().flat_map(|forest| &forest.clusters);
    let owned = core_deployments(forest).flat_map(|deployment| &deployment.sets);
    owned.chain(clusters.flat_map(|cluster| &cluster.sets))
}

/// Keeps the Clusters of the deployments of this name, and nothing else of them.
fn core_deployment(forest: Forest, wanted: &str) -> Result<Forest> {
    let names: Vec<String> = core_deployments(&forest).map(|deployment| deployment.name.clone()).collect();
    let (rest, clusters) = clusters(forest)?;
    let clusters = clusters.into_iter().filter_map(|mut cluster| {
        let all = std::mem::take(&mut cluster.deployments);
        let deployments = one(all, |deployment| deployment.name.as_str(), wanted).ok()?;
        Some(ClusterNode { deployments, ..alone(cluster) })
    });
    let clusters: Vec<ClusterNode> = clusters.collect();
    if clusters.is_empty() {
        return Err(absent(&names, wanted, "MachineDeployment of Cluster API", &rest));
    }
    Ok(of_clusters(clusters, rest))
}

/// The same of the sets of this name.
fn core_set(forest: Forest, wanted: &str) -> Result<Forest> {
    let names: Vec<String> = core_sets(&forest).map(|set| set.name.clone()).collect();
    let (rest, clusters) = clusters(forest)?;
    let clusters = clusters.into_iter().filter_map(|mut cluster| {
        let owned =
            std::mem::take(&mut cluster.deployments).into_iter().flat_map(|deployment| deployment.sets);
        let all = owned.chain(std::mem::take(&mut cluster.sets));
        let sets = one(all, |set| set.name.as_str(), wanted).ok()?;
        Some(ClusterNode { sets, ..alone(cluster) })
    });
    let clusters: Vec<ClusterNode> = clusters.collect();
    if clusters.is_empty() {
        return Err(absent(&names, wanted, "MachineSet of Cluster API", &rest));
    }
    Ok(of_clusters(clusters, rest))
}

/// A Cluster without its objects.
fn alone(cluster: ClusterNode) -> ClusterNode {
    let ClusterNode { name, state, deletion_asked, notes, .. } = cluster;
    ClusterNode { name, state, deletion_asked, notes, ..ClusterNode::default() }
}

/// Returns the Clusters, and all else without objects.
///
/// # Errors
/// When Cluster API's kinds are not there.
fn clusters(forest: Forest) -> Result<(Forest, Vec<ClusterNode>)> {
    let rest = rest(&forest);
    match (forest.cluster_api, forest.left_out) {
        (Some(all), _) => Ok((rest, all.clusters)),
        (None, Some(why)) => bail!("{why}"),
        (None, None) => bail!(
            "this cluster does not know MachinistMachines, so that nothing of Cluster API is shown: install the CRDs of \
             deploy/clusterctl/crds, or choose another cluster with --kubeconfig or --context"
        ),
    }
}

fn of_clusters(clusters: Vec<ClusterNode>, rest: Forest) -> Forest {
    let cluster_api = ClusterApiForest { clusters, machinist_machines: Vec::new() };
    Forest { cluster_api: Some(cluster_api), ..rest }
}

/// The forest without trees. A single tree needs no word about others that are left out.
fn rest(forest: &Forest) -> Forest {
    Forest { namespace: forest.namespace.clone(), ..Forest::default() }
}

/// Keeps the one of this name.
///
/// # Errors
/// The names that are there, when this one is not.
fn one<T>(
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
    wanted: &str,
) -> std::result::Result<Vec<T>, Vec<String>> {
    let (found, others): (Vec<T>, Vec<T>) = all.into_iter().partition(|one| name(one) == wanted);
    if found.is_empty() {
        Err(others.iter().map(|other| name(other).to_owned()).collect())
    } else {
        Ok(found)
    }
}

fn absent(names: &[String], wanted: &str, kind: &str, rest: &Forest) -> anyhow::Error {
    let help = instead(names, wanted, kind);
    anyhow!("there is no {kind} {wanted} in namespace {}: {help}", rest.namespace)
}

/// The error for a name that the other API has.
fn in_core(kind: &str, plural: &str, wanted: &str, rest: &Forest) -> anyhow::Error {
    anyhow!(
        "there is no {kind} {wanted} of machine-controller-manager in namespace {}, and Cluster API has one: write \
         {plural}.cluster.x-k8s.io/{wanted}",
        rest.namespace
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Subject> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Subject::parse(&words, "machinist")
    }

    #[test]
    fn a_tree_is_a_deployments_a_sets_or_a_clusters() {
        assert_eq!(parse("").unwrap(), Subject::All);
        assert_eq!(parse("w").unwrap(), Subject::Any("w".to_owned()));
        assert_eq!(parse("mcd w").unwrap(), Subject::Deployment("w".to_owned()));
        assert_eq!(parse("machineset/s").unwrap(), Subject::Set("s".to_owned()));
        for text in ["cluster/c", "clusters.cluster.x-k8s.io c", "cl/c"] {
            assert_eq!(parse(text).unwrap(), Subject::Cluster("c".to_owned()), "{text}");
        }
        for text in ["machinedeployments.cluster.x-k8s.io/w", "md/w"] {
            assert_eq!(parse(text).unwrap(), Subject::CoreDeployment("w".to_owned()), "{text}");
        }
        assert_eq!(parse("machinesets.cluster.x-k8s.io/s").unwrap(), Subject::CoreSet("s".to_owned()));
    }

    #[test]
    fn what_has_no_tree_is_refused_with_what_to_write() {
        for (text, part) in [
            ("mc/m", "`machinist explain machine/m`"),
            ("mim/m", "`machinist explain machinistmachine/m`"),
            ("ma/m", "`machinist explain machines.cluster.x-k8s.io/m`"),
            ("pod/p", "only MachineDeployments, MachineSets and Clusters"),
            ("mcd/", "no name of a MachineDeployment"),
            ("cluster/", "no name of a Cluster"),
            ("a b c", "one tree at a time"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("machinedeployment/NAME"), "{text}: {said}");
        }
    }
}
