use super::*;
use crate::auth::sigv4::SigningScope;
use crate::auth::{AuthReason, Mark};
use crate::target::{Host, TargetError};
use proptest::prelude::*;

fn grants(text: &str) -> Grants {
    Grants::parse(text).unwrap()
}

fn target(text: &str) -> Result<RequestTarget, TargetError> {
    RequestTarget::parse(&Method::GET, text)
}

#[track_caller]
fn decision(grants: &Grants, method: &Method, url: &str) -> Result<(), Denial> {
    match grants.allows(&RequestTarget::parse(method, url).unwrap()) {
        EgressDecision::Allowed(_) => Ok(()),
        EgressDecision::Denied(denial) => Err(denial),
    }
}

#[track_caller]
fn refused(text: &str, place: &str) {
    let error = Grants::parse(text).unwrap_err().to_string();
    assert!(error.contains(place), "{text}\n{error}");
}

const FULL: &str = r"
egress:
  - host: API.Example.com.
    methods: [GET, POST]
    paths: [/v1/, /health]
  - host: '*.example.org'
    scheme: http
    ports: [8080, 8081]
    addresses: [private, public]
  - host: 10.0.0.7
    addresses: private
secrets:
  - key: token
    places: [{ header: Authorization, prefix: 'Bearer ' }, { json: /a~1b/0 }, { form: UserData }]
    hosts: [api.example.com]
  - key: userData
    places: [{ json: /userData }]
reveal: [token]
limits: { memory_mib: 64, requests_per_call: 5 }
";

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = grants(FULL);
    assert_eq!(yaml.egress().len(), 3);
    assert_eq!(yaml.egress()[1].ports(), &[8080, 8081].into());
    assert_eq!(yaml.secrets()[1].key(), &SecretKey::UserData);
    assert!(yaml.reveals(&SecretKey::named("token")) && !yaml.reveals(&SecretKey::UserData));
    assert_eq!((yaml.limits().memory_mib, yaml.limits().cpu_ms), (Some(64), None));
    let value: serde_json::Value = serde_yaml_ng::from_str(FULL).unwrap();
    let json = grants(&value.to_string());
    assert_eq!(Grants { digest: yaml.digest, ..json }, yaml);
}

#[test]
fn nothing_written_is_nothing_granted() {
    for text in ["", "{}", "egress: []", "# only a comment"] {
        assert_eq!(decision(&grants(text), &Method::GET, "https://example.com/"), Err(Denial::Host));
    }
    assert_eq!(decision(&Grants::default(), &Method::GET, "https://example.com/"), Err(Denial::Host));
}

