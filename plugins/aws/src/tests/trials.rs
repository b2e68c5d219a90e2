//! Answers of invalid shapes.

use machinist_sdk::driver::Code;

use super::harness::{Fault, Harness, answer, request, with_id};
use super::model::wrapped;
use crate::ec2::answer::{Instance, InstanceState, page};
use crate::ec2::xml;

fn instances(inside: &str) -> Option<Vec<Instance>> {
    let text = wrapped("DescribeInstances", inside);
    let document = xml::parse(&text).unwrap();
    page(document.root_element()).map(|page| page.instances)
}

#[test]
fn an_instance_is_read_whole() {
    let found = instances(
        "<reservationSet><item><instancesSet><item>
           <instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState>
           <privateDnsName> ip-1 </privateDnsName><privateIpAddress>10.0.0.1</privateIpAddress>
           <ipAddress>1.2.3.4</ipAddress><dnsName>ec2-1</dnsName><dnsNameIgnored/><ipv6Address>2600::1</ipv6Address>
           <sourceDestCheck>true</sourceDestCheck><launchTime>2026-01-02T03:04:05Z</launchTime>
           <tagSet><item><key> k </key><value/></item><item><key>a&amp;b</key><value>&lt;x&gt; </value></item></tagSet>
           <networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>
             <attachment><deviceIndex>1</deviceIndex></attachment></item></networkInterfaceSet>
         </item></instancesSet></item></reservationSet>",
    );
    let instance = found.unwrap().remove(0);
    assert_eq!((instance.state, instance.node_name.as_str()), (InstanceState::Running, "ip-1"));
    assert_eq!((instance.tag(" k "), instance.tag("a&b")), (Some(""), Some("<x> ")));
    let addresses: Vec<String> =
        instance.addresses.iter().map(|(kind, address)| format!("{kind} {address}")).collect();
    assert_eq!(
        addresses,
        [
            "InternalIP 10.0.0.1", "InternalIP 2600::1", "InternalDNS ip-1", "ExternalIP 1.2.3.4",
            "ExternalDNS ec2-1"
        ]
    );
    let nic = &instance.interfaces[0];
    assert_eq!(
        (nic.checks, nic.card, nic.device, nic.ipv6_prefixes, nic.is_fabric()),
        (true, 0, 1, 0, false)
    );
}

#[test]
fn a_listing_with_an_entry_that_is_none_is_no_listing() {
    assert_eq!(instances("<reservationSet/>").unwrap(), []);
    assert!(instances("").is_none());
    let empty = "<reservationSet><item><instancesSet><item><instanceId/></item></instancesSet></item></reservationSet>";
    assert!(instances(empty).is_none());
}

#[test]
fn answers_that_are_not_ec2_s_are_errors_and_never_an_absence() {
    let foreign = wrapped("DescribeVolumes", "<volumeSet/>");
    let refusal = super::model::refused(200, "X", "y").1;
    for body in ["", "<", "null", "{}", "<a/>", "<DescribeInstancesResponse/>", &foreign, &refusal] {
        let harness = Harness::new();
        let request = with_id(&request(1), &harness.create(&request(1)).unwrap());
        for action in ["DescribeInstances", "TerminateInstances"] {
            harness.fault(action, Fault::Instead(Ok(answer((200, body.into())))));
            let error = match action {
                "DescribeInstances" => harness.status(&request).unwrap_err(),
                _ => harness.delete(&request).unwrap_err(),
            };
            assert!(matches!(error.code, Code::Internal | Code::Unavailable), "{body}: {error:?}");
            assert_eq!(error.may_have_happened, action == "TerminateInstances", "{body}");
        }
        assert_eq!(harness.live().len(), 1);
    }
}

#[test]
fn every_answer_cut_off_anywhere_is_an_error() {
    for action in ["DescribeImages", "RunInstances"] {
        let whole = match action {
            "DescribeImages" => 200,
            _ => 700,
        };
        for bytes in (0..whole).step_by(7) {
            let harness = Harness::new();
            harness.fault(action, Fault::Cut(bytes));
            let error = harness.begin(&request(1)).unwrap_err();
            assert_eq!(error.code, Code::Unavailable, "{action} {bytes}: {}", error.message);
            assert_eq!(error.may_have_happened, action == "RunInstances");
        }
    }
}
