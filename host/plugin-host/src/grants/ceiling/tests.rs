use super::*;

const CEILING: &str = r#"
regions: [eu-west-1, eu-central-1]
egress:
- { host: "ec2.{region}.amazonaws.com", methods: [POST], paths: [{ exact: / }], form: { Action: [RunInstances, DescribeInstances] } }
- { host: "*.example.com", ports: [443, 8443], methods: [GET, POST], paths: [/v1/], addresses: [public, private] }
- { host: login.example.org }
secrets:
- { key: userData, places: [{ form: UserData }, { json: /vm/userData }] }
- { key: token, places: [{ header: authorization, prefix: "Bearer " }], hosts: ["*.example.com"] }
auth:
- { scheme: aws-sigv4, services: [ec2], regions: ["{region}"], hosts: ["ec2.{region}.amazonaws.com"], web-identity: { token-files: [/var/run/tokens/], role-arns: ['arn:aws:iam::111122223333:role/machines-*'] } }
- { scheme: basic, hosts: [api.example.com] }
- { scheme: bearer, hosts: [api.example.com], header: x-token, keys: { token: [apiToken] } }
- { scheme: oauth2-client-credentials, token-url: "https://login.example.org/{tenant}/token", scopes: ["https://*"], hosts: [api.example.com] }
- { scheme: jwt-bearer, token-url: "https://login.example.org/token", hosts: [api.example.com] }
- { scheme: keystone, url: "https://login.example.org/v3", hosts: [api.example.com] }
reveal: [project, 'account#/project_id', settings]
providers: [aws, example]
"#;

fn beyond(grants: &str) -> String {
    let ceiling = Grants::parse(CEILING).expect("a ceiling");
    Grants::parse(grants).unwrap_or_else(|error| panic!("{grants}: {error}")).beyond(&ceiling).join("; ")
}

#[track_caller]
fn within(grants: &str) {
    assert_eq!(beyond(grants), "", "{grants}");
}

#[track_caller]
fn exceeds(grants: &str, expected: &str) {
    let message = beyond(grants);
    assert!(message.contains(expected), "{grants}: {message}");
}

#[test]
fn a_ceiling_allows_itself_and_whatever_is_narrower() {
    within(CEILING);
    within("{}");
    within(
        "egress: [{ host: ec2.eu-west-1.amazonaws.com, methods: [POST], paths: [{ exact: / }], form: { Action: RunInstances } }]",
    );
    within("egress: [{ host: a.example.com, methods: [GET], paths: [/v1/vms, { exact: /v1/x }] }]");
    within("egress: [{ host: login.example.org, methods: [DELETE], paths: [/x] }]");
    within(
        "egress: [{ host: a.example.com, methods: [GET], paths: [/v1/] }]\n\
         secrets: [{ key: token, places: [{ header: authorization, prefix: 'Bearer ' }] }]",
    );
    within(
        "auth: [{ scheme: oauth2-client-credentials, token-url: 'https://login.example.org/{tenant}/token', scopes: ['https://a/b'], hosts: [api.example.com] }]",
    );
    within(
        "auth: [{ scheme: aws-sigv4, services: [ec2], regions: [eu-west-1], hosts: [ec2.eu-west-1.amazonaws.com], web-identity: { token-files: [/var/run/tokens/aws/], role-arns: ['arn:aws:iam::111122223333:role/machines-a', 'arn:aws:iam::111122223333:role/machines-b-*'] } }]",
    );
    within("providers: [aws]\nlimits: { cpu_ms: 5 }");
}