#[test]
fn invalid_grants_are_an_error_that_names_the_problem() {
    refused("egres: []", "egres");
    refused("egress: [{ host: a.com, path: [/] }]", "path");
    refused("limits: { memory: 1 }", "memory");
    refused("limits: { memory_mib: 0 }", "limits.memory_mib");
    refused("secrets: [{ key: a, places: [{ query: b }] }]", "query");
    refused("egress: [{ host: a.com }, { host: '*' }]", "egress[1].host");
    refused("egress: [{ host: '*.com' }]", "at least two labels");
    refused("egress: [{ host: 'a.*.com' }]", "egress[0].host");
    refused("egress: [{ host: 'https://a.com' }]", "egress[0].host");
    refused("egress: [{ host: 'a.com:443' }]", "egress[0].host");
    refused("egress: [{ host: 'u@a.com' }]", "egress[0].host");
    refused("egress: [{ host: '' }]", "egress[0].host");
    refused("egress: [{ host: a.com, scheme: ftp }]", "ftp");
    refused("egress: [{ host: a.com, ports: [] }]", "egress[0].ports");
    refused("egress: [{ host: a.com, ports: [0] }]", "egress[0].ports");
    refused("egress: [{ host: a.com, ports: [65536] }]", "65536");
    refused("egress: [{ host: a.com, methods: [] }]", "egress[0].methods");
    refused("egress: [{ host: a.com, methods: [get] }]", "\"get\"");
    refused(
        "egress: [{ host: a.com, methods: [OPTIONS] }]",
        "is none of GET, HEAD, POST, PUT, PATCH, DELETE",
    );
    refused("egress: [{ host: a.com, form: {} }]", "egress[0].form");
    refused("egress: [{ host: a.com, form: { Action: [] } }]", "egress[0].form.Action");
    refused("egress: [{ host: a.com, form: { '-': a } }]", "egress[0].form.-");
    refused("egress: [{ host: a.com, headers: [accept] }]", "needs no grant");
    refused("egress: [{ host: a.com, headers: ['a b'] }]", "no header name");
    refused("egress: [{ host: a.com, paths: [{ exact: /a//b }] }]", "egress[0].paths");
    refused("egress: [{ host: a.com, paths: [{ exactly: /a }] }]", "{ exact: PATH }");
    refused("egress: [{ host: 'a.{region}.com' }]", "plugin push --region");
    refused("regions: []", "regions");
    refused("regions: [s3]", "is no region");
    refused("providers: []", "providers");
    refused("providers: [' aws']", "providers");
    refused("egress: [{ host: a.com, paths: [] }]", "egress[0].paths");
    for path in ["v1", "/v1/../", "/a//b", "/a%2fb", "/a?b", "/a#b", "/%61", "/a\\b", "/..;x/"] {
        refused(&format!("egress: [{{ host: a.com, paths: ['{path}'] }}]"), "egress[0].paths");
    }
    refused("egress: [{ host: a.com, addresses: [] }]", "egress[0].addresses");
    refused("egress: [{ host: a.com, addresses: unusable }]", "link-local");
    refused("egress: [{ host: 127.0.0.1 }]", "loopback");
    refused("egress: [{ host: '::ffff:169.254.169.254', addresses: [link-local] }]", "metadata");
    refused("egress: [{ host: 0.0.0.0, addresses: [loopback, private] }]", "unusable");
    refused("secrets: [{ key: '', places: [{ header: a }] }]", "secrets[0].key");
    refused("secrets: [{ key: a, places: [] }]", "secrets[0].places");
    refused("secrets: [{ key: a, places: [{ header: a, form: b }] }]", "secrets[0].places[0]");
    refused("secrets: [{ key: a, places: [{ header: 'a b' }] }]", "no header name");
    refused("secrets: [{ key: a, places: [{ header: a, prefix: '' }] }]", "secrets[0].places[0].prefix");
    refused(
        "secrets: [{ key: a, places: [{ header: a, prefix: \"a\\n\" }] }]",
        "secrets[0].places[0].prefix",
    );
    refused("secrets: [{ key: a, places: [{ prefix: 'Bearer ' }] }]", "exactly one of header");
    refused("secrets: [{ key: a, places: [{ header: Host }] }]", "belongs to the host");
    refused("secrets: [{ key: a, places: [{ json: userData }] }]", "JSON pointer");
    refused("secrets: [{ key: a, places: [{ json: '/a~2' }] }]", "JSON pointer");
    refused("secrets: [{ key: a, places: [{ form: a }], hosts: [] }]", "secrets[0].hosts");
    refused("ca: hello", "ca");
    refused("egress: [{ host: 'a.*.b.*.com' }]", "egress[0].host");
    refused("egress: [{ host: 'a*.b.com' }]", "egress[0].host");
    refused("- a", "failed to read grants");
    refused(&format!("# {}", "x".repeat(TEXT_LIMIT_BYTES)), "more than");
}

