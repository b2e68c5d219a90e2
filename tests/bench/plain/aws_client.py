"""Instances of EC2, by Amazon's own library."""

import boto3
from botocore.config import Config
from crowd import AT_ONCE, given, measure

asked = given()
spec, secret = asked["spec"], asked["secret"]
interface = spec["networkInterfaces"][0]
ec2 = boto3.client(
    "ec2",
    endpoint_url=asked["url"],
    region_name=spec["region"],
    aws_access_key_id=secret["providerAccessKeyId"],
    aws_secret_access_key=secret["providerSecretAccessKey"],
    config=Config(max_pool_connections=AT_ONCE),
)
PACE = {"Delay": 1, "MaxAttempts": 600}


def create(name):
    made = ec2.run_instances(
        ImageId=spec["ami"],
        InstanceType=spec["machineType"],
        MinCount=1,
        MaxCount=1,
        ClientToken=name,
        NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": interface["subnetID"], "Groups": interface["securityGroupIDs"]}],
        UserData=secret["userData"],
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": name}]}],
    )
    instance = made["Instances"][0]["InstanceId"]
    ec2.get_waiter("instance_running").wait(InstanceIds=[instance], WaiterConfig=PACE)
    return instance


def delete(instance):
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.get_waiter("instance_terminated").wait(InstanceIds=[instance], WaiterConfig=PACE)


measure(asked["count"], create, delete)
