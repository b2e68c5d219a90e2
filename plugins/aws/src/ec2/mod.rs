//! The calls of EC2's query API, one function each.
//!
//! | module | what it does |
//! | --- | --- |
//! | `http` | sends requests to EC2 through the host, which signs them |
//! | `region` | regions, and the host names of their API servers |
//! | `settings` | AWS itself, or the endpoint in the operator's settings beside the plugin |
//! | `credentials` | checks that the Secret has the keys with which the host signs |
//! | `params` | the form of a request: a flat list of names and values, in a fixed order |
//! | `xml` | reads answers of EC2, elements by their local names |
//! | `answer` | EC2's objects, with the fields that the driver needs |
//! | `errors` | failed calls of EC2 as failures of a call |
//! | `error_codes` | EC2's error codes as codes of the contract, with advice |
//! | `lost_answers` | explains requests without an answer |
//! | `pending` | the state of a machine's create between calls: `last-known-state` |

pub(crate) mod answer;
pub(crate) mod credentials;
pub(crate) mod error_codes;
pub(crate) mod errors;
pub(crate) mod http;
pub(crate) mod lost_answers;
pub(crate) mod params;
pub(crate) mod pending;
pub(crate) mod region;
pub(crate) mod settings;
pub(crate) mod xml;

use machinist_sdk::driver::{Effect, NoAnswer};
use roxmltree::Node;

use self::answer::{Instance, InstanceType, Page};
use self::xml::Broken;
use crate::ec2::errors::{Cause, CloudError, Target};
use crate::ec2::params::{Filter, Params};

/// Instances of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB.
const PAGE_INSTANCES: usize = 100;
/// Pages of one search. No machine has this many instances: a cloud that returns more pages is broken.
const PAGES: usize = 100;

/// An answer, with the host's remarks about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) is_html: bool,
    pub(crate) retry_after_ms: Option<u64>,
    /// True if the host has not sent the request: the answer comes from the credential service.
    pub(crate) is_unsigned: bool,
    /// The difference of the host's clock from the cloud's.
    pub(crate) skew_s: Option<u64>,
    pub(crate) body: Vec<u8>,
}

/// Sends requests to the cloud.
pub(crate) trait Transport {
    /// Returns the target of all requests.
    fn target(&self) -> Target;

    /// Sends a signed form, and waits for the complete answer.
    fn send(&self, form: &str) -> Result<Answer, NoAnswer>;
}

/// EC2 of one region. Reads may be stale; changes and client tokens are not.
#[derive(Clone, Copy)]
pub(crate) struct Ec2<'a> {
    transport: &'a dyn Transport,
}

type CallResult<T> = Result<T, Box<CloudError>>;

/// One request, with the facts that its errors need.
struct Attempt<'a> {
    ec2: &'a Ec2<'a>,
    doing: &'static str,
    action: &'static str,
    effect: Effect,
}

impl<'a> Ec2<'a> {
    pub(crate) fn new(transport: &'a dyn Transport) -> Self {
        Self { transport }
    }

    /// Returns the region of the requests.
    pub(crate) fn region(&self) -> String {
        self.transport.target().region
    }

    /// Returns the name of the image's root device. `None` if there is no such image.
    pub(crate) fn root_device(&self, image: &str) -> CallResult<Option<String>> {
        let attempt = self.read("read the image", "DescribeImages");
        let answer = attempt.send(&attempt.params().set("ImageId.1", image))?;
        let devices = attempt.parse(&answer, answer::root_devices)?;
        devices
            .into_iter()
            .next()
            .map(|device| device.ok_or_else(|| attempt.invalid_answer("names no root device")))
            .transpose()
    }

