use crate::support::Client;

#[tokio::test]
async fn what_does_not_exist_is_refused_as_the_cloud_refuses_it() {
    let client = Client::start().await;
    let full = client.cloud.full_subnet().await.unwrap();
    let long = "x".repeat(65);
    let data = "A".repeat(24 * 1024);
    for (name, value, status, code) in [
        ("ImageId", "ami-00000000", 400, "InvalidAMIID.NotFound"),
        ("ImageId", "bogus", 400, "InvalidAMIID.Malformed"),
        ("InstanceType", "zz.large", 400, "InvalidParameterValue"),
        ("NetworkInterface.1.SubnetId", "subnet-00000000", 400, "InvalidSubnetID.NotFound"),
        ("NetworkInterface.1.SubnetId", full.as_str(), 400, "InsufficientFreeAddressesInSubnet"),
        ("UserData", "%not base64%", 400, "InvalidUserData.Malformed"),
        ("UserData", data.as_str(), 400, "InvalidParameterValue"),
        ("ClientToken", long.as_str(), 400, "InvalidParameterValue"),
    ] {
        let reply = client.run("t", &[(name, value)]).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{name}={value:.20}: {}", reply.text);
    }
    assert!(client.cloud.instances().await.unwrap().is_empty());
    for (id, code) in
        [("i-0123456789abcdef0", "InvalidInstanceID.NotFound"), ("bogus", "InvalidInstanceID.Malformed")]
    {
        for action in ["DescribeInstances", "TerminateInstances"] {
            assert_eq!(client.call(action, &[("InstanceId.1", id)]).await.code(), code);
        }
    }
    let page = client.call("DescribeInstances", &[("NextToken", "forged")]).await;
    assert_eq!((page.status, page.code()), (400, "InvalidNextToken"));
    assert_eq!(client.call("NoSuchAction", &[]).await.code(), "InternalError");
}