#[test]
fn attack_egress_exceeds_the_ceiling() {
    for (rule, expected) in [
        ("host: evil.example", "egress[0]: it grants no host evil.example"),
        ("host: '*.example.org'", "no host *.example.org"),
        ("host: ec2.us-east-1.amazonaws.com", "no host ec2.us-east-1.amazonaws.com"),
        ("host: a.b.example.com", "no host"),
        ("host: a.example.com, scheme: http, methods: [GET], paths: [/v1/]", "no scheme http"),
        ("host: a.example.com, ports: [443, 22], methods: [GET], paths: [/v1/]", "no port 22"),
        ("host: a.example.com, methods: [DELETE], paths: [/v1/]", "not DELETE"),
        ("host: a.example.com, paths: [/v1/]", "not all methods"),
        ("host: a.example.com, methods: [GET], paths: [/v1]", "not /v1"),
        ("host: a.example.com, methods: [GET], paths: [/v2/]", "not /v2/"),
        ("host: a.example.com, methods: [GET]", "not all paths"),
        (
            "host: a.example.com, methods: [GET], paths: [/v1/], headers: [x-http-method-override]",
            "no header x-http-method-override",
        ),
        ("host: a.example.com, methods: [GET], paths: [/v1/], addresses: [metadata]", "no such addresses"),
        ("host: login.example.org, addresses: [public, private]", "no such addresses"),
        ("host: ec2.eu-west-1.amazonaws.com, methods: [POST], paths: [{ exact: / }]", "only with Action"),
        (
            "host: ec2.eu-west-1.amazonaws.com, methods: [POST], paths: [{ exact: / }], form: { Action: [RunInstances, CreateUser] }",
            "only with Action",
        ),
        (
            "host: ec2.eu-west-1.amazonaws.com, methods: [POST], paths: [/], form: { Action: RunInstances }",
            "not /",
        ),
    ] {
        exceeds(&format!("egress: [{{ {rule} }}]"), expected);
    }
}

#[test]
fn attack_places_of_secrets_and_reveal_exceed_the_ceiling() {
    for (grant, expected) in [
        (
            "key: password, places: [{ header: authorization }]",
            "secrets[0]: it names secret password nowhere",
        ),
        ("key: userData, places: [{ header: x-data }]", "secret userData no place header x-data"),
        ("key: userData, places: [{ form: UserData, prefix: '#!' }]", "no place form UserData with prefix"),
        ("key: userData, places: [{ json: /vm }]", "no place json /vm"),
        ("key: token, places: [{ header: authorization }]", "no place header authorization"),
        (
            "key: token, places: [{ header: authorization, prefix: 'Bearer ' }], hosts: [login.example.org]",
            "secret token go to other hosts only",
        ),
    ] {
        exceeds(&format!("secrets: [{{ {grant} }}]"), expected);
    }
    // Without hosts of its own it may go wherever the grants reach.
    exceeds(
        "egress: [{ host: login.example.org }]\n\
         secrets: [{ key: token, places: [{ header: authorization, prefix: 'Bearer ' }] }]",
        "secret token go to other hosts only",
    );
    exceeds("reveal: [project, password]", "reveal: password");
    exceeds("reveal: [account]", "reveal: account");
    exceeds("providers: [aws, openstack]", "providers: openstack");
}

