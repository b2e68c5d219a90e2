//! Ways to the inside, by every notation of an address.

use serde_json::json;

use super::scene::Scene;

/// Sends a request to a URL with this host. No connection comes, and the refusal is one of these.
async fn contained(host: &str, reasons: &[&str]) {
    let scene = Scene::new().await;
    let plan = json!({ "do": "fetch", "url": scene.url(host, "/") });
    let report = scene.report(&plan).await;
    assert!(report["error"].is_string(), "{host}: {report}");
    assert!(scene.cloud.seen().is_empty(), "{host}");
    let counted: u64 = reasons
        .iter()
        .map(|reason| {
            format!("machinist_plugin_http_refused_total{{plugin=\"hostile\",reason=\"{reason}\"}}")
        })
        .map(|counter| scene.world.metric(&counter))
        .sum();
    // A text that the types of HTTP refuse never was a request.
    let is_no_request = report["error"].as_str().is_some_and(|error| error.ends_with("refused"));
    assert!(counted == 1 || is_no_request, "{host}: {report} {counted}");
}

macro_rules! notations {
    ($($name:ident: $($host:literal)+ => $reasons:expr;)+) => {$(
        #[tokio::test]
        async fn $name() {
            for host in [$($host),+] {
                contained(host, $reasons).await;
            }
        }
    )+};
}

/// A name that ends early leads to another port than the granted one.
const UNGRANTED: &[&str] = &["grant-host", "grant-port", "target"];

notations! {
    attack_address_in_decimal: "2130706433" "2852039166" => UNGRANTED;
    attack_address_in_octal: "0177.0.0.1" "017700000001" "0251.0376.0251.0376" => UNGRANTED;
    attack_address_in_hexadecimal: "0x7f000001" "0x7f.0x0.0x0.0x1" "0xa9fea9fe" => UNGRANTED;
    attack_address_in_short: "127.1" "0" "127.0.1" => UNGRANTED;
    attack_address_mapped_into_ipv6: "[::ffff:127.0.0.1]" "[::ffff:a9fe:a9fe]" "[::127.0.0.1]" "[64:ff9b::7f00:1]" => UNGRANTED;
    attack_address_with_a_zone: "[fe80::1%25eth0]" "[fe80::1%eth0]" "[::1%25lo]" => UNGRANTED;
    attack_address_with_a_trailing_dot: "127.0.0.1." "localhost." "169.254.169.254." => UNGRANTED;
    attack_user_information: "cloud.test@127.0.0.1" "127.0.0.1@cloud.test" "cloud.test:80@127.0.0.1" "cloud.test\\@127.0.0.1" => UNGRANTED;
    attack_international_name: "①②⑦.⓪.⓪.①" "127。0。0。1" "ｌocalhost" "cloud。test。evil" => UNGRANTED;
    attack_name_with_unusual_characters: "cloud.test%00.evil" "cloud.test#evil" "cloud.test?evil" "clo\u{202e}ud.test" "cloud.test\t" => UNGRANTED;
    attack_metadata_service: "169.254.169.254" "[fd00:ec2::254]" "metadata.google.internal" "kubernetes.default.svc" => UNGRANTED;
}

#[tokio::test]
async fn attack_dns_rebinding() {
    let scene = Scene::new().await;
    let plan = json!({ "do": "fetch", "url": scene.url("public.test", "/") });
    for (addresses, reason) in [
        (&["127.0.0.1"][..], "address-loopback"),
        (&["169.254.169.254"], "address-metadata"),
        (&["10.0.0.1"], "address-private"),
        (&["::ffff:127.0.0.1"], "address-loopback"),
        (&["fe80::1"], "address-link-local"),
        (&["0.0.0.0"], "address-unusable"),
    ] {
        scene.name("public.test", &[addresses]);
        scene.refused(&plan, reason).await;
    }
    // The first answer is fine, the next ones are not: each connection is judged by the addresses that it dials.
    scene.name("cloud.test", &[&["127.0.0.1"], &["169.254.169.254"]]);
    let plan = json!({ "do": "fetch", "url": scene.url("cloud.test", "/"), "times": 2 });
    scene.refused(&plan, "address-metadata").await;
    assert_eq!(scene.cloud.seen().len(), 1);
}
