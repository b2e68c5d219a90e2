//! `AssignIpv6Addresses` with prefixes, which moto ignores.

use super::Shared;
use super::handle::Request;
use crate::answer::Answer;
use crate::moto::EC2_VERSION;
use crate::xml::escaped;

/// Assigns prefixes if the request asks for them, and leaves addresses to moto.
pub(super) async fn assign(shared: &Shared, request: &Request) -> Answer {
    let Some(count) = request.form.get("Ipv6PrefixCount") else {
        return request.forwarded(shared).await;
    };
    let Some(count) = count.parse().ok().filter(|count| (1..=256).contains(count)) else {
        return request
            .error("InvalidParameterValue", format!("Value ({count}) for Ipv6PrefixCount is invalid"));
    };
    let Some(interface) = request.form.get("NetworkInterfaceId") else {
        return request
            .error("MissingParameter", "The request must contain the parameter NetworkInterfaceId");
    };
    let known = [("NetworkInterfaceId.1", interface)];
    match shared.moto.ask(&request.caller.region, "DescribeNetworkInterfaces", &known).await {
        Ok((200, _)) => {}
        Ok(_) | Err(_) => {
            let message = format!("The networkInterface ID '{interface}' does not exist");
            return request.error("InvalidNetworkInterfaceID.NotFound", message);
        }
    }
    let prefixes = {
        let mut books = shared.books();
        let now = books.now();
        books.ledger.assign_prefixes(interface, count, now)
    };
    let list: String = prefixes.iter().map(|text| format!("<item>{text}</item>")).collect();
    Answer::ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<AssignIpv6AddressesResponse \
         xmlns=\"http://ec2.amazonaws.com/doc/{EC2_VERSION}/\"><requestId>{}</requestId><networkInterfaceId>{}\
         </networkInterfaceId><assignedIpv6Addresses/><assignedIpv6PrefixSet>{list}</assignedIpv6PrefixSet>\
         </AssignIpv6AddressesResponse>",
        request.id,
        escaped(interface)
    ))
}
