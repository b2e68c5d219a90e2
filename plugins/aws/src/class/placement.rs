//! The placement of an instance: by the class, else by an annotation of the Machine's node template.

use machinist_sdk::driver::{Code, DriverError, Failure};
use serde_json::Value;

use crate::class::lenient::{Findings, Object};
use crate::class::spec::Placement;
use crate::ec2::errors::error;

/// The annotation with EC2's complete Placement as JSON.
pub(crate) const ANNOTATION: &str = "machine.sapcloud.io/awsPlacement";

/// The text fields of EC2's Placement. `PartitionNumber` is its only number.
const TEXTS: [&str; 9] = [
    "Affinity", "AvailabilityZone", "AvailabilityZoneId", "GroupId", "GroupName", "HostId",
    "HostResourceGroupArn", "SpreadDomain", "Tenancy",
];
const PARTITION: &str = "PartitionNumber";

/// Returns names and values below `Placement.`, in a fixed order. The annotation applies only to a class without a
/// placement.
///
/// Fails with the problem of the annotation.
pub(crate) fn parameters(
    class: Option<&Placement>,
    node_template: Option<&str>,
) -> Result<Vec<(String, String)>, Failure> {
    match class {
        Some(placement) => Ok(of_class(placement)),
        None => annotation(node_template).map_or(Ok(Vec::new()), |text| of_annotation(&text)),
    }
}

fn of_class(placement: &Placement) -> Vec<(String, String)> {
    let Placement { group_id, host_id, partition, tenancy, affinity } = placement;
    let partition = partition.map(|number| number.to_string());
    let all = [
        ("GroupId", group_id),
        ("Tenancy", tenancy),
        ("HostId", host_id),
        (PARTITION, &partition),
        ("Affinity", affinity),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect()
}

fn of_annotation(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut findings = Findings::default();
    let mut parameters = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Null)) => {
            let mut object = Object::root(&value, &mut findings);
            for name in TEXTS {
                let text = object.text(name, &mut findings);
                if !text.is_empty() {
                    parameters.push((name.to_owned(), text));
                }
            }
            if let Some(number) = object.optional_number(PARTITION, &mut findings) {
                parameters.push((PARTITION.to_owned(), number.to_string()));
            }
        }
        Ok(_) => findings.problem("it is not an object"),
        Err(_) => findings.problem("it is not JSON"),
    }
    if findings.problems.is_empty() {
        return Ok(parameters);
    }
    let problems = findings.problems.join("; ");
    let message = format!(
        "the annotation {ANNOTATION} of the Machine's nodeTemplate must be EC2's Placement as a JSON object: {problems}"
    );
    Err(Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) }))
}

fn annotation(node_template: Option<&str>) -> Option<String> {
    let template: Value = serde_json::from_str(node_template?).ok()?;
    let text = template.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    Some(text.to_owned()).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(text: &str) -> Result<Vec<(String, String)>, String> {
        let template = json!({ "metadata": { "annotations": { ANNOTATION: text } } }).to_string();
        parameters(None, Some(&template)).map_err(|error| error.into_record().message)
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_annotation_is_ec2_s_placement_with_keys_of_any_case() {
        let text = r#"{"groupname": "g", "AVAILABILITYZONE": "eu-west-1a", "partitionNumber": 3, "tenancy": null,
                       "hostResourceGroupArn": "arn", "other": 1}"#;
        let expected = [
            ("AvailabilityZone", "eu-west-1a"),
            ("GroupName", "g"),
            ("HostResourceGroupArn", "arn"),
            ("PartitionNumber", "3"),
        ];
        assert_eq!(annotated(text).unwrap(), pairs(&expected));
        for empty in ["{}", "null", "", "  "] {
            assert_eq!(annotated(empty), Ok(Vec::new()), "{empty}");
        }
        assert_eq!(parameters(None, None).unwrap(), []);
        assert_eq!(parameters(None, Some("{")).unwrap(), []);
    }

    #[test]
    fn the_class_s_placement_comes_before_the_annotation() {
        let class = Placement { group_id: Some("pg-1".into()), partition: Some(2), ..Placement::default() };
        let template = json!({ "metadata": { "annotations": { ANNOTATION: "nonsense" } } }).to_string();
        assert_eq!(
            parameters(Some(&class), Some(&template)).unwrap(),
            pairs(&[("GroupId", "pg-1"), ("PartitionNumber", "2")])
        );
        assert_eq!(parameters(Some(&Placement::default()), Some(&template)).unwrap(), []);
    }

    #[test]
    fn an_annotation_that_is_none_is_named() {
        for (text, word) in
            [("[]", "not an object"), ("{", "not JSON"), (r#"{"Tenancy": 1}"#, "Tenancy must be")]
        {
            let message = annotated(text).unwrap_err();
            assert!(message.contains(ANNOTATION) && message.contains(word), "{message}");
        }
    }
}
