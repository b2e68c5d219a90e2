//! A small EC2: it launches, describes, changes and terminates instances, keeps client tokens, and answers in XML.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Parameters of a request by name.
pub(super) type Form = BTreeMap<String, String>;

/// Status and body of an answer.
pub(super) type Reply = (u16, String);

#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) checks: bool,
    pub(super) card: String,
    pub(super) device: String,
    pub(super) prefixes: i32,
}

#[derive(Clone, Debug)]
pub(super) struct Vm {
    pub(super) id: String,
    pub(super) state: &'static str,
    pub(super) node_name: String,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) nics: Vec<Nic>,
    pub(super) token: String,
    /// The parameters of its launch.
    pub(super) form: Form,
}

impl Vm {
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.state, "terminated" | "shutting-down")
    }

    fn passes(&self, name: &str, values: &[String]) -> bool {
        let is_in = |text: &str| values.iter().any(|value| value.replace('\\', "") == text);
        if let Some(key) = name.strip_prefix("tag:") {
            return self.tags.get(key).is_some_and(|value| is_in(value));
        }
        match name {
            "tag-key" => self.tags.keys().any(|key| is_in(key)),
            "instance-state-name" => is_in(self.state),
            "client-token" => is_in(&self.token),
            other => panic!("no such filter: {other}"),
        }
    }
}

pub(super) struct Model {
    pub(super) vms: Vec<Vm>,
    /// True if reads show no instance that was launched since they were last up to date.
    pub(super) lags: bool,
    /// True if a launched instance has a name at once.
    pub(super) names: bool,
    pub(super) images: Vec<String>,
    visible: usize,
}

impl Model {
    pub(super) fn new() -> Self {
        Self { vms: Vec::new(), lags: false, names: true, images: vec!["ami-1".into()], visible: 0 }
    }

    pub(super) fn handle(&mut self, form: &Form) -> Reply {
        if !self.lags {
            self.visible = self.vms.len();
        }
        match form["Action"].as_str() {
            "DescribeImages" => self.images(form),
            "DescribeInstanceTypes" => types(form),
            "RunInstances" => self.run(form),
            "DescribeInstances" => self.describe(form),
            "TerminateInstances" => self.terminate(form),
            "RebootInstances" => self.reboot(form),
            "CreateTags" => self.tag(form),
            "ModifyNetworkInterfaceAttribute" => {
                self.change(form, "ModifyNetworkInterfaceAttribute", |nic, form| {
                    nic.checks = form["SourceDestCheck.Value"] == "true";
                })
            }
            "AssignIpv6Addresses" => self.change(form, "AssignIpv6Addresses", |nic, form| {
                nic.prefixes += form["Ipv6PrefixCount"].parse::<i32>().unwrap();
            }),
            other => panic!("no such action: {other}"),
        }
    }

    fn images(&self, form: &Form) -> Reply {
        let image = &form["ImageId.1"];
        if !self.images.contains(image) {
            return refused(
                400,
                "InvalidAMIID.NotFound",
                &format!("The image id '[{image}]' does not exist"),
            );
        }
        (
            200,
            wrapped(
                "DescribeImages",
                "<imagesSet><item><rootDeviceName>/dev/xvda</rootDeviceName></item></imagesSet>",
            ),
        )
    }

    fn run(&mut self, form: &Form) -> Reply {
        let token = form["ClientToken"].clone();
        if let Some(known) = self.vms.iter().find(|vm| vm.token == token) {
            if known.form != *form {
                return refused(400, "IdempotentParameterMismatch", "the parameters are not the same");
            }
            if known.state == "terminated" {
                return refused(400, "IdempotentInstanceTerminated", "the instance is gone");
            }
            return (
                200,
                wrapped("RunInstances", &format!("<instancesSet>{}</instancesSet>", self.item(known))),
            );
        }
        let number = self.vms.len() + 1;
        let nics = (1..).map_while(|index| nic(form, number, index)).collect();
        let tags = (1..).map_while(|index| {
            let part = |name: &str| form.get(&format!("TagSpecification.1.Tag.{index}.{name}")).cloned();
            Some((part("Key")?, part("Value")?))
        });
        let name = if self.names { format!("ip-10-0-0-{number}.ec2.internal") } else { String::new() };
        let vm = Vm {
            id: format!("i-{number:08x}"),
            state: "pending",
            node_name: name,
            tags: tags.collect(),
            nics,
            token,
            form: form.clone(),
        };
        let item = self.item(&vm);
        self.vms.push(vm);
        (200, wrapped("RunInstances", &format!("<instancesSet>{item}</instancesSet>")))
    }

