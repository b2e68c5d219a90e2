//! Attacks by requests that the grants seem to allow.

use super::*;

const EC2: &str = r#"
regions: [eu-west-1]
egress:
  - host: "ec2.{region}.amazonaws.com"
    methods: [POST]
    paths: [{ exact: / }]
    form: { Action: [RunInstances, DescribeInstances] }
"#;
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// Returns the decision of the grants about a POST with these headers and this body.
fn posted(grants: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Result<(), Denial> {
    let grants = Grants::parse(grants).unwrap();
    let target = RequestTarget::parse(&Method::POST, url).unwrap();
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
        .collect();
    match grants.allows_whole(&target, &headers, body.as_bytes()) {
        EgressDecision::Allowed(_) => Ok(()),
        EgressDecision::Denied(denial) => Err(denial),
    }
}

fn to_ec2(body: &str) -> Result<(), Denial> {
    posted(EC2, "https://ec2.eu-west-1.amazonaws.com/", &[("content-type", FORM)], body)
}

#[test]
fn attack_an_action_that_is_not_granted_is_refused_in_every_spelling() {
    assert_eq!(to_ec2("Action=RunInstances&Version=1"), Ok(()));
    assert_eq!(to_ec2("Version=1&%41ction=Run%49nstances"), Ok(()), "the same, in another spelling");
    for body in [
        "",
        "Version=1",
        "Action=",
        "Action",
        "Action=CreateImage",
        "Action=runinstances",
        "Action=RunInstances ",
        "Action=RunInstances%00",
        "action=RunInstances",
        "Action=RunInstances&Action=CreateImage",
        "Action=CreateImage&Action=RunInstances",
        "Action=RunInstances&action=CreateImage",
        "Action=RunInstances&Action%5B%5D=CreateImage",
        "Action=RunInstances&+Action=CreateImage",
        "Action=RunInstances;Action=CreateImage",
        "x=1;Action=CreateImage&Action=RunInstances",
        "Action=RunInstances;x=1",
        "{\"Action\":\"RunInstances\"}",
    ] {
        assert_eq!(to_ec2(body), Err(Denial::Form), "{body}");
    }
}

#[test]
fn attack_an_action_beside_the_form_is_refused() {
    let ec2 = "https://ec2.eu-west-1.amazonaws.com/";
    let body = "Action=RunInstances";
    let denied = Err(Denial::Form);
    assert_eq!(posted(EC2, &format!("{ec2}?Action=RunInstances"), &[], ""), Ok(()), "a query API");
    assert_eq!(posted(EC2, &format!("{ec2}?Action=CreateImage"), &[("content-type", FORM)], body), denied);
    assert_eq!(posted(EC2, &format!("{ec2}?Action=RunInstances"), &[("content-type", FORM)], body), denied);
    assert_eq!(posted(EC2, ec2, &[], body), denied, "nothing says that it is a form");
    assert_eq!(posted(EC2, ec2, &[("content-type", "application/json")], body), denied);
    let two = [("content-type", FORM), ("content-type", "application/json")];
    assert_eq!(posted(EC2, ec2, &two, body), denied, "of two types a server may believe either");
}

#[test]
fn attack_a_path_below_an_exact_one_is_refused() {
    for path in ["/latest", "//", "/%2f", "/x", "/;x", "/.", "/..;/x", "/%2e%2e/x", "/index"] {
        let url = format!("https://ec2.eu-west-1.amazonaws.com{path}");
        let outcome = posted(EC2, &url, &[("content-type", FORM)], "Action=RunInstances");
        // A lone dot segment is no other path: the parser of URLs takes it away before anything is judged or sent.
        assert_eq!(outcome, if path == "/." { Ok(()) } else { Err(Denial::Path) }, "{path}");
    }
}

#[test]
fn attack_a_bucket_that_is_called_like_the_service_is_no_region() {
    let wide = "egress: [{ host: 'ec2.*.amazonaws.com' }, { host: 'sts.*.amazonaws.com.cn' }, { host: 'ecs.*.aliyuncs.com' }]";
    for host in
        ["ec2.eu-west-1.amazonaws.com", "sts.cn-north-1.amazonaws.com.cn", "ecs.cn-hangzhou.aliyuncs.com"]
    {
        assert_eq!(posted(wide, &format!("https://{host}/"), &[], ""), Ok(()), "{host}");
    }
    for host in [
        "ec2.s3.amazonaws.com", "EC2.S3.amazonaws.com.", "ec2.s3-accelerate.amazonaws.com",
        "ec2.s3-eu-west-1.amazonaws.com", "ec2.s3-website-eu-west-1.amazonaws.com",
        "ec2.s3.eu-west-1.amazonaws.com", "ec2.dualstack.amazonaws.com", "sts.s3.amazonaws.com.cn",
        "ecs.oss-cn-hangzhou.aliyuncs.com",
    ] {
        assert_eq!(posted(wide, &format!("https://{host}/"), &[], ""), Err(Denial::Host), "{host}");
    }
    for host in [
        "*.amazonaws.com", "*.s3.amazonaws.com", "*.eu-west-1.amazonaws.com", "ec2.*.s3.amazonaws.com",
        "*.googleapis.com", "compute.*.googleapis.com", "a.*.core.windows.net",
    ] {
        let error = Grants::parse(&format!("egress: [{{ host: '{host}' }}]")).unwrap_err().to_string();
        assert!(error.contains("customers of this cloud choose names below it"), "{host}: {error}");
    }
}

#[test]
fn attack_headers_that_name_another_request_are_refused() {
    let plain = "egress: [{ host: a.com, methods: [POST], paths: [/safe/] }]";
    let sent = |grants: &str, name: &str| posted(grants, "https://a.com/safe/x", &[(name, "DELETE")], "");
    for name in [
        "x-http-method-override", "X-HTTP-Method", "x-method-override", "x-original-url", "x-rewrite-url",
        "x-forwarded-host", "x-forwarded-anything", "forwarded",
    ] {
        assert_eq!(sent(plain, name), Err(Denial::Header), "{name}");
        let granted = format!("egress: [{{ host: a.com, headers: ['{name}'] }}]");
        assert_eq!(sent(&granted, name), Ok(()), "{name}");
    }
    for name in ["accept", "x-ms-version", "x-request-id", "if-match"] {
        assert_eq!(sent(plain, name), Ok(()), "{name}");
    }
}

#[test]
fn attack_one_rule_does_not_lend_its_action_to_another_host() {
    let two = "egress: [{ host: a.com, form: { Action: Go } }, { host: b.com, form: { Action: Stay } }]";
    let send = |host: &str, action: &str| {
        posted(two, &format!("https://{host}/"), &[("content-type", FORM)], &format!("Action={action}"))
    };
    assert_eq!((send("a.com", "Go"), send("b.com", "Stay")), (Ok(()), Ok(())));
    assert_eq!((send("a.com", "Stay"), send("b.com", "Go")), (Err(Denial::Form), Err(Denial::Form)));
}
