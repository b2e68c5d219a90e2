//! The images and disks of a class.

use std::collections::BTreeSet;

use crate::class::lenient::{Findings, Object};
use crate::class::spec::{one_of, present};

/// The image of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// An image of the subscription, or of a gallery.
    Id(String),
    /// An image of the marketplace.
    Urn(Urn),
    CommunityGallery(String),
    SharedGallery(String),
}

/// The four parts of a marketplace image's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Urn {
    pub(crate) publisher: String,
    pub(crate) offer: String,
    pub(crate) sku: String,
    pub(crate) version: String,
    /// True if the driver neither reads nor accepts the terms of the image.
    pub(crate) skips_agreement: bool,
}

/// The disk with the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OsDisk {
    pub(crate) create_option: String,
    pub(crate) size_gib: i32,
    pub(crate) caching: Option<String>,
    pub(crate) storage: Option<String>,
    pub(crate) encryption: Option<String>,
}

/// A disk beside that of the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataDisk {
    pub(crate) lun: i32,
    pub(crate) name: Option<String>,
    pub(crate) size_gib: i32,
    pub(crate) storage: String,
    pub(crate) caching: String,
    /// With an image, the disk is created before the VM and attached to it.
    pub(crate) image: Option<Image>,
}

const CACHING: [&str; 3] = ["None", "ReadOnly", "ReadWrite"];
/// Azure attaches at most 64 data disks to a VM.
const MOST_LUN: i32 = 63;

pub(crate) fn image(mut fields: Object<'_>, findings: &mut Findings) -> Option<Image> {
    let id = present(fields.text("id", findings));
    let urn = present(fields.text("urn", findings));
    let community = present(fields.text("communityGalleryImageID", findings));
    let shared = present(fields.text("sharedGalleryImageID", findings));
    let skips_agreement = fields.flag("skipMarketplaceAgreement", findings);
    let at = fields.path("urn");
    let whole = at.trim_end_matches(".urn").to_owned();
    fields.finish(findings);
    let urn = match urn.map(|text| (parts(&text, skips_agreement), text)) {
        None => None,
        Some((Some(urn), _)) => Some(Image::Urn(urn)),
        Some((None, _)) => {
            findings.problem(format!(
                "{at} must be publisher:offer:sku:version, of four parts that are not blank"
            ));
            return None;
        }
    };
    let given =
        [id.map(Image::Id), urn, community.map(Image::CommunityGallery), shared.map(Image::SharedGallery)];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(image), None) => Some(image),
        _ => {
            findings.problem(format!(
                "{whole} needs exactly one of id, urn, communityGalleryImageID and sharedGalleryImageID"
            ));
            None
        }
    }
}

fn parts(text: &str, skips_agreement: bool) -> Option<Urn> {
    let parts: Vec<&str> = text.split(':').collect();
    let [publisher, offer, sku, version] = *parts.as_slice() else { return None };
    let part = |text: &str| present(text.to_owned());
    Some(Urn {
        publisher: part(publisher)?,
        offer: part(offer)?,
        sku: part(sku)?,
        version: part(version)?,
        skips_agreement,
    })
}

pub(crate) fn os_disk(fields: Option<Object<'_>>, at: &str, findings: &mut Findings) -> OsDisk {
    let Some(mut fields) = fields else {
        findings.problem(format!("{at} is missing"));
        return OsDisk::default();
    };
    // MCM's provider reads the name too, and uses its own.
    fields.text("name", findings);
    let create_option = fields.text("createOption", findings);
    if create_option.trim().is_empty() {
        findings.problem(format!("{at}.createOption is missing: write FromImage"));
    }
    let size_gib = fields.number("diskSizeGB", findings);
    if size_gib <= 0 {
        findings.problem(format!("{at}.diskSizeGB must be greater than 0"));
    }
    let caching = one_of(&mut fields, "caching", &CACHING, findings);
    let (storage, encryption) = managed(&mut fields, findings);
    fields.finish(findings);
    OsDisk { create_option, size_gib, caching, storage, encryption }
}

/// Returns type and encryption of a managed disk. Blank texts are absent: Azure refuses them.
fn managed(fields: &mut Object<'_>, findings: &mut Findings) -> (Option<String>, Option<String>) {
    let Some(mut managed) = fields.object("managedDisk", findings) else { return (None, None) };
    managed.text("id", findings);
    let storage = present(managed.text("storageAccountType", findings));
    let encryption = managed.object("securityProfile", findings).and_then(|mut profile| {
        let known = ["DiskWithVMGuestState", "VMGuestStateOnly"];
        let kind = one_of(&mut profile, "securityEncryptionType", &known, findings);
        profile.finish(findings);
        kind
    });
    managed.finish(findings);
    (storage, encryption)
}

pub(crate) fn data_disks(fields: &mut Object<'_>, findings: &mut Findings) -> Vec<DataDisk> {
    let mut luns = BTreeSet::new();
    let mut disks = Vec::new();
    for (at, value) in fields.list("dataDisks", findings) {
        let mut entry = Object::entry(at.clone(), value, findings);
        let lun = match entry.optional_number("lun", findings) {
            Some(lun) if (0..=MOST_LUN).contains(&lun) => lun,
            Some(_) | None => {
                findings.problem(format!("{at}.lun must be between 0 and {MOST_LUN}"));
                continue;
            }
        };
        if !luns.insert(lun) {
            findings.problem(format!("{at}.lun {lun} is used twice"));
        }
        let size_gib = entry.number("diskSizeGB", findings);
        if size_gib <= 0 {
            findings.problem(format!("{at}.diskSizeGB must be greater than 0"));
        }
        let storage = entry.text("storageAccountType", findings);
        if storage.trim().is_empty() {
            findings.problem(format!("{at}.storageAccountType is missing"));
        }
        let name = present(entry.text("name", findings));
        let caching = one_of(&mut entry, "caching", &CACHING, findings).unwrap_or_else(|| "None".to_owned());
        let image = entry.object("imageRef", findings).and_then(|fields| image(fields, findings));
        entry.finish(findings);
        disks.push(DataDisk { lun, name, size_gib, storage, caching, image });
    }
    disks
}
