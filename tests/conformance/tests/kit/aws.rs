//! The driver of EC2 against moto.

use crate::harness::{file, options, report};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_driver_of_ec2_passes_all_checks_that_apply() {
    // Fails only when another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let ec2 = ec2::Ec2::start(ec2::Options::default()).await.expect("moto starts");
    let fixture = ec2.fixture();
    let other = fixture.subnets.last().expect("moto has several zones");
    let profile = file("plugins/aws/conformance.yaml")
        .replace("IMAGE", &fixture.image_id)
        .replace("OTHER_SUBNET", &other.id)
        .replace("ZONE", &other.zone)
        .replace("SUBNET", fixture.subnet_id())
        .replace("GROUP", &fixture.security_group_id);
    let component = guests::bytes("aws-driver").expect("the driver builds");
    let mut options = options(component, &profile);
    options.cloud = Some(ec2.url());
    options.admin = Some(ec2.moto_url());
    let report = report(options).await;
    println!("{}", report.text());
    assert_eq!(report.failures(), Vec::<String>::new(), "{}", report.text());
    // Pages cannot be made small on their way, so that what breaks between two of them is not played.
    let skipped: Vec<String> = report
        .results
        .iter()
        .filter(|result| matches!(result.verdict, Err(machinist_conformance::Stop::Skipped(_))))
        .map(machinist_conformance::report::Result::id)
        .collect();
    assert_eq!(skipped, ["list/endless", "outage/second-page"]);
}