    fn describe(&self, form: &Form) -> Reply {
        let visible = &self.vms[..self.visible];
        if let Some(id) = form.get("InstanceId.1") {
            assert!(!form.contains_key("MaxResults"), "EC2 takes either ids or a size of the page");
            return match visible.iter().find(|vm| vm.id == *id) {
                Some(vm) => self.page(&[vm], None),
                None => refused(
                    400,
                    "InvalidInstanceID.NotFound",
                    &format!("The instance ID '{id}' does not exist"),
                ),
            };
        }
        let filters: Vec<(String, Vec<String>)> = (1..)
            .map_while(|number| {
                let at = format!("Filter.{number}");
                let name = form.get(&format!("{at}.Name"))?.clone();
                Some((
                    name,
                    (1..).map_while(|index| form.get(&format!("{at}.Value.{index}")).cloned()).collect(),
                ))
            })
            .collect();
        let found: Vec<&Vm> = visible
            .iter()
            .filter(|vm| filters.iter().all(|(name, values)| vm.passes(name, values)))
            .collect();
        let start: usize = form.get("NextToken").map_or(0, |token| token.parse().unwrap());
        let size: usize = form["MaxResults"].parse().unwrap();
        let end = found.len().min(start + size);
        self.page(&found[start..end], (end < found.len()).then_some(end))
    }

    fn page(&self, vms: &[&Vm], next: Option<usize>) -> Reply {
        let items: String = vms
            .iter()
            .map(|vm| format!("<item><instancesSet>{}</instancesSet></item>", self.item(vm)))
            .collect();
        let next = next.map(|next| format!("<nextToken>{next}</nextToken>")).unwrap_or_default();
        (200, wrapped("DescribeInstances", &format!("<reservationSet>{items}</reservationSet>{next}")))
    }

    fn tag(&mut self, form: &Form) -> Reply {
        let id = &form["ResourceId.1"];
        let Some(vm) = self.vms.iter_mut().find(|vm| vm.id == *id) else {
            return refused(
                400,
                "InvalidInstanceID.NotFound",
                &format!("The instance ID '{id}' does not exist"),
            );
        };
        vm.tags.extend((1..).map_while(|index| {
            let part = |name: &str| form.get(&format!("Tag.{index}.{name}")).cloned();
            Some((part("Key")?, part("Value")?))
        }));
        (200, wrapped("CreateTags", "<return>true</return>"))
    }

    fn reboot(&mut self, form: &Form) -> Reply {
        let id = &form["InstanceId.1"];
        if self.vms.iter().any(|vm| vm.id == *id) {
            return (200, wrapped("RebootInstances", "<return>true</return>"));
        }
        refused(400, "InvalidInstanceID.NotFound", &format!("The instance ID '{id}' does not exist"))
    }

    fn terminate(&mut self, form: &Form) -> Reply {
        let id = &form["InstanceId.1"];
        let Some(vm) = self.vms.iter_mut().find(|vm| vm.id == *id) else {
            return refused(
                400,
                "InvalidInstanceID.NotFound",
                &format!("The instance ID '{id}' does not exist"),
            );
        };
        vm.state = "shutting-down";
        (200, wrapped("TerminateInstances", "<instancesSet><item/></instancesSet>"))
    }

