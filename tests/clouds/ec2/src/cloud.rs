//! EC2 as tests start and query it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use roxmltree::Document;

use crate::fixture::Fixture;
use crate::instance::{Instance, read_page};
use crate::moto::accounts::{Credentials, IdentityToken};
use crate::moto::{self, Client, Process};
use crate::options::Options;
use crate::proxy::faults::Faults;
use crate::proxy::journal::{Entry, Stats};
use crate::proxy::ledger::Lag;
use crate::proxy::{Books, Proxy, Shared};
use crate::xml::{instances, text};

/// Instances a page when we list them ourselves.
const PAGE: &str = "1000";

/// A running EC2: moto, and the proxy in front of it. Both end when it is dropped.
#[derive(Debug)]
pub struct Ec2 {
    // Dropped in this order: nobody asks a moto that is gone.
    proxy: Proxy,
    moto: Client,
    process: Process,
    fixture: Fixture,
    credentials: Vec<Credentials>,
    started_in: Duration,
}

impl Ec2 {
    /// Installs moto if it must, starts it and the proxy, and makes the fixture. The error says what to do.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let python = tokio::task::spawn_blocking(moto::prepare).await.context("the installer panicked")??;
        let started = Instant::now();
        let process = tokio::task::spawn_blocking(move || Process::start(&python)).await;
        let process = process.context("the starter panicked")??;
        let moto = Client::new(&process.url(), &options.region)?;
        let fixture = Fixture::make(&moto).await.context("failed to make the fixture")?;
        let mut books = Books::default();
        for credentials in &options.credentials {
            books.accounts.put(credentials.clone());
        }
        books.accounts.roles = options.roles;
        let proxy = Proxy::start(Shared {
            moto: Client::new(&process.url(), &options.region)?,
            regions: process.regions().to_vec(),
            tolerance: options.clock_tolerance,
            faults: Faults::default(),
            books: Mutex::new(books),
            launches: Mutex::default(),
            images: Mutex::default(),
        })?;
        let credentials = options.credentials;
        Ok(Self { proxy, moto, process, fixture, credentials, started_in: started.elapsed() })
    }

    /// The base URL of EC2 and STS: the proxy's. No slash at the end.
    pub fn url(&self) -> String {
        self.proxy.url().to_owned()
    }

    /// moto's own base URL, for those whom neither faults nor lag may reach. It verifies nothing.
    pub fn moto_url(&self) -> String {
        self.process.url()
    }

    /// The process id of moto.
    pub fn moto_pid(&self) -> u32 {
        self.process.pid()
    }

    /// How long it took to start, without the installation.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// The region of the fixture.
    pub fn region(&self) -> &str {
        self.moto.region()
    }

    /// The networks and images for instances.
    pub fn fixture(&self) -> &Fixture {
        &self.fixture
    }

    /// The accepted keys that it was started with.
    pub fn credentials(&self) -> &[Credentials] {
        &self.credentials
    }

    pub fn faults(&self) -> &Faults {
        &self.proxy.shared.faults
    }

    /// From here on reads are so late.
    pub fn set_lag(&self, lag: Lag) {
        self.proxy.shared.books().ledger.lag = lag;
    }

    /// Sets the proxy's clock off. The header `Date` shows it.
    pub fn set_clock_offset(&self, offset: SignedDuration) {
        self.proxy.shared.books().clock_offset = offset;
    }

    /// Accepts these keys, too.
    pub fn put_credentials(&self, credentials: Credentials) {
        self.proxy.shared.books().accounts.put(credentials);
    }

    /// Accepts these keys no more.
    pub fn revoke(&self, access_key_id: &str) {
        self.proxy.shared.books().accounts.revoke(access_key_id);
    }

    /// Makes a web-identity token known to STS.
    pub fn put_identity_token(&self, token: &str, state: IdentityToken) {
        self.proxy.shared.books().accounts.identity_tokens.insert(token.to_owned(), state);
    }

    /// Sessions last so long, whatever is asked for.
    pub fn set_session_lifetime(&self, lifetime: Option<SignedDuration>) {
        self.proxy.shared.books().accounts.session_lifetime = lifetime;
    }

    /// All sessions are over.
    pub fn expire_sessions(&self) {
        let mut books = self.proxy.shared.books();
        let now = books.now();
        books.accounts.expire_sessions(now);
    }

    /// The sessions that STS issued.
    pub fn sessions(&self) -> Vec<Credentials> {
        self.proxy.shared.books().accounts.sessions().cloned().collect()
    }

    /// All requests, oldest first.
    pub fn journal(&self) -> Vec<Entry> {
        self.proxy.shared.books().journal.entries()
    }

    pub fn stats(&self) -> Stats {
        let faults_fired = self.faults().fired();
        let books = self.proxy.shared.books();
        let mut stats = Stats { requests: books.journal.counts(), faults_fired, ..Stats::default() };
        books.ledger.count(&mut stats);
        stats
    }

    /// Forgets the requests. The knowledge about instances stays.
    pub fn forget_requests(&self) {
        self.proxy.shared.books().journal.clear();
    }

    /// All instances of the region as moto has them, by id. Neither faults nor lag reach this.
    pub async fn instances(&self) -> anyhow::Result<Vec<Instance>> {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut parameters = vec![("MaxResults", PAGE)];
            parameters.extend(next.as_deref().map(|token| ("NextToken", token)));
            let (page, token) = read_page(&self.moto.ec2("DescribeInstances", &parameters).await?)?;
            all.extend(page);
            next = token;
            if next.is_none() {
                break;
            }
        }
        all.sort_by(|one: &Instance, other| one.id.cmp(&other.id));
        Ok(all)
    }

    /// Those that cost money.
    pub async fn live_instances(&self) -> anyhow::Result<Vec<Instance>> {
        Ok(self.instances().await?.into_iter().filter(Instance::is_live).collect())
    }

    /// The user data of an instance, decoded as the instance sees it.
    pub async fn user_data(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        let parameters = [("InstanceId", id), ("Attribute", "userData")];
        let answer = self.moto.ec2("DescribeInstanceAttribute", &parameters).await?;
        let document = Document::parse(&answer).context("failed to parse an attribute")?;
        let data = text(document.root_element(), &["userData", "value"]);
        let data = data.with_context(|| format!("{id} has no user data"))?;
        STANDARD.decode(data.trim()).context("failed to decode the user data")
    }

    /// Somebody terminates an instance past us.
    pub async fn terminate_by_hand(&self, id: &str) -> anyhow::Result<()> {
        self.moto.ec2("TerminateInstances", &[("InstanceId.1", id)]).await?;
        let mut books = self.proxy.shared.books();
        let now = books.now();
        books.ledger.terminated(id, None, now);
        Ok(())
    }

    /// Somebody makes an instance past us: for another cluster, or a twin with the same `Name`. Gives its id.
    pub async fn create_foreign(&self, tags: &BTreeMap<String, String>) -> anyhow::Result<String> {
        let pairs: Vec<[(String, &str); 2]> = tags
            .iter()
            .enumerate()
            .map(|(place, (key, value))| {
                let name = |part: &str| format!("TagSpecification.1.Tag.{}.{part}", place + 1);
                [(name("Key"), key.as_str()), (name("Value"), value.as_str())]
            })
            .collect();
        let mut parameters = vec![
            ("ImageId", self.fixture.image_id.as_str()),
            ("InstanceType", self.fixture.instance_type.as_str()),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("SubnetId", self.fixture.subnet_id()),
        ];
        if !tags.is_empty() {
            parameters.push(("TagSpecification.1.ResourceType", "instance"));
        }
        parameters.extend(pairs.iter().flatten().map(|(name, value)| (name.as_str(), *value)));
        let answer = self.moto.ec2("RunInstances", &parameters).await?;
        let document = Document::parse(&answer).context("failed to parse an instance")?;
        let made = instances(document.root_element());
        let id = made.first().and_then(|instance| text(*instance, &["instanceId"]));
        Ok(id.context("moto made no instance")?.to_owned())
    }

    /// Makes a subnet of the smallest size and fills it. Gives its id.
    pub async fn full_subnet(&self) -> anyhow::Result<String> {
        let zone = self.fixture.subnets.first().map_or("", |subnet| subnet.zone.as_str());
        let parameters = [
            ("VpcId", self.fixture.vpc_id.as_str()),
            ("CidrBlock", "172.31.255.240/28"),
            ("AvailabilityZone", zone),
        ];
        let answer = self.moto.ec2("CreateSubnet", &parameters).await?;
        let document = Document::parse(&answer).context("failed to parse a subnet")?;
        let subnet =
            text(document.root_element(), &["subnet", "subnetId"]).context("the subnet has no id")?;
        for _ in 0..self.free_addresses(subnet).await? {
            self.moto.ec2("CreateNetworkInterface", &[("SubnetId", subnet)]).await?;
        }
        ensure!(self.free_addresses(subnet).await? == 0, "moto's subnet {subnet} does not fill up");
        Ok(subnet.to_owned())
    }

    async fn free_addresses(&self, subnet: &str) -> anyhow::Result<u32> {
        let answer = self.moto.ec2("DescribeSubnets", &[("SubnetId.1", subnet)]).await?;
        let document = Document::parse(&answer).context("failed to parse a subnet")?;
        let count = document.descendants().find(|node| node.tag_name().name() == "availableIpAddressCount");
        let count = count.and_then(|count| count.text()).context("the subnet has no count of addresses")?;
        count.parse().context("failed to parse a count of addresses")
    }
}
