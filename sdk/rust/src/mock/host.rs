//! A mock host for drivers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use super::call::MockCall;
use super::log::{LogLine, MockLog};
use super::substitute::Place;
use super::vault::Kept;
use crate::driver::{
    About, Capacity, Class, Creation, DeleteById, Deletion, Driver, Failure, HttpAnswer, HttpRequest,
    Interruption, NoAnswerReason, NodeId, NodeResources, Page, Placement, Reboot, Request, USER_DATA_KEY, Vm,
    volume_ids,
};

/// Answers requests in which the secrets are filled in.
type Cloud<'c> = Box<dyn FnMut(&HttpRequest) -> Result<HttpAnswer, NoAnswerReason> + 'c>;

/// Hosts the calls of a driver, with the settings of an operator.
///
/// [`MockHost::sent`] returns the driver's requests, with placeholders; [`MockHost::seen`] returns them as the cloud
/// saw them.
pub struct MockHost<'c> {
    /// The operator's settings beside the plugin: JSON.
    pub settings: String,
    /// The time left for each call.
    pub remaining_ms: u64,
    pub(super) secrets: BTreeMap<String, Kept>,
    pub(super) sent: RefCell<Vec<HttpRequest>>,
    pub(super) log: MockLog,
    seen: RefCell<Vec<HttpRequest>>,
    cloud: RefCell<Cloud<'c>>,
}

impl<'c> MockHost<'c> {
    /// Creates a host with a function as its cloud.
    pub fn new(cloud: impl FnMut(&HttpRequest) -> Result<HttpAnswer, NoAnswerReason> + 'c) -> Self {
        Self {
            settings: "{}".to_owned(),
            remaining_ms: 300_000,
            secrets: BTreeMap::new(),
            sent: RefCell::default(),
            log: MockLog::default(),
            seen: RefCell::default(),
            cloud: RefCell::new(Box::new(cloud)),
        }
    }

    /// Creates a host with a cloud that gives these answers, in order. Panics at a request beyond the list: the test
    /// does not cover it.
    pub fn answering(script: impl IntoIterator<Item = Result<HttpAnswer, NoAnswerReason>>) -> Self
    where
        Self: 'c,
    {
        let script: Vec<_> = script.into_iter().collect();
        let mut script = script.into_iter();
        Self::new(move |request| {
            let next = script.next();
            next.unwrap_or_else(|| {
                panic!("the script has no answer to {} {}", request.method.as_str(), request.url)
            })
        })
    }

    /// Adds a key to the Secret, and grants it for these places. Without a place it is not granted.
    #[must_use]
    pub fn secret(mut self, key: &str, value: impl Into<Vec<u8>>, places: &[Place]) -> Self {
        let kept = Kept { value: value.into(), places: places.to_vec(), is_revealed: false };
        self.secrets.insert(key.to_owned(), kept);
        self
    }

    /// Sets the machine's data at boot, for `create` and `initialize`.
    #[must_use]
    pub fn user_data(self, value: impl Into<Vec<u8>>, places: &[Place]) -> Self {
        self.secret(USER_DATA_KEY, value, places)
    }

    /// Grants `reveal` for this key.
    #[must_use]
    pub fn revealing(mut self, key: &str) -> Self {
        if let Some(kept) = self.secrets.get_mut(key) {
            kept.is_revealed = true;
        }
        self
    }

    /// Removes a key from the Secret.
    pub fn forget(&mut self, key: &str) {
        self.secrets.remove(key);
    }

    /// Sets the settings: JSON.
    #[must_use]
    pub fn settings(mut self, settings: impl Into<String>) -> Self {
        self.settings = settings.into();
        self
    }

    /// Returns the driver's calls, as the component makes them: each with placeholders of its own.
    pub fn driver<D: Driver>(&self) -> MockDriver<'_, 'c, D> {
        MockDriver { host: self, driver: PhantomData }
    }

    /// Returns the requests as the driver sent them.
    pub fn sent(&self) -> Vec<HttpRequest> {
        self.sent.borrow().clone()
    }

    /// Returns the requests as the cloud saw them.
    pub fn seen(&self) -> Vec<HttpRequest> {
        self.seen.borrow().clone()
    }

