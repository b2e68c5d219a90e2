//! The next Node of a group, for a group that has none.
//!
//! Its annotations win over its class, and labels of its own over those that follow from the class.

use std::collections::BTreeMap;

use crate::driver::virtual_capacity::amount;
use crate::value::id::Name;

use super::group::GroupId;
use super::refusal::CallRefusal;

/// Facts about the Nodes that a group gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateFacts {
    /// The values of the annotations about capacity, by the part of their names after the prefix.
    pub announced: BTreeMap<String, String>,
    /// The machines of its class, or of its template of Cluster API, where one says so.
    pub class: Option<ClassFacts>,
    /// Labels that its Nodes get.
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// The zone of its VMs, where the template names one.
    pub zone: Option<String>,
}

/// The machines of a class or of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassFacts {
    pub capacity: BTreeMap<String, String>,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    pub zone: Option<String>,
    pub architecture: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// A Node that nobody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateNode {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// Resources and their quantities. All of them can be allocated.
    pub capacity: BTreeMap<String, String>,
}

/// Labels that kubelets and clouds give to Nodes.
const ARCHITECTURE: &str = "kubernetes.io/arch";
const HOST_NAME: &str = "kubernetes.io/hostname";
const OPERATING_SYSTEM: &str = "kubernetes.io/os";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const REGION: &str = "topology.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Parts of annotations, and the resources that they are about.
const RESOURCES: [(&str, &str); 4] =
    [("cpu", "cpu"), ("memory", "memory"), ("ephemeral-disk", "ephemeral-storage"), ("maxPods", "pods")];

/// The resource of GPUs without a name.
const GPU: &str = "nvidia.com/gpu";

/// As many pods as kubelets take by default.
const PODS: &str = "110";

/// The resources without which no pod can be placed.
const NEEDED: [&str; 2] = ["cpu", "memory"];

impl TemplateNode {
    /// The operating system of its labels.
    pub fn operating_system(&self) -> &str {
        self.labels.get(OPERATING_SYSTEM).map_or("", String::as_str)
    }

    pub fn architecture(&self) -> &str {
        self.labels.get(ARCHITECTURE).map_or("", String::as_str)
    }
}

/// Describes the next Node of a group.
///
/// # Errors
/// When nothing says how much cpu and memory it has, or an annotation or a quantity is invalid.
pub fn template(id: &GroupId, facts: &TemplateFacts) -> Result<TemplateNode, CallRefusal> {
    let invalid = |problem| CallRefusal::InvalidTemplate { id: id.clone(), problem };
    let capacity = capacity(facts).map_err(invalid)?;
    if NEEDED.iter().any(|resource| !capacity.contains_key(*resource)) {
        return Err(CallRefusal::NoTemplate { id: id.clone() });
    }
    let announced = |part: &str| facts.announced.get(part).map_or("", String::as_str);
    let mut taints = facts.taints.clone();
    for taint in items(announced("taints")).map(taint) {
        let taint = taint.map_err(invalid)?;
        taints.retain(|own| (&own.key, &own.effect) != (&taint.key, &taint.effect));
        taints.push(taint);
    }
    let name = name(&id.deployment.name);
    let mut labels = labels_of_class(facts, &name);
    labels.extend(facts.labels.clone());
    for item in items(announced("labels")) {
        let (key, value) = item
            .split_once('=')
            .ok_or_else(|| invalid(format!("the label {item:?} must be like key=value")))?;
        labels.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    Ok(TemplateNode { name, labels, taints, capacity })
}

/// Names are at most 63 bytes long, so that they can be labels.
fn name(deployment: &Name) -> String {
    let name = format!("template-{deployment}");
    let end =
        name.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= 63).last();
    name.get(..end.unwrap_or(0)).unwrap_or_default().trim_end_matches(['-', '.']).to_owned()
}

