//! The cloud as one host reaches it: calls on the wire.
#![expect(clippy::result_large_err, reason = "the port's own type of answers")]

use super::*;

/// The cloud as one host reaches it.
pub(super) struct Account {
    pub(super) cloud: Cloud,
    pub(super) actor: String,
}

impl Account {
    fn call<'a, T: Send + 'a>(
        &'a self,
        function: &'static str,
        request: MachineRequest,
        takes: Duration,
        act: impl FnOnce(&Cloud, &MachineRequest) -> DriverResult<T> + Send + 'a,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let about = request.machine.name.to_string();
        let class = request.class.clone();
        self.cloud.lock().secrets.push((function, request.secrets.clone()));
        self.carry(("CALL", function, about), class, takes, move |cloud| act(cloud, &request))
    }

    /// Calls about a Machine are CALLs on the wire, questions about a class ASKs.
    fn carry<'a, T: Send + 'a>(
        &'a self,
        (verb, function, about): (&'static str, &'static str, String),
        class: ClassSpec,
        takes: Duration,
        act: impl FnOnce(&Cloud) -> DriverResult<T> + Send + 'a,
    ) -> BoxFuture<'a, DriverResult<T>> {
        let pin = class.driver_digest;
        if verb == "CALL" {
            self.cloud.lock().asked.push((function, pin));
        }
        let act = async move {
            let answer = match self.cloud.refuses(&class.provider, pin) {
                Some(refusal) => Err(refusal.into()),
                None => act(&self.cloud),
            };
            tokio::time::sleep(takes).await;
            let code = answer.as_ref().err().map_or(200, |error| u16::from(error.code().number()));
            (code, answer)
        };
        self.cloud.wire.carry(&self.actor, (verb, function.to_owned(), about), act, broken).boxed()
    }
}

fn broken<T>(trouble: Trouble) -> DriverResult<T> {
    Err(match trouble {
        Trouble::Refused(number) => {
            let code = Code::ALL[usize::from(number) - 1];
            DriverError::new(code, "the cloud refuses").into()
        }
        Trouble::NotSent => DriverError::new(Code::Unavailable, "the cloud is not reachable").into(),
        Trouble::NoAnswer => GuestFailure::Limit { limit: Limit::Deadline, detail: "5 min".into() }.into(),
        Trouble::Answered(error) => error,
    })
}

impl Drivers for Account {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        let Habits { keeps_keys, reads_lag, initializes } = self.cloud.habits;
        if let Some(refusal) = self.cloud.refuses(provider, pin) {
            return Err(refusal);
        }
        let initializes = pin.map_or(initializes, |pin| self.cloud.lock().versions[&pin]);
        Ok(DriverFacts {
            plugin: "sim".into(),
            capabilities: Capabilities {
                status: true,
                initialize: initializes,
                idempotency_key: keeps_keys,
                listing: true,
                volume_ids: true,
                reboot: true,
                delete_by_id: self.cloud.lock().deletes_by_id,
            },
            consistency_window: SignedDuration::try_from(reads_lag).unwrap(),
        })
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        self.call("create", request, CREATES_FOR, |cloud, request| {
            if cloud.lock().sold_out.contains(request.class.name.as_str()) {
                return Err(DriverError::new(Code::ResourceExhausted, "there is no room").into());
            }
            let made = cloud.create(request);
            assert!(!cloud.has_bug(), "a bug that a test has planted");
            Ok(Creation::Created(made))
        })
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.call("initialize", request, ANSWERS_AFTER, Cloud::initialize)
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        self.call("delete", request, ANSWERS_AFTER, Cloud::remove)
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        self.call("reboot", request, ANSWERS_AFTER, Cloud::reboot)
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.call("get-status", request, ANSWERS_AFTER, Cloud::look)
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        self.call("delete-by-id", request, ANSWERS_AFTER, move |cloud, request| {
            cloud.remove_one(request, &vm)
        })
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        let (class, about) = (request.class.clone(), request.class.name.to_string());
        self.cloud.lock().secrets.push(("list", request.secrets.clone()));
        self.carry(("ASK", "list", about), class, ANSWERS_AFTER, move |cloud| Ok(cloud.list(&request)))
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        let answer = match self.cloud.refuses(&provider, pin) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(volume_specs.iter().map(|spec| volume_id(spec)).collect()),
        };
        std::future::ready(answer).boxed()
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        let name = class.name.to_string();
        self.carry(("ASK", "validate-class", name.clone()), class, Duration::ZERO, move |cloud| {
            match cloud.lock().invalid_classes.get(&name) {
                Some(message) => Err(DriverError::new(Code::InvalidArgument, message).into()),
                None => Ok(Vec::new()),
            }
        })
    }
}

/// The id of a volume, as Nodes show it: of CSI, or of the kind that only the driver of a cloud knows.
fn volume_id(spec: &str) -> Option<String> {
    let spec: serde_json::Value = serde_json::from_str(spec).ok()?;
    let id = spec["csi"]["volumeHandle"].as_str().or(spec["awsElasticBlockStore"]["volumeID"].as_str());
    id.map(str::to_owned)
}
