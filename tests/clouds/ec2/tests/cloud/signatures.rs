use ec2::Credentials;
use jiff::{SignedDuration, Timestamp};

use crate::support::{Client, Signer};

#[tokio::test]
async fn a_signature_is_verified_with_the_secret_of_its_key() {
    let client = Client::start().await;
    let code = async |signer: Signer| {
        let reply = client.call_as(&signer, "DescribeInstances", &[]).await;
        (reply.status, reply.code().to_owned())
    };
    let refused = |status: u16, code: &str| (status, code.to_owned());
    let right = client.signer();
    assert_eq!(code(right.clone()).await, refused(200, "ok"));

    let with = |change: fn(&mut Credentials)| {
        let mut signer = client.signer();
        change(&mut signer.credentials);
        signer
    };
    let wrong_secret = with(|keys| keys.secret_access_key = "wrong".to_owned());
    assert_eq!(code(wrong_secret).await, refused(403, "SignatureDoesNotMatch"));
    let unknown_key = with(|keys| keys.access_key_id = "AKIANOBODY".to_owned());
    assert_eq!(code(unknown_key).await, refused(401, "AuthFailure"));
    let invalid_token = with(|keys| keys.session_token = Some("odd".to_owned()));
    assert_eq!(code(invalid_token).await, refused(403, "InvalidClientTokenId"));
    let elsewhere = Signer { region: "nowhere-1".to_owned(), ..right.clone() };
    assert_eq!(code(elsewhere).await, refused(401, "AuthFailure"));

    let unsigned = client.unsigned("DescribeInstances").await;
    assert_eq!((unsigned.status, unsigned.code()), (403, "MissingAuthenticationToken"));

    let other = Credentials::lasting("other", "AKIAOTHER", "another+secret");
    client.cloud.put_credentials(other.clone());
    let signer = Signer { credentials: other, ..right };
    assert_eq!(code(signer.clone()).await, refused(200, "ok"));
    assert_eq!(client.cloud.journal().last().unwrap().account, "other");
    client.cloud.revoke("AKIAOTHER");
    assert_eq!(code(signer).await, refused(401, "AuthFailure"));
}

#[tokio::test]
async fn a_clock_that_is_off_expires_requests_and_is_shown() {
    let client = Client::start().await;
    client.cloud.set_clock_offset(SignedDuration::from_mins(10));
    assert_eq!(client.call("DescribeInstances", &[]).await.code(), "RequestExpired");
    let right = Signer { at: Timestamp::now() + SignedDuration::from_mins(10), ..client.signer() };
    assert_eq!(client.call_as(&right, "DescribeInstances", &[]).await.status, 200);
    let shown = client.cloud.journal().last().unwrap().at;
    assert!(shown > Timestamp::now() + SignedDuration::from_mins(9));
    let answer = reqwest::Client::new().post(client.cloud.url()).send().await.unwrap();
    let date = answer.headers()["date"].to_str().unwrap().to_owned();
    let date = jiff::fmt::rfc2822::parse(&date).unwrap().timestamp();
    assert!(date > Timestamp::now() + SignedDuration::from_mins(9), "{date}");
}

/// The signer of others, so that not only our two agree with each other.
#[tokio::test]
async fn the_library_of_the_cloud_itself_is_understood() {
    let client = Client::start().await;
    let script = r#"
import sys, boto3
url, image, subnet = sys.argv[1:]
ec2 = boto3.client("ec2", endpoint_url=url, region_name="eu-west-1", aws_access_key_id="AKIATESTS",
                   aws_secret_access_key="tests+secret/access/key")
made = ec2.run_instances(ImageId=image, InstanceType="m5.large", MinCount=1, MaxCount=1, SubnetId=subnet, ClientToken="b")
again = ec2.run_instances(ImageId=image, InstanceType="m5.large", MinCount=1, MaxCount=1, SubnetId=subnet, ClientToken="b")
assert made["Instances"][0]["InstanceId"] == again["Instances"][0]["InstanceId"]
try:
    ec2.run_instances(ImageId="ami-00000000", InstanceType="m5.large", MinCount=1, MaxCount=1, SubnetId=subnet)
except ec2.exceptions.ClientError as error:
    assert error.response["Error"]["Code"] == "InvalidAMIID.NotFound", error.response
pages = ec2.get_paginator("describe_instances").paginate(Filters=[{"Name": "client-token", "Values": ["b"]}])
print(len([page for page in pages]))
"#;
    let python = ec2::moto::prepare().unwrap();
    let fixture = client.cloud.fixture();
    let output = tokio::process::Command::new(python)
        .args(["-I", "-c", script, &client.cloud.url(), &fixture.image_id, fixture.subnet_id()])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
