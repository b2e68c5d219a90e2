//! A client of EC2 with a signer of its own.

use ec2::{Credentials, Ec2, Options};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// An answer, or that there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) retry_after: Option<String>,
    pub(crate) content_type: String,
}

impl Reply {
    /// The text of the first element of this name.
    pub(crate) fn get(&self, element: &str) -> Option<&str> {
        self.all(element).first().copied()
    }

    /// The texts of all elements of this name.
    pub(crate) fn all(&self, element: &str) -> Vec<&str> {
        let open = format!("<{element}>");
        let parts = self.text.split(open.as_str()).skip(1);
        parts.map(|part| part.split('<').next().unwrap()).collect()
    }

    pub(crate) fn code(&self) -> &str {
        self.get("Code").unwrap_or("ok")
    }
}

/// How a request is signed.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) credentials: Credentials,
    pub(crate) region: String,
    pub(crate) at: Timestamp,
}

pub(crate) struct Client {
    pub(crate) cloud: Ec2,
    http: reqwest::Client,
}

impl Client {
    pub(crate) async fn start() -> Self {
        let cloud = Ec2::start(Options::default()).await.unwrap();
        Self { cloud, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    pub(crate) fn signer(&self) -> Signer {
        Signer {
            credentials: self.cloud.credentials()[0].clone(),
            region: self.cloud.region().to_owned(),
            at: Timestamp::now(),
        }
    }

    /// A signed call that is answered.
    pub(crate) async fn call(&self, action: &str, parameters: &[(&str, &str)]) -> Reply {
        self.attempt(action, parameters).await.expect("an answer")
    }

    /// A signed call; nothing if the answer did not come, or not whole.
    pub(crate) async fn attempt(&self, action: &str, parameters: &[(&str, &str)]) -> Option<Reply> {
        self.attempt_as(&self.signer(), action, parameters).await
    }

    pub(crate) async fn call_as(&self, signer: &Signer, action: &str, parameters: &[(&str, &str)]) -> Reply {
        self.attempt_as(signer, action, parameters).await.expect("an answer")
    }

    async fn attempt_as(&self, signer: &Signer, action: &str, parameters: &[(&str, &str)]) -> Option<Reply> {
        let body = form(action, "2016-11-15", parameters);
        let request = sign(self.http.post(self.url()), &self.url(), signer, &body);
        receive(request.body(body)).await
    }

    /// An unsigned call of STS.
    pub(crate) async fn sts(&self, parameters: &[(&str, &str)]) -> Reply {
        let body = form("AssumeRoleWithWebIdentity", "2011-06-15", parameters);
        receive(self.http.post(self.url()).body(body)).await.expect("an answer")
    }

    pub(crate) async fn unsigned(&self, action: &str) -> Reply {
        receive(self.http.post(self.url()).body(form(action, "2016-11-15", &[]))).await.expect("an answer")
    }

    /// Creates an instance under this token.
    pub(crate) async fn run(&self, token: &str, more: &[(&str, &str)]) -> Reply {
        let parameters = self.instance(token);
        let mut parameters: Vec<(&str, &str)> =
            parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        parameters.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        parameters.extend(more);
        self.call("RunInstances", &parameters).await
    }

    /// The parameters of an instance.
    pub(crate) fn instance(&self, token: &str) -> Vec<(String, String)> {
        let fixture = self.cloud.fixture();
        [
            ("ImageId", fixture.image_id.as_str()),
            ("InstanceType", fixture.instance_type.as_str()),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("ClientToken", token),
            ("UserData", "aGVsbG8="),
            ("IamInstanceProfile.Name", fixture.profile_name.as_str()),
            ("NetworkInterface.1.DeviceIndex", "0"),
            ("NetworkInterface.1.SubnetId", fixture.subnet_id()),
            ("NetworkInterface.1.SecurityGroupId.1", fixture.security_group_id.as_str()),
            ("BlockDeviceMapping.1.DeviceName", fixture.root_device.as_str()),
            ("BlockDeviceMapping.1.Ebs.VolumeSize", "20"),
            ("BlockDeviceMapping.1.Ebs.VolumeType", "gp3"),
            ("TagSpecification.1.ResourceType", "instance"),
            ("TagSpecification.1.Tag.1.Key", "Name"),
            ("TagSpecification.1.Tag.1.Value", token),
            ("TagSpecification.1.Tag.2.Key", ec2::UID_TAG),
            ("TagSpecification.1.Tag.2.Value", token),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    fn url(&self) -> String {
        format!("{}/", self.cloud.url())
    }
}

/// The id of an instance in an answer.
pub(crate) fn id(reply: &Reply) -> String {
    reply.get("instanceId").unwrap_or_else(|| panic!("no instance in {}", reply.text)).to_owned()
}

fn form(action: &str, version: &str, parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .append_pair("Action", action)
        .append_pair("Version", version)
        .extend_pairs(parameters)
        .finish()
}

async fn receive(request: reqwest::RequestBuilder) -> Option<Reply> {
    let answer = request.send().await.ok()?;
    let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (retry_after, content_type) = (header("retry-after"), header("content-type").unwrap_or_default());
    Some(Reply {
        status: answer.status().as_u16(),
        retry_after,
        content_type,
        text: answer.text().await.ok()?,
    })
}

fn sign(request: reqwest::RequestBuilder, url: &str, signer: &Signer, body: &str) -> reqwest::RequestBuilder {
    let Signer { credentials, region, at } = signer;
    let date = at.strftime("%Y%m%dT%H%M%SZ").to_string();
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let kind = "application/x-www-form-urlencoded; charset=utf-8";
    let mut headers = vec![("content-type", kind), ("host", host), ("x-amz-date", date.as_str())];
    headers.extend(credentials.session_token.as_deref().map(|token| ("x-amz-security-token", token)));
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!("POST\n/\n\n{lines}\n{names}\n{}", hex(&Sha256::digest(body)));
    let scope = format!("{}/{region}/ec2/aws4_request", &date[..8]);
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let first = format!("AWS4{}", credentials.secret_access_key).into_bytes();
    let key = scope.split('/').fold(first, |key, part| keyed(&key, part));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        credentials.access_key_id,
        hex(&keyed(&key, &text))
    );
    headers.iter().fold(request.header("authorization", authorization), |request, (name, value)| {
        request.header(*name, *value)
    })
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
