//! The bytes of requests.

use expect_test::expect;
use serde_json::{Value, json};

use super::world::{World, request, request_of, spec, spec_with, with_id};

/// Returns the form of a launch, one parameter per line, without those of every launch.
fn launched(spec: &Value) -> Vec<String> {
    let world = World::new();
    world.create(&request_of(1, spec)).unwrap();
    lines(world.bodies().last().unwrap())
}

fn lines(form: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(form.as_bytes());
    pairs.map(|(name, value)| format!("{name}={value}")).collect()
}

/// Returns the parameters of a launch that differ from those of the simplest class.
fn more(fields: Value) -> Vec<String> {
    let plain = launched(&spec());
    launched(&spec_with(fields)).into_iter().filter(|line| !plain.contains(line)).collect()
}

#[test]
fn a_create_asks_for_the_image_and_launches() {
    let world = World::new();
    world.create(&request(1)).unwrap();
    let bodies = world.bodies();
    assert_eq!(bodies[0], "Action=DescribeImages&Version=2016-11-15&ImageId.1=ami-1");
    // The placeholder is unchanged, so that the host finds it.
    assert!(bodies[1].contains("&UserData=x0placeholder0x&"));
    expect![[r#"
        Action=RunInstances
        Version=2016-11-15
        ImageId=ami-1
        InstanceType=m5.large
        MinCount=1
        MaxCount=1
        ClientToken=uid-1
        UserData=x0placeholder0x
        IamInstanceProfile.Name=nodes
        BlockDeviceMapping.1.DeviceName=/dev/xvda
        BlockDeviceMapping.1.Ebs.Encrypted=false
        BlockDeviceMapping.1.Ebs.VolumeSize=50
        BlockDeviceMapping.1.Ebs.VolumeType=gp3
        BlockDeviceMapping.1.Ebs.DeleteOnTermination=true
        NetworkInterface.1.DeviceIndex=0
        NetworkInterface.1.SubnetId=subnet-1
        NetworkInterface.1.SecurityGroupId.1=sg-1
        NetworkInterface.1.DeleteOnTermination=true
        TagSpecification.1.ResourceType=instance
        TagSpecification.1.Tag.1.Key=Name
        TagSpecification.1.Tag.1.Value=machine-1
        TagSpecification.1.Tag.2.Key=kubernetes.io/cluster/shoot
        TagSpecification.1.Tag.2.Value=1
        TagSpecification.1.Tag.3.Key=kubernetes.io/role/node
        TagSpecification.1.Tag.3.Value=1
        TagSpecification.1.Tag.4.Key=machinist.dev/cluster
        TagSpecification.1.Tag.4.Value=c1
        TagSpecification.1.Tag.5.Key=machinist.dev/machine-uid
        TagSpecification.1.Tag.5.Value=uid-1
        TagSpecification.2.ResourceType=volume
        TagSpecification.2.Tag.1.Key=Name
        TagSpecification.2.Tag.1.Value=machine-1
        TagSpecification.2.Tag.2.Key=kubernetes.io/cluster/shoot
        TagSpecification.2.Tag.2.Value=1
        TagSpecification.2.Tag.3.Key=kubernetes.io/role/node
        TagSpecification.2.Tag.3.Value=1
        TagSpecification.2.Tag.4.Key=machinist.dev/cluster
        TagSpecification.2.Tag.4.Value=c1
        TagSpecification.2.Tag.5.Key=machinist.dev/machine-uid
        TagSpecification.2.Tag.5.Value=uid-1
        TagSpecification.3.ResourceType=network-interface
        TagSpecification.3.Tag.1.Key=Name
        TagSpecification.3.Tag.1.Value=machine-1
        TagSpecification.3.Tag.2.Key=kubernetes.io/cluster/shoot
        TagSpecification.3.Tag.2.Value=1
        TagSpecification.3.Tag.3.Key=kubernetes.io/role/node
        TagSpecification.3.Tag.3.Value=1
        TagSpecification.3.Tag.4.Key=machinist.dev/cluster
        TagSpecification.3.Tag.4.Value=c1
        TagSpecification.3.Tag.5.Key=machinist.dev/machine-uid
        TagSpecification.3.Tag.5.Value=uid-1
    "#]]
    .assert_eq(&(lines(&bodies[1]).join("\n") + "\n"));
}

#[test]
fn the_same_request_is_the_same_bytes() {
    let bodies = || {
        let world = World::new();
        world.create(&request(1)).unwrap();
        world.bodies()
    };
    assert_eq!(bodies(), bodies());
}

#[test]
fn a_class_of_everything_sends_everything() {
    let disks = json!([
        { "deviceName": "/root", "ebs": {
            "volumeType": "io1", "volumeSize": 20, "iops": 100, "encrypted": true, "kmsKeyID": "key-1",
            "snapshotID": "snap-1", "deleteOnTermination": false } },
        { "deviceName": "/dev/sdf", "ebs": { "volumeType": "gp3", "volumeSize": 50, "throughput": 200 } },
    ]);
    let interfaces = json!([
        { "subnetID": "subnet-1", "securityGroupIDs": ["sg-1", "sg-2"], "associatePublicIPAddress": false,
          "deleteOnTermination": false, "description": "first", "ipv6AddressCount": 1 },
        { "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"], "interfaceType": "efa", "networkCardIndex": 1,
          "deviceIndex": 1, "ipv6AddressCount": 2, "primaryIpv6": false },
        { "subnetID": "subnet-1", "securityGroupIDs": ["sg-1"], "primaryIpv6": true },
    ]);
    let told = more(json!({
        "iam": { "arn": "arn:aws:iam::1:instance-profile/n" },
        "keyName": "key",
        "blockDevices": disks,
        "networkInterfaces": interfaces,
        "instanceMarketOptions": { "marketType": "capacity-block" },
        "capacityReservation": { "capacityReservationId": "cr-1" },
        "instanceMetadataOptions": {
            "httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2, "httpProtocolIpv6": "disabled" },
        "cpuOptions": { "coreCount": 4, "threadsPerCore": 1, "amdSevSnp": "enabled" },
        "placement": { "groupId": "pg-1", "hostId": "h-1", "partitionNumber": 2, "tenancy": "host", "affinity": "default" },
    }));
    expect![[r#"
        KeyName=key
        IamInstanceProfile.Arn=arn:aws:iam::1:instance-profile/n
        BlockDeviceMapping.1.Ebs.Encrypted=true
        BlockDeviceMapping.1.Ebs.VolumeSize=20
        BlockDeviceMapping.1.Ebs.VolumeType=io1
        BlockDeviceMapping.1.Ebs.DeleteOnTermination=false
        BlockDeviceMapping.1.Ebs.Iops=100
        BlockDeviceMapping.1.Ebs.SnapshotId=snap-1
        BlockDeviceMapping.1.Ebs.KmsKeyId=key-1
        BlockDeviceMapping.2.DeviceName=/dev/sdf
        BlockDeviceMapping.2.Ebs.Encrypted=false
        BlockDeviceMapping.2.Ebs.VolumeSize=50
        BlockDeviceMapping.2.Ebs.VolumeType=gp3
        BlockDeviceMapping.2.Ebs.DeleteOnTermination=true
        BlockDeviceMapping.2.Ebs.Throughput=200
        NetworkInterface.1.SecurityGroupId.2=sg-2
        NetworkInterface.1.AssociatePublicIpAddress=false
        NetworkInterface.1.DeleteOnTermination=false
        NetworkInterface.1.Description=first
        NetworkInterface.1.Ipv6AddressCount=1
        NetworkInterface.1.PrimaryIpv6=true
        NetworkInterface.2.DeviceIndex=1
        NetworkInterface.2.NetworkCardIndex=1
        NetworkInterface.2.InterfaceType=efa
        NetworkInterface.2.SubnetId=subnet-1
        NetworkInterface.2.SecurityGroupId.1=sg-1
        NetworkInterface.2.DeleteOnTermination=true
        NetworkInterface.2.Ipv6AddressCount=2
        NetworkInterface.2.PrimaryIpv6=false
        NetworkInterface.3.DeviceIndex=2
        NetworkInterface.3.SubnetId=subnet-1
        NetworkInterface.3.SecurityGroupId.1=sg-1
        NetworkInterface.3.DeleteOnTermination=true
        MetadataOptions.HttpEndpoint=enabled
        MetadataOptions.HttpTokens=required
        MetadataOptions.HttpPutResponseHopLimit=2
        MetadataOptions.HttpProtocolIpv6=disabled
        CpuOptions.CoreCount=4
        CpuOptions.ThreadsPerCore=1
        CpuOptions.AmdSevSnp=enabled
        CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-1
        InstanceMarketOptions.MarketType=capacity-block
        Placement.GroupId=pg-1
        Placement.Tenancy=host
        Placement.HostId=h-1
        Placement.PartitionNumber=2
        Placement.Affinity=default
    "#]]
    .assert_eq(&(told.join("\n") + "\n"));
}

#[test]
fn the_other_ways_of_buying() {
    let spot = [
        "InstanceMarketOptions.MarketType=spot",
        "InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time",
    ];
    assert_eq!(more(json!({ "spotPrice": "" })), spot);
    let priced = more(json!({ "spotPrice": "0.1" }));
    assert_eq!(priced, [&spot[..], &["InstanceMarketOptions.SpotOptions.MaxPrice=0.1"]].concat());
    assert_eq!(more(json!({ "instanceMarketOptions": { "marketType": "spot" } })), spot[..1]);
    let at = "CapacityReservationSpecification.CapacityReservation";
    assert_eq!(
        more(json!({ "capacityReservation": { "capacityReservationPreference": "none" } })),
        [format!("{at}Preference=none")]
    );
    assert_eq!(
        more(json!({ "capacityReservation": { "capacityReservationResourceGroupArn": "arn" } })),
        [format!("{at}Target.CapacityReservationResourceGroupArn=arn")]
    );
}

#[test]
fn the_annotation_of_the_node_template_places_the_instance() {
    let world = World::new();
    let mut annotated = request(1);
    let placement = json!({ "groupName": "g", "availabilityzone": "eu-west-1a" }).to_string();
    let annotations = json!({ "machine.sapcloud.io/awsPlacement": placement });
    annotated.machine.node_template = Some(json!({ "metadata": { "annotations": annotations } }).to_string());
    world.create(&annotated).unwrap();
    let sent = lines(world.bodies().last().unwrap());
    assert!(sent.ends_with(&[
        "Placement.AvailabilityZone=eu-west-1a".to_owned(),
        "Placement.GroupName=g".to_owned()
    ]));
}

#[test]
fn looks_and_orders_have_these_forms() {
    let world = World::new();
    let created = request(1);
    let vm = world.create(&created).unwrap();
    world.bodies();
    world.status(&with_id(&created, &vm)).unwrap();
    world.status(&created).unwrap();
    world.delete(&created).unwrap();
    let states = "&Filter.3.Name=instance-state-name&Filter.3.Value.1=pending&Filter.3.Value.2=running\
                  &Filter.3.Value.3=stopping&Filter.3.Value.4=stopped";
    let look = format!(
        "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag%3Amachinist.dev%2Fmachine-uid&Filter.1.Value.1=uid-1\
         &Filter.2.Name=tag%3Amachinist.dev%2Fcluster&Filter.2.Value.1=c1{states}&MaxResults=100"
    );
    let expected = [
        "Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-00000001",
        &look,
        &look,
        "Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-00000001",
    ];
    assert_eq!(world.bodies(), expected);
    // Instances of machine-controller-manager are found by name and tag keys.
    world.status(&request(2)).unwrap_err();
    let by_name = world.bodies().pop().unwrap();
    assert!(by_name.contains(
        "Filter.1.Name=tag%3AName&Filter.1.Value.1=machine-2&Filter.2.Name=tag-key\
         &Filter.2.Value.1=kubernetes.io%2Fcluster%2Fshoot&Filter.3.Name=tag-key&Filter.3.Value.1=kubernetes.io%2Frole%2Fnode\
         &Filter.4.Name=instance-state-name"
    ));
}