    /// Returns the size of an instance type. `None` if the region has no such type.
    pub(crate) fn instance_type(&self, name: &str) -> CallResult<Option<InstanceType>> {
        let attempt = self.read("read the instance type", "DescribeInstanceTypes");
        match attempt.send(&attempt.params().set("InstanceType.1", name)) {
            Ok(answer) => {
                let types = attempt.parse(&answer, answer::instance_types)?;
                Ok(types.into_iter().find(|(found, _)| found == name).map(|(_, size)| size))
            }
            Err(failed) if failed.cloud_code() == Some(error_codes::NO_INSTANCE_TYPE) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Launches an instance, or returns the one that was launched with the token.
    pub(crate) fn run(&self, params: &Params) -> CallResult<Instance> {
        let attempt = self.change("launch the instance", "RunInstances");
        let instances = attempt.parse(&attempt.send(params)?, answer::launched)?;
        instances.into_iter().next().ok_or_else(|| attempt.invalid_answer("names no instance"))
    }

    /// Returns an instance. `None`: there is no such instance, or reads do not show it yet.
    pub(crate) fn instance(&self, id: &str) -> CallResult<Option<Instance>> {
        let attempt = self.read("read the instance", "DescribeInstances");
        // EC2 accepts either ids or a page size.
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => {
                let page = attempt.parse(&answer, answer::page)?;
                Ok(page.instances.into_iter().find(|instance| instance.id == id))
            }
            Err(failed) if failed.is_absence() => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Returns all instances that match the filters.
    pub(crate) fn search(&self, filters: &[Filter]) -> CallResult<Vec<Instance>> {
        let attempt = self.read("look for the instance", "DescribeInstances");
        let mut instances: Vec<Instance> = Vec::new();
        let mut tokens: Vec<String> = Vec::new();
        loop {
            let page = attempt.page(filters, tokens.last().map(String::as_str))?;
            instances.extend(page.instances);
            match page.next {
                None => return Ok(without_doubles(instances)),
                Some(next) if tokens.contains(&next) => return Err(attempt.repeated()),
                Some(_) if tokens.len() >= PAGES => {
                    return Err(attempt.invalid_answer("is a listing without end"));
                }
                Some(next) => tokens.push(next),
            }
        }
    }

    /// Returns one page. A repeated token is an error: the listing would never end.
    pub(crate) fn page(&self, filters: &[Filter], token: Option<&str>) -> CallResult<Page> {
        let attempt = self.read("list instances", "DescribeInstances");
        let page = attempt.page(filters, token)?;
        if page.next.is_some() && page.next.as_deref() == token {
            return Err(attempt.repeated());
        }
        Ok(Page { instances: without_doubles(page.instances), next: page.next })
    }

    /// Terminates an instance. If it does not exist, that is success.
    pub(crate) fn terminate(&self, id: &str) -> CallResult<()> {
        let attempt = self.change("terminate the instance", "TerminateInstances");
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => attempt.parse(&answer, |root| xml::child(root, "instancesSet").map(|_| ())),
            Err(failed) if failed.is_absence() => Ok(()),
            Err(failed) => Err(failed),
        }
    }

    /// Sets these tags on an instance, and replaces those with the same keys.
    pub(crate) fn tag(&self, id: &str, tags: &[(&str, &str)]) -> CallResult<()> {
        let attempt = self.change("mark the instance", "CreateTags");
        let params = attempt.params().set("ResourceId.1", id);
        let params = tags.iter().zip(1_usize..).fold(params, |params, ((key, value), number)| {
            params.set(format!("Tag.{number}.Key"), key).set(format!("Tag.{number}.Value"), value)
        });
        attempt.parse(&attempt.send(&params)?, answer::is_done)
    }

    /// Reboots an instance. False: there is no such instance.
    pub(crate) fn reboot(&self, id: &str) -> CallResult<bool> {
        let attempt = self.change("reboot the instance", "RebootInstances");
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => attempt.parse(&answer, answer::is_done).map(|()| true),
            Err(failed) if failed.is_absence() => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    /// Turns off the source/destination check of a network interface.
    pub(crate) fn stop_checking(&self, nic: &str) -> CallResult<()> {
        let attempt = self.change("turn off the source/destination check", "ModifyNetworkInterfaceAttribute");
        let params = attempt.params().set("NetworkInterfaceId", nic).set("SourceDestCheck.Value", false);
        attempt.parse(&attempt.send(&params)?, answer::is_done)
    }

    /// Assigns further IPv6 prefixes to a network interface.
    pub(crate) fn assign_prefixes(&self, nic: &str, prefixes: i32) -> CallResult<()> {
        let attempt = self.change("assign IPv6 prefixes", "AssignIpv6Addresses");
        let params = attempt.params().set("NetworkInterfaceId", nic).set("Ipv6PrefixCount", prefixes);
        attempt.parse(&attempt.send(&params)?, |_| Some(()))
    }

    fn read(&'a self, doing: &'static str, action: &'static str) -> Attempt<'a> {
        Attempt { ec2: self, doing, action, effect: Effect::Reads }
    }

    fn change(&'a self, doing: &'static str, action: &'static str) -> Attempt<'a> {
        Attempt { ec2: self, doing, action, effect: Effect::Changes }
    }
}

impl Attempt<'_> {
    fn params(&self) -> Params {
        Params::new(self.action)
    }

    fn failed(&self, cause: Cause) -> Box<CloudError> {
        let Self { ec2, doing, action, effect } = *self;
        Box::new(CloudError { doing, action, effect, target: ec2.transport.target(), cause })
    }

    fn invalid_answer(&self, what: &'static str) -> Box<CloudError> {
        self.failed(Cause::InvalidAnswer { what })
    }

    fn repeated(&self) -> Box<CloudError> {
        self.invalid_answer("repeats a page token of its listing, which would never end")
    }

    /// Returns the body of a success.
    fn send(&self, params: &Params) -> CallResult<String> {
        let answer = self.ec2.transport.send(&params.encoded());
        let answer = answer.map_err(|error| self.failed(Cause::NoAnswer(error)))?;
        let Answer { status, is_html, retry_after_ms, is_unsigned, skew_s, body } = answer;
        let foreign = |what| self.failed(Cause::Foreign { status, what, retry_after_ms });
        let text = String::from_utf8_lossy(&body);
        if is_unsigned {
            let (code, message) = match xml::refusal(&text) {
                Some((code, message)) => (Some(code), message),
                None if is_html => (None, format!("a page with status {status}")),
                None => (None, text.into_owned()),
            };
            return Err(self.failed(Cause::NotSigned { status, code, message, retry_after_ms, skew_s }));
        }
        if (200..300).contains(&status) && !is_html {
            return Ok(text.into_owned());
        }
        Err(match xml::refusal(&text).filter(|_| !is_html) {
            Some((code, message)) => {
                self.failed(Cause::Refused { status, code, message, retry_after_ms, skew_s })
            }
            None if status == 429 => self.failed(Cause::Throttled { retry_after_ms }),
            None if is_html => foreign("an HTML page"),
            None => foreign("something that is not EC2's"),
        })
    }

    /// Parses the answer of this action.
    fn parse<T>(&self, text: &str, read: impl FnOnce(Node<'_, '_>) -> Option<T>) -> CallResult<T> {
        let document = xml::parse(text).map_err(|broken| match broken {
            Broken::CutOff => {
                let what = "half of an answer";
                self.failed(Cause::Foreign { status: 200, what, retry_after_ms: None })
            }
            Broken::NotXml => self.invalid_answer("is not XML"),
        })?;
        let root = document.root_element();
        if root.tag_name().name().strip_suffix("Response") != Some(self.action) {
            return Err(self.invalid_answer("is of another shape than what was asked for"));
        }
        read(root).ok_or_else(|| self.invalid_answer("lacks an element that its kind always has"))
    }

    fn page(&self, filters: &[Filter], token: Option<&str>) -> CallResult<Page> {
        let params =
            self.params().filters(filters).set("MaxResults", PAGE_INSTANCES).maybe("NextToken", token);
        self.parse(&self.send(&params)?, answer::page)
    }
}

/// Removes duplicates: an instance that occurs twice in a changing listing counts once, in its last form.
fn without_doubles(instances: Vec<Instance>) -> Vec<Instance> {
    let mut unique: Vec<Instance> = Vec::with_capacity(instances.len());
    for instance in instances {
        match unique.iter_mut().find(|known| known.id == instance.id) {
            Some(known) => *known = instance,
            None => unique.push(instance),
        }
    }
    unique
}