fn labels_of_class(facts: &TemplateFacts, name: &str) -> BTreeMap<String, String> {
    let class = facts.class.clone().unwrap_or_default();
    let pairs = [
        (ARCHITECTURE, Some(class.architecture.unwrap_or_else(|| "amd64".to_owned()))),
        (OPERATING_SYSTEM, Some("linux".to_owned())),
        (HOST_NAME, Some(name.to_owned())),
        (INSTANCE_TYPE, class.instance_type),
        (REGION, class.region),
        (ZONE, facts.zone.clone().or(class.zone)),
    ];
    let present = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    present.filter(|(_, value)| !value.is_empty()).collect()
}

fn capacity(facts: &TemplateFacts) -> Result<BTreeMap<String, String>, String> {
    let mut capacity = BTreeMap::from([("pods".to_owned(), PODS.to_owned())]);
    for (resource, quantity) in facts.class.iter().flat_map(|class| &class.capacity) {
        let resource = if resource == "gpu" { GPU } else { resource };
        capacity.insert(resource.to_owned(), valid(resource, quantity)?);
    }
    for (part, resource) in RESOURCES {
        if let Some(quantity) = facts.announced.get(part).filter(|text| !text.trim().is_empty()) {
            capacity.insert(resource.to_owned(), valid(part, quantity)?);
        }
    }
    if let Some(count) = facts.announced.get("gpu-count").filter(|text| !text.trim().is_empty()) {
        let resource =
            facts.announced.get("gpu-type").map(|name| name.trim()).filter(|name| !name.is_empty());
        capacity.insert(resource.unwrap_or(GPU).to_owned(), valid("gpu-count", count)?);
    }
    capacity.retain(|_, quantity| amount(quantity).is_some_and(|amount| amount > 0));
    Ok(capacity)
}

fn valid(name: &str, quantity: &str) -> Result<String, String> {
    let quantity = quantity.trim();
    match amount(quantity) {
        Some(amount) if amount >= 0 => Ok(quantity.to_owned()),
        Some(_) | None => Err(format!("{name} is {quantity:?} and must be a quantity such as 4 or 16Gi")),
    }
}