#[test]
fn a_target_is_judged_by_the_rule_that_comes_nearest() {
    let grants = grants(FULL);
    let (get, put) = (Method::GET, Method::PUT);
    let table = [
        (&get, "https://api.example.com/v1/x", Ok(())),
        (&get, "https://api.example.com:443/v1/x?y", Ok(())),
        (&get, "https://API.EXAMPLE.com./v1/", Ok(())),
        (&get, "https://api.example.com/health", Ok(())),
        (&get, "https://api.example.com/health/deep", Ok(())),
        (&get, "https://api.example.com/healthy", Err(Denial::Path)),
        (&get, "https://api.example.com/v1", Err(Denial::Path)),
        (&get, "https://api.example.com/", Err(Denial::Path)),
        (&put, "https://api.example.com/v1/x", Err(Denial::Method)),
        (&get, "http://api.example.com/v1/x", Err(Denial::Scheme)),
        (&get, "https://api.example.com:8443/v1/x", Err(Denial::Port)),
        (&get, "https://x.api.example.com/v1/x", Err(Denial::Host)),
        (&get, "https://api.example.com.evil.com/v1/x", Err(Denial::Host)),
        (&get, "https://xapi.example.com/v1/x", Err(Denial::Host)),
        (&get, "http://a.example.org:8080/", Ok(())),
        (&put, "http://b.example.org:8081/any", Ok(())),
        (&put, "http://a.b.example.org:8081/any", Err(Denial::Host)),
        (&get, "http://example.org:8080/", Err(Denial::Host)),
        (&get, "http://.example.org:8080/", Err(Denial::Host)),
        (&get, "http://evilexample.org:8080/", Err(Denial::Host)),
        (&get, "http://a.example.org/", Err(Denial::Port)),
        (&get, "https://10.0.0.7/", Ok(())),
        (&get, "https://0xa.7/", Ok(())),
        (&get, "https://[::ffff:10.0.0.7]/", Ok(())),
        (&get, "https://10.0.0.8/", Err(Denial::Host)),
    ];
    for (method, url, expected) in table {
        if url.contains("//.") {
            assert_eq!(target(url), Err(TargetError::Host), "{url}");
        } else {
            assert_eq!(decision(&grants, method, url), expected, "{url}");
        }
    }
}

#[test]
fn a_path_prefix_cannot_be_escaped_in_any_reading() {
    let grants = grants("egress: [{ host: a.com, paths: [/v1/] }]");
    let escapes = [
        "/v1/../admin", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1/..%2fadmin", "/v1/..%2Fadmin",
        "/v1/..%5cadmin", "/v1/x/..%2f..%2fadmin", "/v1/%252e%252e%252fadmin",
        "/v1/%25252e%25252e%25252fadmin", "/v1/..;/admin", "/v1/..;a=b/admin", "/v1//..%2fadmin",
        "/v1/%2f..%2fadmin", "/v1/%2525252525252525252e", "/%76%31x/", "//v1/x", "/V1/x",
    ];
    for path in escapes {
        assert_eq!(
            decision(&grants, &Method::GET, &format!("https://a.com{path}")),
            Err(Denial::Path),
            "{path}"
        );
    }
    for path in
        ["/v1/", "/v1/a%20b", "/v1/a/../b", "/v1/a/./b", "/v1/a;x=1/b", "/x/../v1/y", "/v1/a%2fb", "/v1/..."]
    {
        assert_eq!(decision(&grants, &Method::GET, &format!("https://a.com{path}")), Ok(()), "{path}");
    }
}

#[test]
fn every_notation_of_an_address_is_the_address() {
    let loopback = Host::Address([127, 0, 0, 1].into());
    let metadata = Host::Address([169, 254, 169, 254].into());
    let table = [
        (&loopback, "127.0.0.1"),
        (&loopback, "127.0.0.1."),
        (&loopback, "127.1"),
        (&loopback, "127.0.1"),
        (&loopback, "2130706433"),
        (&loopback, "0x7f000001"),
        (&loopback, "0x7f.0.0.1"),
        (&loopback, "0177.0.0.1"),
        (&loopback, "017700000001"),
        (&loopback, "%31%32%37.0.0.1"),
        (&loopback, "[::ffff:127.0.0.1]"),
        (&loopback, "[::ffff:7f00:1]"),
        (&loopback, "[0:0:0:0:0:ffff:127.0.0.1]"),
        (&metadata, "169.254.169.254"),
        (&metadata, "2852039166"),
        (&metadata, "0xa9fea9fe"),
        (&metadata, "0251.0376.0251.0376"),
        (&metadata, "169.254.43518"),
        (&metadata, "0xa9.254.0251.254"),
        (&metadata, "[::ffff:a9fe:a9fe]"),
    ];
    for (host, text) in table {
        for (scheme, port) in [("http", ""), ("https", ":8443")] {
            let url = format!("{scheme}://{text}{port}/latest/meta-data");
            assert_eq!(target(&url).as_ref().map(RequestTarget::host), Ok(host), "{url}");
        }
    }
    let idn = target("https://%EF%BD%85xample.com/").unwrap();
    assert_eq!(idn.host(), &Host::Name("example.com".into()));
    assert_eq!(
        target("https://bücher.example/").unwrap().host(),
        &Host::Name("xn--bcher-kva.example".into())
    );
}