#[test]
fn attack_token_services_exceed_the_ceiling() {
    for (grant, expected) in [
        (
            "scheme: oauth2-client-credentials, token-url: 'https://evil.example/token', scopes: ['https://a']",
            "oauth2-client-credentials not for https://evil.example/token",
        ),
        (
            "scheme: oauth2-client-credentials, token-url: 'https://login.example.org/{tenant}/token', scopes: ['*']",
            "not for scope *",
        ),
        (
            "scheme: oauth2-client-credentials, token-url: 'https://login.example.org/{tenant}/token', \
             keys: { client-secret: [userPassword] }",
            "not with key userPassword",
        ),
        (
            "scheme: oauth2-client-credentials, token-url: 'https://login.example.org/{tenant}/token', hosts: [evil.example]",
            "for other hosts only",
        ),
        (
            "scheme: jwt-bearer, token-url: 'https://evil.example/token'",
            "jwt-bearer not for https://evil.example",
        ),
        (
            "scheme: jwt-bearer, token-url: 'https://login.example.org/token', audience: 'https://other.example'",
            "for another audience",
        ),
        (
            "scheme: jwt-bearer, token-url: 'https://login.example.org/token', \
             workload-identity: { token-files: [/a/], audiences: ['*'] }",
            "without workload identity",
        ),
        (
            "scheme: oauth2-client-credentials, token-url: 'https://login.example.org/{tenant}/token', \
             federation: { token-files: [/a/], clients: ['*'] }",
            "without federation",
        ),
        ("scheme: keystone, url: 'https://evil.example/v3'", "keystone not for https://evil.example/v3"),
        (
            "scheme: keystone, url: 'https://login.example.org/v3', insecure: true",
            "keystone not for insecure servers",
        ),
        ("scheme: keystone", "not for the place that the Secret names"),
        ("scheme: aws-sigv4, services: [iam], regions: [eu-west-1]", "aws-sigv4 not for iam"),
        ("scheme: aws-sigv4, services: [ec2], regions: ['*']", "not for region *"),
        (
            "scheme: aws-sigv4, services: [ec2], regions: [eu-west-1], \
             web-identity: { token-files: [/var/run/tokens/], sts: 'https://evil.example/' }",
            "not for https://evil.example/",
        ),
        (
            "scheme: aws-sigv4, services: [ec2], regions: [eu-west-1], web-identity: { token-files: [/etc/] }",
            "not for /etc",
        ),
        ("scheme: bearer, hosts: [api.example.com], header: x-other, keys: { token: [apiToken] }", "x-other"),
        (
            "scheme: bearer, hosts: [api.example.com], header: x-token, keys: { token: [password] }",
            "key password",
        ),
        ("scheme: basic, hosts: [evil.example]", "basic for other hosts only"),
    ] {
        exceeds(&format!("auth: [{{ {grant} }}]"), expected);
    }
    let nothing = Grants::default();
    let basic = Grants::parse("auth: [{ scheme: basic, hosts: [a.example] }]").expect("grants");
    assert_eq!(basic.beyond(&nothing), ["auth[0]: it grants no basic"]);
}

/// A part is less than the whole document, and another part is another value.
#[test]
fn attack_a_part_of_a_document_exceeds_the_ceiling() {
    within("reveal: ['account#/project_id', 'settings#/region']");
    for (part, expected) in [
        ("account#/private_key", "reveal: account#/private_key"),
        ("account#/project_id/x", "reveal: account#/project_id/x"),
        ("account#/", "reveal: account#/"),
        ("password#/project_id", "reveal: password#/project_id"),
    ] {
        exceeds(&format!("reveal: ['{part}']"), expected);
    }
}

/// The token is the host's own: each role that trusts the host would be within reach.
#[test]
fn attack_a_role_of_web_identity_exceeds_the_ceiling() {
    for role in [
        "arn:aws:iam::111122223333:role/admin",
        "arn:aws:iam::111122223333:role/*",
        "arn:aws:iam::444455556666:role/machines-a",
        "arn:aws-cn:iam::111122223333:role/machines-*",
    ] {
        let grant = format!(
            "auth: [{{ scheme: aws-sigv4, services: [ec2], regions: [eu-west-1], hosts: [ec2.eu-west-1.amazonaws.com], \
             web-identity: {{ token-files: [/var/run/tokens/], role-arns: ['{role}'] }} }}]"
        );
        exceeds(&grant, &format!("not for {role}"));
    }
}

#[test]
fn of_many_some_are_named() {
    let rules: Vec<String> = (0..500).map(|n| format!("{{ host: h{n}.evil.example }}")).collect();
    let many = Grants::parse(&format!("egress: [{}]", rules.join(", "))).expect("grants");
    assert_eq!(many.beyond(&Grants::parse(CEILING).expect("a ceiling")).len(), MOST_NAMED);
}
