//! The calls of EC2's query API, one function each.

pub(crate) mod answer;
pub(crate) mod credentials;
pub(crate) mod error_codes;
pub(crate) mod errors;
pub(crate) mod http;
pub(crate) mod lost_answers;
pub(crate) mod params;
pub(crate) mod pending;
pub(crate) mod region;
pub(crate) mod xml;

use machinist_sdk::driver::{Effect, NoAnswer};
use roxmltree::Node;

use self::answer::{Instance, Page};
use self::xml::Broken;
use crate::ec2::errors::{Cause, CloudError, Target};
use crate::ec2::params::{Filter, Params};

/// Instances of one page: with every tag at its longest, a page stays below the 4 MiB that the host lets through.
const PAGE_INSTANCES: usize = 100;
/// Pages of one look. Nobody's machine has this many instances: a cloud that pages on has lost its way.
const PAGES: usize = 100;

/// An answer as it came, with what the host says about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) is_html: bool,
    pub(crate) retry_after_ms: Option<u64>,
    /// The host has not sent the request: this is the answer of whoever should have given credentials.
    pub(crate) is_unsigned: bool,
    /// How far the host's clock is from the cloud's.
    pub(crate) skew_s: Option<u64>,
    pub(crate) body: Vec<u8>,
}

/// What carries requests to the cloud.
pub(crate) trait Transport {
    /// Whom it leads to.
    fn target(&self) -> Target;

    /// Sends a form, signed, and waits for the whole answer.
    fn send(&self, form: &str) -> Result<Answer, NoAnswer>;
}

/// EC2 of one region. Reads may lag behind changes; changes and client tokens do not.
#[derive(Clone, Copy)]
pub(crate) struct Ec2<'a> {
    transport: &'a dyn Transport,
}

type Outcome<T> = Result<T, Box<CloudError>>;