    /// Returns the log.
    pub fn lines(&self) -> Vec<LogLine> {
        self.log.lines()
    }

    /// Clears requests and log.
    pub fn clear(&self) {
        self.sent.take();
        self.seen.take();
        self.log.take();
    }

    pub(super) fn answer(&self, request: HttpRequest) -> Result<HttpAnswer, NoAnswerReason> {
        let answer = (self.cloud.borrow_mut())(&request);
        self.seen.borrow_mut().push(request);
        answer
    }
}

impl fmt::Debug for MockHost<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("MockHost").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The calls of a driver.
#[derive(Debug)]
pub struct MockDriver<'a, 'c, D> {
    host: &'a MockHost<'c>,
    driver: PhantomData<D>,
}

#[expect(missing_docs, clippy::missing_errors_doc, reason = "as in `Driver`")]
impl<D: Driver> MockDriver<'_, '_, D> {
    pub fn describe(&self) -> About {
        D::describe(&MockCall::offline(self.host))
    }

    pub fn validate_class(&self, class: &Class) -> Result<Vec<String>, Failure> {
        D::validate_class(class, &MockCall::offline(self.host))
    }

    pub fn create(&self, request: &Request) -> Result<Creation, Failure> {
        D::create(request, &MockCall::online(self.host, true))
    }

    pub fn initialize(&self, request: &Request) -> Result<Vm, Failure> {
        D::initialize(request, &MockCall::online(self.host, true))
    }

    pub fn delete(&self, request: &Request) -> Result<Deletion, Failure> {
        D::delete(request, &MockCall::online(self.host, false))
    }

    pub fn get_status(&self, request: &Request) -> Result<Vm, Failure> {
        D::get_status(request, &MockCall::online(self.host, false))
    }

    pub fn list(&self, class: &Class, cluster: &str, token: Option<&str>) -> Result<Page, Failure> {
        D::list(class, cluster, token, &MockCall::online(self.host, false))
    }

    pub fn get_volume_ids(&self, volume_specs: &[String]) -> Result<Vec<Option<String>>, Failure> {
        volume_ids::<D>(volume_specs, &MockCall::offline(self.host))
    }
}

impl<D: Reboot> MockDriver<'_, '_, D> {
    /// As in [`Reboot`].
    ///
    /// # Errors
    /// As there.
    pub fn reboot(&self, request: &Request) -> Result<(), Failure> {
        D::reboot(request, &MockCall::online(self.host, false))
    }
}

impl<D: DeleteById> MockDriver<'_, '_, D> {
    /// As in [`DeleteById`].
    ///
    /// # Errors
    /// As there.
    pub fn delete_by_id(&self, request: &Request, provider_id: &str) -> Result<(), Failure> {
        D::delete_by_id(request, provider_id, &MockCall::online(self.host, false))
    }
}

impl<D: NodeId> MockDriver<'_, '_, D> {
    /// As in [`NodeId`].
    ///
    /// # Errors
    /// As there.
    pub fn node_id(&self, request: &Request, vm: &Vm) -> Result<String, Failure> {
        D::node_id(request, vm, &MockCall::offline(self.host))
    }
}

impl<D: Placement> MockDriver<'_, '_, D> {
    /// As in [`Placement`].
    ///
    /// # Errors
    /// As there.
    pub fn place(&self, class: &Class, failure_domain: &str) -> Result<String, Failure> {
        D::place(class, failure_domain, &MockCall::offline(self.host))
    }
}

impl<D: Interruption> MockDriver<'_, '_, D> {
    /// As in [`Interruption`].
    ///
    /// # Errors
    /// As there.
    pub fn is_interruptible(&self, class: &Class) -> Result<bool, Failure> {
        D::is_interruptible(class, &MockCall::offline(self.host))
    }
}

impl<D: Capacity> MockDriver<'_, '_, D> {
    /// As in [`Capacity`].
    ///
    /// # Errors
    /// As there.
    pub fn node_capacity(&self, class: &Class) -> Result<NodeResources, Failure> {
        D::node_capacity(class, &MockCall::online(self.host, false))
    }
}
