//! The cloud behind the proxy, and looks at it that do not go through the driver.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Method, redirect};

use crate::profile::{CloudChoice, Look, Plant, Profile};

/// Longer than any answer of a cloud takes.
const ANSWER: Duration = Duration::from_secs(60);

/// Why the cloud is not there, or does not say what is wanted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not start.
    #[error("failed to start the simulated cloud")]
    Start(#[source] simcloud::StartError),
    /// A client cannot be made.
    #[error("failed to set up requests to the cloud")]
    Client(#[source] reqwest::Error),
    /// No answer to a look.
    #[error("failed to ask {url}")]
    Ask {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// A look was refused.
    #[error("{url} answered {status}: {body}")]
    Refused {
        url: String,
        status: u16,
        /// The beginning of the answer.
        body: String,
    },
    /// The answer has no id where the profile says.
    #[error("the answer of {url} has no id between {from:?} and {to:?}: {body}")]
    NoId {
        url: String,
        /// As in the profile.
        from: String,
        /// As in the profile.
        to: String,
        /// The beginning of the answer.
        body: String,
    },
    /// A method that is none.
    #[error("plant.method of the profile is no method: {0:?}")]
    Method(String),
}

/// A cloud that runs.
pub(crate) struct Cloud {
    url: String,
    admin: String,
    /// For `{secret.KEY}` in requests of the kit.
    secrets: BTreeMap<String, String>,
    client: Client,
    /// Ends with the run.
    _simulated: Option<simcloud::Server>,
}

/// The owner of the VM that is queried or planted.
pub(crate) struct Whose<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) name: &'a str,
}

impl Cloud {
    /// `None`: the driver has none. `url` and `admin` are instead of what the profile says.
    pub(crate) fn start(
        profile: &Profile,
        url: Option<&str>,
        admin: Option<&str>,
    ) -> Result<Option<Self>, Error> {
        let simulated = match (&profile.cloud, url) {
            (Some(CloudChoice::Simulated), None) => {
                Some(simcloud::Server::start(quick()).map_err(Error::Start)?)
            }
            (Some(_) | None, _) => None,
        };
        let url = match (&simulated, url, &profile.cloud) {
            (Some(server), _, _) => server.url(),
            (None, Some(url), _) => url.to_owned(),
            (None, None, Some(CloudChoice::Url(url))) => url.clone(),
            (None, None, Some(CloudChoice::Simulated) | None) => return Ok(None),
        };
        let client = client().map_err(Error::Client)?;
        let url = url.trim_end_matches('/').to_owned();
        let admin = admin.map_or_else(|| url.clone(), |admin| admin.trim_end_matches('/').to_owned());
        let secrets = profile.secrets.clone();
        Ok(Some(Self { url, admin, secrets, client, _simulated: simulated }))
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The ids of the machine's VMs.
    pub(crate) async fn vms(&self, look: &Look, whose: &Whose<'_>) -> Result<Vec<String>, Error> {
        let url = self.filled(&look.url, whose);
        let text = self.ask(Method::GET, url, &look.headers, String::new(), whose).await?.1;
        let mut ids = between(&text, &look.from, &look.to);
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Makes a VM with these marks. Its provider id.
    pub(crate) async fn plant(&self, plant: &Plant, whose: &Whose<'_>) -> Result<String, Error> {
        let method = plant.method.parse::<Method>().map_err(|_| Error::Method(plant.method.clone()))?;
        let (url, body) = (self.filled(&plant.url, whose), self.filled(&plant.body, whose));
        let (url, text) = self.ask(method, url, &plant.headers, body, whose).await?;
        let no_id = || Error::NoId {
            url,
            from: plant.from.clone(),
            to: plant.to.clone(),
            body: text.chars().take(200).collect(),
        };
        let id = between(&text, &plant.from, &plant.to).into_iter().next().ok_or_else(no_id)?;
        Ok(plant.provider_id.replace("{id}", &id))
    }

    async fn ask(
        &self,
        method: Method,
        url: String,
        headers: &BTreeMap<String, String>,
        body: String,
        whose: &Whose<'_>,
    ) -> Result<(String, String), Error> {
        let mut request = self.client.request(method, &url).body(body);
        for (name, value) in headers {
            request = request.header(name, self.filled(value, whose));
        }
        let failed = |source| Error::Ask { url: url.clone(), source };
        let answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let text = answer.text().await.map_err(failed)?;
        if !status.is_success() {
            let body = text.chars().take(200).collect();
            return Err(Error::Refused { url, status: status.as_u16(), body });
        }
        Ok((url, text))
    }

    fn filled(&self, template: &str, whose: &Whose<'_>) -> String {
        let text = template
            .replace("{cloud}", &self.url)
            .replace("{admin}", &self.admin)
            .replace("{cluster}", whose.cluster)
            .replace("{uid}", whose.uid)
            .replace("{name}", whose.name);
        let fill = |text: String, (key, value): (&String, &String)| {
            text.replace(&format!("{{secret.{key}}}"), value)
        };
        self.secrets.iter().fold(text, fill)
    }
}

/// Clients of the kit follow nothing and use no proxy of the environment.
pub(crate) fn client() -> Result<Client, reqwest::Error> {
    Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(ANSWER).build()
}

/// Nothing of the cloud takes longer than it must.
fn quick() -> simcloud::Config {
    let config = simcloud::Config::default();
    let latency = simcloud::Latency { create_ms: 0, boot_ms: 0, terminate_ms: 0, ..config.latency };
    simcloud::Config { latency, ..config }
}

fn between(text: &str, from: &str, to: &str) -> Vec<String> {
    text.split(from).skip(1).filter_map(|rest| rest.split(to).next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn ids_stand_between_two_texts() {
        assert_eq!(between(r#"{"id":"a"},{"id":"b"}"#, r#""id":""#, "\""), ["a", "b"]);
        assert!(between("nothing", "<id>", "<").is_empty());
    }
}