#[test]
fn an_ambiguous_url_has_no_target() {
    let table = [
        ("https://user@a.com/", TargetError::UserInfo),
        ("https://user:pass@a.com/", TargetError::UserInfo),
        ("https://@a.com/", TargetError::UserInfo),
        ("https://a.com@127.0.0.1/", TargetError::UserInfo),
        ("https://a.com\\@127.0.0.1/", TargetError::Characters),
        ("https://a.com/\\..\\", TargetError::Characters),
        ("https://a.com/a b", TargetError::Characters),
        ("https://a.com/\r\nx", TargetError::Characters),
        ("https://a.com\t/", TargetError::Characters),
        ("https://a..com/", TargetError::Host),
        ("https://a.com../", TargetError::Host),
        ("https://a,b.com/", TargetError::Host),
        ("https://a.com:0/", TargetError::Port),
        ("ftp://a.com/", TargetError::Scheme),
        ("file:///etc/passwd", TargetError::Scheme),
        ("https://a.com:99999/", TargetError::Url),
        ("https://[::1/", TargetError::Url),
        ("https://256.256.256.256/", TargetError::Url),
        ("/relative", TargetError::Url),
    ];
    for (url, error) in table {
        assert_eq!(target(url), Err(error), "{url}");
    }
    let invalid = ["TRACK", "DEBUG", "trace", "get", "PROPFIND", "PURGE"]
        .map(|name| Method::from_bytes(name.as_bytes()).unwrap());
    for method in invalid.into_iter().chain([Method::CONNECT, Method::TRACE, Method::OPTIONS]) {
        assert_eq!(RequestTarget::parse(&method, "https://a.com/"), Err(TargetError::Method), "{method}");
    }
}

#[test]
fn the_sent_request_is_the_checked_request() {
    let sent = |url: &str| target(url).unwrap().uri().unwrap().to_string();
    assert_eq!(sent("https://A.com.:443/x/../y?q=%20#f"), "https://a.com/y?q=%20");
    assert_eq!(sent("http://[::FFFF:1.2.3.4]:81"), "http://1.2.3.4:81/");
    assert_eq!(sent("https://[2001:DB8:0::1]:8443/"), "https://[2001:db8::1]:8443/");
    assert_eq!(target("https://a.com/p?secret=1").unwrap().to_string(), "GET https://a.com:443/p");
}

#[test]
fn one_label_between_two_parts_can_be_any() {
    let grants = grants("egress: [{ host: ec2.*.example.com }]");
    assert_eq!(grants.egress()[0].host().to_string(), "ec2.*.example.com");
    for host in ["ec2.eu-west-1.example.com", "EC2.x.example.com."] {
        assert_eq!(decision(&grants, &Method::GET, &format!("https://{host}/")), Ok(()), "{host}");
    }
    for host in ["ec2.example.com", "ec2.a.b.example.com", "ec2.a.example.com.evil.net", "xec2.a.example.com"]
    {
        assert_eq!(decision(&grants, &Method::GET, &format!("https://{host}/")), Err(Denial::Host), "{host}");
    }
}

const AUTH: &str = r"
auth:
  - scheme: aws-sigv4
    services: [ec2]
    regions: [eu-*, us-east-1]
    hosts: [ec2.*.example.com, 127.0.0.1]
    web-identity:
      token-files: [/var/run/secrets/, /run/tokens]
";

fn signs(grants: &Grants, service: &str, region: &str, host: &str) -> Result<(), AuthReason> {
    let scope = SigningScope { service: service.to_owned(), region: region.to_owned() };
    let (mark, host) = (Mark::AwsSigV4(scope), Host::parse(host).unwrap());
    mark.grant(grants.auth(), &host, &HeaderMap::new()).map(|_| ())
}