    fn change(&mut self, form: &Form, action: &str, change: fn(&mut Nic, &Form)) -> Reply {
        let id = &form["NetworkInterfaceId"];
        let nics = self.vms.iter_mut().flat_map(|vm| &mut vm.nics);
        match nics.into_iter().find(|nic| nic.id == *id) {
            None => refused(400, "InvalidNetworkInterfaceID.NotFound", "no such interface"),
            Some(nic) => {
                change(nic, form);
                (200, wrapped(action, "<return>true</return>"))
            }
        }
    }

    fn item(&self, vm: &Vm) -> String {
        let tags: String = vm
            .tags
            .iter()
            .map(|(key, value)| format!("<item><key>{key}</key><value>{value}</value></item>"))
            .collect();
        let mut nics = String::new();
        for Nic { id, kind, checks, card, device, prefixes } in &vm.nics {
            let prefixes =
                "<item><ipv6Prefix>2600::/80</ipv6Prefix></item>".repeat(usize::try_from(*prefixes).unwrap());
            write!(
                nics,
                "<item><networkInterfaceId>{id}</networkInterfaceId><interfaceType>{kind}</interfaceType>\
                 <sourceDestCheck>{checks}</sourceDestCheck><attachment><deviceIndex>{device}</deviceIndex>\
                 <networkCardIndex>{card}</networkCardIndex></attachment><ipv6PrefixSet>{prefixes}</ipv6PrefixSet></item>"
            )
            .unwrap();
        }
        let Vm { id, state, node_name, token, .. } = vm;
        format!(
            "<item><instanceId>{id}</instanceId><instanceState><code>0</code><name>{state}</name></instanceState>\
             <privateDnsName>{node_name}</privateDnsName><clientToken>{token}</clientToken>\
             <launchTime>2026-01-02T03:04:05.000Z</launchTime><privateIpAddress>10.0.0.1</privateIpAddress>\
             <placement><availabilityZone>eu-west-1a</availabilityZone></placement>\
             <tagSet>{tags}</tagSet><networkInterfaceSet>{nics}</networkInterfaceSet></item>"
        )
    }
}

/// The instance types of the region.
fn types(form: &Form) -> Reply {
    let name = &form["InstanceType.1"];
    let (cpus, memory, architecture, gpus) = match name.as_str() {
        "m5.large" => (2, 8192, "x86_64", ""),
        "g5g.metal" => {
            (64, 131_072, "arm64", "<item><manufacturer>NVIDIA</manufacturer><count>2</count></item>")
        }
        _ => {
            let message = format!("The following supplied instance types do not exist: [{name}]");
            return refused(400, "InvalidInstanceType", &message);
        }
    };
    let item = format!(
        "<item><instanceType>{name}</instanceType><vCpuInfo><defaultVCpus>{cpus}</defaultVCpus></vCpuInfo>\
         <memoryInfo><sizeInMiB>{memory}</sizeInMiB></memoryInfo><processorInfo><supportedArchitectures>\
         <item>{architecture}</item></supportedArchitectures></processorInfo><gpuInfo><gpus>{gpus}</gpus></gpuInfo></item>"
    );
    (200, wrapped("DescribeInstanceTypes", &format!("<instanceTypeSet>{item}</instanceTypeSet>")))
}

fn nic(form: &Form, number: usize, index: usize) -> Option<Nic> {
    let own = |name: &str| form.get(&format!("NetworkInterface.{index}.{name}")).cloned();
    Some(Nic {
        id: format!("eni-{number}-{index}"),
        device: own("DeviceIndex")?,
        card: own("NetworkCardIndex").unwrap_or_else(|| "0".into()),
        kind: own("InterfaceType").unwrap_or_else(|| "interface".into()),
        checks: true,
        prefixes: 0,
    })
}

pub(super) fn wrapped(action: &str, inside: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{action}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
         <requestId>r-1</requestId>{inside}</{action}Response>"
    )
}

pub(super) fn refused(status: u16, code: &str, message: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{message}\
         </Message></Error></Errors><RequestID>r-1</RequestID></Response>"
    );
    (status, body)
}