/// The parts of a list with commas.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Parses `key=value:Effect` or `key:Effect`.
fn taint(text: &str) -> Result<Taint, String> {
    let problem = || format!("the taint {text:?} must be like key=value:NoSchedule");
    let (front, effect) = text.rsplit_once(':').ok_or_else(problem)?;
    let (key, value) = front.split_once('=').unwrap_or((front, ""));
    let is_known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
    if !is_known || key.is_empty() {
        return Err(problem());
    }
    Ok(Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn announced(pairs: &[(&str, &str)]) -> TemplateFacts {
        TemplateFacts { announced: texts(pairs), ..TemplateFacts::default() }
    }

    fn class() -> ClassFacts {
        ClassFacts {
            capacity: texts(&[("cpu", "2"), ("memory", "8Gi"), ("gpu", "0")]),
            instance_type: Some("m5.large".into()),
            region: Some("eu-west-1".into()),
            zone: Some("eu-west-1a".into()),
            architecture: Some("arm64".into()),
        }
    }

    fn of(facts: &TemplateFacts) -> Result<TemplateNode, CallRefusal> {
        template(&"mcm/shoot/pool".parse().unwrap(), facts)
    }

    #[test]
    fn annotations_alone_describe_a_node() {
        let facts = announced(&[
            ("cpu", "4"),
            ("memory", "16G"),
            ("ephemeral-disk", "100Gi"),
            ("maxPods", "50"),
            ("gpu-type", "amd.com/gpu"),
            ("gpu-count", "2"),
            ("labels", "a=1, b="),
            ("taints", "k=v:NoSchedule,l:NoExecute"),
            ("csi-driver", "ignored"),
        ]);
        let node = of(&facts).unwrap();
        let capacity = [
            ("amd.com/gpu", "2"),
            ("cpu", "4"),
            ("ephemeral-storage", "100Gi"),
            ("memory", "16G"),
            ("pods", "50"),
        ];
        assert_eq!(node.capacity, texts(&capacity));
        let labels = [
            ("a", "1"),
            ("b", ""),
            ("kubernetes.io/arch", "amd64"),
            ("kubernetes.io/hostname", "template-pool"),
            ("kubernetes.io/os", "linux"),
        ];
        assert_eq!(node.labels, texts(&labels));
        let taints: Vec<String> = node
            .taints
            .iter()
            .map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect))
            .collect();
        assert_eq!(taints, ["k=v:NoSchedule", "l=:NoExecute"]);
        assert_eq!((node.operating_system(), node.architecture()), ("linux", "amd64"));
    }

    #[test]
    fn a_class_alone_describes_a_node() {
        let facts = TemplateFacts { class: Some(class()), ..TemplateFacts::default() };
        let node = of(&facts).unwrap();
        assert_eq!(node.capacity, texts(&[("cpu", "2"), ("memory", "8Gi"), ("pods", "110")]));
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        assert_eq!(label("node.kubernetes.io/instance-type"), Some("m5.large"));
        assert_eq!(label("topology.kubernetes.io/region"), Some("eu-west-1"));
        assert_eq!(label("topology.kubernetes.io/zone"), Some("eu-west-1a"));
        assert_eq!(label("kubernetes.io/arch"), Some("arm64"));
    }

    #[test]
    fn annotations_win_over_the_class_and_own_labels_over_those_of_the_class() {
        let taint = Taint { key: "k".into(), value: "old".into(), effect: "NoSchedule".into() };
        let facts = TemplateFacts {
            class: Some(class()),
            labels: texts(&[("kubernetes.io/arch", "s390x"), ("pool", "a")]),
            taints: vec![taint],
            zone: Some("eu-west-1b".into()),
            ..announced(&[("cpu", "4"), ("labels", "pool=b"), ("taints", "k=new:NoSchedule")])
        };
        let node = of(&facts).unwrap();
        assert_eq!(node.capacity["cpu"], "4");
        assert_eq!(node.labels["kubernetes.io/arch"], "s390x");
        assert_eq!(node.labels["pool"], "b");
        assert_eq!(node.labels["topology.kubernetes.io/zone"], "eu-west-1b");
        assert_eq!(node.taints.len(), 1);
        assert_eq!(node.taints[0].value, "new");
    }

    #[test]
    fn without_cpu_or_memory_there_is_no_template() {
        for facts in [
            TemplateFacts::default(),
            announced(&[("cpu", "4")]),
            announced(&[("cpu", "4"), ("memory", "")]),
            announced(&[("cpu", "0"), ("memory", "1Gi")]),
            TemplateFacts { class: Some(ClassFacts::default()), ..TemplateFacts::default() },
        ] {
            assert!(matches!(of(&facts), Err(CallRefusal::NoTemplate { .. })), "{facts:?}");
        }
    }

    #[test]
    fn an_invalid_annotation_is_named() {
        for (part, text) in [
            ("cpu", "many"),
            ("cpu", "-1"),
            ("maxPods", "1 0"),
            ("gpu-count", "x"),
            ("labels", "a"),
            ("taints", "a"),
            ("taints", "a=b:Never"),
            ("taints", ":NoSchedule"),
        ] {
            let mut facts = announced(&[("cpu", "4"), ("memory", "16Gi")]);
            facts.announced.insert(part.to_owned(), text.to_owned());
            let refused = of(&facts).unwrap_err();
            assert!(matches!(refused, CallRefusal::InvalidTemplate { .. }), "{part}={text}: {refused:?}");
        }
    }

    #[test]
    fn the_name_of_a_node_fits_into_a_label() {
        assert_eq!(name(&Name::new("pool")), "template-pool");
        let long = name(&Name::new(format!("{}-{}", "a".repeat(53), "b".repeat(200))));
        assert_eq!(long, format!("template-{}", "a".repeat(53)));
    }
}