#[test]
fn refusals_to_sign_name_scheme_service_region_and_host() {
    let some = grants(AUTH);
    assert_eq!(signs(&some, "ec2", "eu-west-1", "ec2.eu-west-1.example.com"), Ok(()));
    assert_eq!(signs(&some, "ec2", "us-east-1", "127.0.0.1"), Ok(()));
    assert_eq!(signs(&some, "iam", "eu-west-1", "127.0.0.1"), Err(AuthReason::Service));
    assert_eq!(signs(&some, "ec2", "us-east-11", "127.0.0.1"), Err(AuthReason::Region));
    assert_eq!(signs(&some, "ec2", "xeu-west-1", "127.0.0.1"), Err(AuthReason::Region));
    assert_eq!(signs(&some, "ec2", "eu-west-1", "evil.com"), Err(AuthReason::Host));
    let all = grants("auth: [{ scheme: aws-sigv4, services: [ec2] }]");
    assert_eq!(signs(&all, "ec2", "anywhere-9", "evil.com"), Ok(()), "the egress rules judge the host");
    assert_eq!(signs(&grants("egress: []"), "ec2", "eu-west-1", "127.0.0.1"), Err(AuthReason::Scheme));
}

#[test]
fn a_list_of_auth_that_cannot_be_meant_is_an_error_that_names_it() {
    let one = |rest: &str| format!("auth: [{{ scheme: aws-sigv4, services: [ec2]{rest} }}]");
    refused("auth: [{ scheme: aws-sigv5, services: [ec2] }]", "auth[0].scheme");
    refused("auth: [{ scheme: aws-sigv4 }]", "services");
    refused("auth: [{ scheme: aws-sigv4, services: [] }]", "auth[0].services");
    refused("auth: [{ scheme: aws-sigv4, services: ['*'] }]", "auth[0].services");
    refused("auth: [{ scheme: aws-sigv4, services: [s3] }]", "rules of its own");
    refused(&one(", regions: []"), "auth[0].regions");
    refused(&one(", regions: ['e*-*']"), "auth[0].regions");
    refused(&one(", regions: [EU]"), "auth[0].regions");
    refused(&one(", hosts: []"), "auth[0].hosts");
    refused(&one(", hosts: ['*']"), "auth[0].hosts");
    refused(&one(", key: {}"), "key");
    refused(&one(", keys: { access-key-id: [] }"), "auth[0].keys.access-key-id");
    refused(&one(", keys: { secret-access-key: [''] }"), "auth[0].keys.secret-access-key");
    refused(&one(", keys: { session-token: [userData] }"), "userData is no credential");
    refused(&one(", web-identity: {}"), "token-files");
    for path in ["", "/", "run", "/run/../etc", "/run//x", "/run/./x"] {
        refused(
            &one(&format!(", web-identity: {{ token-files: ['{path}'] }}")),
            "auth[0].web-identity.token-files",
        );
    }
    for sts in [
        "", "sts.example.com", "ftp://a.com/", "https://u@a.com/", "https://a.com/{zone}",
        "https://a.com/?a=b",
    ] {
        let web = format!(", web-identity: {{ token-files: [/run/x], sts: '{sts}' }}");
        refused(&one(&web), "auth[0].web-identity.sts");
    }
    refused(
        &one(", web-identity: { token-files: [/run/x], role-arn-key: '' }"),
        "auth[0].web-identity.role-arn-key",
    );
    refused(
        &one(", web-identity: { token-files: [/run/x], role-arns: ['*'] }"),
        "auth[0].web-identity.role-arns",
    );
}