/// One thing that is tried, for the errors of it.
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

    /// The region that is asked.
    pub(crate) fn region(&self) -> String {
        self.transport.target().region
    }

    /// The name of the image's root device. `None` when there is no such image.
    pub(crate) fn root_device(&self, image: &str) -> Outcome<Option<String>> {
        let attempt = self.read("read the image", "DescribeImages");
        let answer = attempt.send(&attempt.params().set("ImageId.1", image))?;
        let devices = attempt.parse(&answer, answer::root_devices)?;
        devices
            .into_iter()
            .next()
            .map(|device| device.ok_or_else(|| attempt.odd("names no root device")))
            .transpose()
    }

    /// Launches an instance, or answers the one that was launched under the token.
    pub(crate) fn run(&self, params: &Params) -> Outcome<Instance> {
        let attempt = self.change("launch the instance", "RunInstances");
        let instances = attempt.parse(&attempt.send(params)?, answer::launched)?;
        instances.into_iter().next().ok_or_else(|| attempt.odd("names no instance"))
    }

    /// `None`: there is no such instance, or reads do not show it yet.
    pub(crate) fn instance(&self, id: &str) -> Outcome<Option<Instance>> {
        let attempt = self.read("read the instance", "DescribeInstances");
        // EC2 takes either ids or a size of the page.
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => {
                let page = attempt.parse(&answer, answer::page)?;
                Ok(page.instances.into_iter().find(|instance| instance.id == id))
            }
            Err(failed) if failed.is_absence() => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// All instances that pass the filters.
    pub(crate) fn search(&self, filters: &[Filter]) -> Outcome<Vec<Instance>> {
        let attempt = self.read("look for the instance", "DescribeInstances");
        let mut instances: Vec<Instance> = Vec::new();
        let mut tokens: Vec<String> = Vec::new();
        loop {
            let page = attempt.page(filters, tokens.last().map(String::as_str))?;
            instances.extend(page.instances);
            match page.next {
                None => return Ok(without_doubles(instances)),
                Some(next) if tokens.contains(&next) => return Err(attempt.repeated()),
                Some(_) if tokens.len() >= PAGES => return Err(attempt.odd("is a listing without end")),
                Some(next) => tokens.push(next),
            }
        }
    }

    /// One page. A token that comes back is an error: it would never end.
    pub(crate) fn page(&self, filters: &[Filter], token: Option<&str>) -> Outcome<Page> {
        let attempt = self.read("list instances", "DescribeInstances");
        let page = attempt.page(filters, token)?;
        if page.next.is_some() && page.next.as_deref() == token {
            return Err(attempt.repeated());
        }
        Ok(Page { instances: without_doubles(page.instances), next: page.next })
    }

    /// Orders an instance's end. One that is not there is as good.
    pub(crate) fn terminate(&self, id: &str) -> Outcome<()> {
        let attempt = self.change("terminate the instance", "TerminateInstances");
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => attempt.parse(&answer, |root| xml::child(root, "instancesSet").map(|_| ())),
            Err(failed) if failed.is_absence() => Ok(()),
            Err(failed) => Err(failed),
        }
    }

    /// Puts these tags on an instance, in the place of those with the same keys.
    pub(crate) fn tag(&self, id: &str, tags: &[(&str, &str)]) -> Outcome<()> {
        let attempt = self.change("mark the instance", "CreateTags");
        let params = attempt.params().set("ResourceId.1", id);
        let params = tags.iter().zip(1_usize..).fold(params, |params, ((key, value), number)| {
            params.set(format!("Tag.{number}.Key"), key).set(format!("Tag.{number}.Value"), value)
        });
        attempt.parse(&attempt.send(&params)?, answer::is_done)
    }

    /// Starts an instance anew. False: there is no such instance.
    pub(crate) fn reboot(&self, id: &str) -> Outcome<bool> {
        let attempt = self.change("reboot the instance", "RebootInstances");
        match attempt.send(&attempt.params().set("InstanceId.1", id)) {
            Ok(answer) => attempt.parse(&answer, answer::is_done).map(|()| true),
            Err(failed) if failed.is_absence() => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    /// Lets a network interface take and send what is not its own.
    pub(crate) fn stop_checking(&self, nic: &str) -> Outcome<()> {
        let attempt = self.change("turn off the source/destination check", "ModifyNetworkInterfaceAttribute");
        let params = attempt.params().set("NetworkInterfaceId", nic).set("SourceDestCheck.Value", false);
        attempt.parse(&attempt.send(&params)?, answer::is_done)
    }

    /// Gives a network interface so many IPv6 prefixes more.
    pub(crate) fn assign_prefixes(&self, nic: &str, prefixes: i32) -> Outcome<()> {
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

    fn odd(&self, what: &'static str) -> Box<CloudError> {
        self.failed(Cause::Odd { what })
    }

    fn repeated(&self) -> Box<CloudError> {
        self.odd("repeats a page token of its listing, which would never end")
    }

    /// The body of a success.
    fn send(&self, params: &Params) -> Outcome<String> {
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

    /// What the answer of this action says.
    fn parse<T>(&self, text: &str, read: impl FnOnce(Node<'_, '_>) -> Option<T>) -> Outcome<T> {
        let document = xml::parse(text).map_err(|broken| match broken {
            Broken::CutOff => {
                let what = "half of an answer";
                self.failed(Cause::Foreign { status: 200, what, retry_after_ms: None })
            }
            Broken::NotXml => self.odd("is not XML"),
        })?;
        let root = document.root_element();
        if root.tag_name().name().strip_suffix("Response") != Some(self.action) {
            return Err(self.odd("is of another shape than what was asked for"));
        }
        read(root).ok_or_else(|| self.odd("lacks an element that its kind always has"))
    }

    fn page(&self, filters: &[Filter], token: Option<&str>) -> Outcome<Page> {
        let params =
            self.params().filters(filters).set("MaxResults", PAGE_INSTANCES).maybe("NextToken", token);
        self.parse(&self.send(&params)?, answer::page)
    }
}

/// An instance that comes twice while a listing changes counts once, as it came last.
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
