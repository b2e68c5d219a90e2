//! Objects that a cluster needs before its first instance.

use anyhow::Context;
use roxmltree::Document;

use crate::moto::Client;
use crate::xml::{child, items, text};

/// The type of the instances.
const INSTANCE_TYPE: &str = "m5.large";
const PROFILE: &str = "machinist-nodes";
/// The owner of the images that moto brings.
const IMAGE_OWNER: &str = "amazon";

/// Things that exist in moto.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    pub image_id: String,
    /// The device of its root disk.
    pub root_device: String,
    pub instance_type: String,
    pub vpc_id: String,
    /// Its subnets, one a zone, by the order of zones.
    pub subnets: Vec<Subnet>,
    /// A security group of the network.
    pub security_group_id: String,
    /// The name of an instance profile.
    pub profile_name: String,
    pub profile_arn: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subnet {
    pub zone: String,
    pub id: String,
}

impl Fixture {
    pub fn subnet_id(&self) -> &str {
        self.subnets.first().map_or("", |subnet| &subnet.id)
    }

    /// Chooses from what moto brings, and creates the rest.
    pub(crate) async fn make(moto: &Client) -> anyhow::Result<Self> {
        let (image_id, root_device) = image(moto).await?;
        let (vpc_id, subnets) = network(moto).await?;
        let parameters = [
            ("GroupName", "machinist-nodes"),
            ("GroupDescription", "nodes of clusters"),
            ("VpcId", vpc_id.as_str()),
        ];
        let group = moto.ec2("CreateSecurityGroup", &parameters).await?;
        let parameters = [("InstanceProfileName", PROFILE)];
        let profile = moto.iam("CreateInstanceProfile", &parameters).await?;
        let profile = Document::parse(&profile).context("failed to parse an instance profile")?;
        let way = ["CreateInstanceProfileResult", "InstanceProfile", "Arn"];
        let profile_arn = text(profile.root_element(), &way).context("the instance profile has no ARN")?;
        let group = Document::parse(&group).context("failed to parse a security group")?;
        let security_group_id = text(group.root_element(), &["groupId"]).context("the group has no id")?;
        Ok(Self {
            image_id,
            root_device,
            instance_type: INSTANCE_TYPE.to_owned(),
            vpc_id,
            subnets,
            security_group_id: security_group_id.to_owned(),
            profile_name: PROFILE.to_owned(),
            profile_arn: profile_arn.to_owned(),
        })
    }
}

/// The first image, by name, of those that moto brings which boots Linux on our type's architecture.
async fn image(moto: &Client) -> anyhow::Result<(String, String)> {
    let filters = [
        ("Owner.1", IMAGE_OWNER),
        ("Filter.1.Name", "architecture"),
        ("Filter.1.Value.1", "x86_64"),
        ("Filter.2.Name", "name"),
        ("Filter.2.Value.1", "amzn*"),
    ];
    let answer = moto.ec2("DescribeImages", &filters).await?;
    let document = Document::parse(&answer).context("failed to parse the images")?;
    let mut images: Vec<(&str, &str, &str)> = items(document.root_element(), "imagesSet")
        .filter(|image| child(*image, "platform").is_none())
        .filter_map(|image| {
            Some((text(image, &["name"])?, text(image, &["imageId"])?, text(image, &["rootDeviceName"])?))
        })
        .collect();
    images.sort_unstable();
    let (_, id, device) = images.first().context("moto brings no image that fits")?;
    Ok(((*id).to_owned(), (*device).to_owned()))
}

async fn network(moto: &Client) -> anyhow::Result<(String, Vec<Subnet>)> {
    let filters = [("Filter.1.Name", "default-for-az"), ("Filter.1.Value.1", "true")];
    let answer = moto.ec2("DescribeSubnets", &filters).await?;
    let document = Document::parse(&answer).context("failed to parse the subnets")?;
    let root = document.root_element();
    let mut subnets: Vec<Subnet> = items(root, "subnetSet")
        .filter_map(|subnet| {
            let zone = text(subnet, &["availabilityZone"])?.to_owned();
            Some(Subnet { zone, id: text(subnet, &["subnetId"])?.to_owned() })
        })
        .collect();
    subnets.sort();
    let vpc = items(root, "subnetSet").find_map(|subnet| text(subnet, &["vpcId"]));
    Ok((vpc.context("moto has no default network")?.to_owned(), subnets))
}