#[test]
fn other_schemes_that_cannot_be_meant_are_errors_that_name_them() {
    for (entry, expected) in [
        ("3", "auth"),
        ("{ hosts: [a.com] }", "auth[0].scheme: must be one of aws-sigv4, bearer, basic"),
        ("{ scheme: [bearer] }", "auth[0].scheme"),
        ("{ scheme: bearer, hosts: a.com }", "auth[0].hosts"),
        ("{ scheme: bearer, services: [ec2] }", "services"),
        ("{ scheme: bearer, keys: { token: [] } }", "auth[0].keys.token"),
        ("{ scheme: bearer, keys: { token: [userData] } }", "userData is no credential"),
        ("{ scheme: bearer, header: 'a b' }", "auth[0].header"),
        ("{ scheme: bearer, header: host }", "belongs to the host"),
        ("{ scheme: bearer, header: machinist-auth }", "belongs to the host"),
        ("{ scheme: bearer, prefix: \"a\\r\\n\" }", "auth[0].prefix"),
        ("{ scheme: basic, header: x-key }", "header"),
        ("{ scheme: oauth2-client-credentials }", "token-url"),
        ("{ scheme: oauth2-client-credentials, token-url: 'a.com' }", "auth[0].token-url"),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://{key}/' }",
            "only {KEY} or {KEY|KEY} in the path",
        ),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://{key}' }",
            "only {KEY} or {KEY|KEY} in the path",
        ),
        ("{ scheme: oauth2-client-credentials, token-url: 'https://a.com/{' }", "has no }"),
        ("{ scheme: oauth2-client-credentials, token-url: 'https://a.com/{}' }", "auth[0].token-url"),
        ("{ scheme: oauth2-client-credentials, token-url: 'https://a.com/?a=b' }", "no query"),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://a.com/', client-auth: post }",
            "client-auth",
        ),
        ("{ scheme: oauth2-client-credentials, token-url: 'https://a.com/', scopes: [] }", "auth[0].scopes"),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://a.com/', scopes: ['a b'] }",
            "auth[0].scopes",
        ),
        ("{ scheme: jwt-bearer, audience: ' ' }", "auth[0].audience"),
        ("{ scheme: jwt-bearer, keys: { private-key: [a] } }", "private-key with issuer"),
        ("{ scheme: jwt-bearer, keys: { service-account: [a], issuer: [b] } }", "either service-account"),
        ("{ scheme: jwt-bearer, workload-identity: { token-files: [/a/b/] } }", "audiences"),
        ("{ scheme: jwt-bearer, workload-identity: { token-files: [/a/], audiences: [] } }", "names no pool"),
        (
            "{ scheme: jwt-bearer, workload-identity: { token-files: [], audiences: ['*'] } }",
            "names no folder",
        ),
        ("{ scheme: jwt-bearer, workload-identity: { token-files: [/], audiences: ['*'] } }", "is no folder"),
        (
            "{ scheme: jwt-bearer, workload-identity: { token-files: [/a/], audiences: ['*'], impersonation: 'https://a.com/x' } }",
            "does not end with /",
        ),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://a.com/', federation: { token-files: [/a/], clients: [] } }",
            "names no client",
        ),
        (
            "{ scheme: oauth2-client-credentials, token-url: 'https://a.com/', federation: { token-files: [a], clients: ['*'] } }",
            "absolute path",
        ),
        ("{ scheme: client-certificate, header: x-key }", "header"),
        ("{ scheme: client-certificate, keys: { key: [] } }", "names no key"),
        ("{ scheme: keystone, url: 'ftp://a.com/' }", "auth[0].url"),
        ("{ scheme: keystone, keys: { project: [a] } }", "project"),
    ] {
        refused(&format!("auth: [{entry}]"), expected);
    }
}

#[test]
fn a_key_of_any_scheme_is_nowhere_else() {
    for (scheme, key) in [
        ("scheme: bearer", "token"),
        ("scheme: basic", "password"),
        ("scheme: oauth2-client-credentials, token-url: 'https://a.com/{tenantID}'", "tenantID"),
        ("scheme: oauth2-client-credentials, token-url: 'https://a.com/'", "clientSecret"),
        ("scheme: jwt-bearer", "serviceAccountJSON"),
        ("scheme: jwt-bearer, keys: { private-key: [pem], issuer: [iss] }", "pem"),
        ("scheme: client-certificate", "clientKey"),
        (
            "scheme: oauth2-client-credentials, token-url: 'https://a.com/', federation: { token-files: [/a/], clients: [a] }",
            "workloadIdentityTokenFile",
        ),
        ("scheme: keystone", "applicationCredentialSecret"),
        ("scheme: keystone", "clientKey"),
        ("scheme: keystone, url: 'https://a.com/{region}'", "region"),
    ] {
        let auth = format!("auth: [{{ {scheme} }}]");
        refused(&format!("{auth}\nreveal: [{key}]"), "is never revealed");
        refused(
            &format!("{auth}\nsecrets: [{{ key: {key}, places: [{{ header: a }}] }}]"),
            "has no placeholder",
        );
    }
}

#[test]
fn a_key_that_the_host_signs_with_is_nowhere_else() {
    let secrets =
        "secrets: [{ key: a, places: [{ header: a }] }, { key: accessKeyID, places: [{ header: a }] }]";
    refused(&format!("{AUTH}{secrets}"), "secrets[1].key: auth[0] signs with \"accessKeyID\"");
    refused(&format!("{AUTH}reveal: [a, sessionToken]"), "reveal[1]");
    refused(&format!("{AUTH}reveal: [roleARN]"), "reveal[0]");
    grants("auth: [{ scheme: aws-sigv4, services: [ec2] }]\nreveal: [roleARN]");
}

