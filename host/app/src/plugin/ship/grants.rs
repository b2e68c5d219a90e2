//! Hosts that a driver asks for in `describe` and nobody has granted: shows them, and adds them to the grants on
//! request.
//!
//! The contract has no fields for other needs of a driver (secrets, auth schemes, limits): its README names them.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use anyhow::{Context as _, bail};
use machinist_plugin_host::{AddressClass, Grants, Host, HostPattern};
use serde_yaml_ng::{Mapping, Value};

/// On the ConfigMap: the hosts that the version wishes which was pushed last, so that the next one is asked about only
/// when it wishes others.
pub(crate) const WISHED_ANNOTATION: &str = "machinist.dev/wished-hosts";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Grants were given with the push: they are what is meant.
    Given,
    /// Everything that is ordinary.
    Ordinary,
    /// Somebody at a terminal.
    Asked,
    Nobody,
}

/// Hosts that are wished and not granted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Names of hosts, as patterns of grants.
    ordinary: Vec<String>,
    /// Wishes that need a grant written by hand, and why.
    unusual: Vec<(String, String)>,
}

impl Missing {
    /// `considered`: wishes of the version before, which somebody granted or chose not to.
    pub(crate) fn of(wishes: &[String], grants: &Grants, considered: &BTreeSet<String>) -> Self {
        let mut missing = Self::default();
        let wishes: BTreeSet<&String> = wishes.iter().collect();
        for wish in wishes.into_iter().filter(|wish| !considered.contains(*wish)) {
            match HostPattern::parse(wish) {
                Ok(pattern) if grants.egress().iter().any(|rule| rule.host().covers(&pattern)) => {}
                Ok(pattern) => match danger(&pattern) {
                    None => missing.ordinary.push(wish.clone()),
                    Some(why) => missing.unusual.push((wish.clone(), why)),
                },
                Err(why) => missing.unusual.push((wish.clone(), why)),
            }
        }
        missing
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ordinary.is_empty() && self.unusual.is_empty()
    }

    /// Prints the grants with the missing lines marked, or only the missing ones, ready for a file.
    fn shown(&self, grants: &Grants) -> String {
        let is_first = grants.egress().is_empty();
        let mark = if is_first { "" } else { "+ " };
        let indent = if is_first { "" } else { "  " };
        let mut text = format!("{indent}egress:\n");
        for rule in grants.egress() {
            text.push_str(&format!("{indent}  - host: \"{}\"\n", rule.host()));
        }
        let unusual = self.unusual.iter().map(|(wish, _)| wish);
        for wish in self.ordinary.iter().chain(unusual) {
            // A wish is a driver's text: quoted as JSON, it is one line of YAML.
            text.push_str(&format!("{mark}  - host: {}\n", serde_json::json!(wish)));
        }
        text
    }
}

/// Why a host is none that a driver gets by asking.
fn danger(pattern: &HostPattern) -> Option<String> {
    let HostPattern::Exact(Host::Address(address)) = pattern else { return None };
    let class = AddressClass::of(*address);
    (class != AddressClass::Public).then(|| match class {
        AddressClass::LinkLocal | AddressClass::Metadata => {
            "a link-local address: there the cloud gives this host's own credentials to whoever asks"
                .to_owned()
        }
        AddressClass::Loopback => "this host itself: what listens there trusts who is local".to_owned(),
        other => format!("a {} address: it is inside of your own network", other.name()),
    })
}