#[test]
fn a_part_of_a_document_may_be_revealed_although_the_host_signs_with_it() {
    let grants =
        grants("auth: [{ scheme: jwt-bearer }]\nreveal: ['serviceAccountJSON#/project_id', project]");
    let revealed: Vec<String> = grants.revealed().iter().map(ToString::to_string).collect();
    assert_eq!(revealed, ["project", "serviceAccountJSON#/project_id"]);
    assert!(!grants.reveals(&SecretKey::named("serviceAccountJSON")));
    let auth = "auth: [{ scheme: jwt-bearer }]\n";
    refused(&format!("{auth}reveal: ['serviceAccountJSON#/private_key']"), "is never revealed");
}

#[test]
fn the_address_of_a_service_may_be_revealed_although_the_host_uses_it() {
    let revealed = grants("auth: [{ scheme: keystone }]\nreveal: [authURL]");
    assert!(revealed.reveals(&SecretKey::named("authURL")));
    for auth in [
        "{ scheme: keystone, keys: { auth-url: [password] } }",
        "{ scheme: keystone }, { scheme: bearer, keys: { token: [authURL] } }",
    ] {
        let key = if auth.contains("[password]") { "password" } else { "authURL" };
        refused(&format!("auth: [{auth}]\nreveal: [{key}]"), "is never revealed");
    }
    let place = "secrets: [{ key: authURL, places: [{ header: a }] }]";
    refused(&format!("auth: [{{ scheme: keystone }}]\n{place}"), "has no placeholder");
}

#[test]
fn attack_a_pointer_reveals_no_whole_document() {
    refused("reveal: [a, 'key#']", "reveal[1]: key# is the whole document");
    refused("reveal: ['key#project_id']", "is no JSON pointer");
    refused("reveal: ['key#/a~2']", "is no JSON pointer");
    refused("reveal: ['#/project_id']", "names no key");
    refused("reveal: ['userData#/x']", "user data has no parts");
    let place = "places: [{ header: a }]";
    refused(&format!("reveal: ['key#/a']\nsecrets: [{{ key: 'key#/a', {place} }}]"), "has no placeholder");
}

/// The same question answered by hand: take the text apart, decode until nothing changes, walk the segments.
fn naive_allows(host: &str, path: &str) -> bool {
    let host = host.to_lowercase();
    let host_is_granted = host == "a.com" || (host.ends_with(".b.com") && host.len() > ".b.com".len());
    let mut path = path.to_owned();
    for _ in 0..8 {
        for (escaped, plain) in
            [("%2e", "."), ("%2E", "."), ("%2f", "/"), ("%2F", "/"), ("%5c", "/"), ("%25", "%")]
        {
            path = path.replace(escaped, plain);
        }
    }
    let mut walked: Vec<&str> = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        match segment.split(';').next().unwrap() {
            ".." => drop(walked.pop()),
            "." => {}
            _ => walked.push(segment),
        }
    }
    host_is_granted && walked.first() == Some(&"v1")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_allowed_that_a_naive_reading_denies(
        host in prop::sample::select(vec!["a.com", "A.com", "x.b.com", "b.com", "y.x.b.com", "xb.com", "a.com.b.net"]),
        parts in prop::collection::vec(
            prop::sample::select(vec!["v1", "..", ".", "%2e%2e", "%2f", "/", "//", "%5c", "x", "..;", "%252f", "%252e", ";v1", "..%2f"]),
            0..7,
        ),
    ) {
        let grants = grants("egress: [{ host: a.com, paths: [/v1/] }, { host: '*.b.com', paths: [/v1/] }]");
        let path = format!("/{}", parts.join("/"));
        let target = target(&format!("https://{host}{path}")).unwrap();
        if matches!(grants.allows(&target), EgressDecision::Allowed(_)) {
            let sent = target.uri().unwrap();
            prop_assert!(naive_allows(sent.host().unwrap(), sent.path()), "{host}{path} sent as {sent}");
        }
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in ".{0,200}", url in "[a-z:/@%.\\[\\]0-9?#;]{0,60}") {
        let _ = Grants::parse(&text);
        let _ = target(&url);
        let _ = target(&format!("https://{url}"));
    }
}