/// Decides. `Some` has the text of the grants with what was missing.
///
/// # Errors
/// When something is missing that nobody has granted: it shows the grants, and names the flags.
pub(crate) fn granted(
    missing: &Missing,
    driver: &str,
    grants: (&Grants, Option<&str>),
    consent: Consent,
    ask: impl FnOnce(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<Option<String>> {
    let (grants, text) = grants;
    if missing.is_empty() || consent == Consent::Given {
        return Ok(None);
    }
    let shown = missing.shown(grants);
    if !missing.unusual.is_empty() {
        let warnings: String = missing
            .unusual
            .iter()
            .map(|(wish, why)| format!("\n  {}: {why}", serde_json::json!(wish)))
            .collect();
        bail!(
            "{driver} wants to reach what no driver gets by asking:{warnings}\nnothing was changed. If you want it to, write \
             down what it may do and give that with --grants FILE; it wants\n{shown}"
        );
    }
    let is_agreed = match consent {
        Consent::Given | Consent::Ordinary => true,
        Consent::Asked => ask(&format!("{driver} wants to reach hosts that nothing grants:\n{shown}"))?,
        Consent::Nobody => bail!(
            "{driver} wants to reach hosts that nothing grants, and there is nobody to ask; nothing was changed. \
             --grant-wanted (or --yes) grants them, --grants FILE says what it may do instead; it wants\n{shown}"
        ),
    };
    if !is_agreed {
        bail!("not granted, and nothing was changed: --grants FILE says what it may do instead");
    }
    added(text, &missing.ordinary).map(Some)
}

/// The grants with rules for these hosts, which are reached by HTTPS.
fn added(text: Option<&str>, hosts: &[String]) -> anyhow::Result<String> {
    let mut grants = match text {
        None => Mapping::new(),
        Some(text) => serde_yaml_ng::from_str::<Option<Mapping>>(text)
            .context("failed to read the grants that are there")?
            .unwrap_or_default(),
    };
    let key = Value::from("egress");
    let mut rules = match grants.remove(&key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Sequence(rules)) => rules,
        Some(_) => bail!("failed to read the grants that are there: egress is no list"),
    };
    rules.extend(hosts.iter().map(|host| {
        let mut rule = Mapping::new();
        rule.insert(Value::from("host"), Value::from(host.as_str()));
        Value::Mapping(rule)
    }));
    grants.insert(key, Value::Sequence(rules));
    Ok(serde_yaml_ng::to_string(&grants)?)
}

pub(crate) fn ask(question: &str, mut from: impl BufRead, mut to: impl Write) -> anyhow::Result<bool> {
    write!(to, "{question}Grant these? [y/N] ")?;
    to.flush()?;
    let mut answer = String::new();
    from.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// The wishes that a push has written down.
pub(crate) fn considered(annotation: Option<&String>) -> BTreeSet<String> {
    annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The same, to be written down. `None` when there are none.
pub(crate) fn to_consider(wishes: &[String]) -> Option<String> {
    let wishes: BTreeSet<&String> = wishes.iter().collect();
    (!wishes.is_empty()).then(|| serde_json::json!(wishes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANTS: &str = "egress: [{ host: '*.old.example' }]\nreveal: [region]\n";

    fn missing(wishes: &[&str], grants: &str, considered: &[&str]) -> Missing {
        let wishes: Vec<String> = wishes.iter().map(ToString::to_string).collect();
        let considered = considered.iter().map(ToString::to_string).collect();
        Missing::of(&wishes, &Grants::parse(grants).unwrap(), &considered)
    }

    fn outcome(wishes: &[&str], grants: Option<&str>, consent: Consent, answer: &str) -> String {
        let missing = missing(wishes, grants.unwrap_or("{}"), &[]);
        let parsed = Grants::parse(grants.unwrap_or("{}")).unwrap();
        let mut shown = Vec::new();
        let ask = |question: &str| ask(question, answer.as_bytes(), &mut shown);
        match granted(&missing, "sim 1.0.0", (&parsed, grants), consent, ask) {
            Ok(Some(text)) => text,
            Ok(None) => "as it is".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn only_what_nobody_has_granted_or_considered_is_missing() {
        assert!(missing(&[], "{}", &[]).is_empty());
        assert!(missing(&["a.old.example", "*.old.example"], GRANTS, &[]).is_empty());
        // One label each: these lead deeper.
        let deeper = ["*.b.old.example", "b.a.old.example", "c.*.old.example"];
        assert_eq!(missing(&deeper, GRANTS, &[]).ordinary, deeper);
        assert_eq!(missing(&["new.example", "a.old.example"], GRANTS, &[]).ordinary, ["new.example"]);
        assert!(missing(&["new.example"], GRANTS, &["new.example"]).is_empty());
        assert_eq!(
            missing(&["*.example.org", "x.example.org"], "egress: [{ host: x.example.org }]", &[]).ordinary,
            ["*.example.org"]
        );
    }

    #[test]
    fn who_wants_nothing_is_not_asked_about() {
        assert_eq!(outcome(&[], None, Consent::Nobody, ""), "as it is");
        assert_eq!(outcome(&["x.old.example"], Some(GRANTS), Consent::Nobody, ""), "as it is");
        assert_eq!(outcome(&["new.example"], Some(GRANTS), Consent::Given, ""), "as it is");
    }

    #[test]
    fn with_nobody_to_ask_the_grants_and_both_flags_are_named() {
        let said = outcome(&["api.example"], None, Consent::Nobody, "");
        for part in ["sim 1.0.0", "--grant-wanted", "--grants FILE", "egress:\n  - host: \"api.example\"\n"] {
            assert!(said.contains(part), "{part:?} is missing in {said}");
        }
    }

    #[test]
    fn a_later_version_shows_what_is_new_beside_what_is_there() {
        let said = outcome(&["new.example"], Some(GRANTS), Consent::Nobody, "");
        assert!(
            said.ends_with("  egress:\n    - host: \"*.old.example\"\n+   - host: \"new.example\"\n"),
            "{said}"
        );
    }

    #[test]
    fn what_is_agreed_to_is_added_and_the_rest_stays() {
        let expected = "reveal:\n- region\negress:\n- host: '*.old.example'\n- host: new.example\n";
        assert_eq!(outcome(&["new.example"], Some(GRANTS), Consent::Ordinary, ""), expected);
        assert_eq!(outcome(&["new.example"], Some(GRANTS), Consent::Asked, "y\n"), expected);
        assert_eq!(outcome(&["new.example"], Some(GRANTS), Consent::Asked, " YES \n"), expected);
        let first = outcome(&["new.example"], None, Consent::Ordinary, "");
        assert_eq!(first, "egress:\n- host: new.example\n");
        assert!(missing(&["new.example"], &first, &[]).is_empty());
        for no in ["", "\n", "n\n", "what?\n"] {
            assert!(outcome(&["new.example"], Some(GRANTS), Consent::Asked, no).starts_with("not granted"));
        }
    }

    #[test]
    fn what_is_too_much_is_never_agreed_to_in_passing() {
        for (wish, why) in [
            ("*", "is no host"),
            ("*.com", "too wide"),
            ("169.254.169.254", "a link-local address"),
            ("fe80::1", "a link-local address"),
            ("127.0.0.1", "this host itself"),
            ("10.0.0.1", "inside of your own network"),
        ] {
            for consent in [Consent::Ordinary, Consent::Asked, Consent::Nobody] {
                let said = outcome(&["api.example", wish], None, consent, "y\n");
                assert!(
                    said.contains(why) && said.contains("nothing was changed"),
                    "{wish} {consent:?}: {said}"
                );
            }
            let written = format!("egress: [{{ host: '{wish}', addresses: [loopback, private] }}]");
            if Grants::parse(&written).is_ok() {
                assert_eq!(outcome(&[wish], Some(&written), Consent::Nobody, ""), "as it is");
            }
        }
        // A driver's text cannot pass for another line of grants.
        let said = outcome(&["a\"\nreveal: [key]"], None, Consent::Ordinary, "");
        assert!(said.contains(r#""a\"\nreveal: [key]""#), "{said}");
    }

    #[test]
    fn what_was_considered_is_read_back_and_nonsense_is_nothing() {
        let wishes = ["b.example".to_owned(), "a.example".to_owned()];
        let written = to_consider(&wishes);
        assert_eq!(considered(written.as_ref()), wishes.into_iter().collect());
        assert_eq!(to_consider(&[]), None);
        assert_eq!(considered(Some(&"nonsense".to_owned())), BTreeSet::new());
    }
}
