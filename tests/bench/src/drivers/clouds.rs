//! The clouds whose drivers are measured.

use std::path::PathBuf;

use anyhow::Result;
use e2e::{Aws, Azure, Gcp, Hcloud, Lxd, OpenStack};

use super::subject::Subject;

impl Subject for Aws {
    const LIBRARY: &'static str = "boto3";
    /// `RunInstances` and `DescribeInstances`; `TerminateInstances` and `DescribeInstances`.
    const FEWEST: [u32; 2] = [2, 2];

    fn requests(&self) -> u64 {
        count(self.journal().len())
    }

    fn url(&self) -> String {
        ec2::Ec2::url(self)
    }

    fn python() -> Result<PathBuf> {
        ec2::moto::prepare()
    }
}

impl Subject for Azure {
    const LIBRARY: &'static str = "azure-mgmt-compute";
    /// A PUT of the NIC, one of the VM, and a GET; a DELETE, and a GET: NIC and disks go with the VM.
    const FEWEST: [u32; 2] = [3, 2];

    fn requests(&self) -> u64 {
        self.cloud().counts().values().sum()
    }

    fn url(&self) -> String {
        azure_cloud::Server::url(self)
    }

    fn client_url(&self) -> String {
        self.secure_url()
    }

    fn certificate(&self) -> String {
        azure_cloud::Server::certificate(self).to_owned()
    }

    fn python() -> Result<PathBuf> {
        let requirements = include_str!("../../../clouds/azure/requirements.txt");
        pinned_python::prepare("azure-client", requirements)
    }
}

impl Subject for Gcp {
    const LIBRARY: &'static str = "google-api-python-client";
    /// An insert, and a wait for its operation; a delete, and a wait.
    const FEWEST: [u32; 2] = [2, 2];

    fn requests(&self) -> u64 {
        let cloud = self.cloud();
        count(cloud.journal.len()) + cloud.identity.exchanges
    }

    fn url(&self) -> String {
        gcp::Server::url(self)
    }

    fn python() -> Result<PathBuf> {
        let requirements = include_str!("../../../clouds/gcp/tests/python/requirements.txt");
        pinned_python::prepare("google-client", requirements)
    }
}

impl Subject for Hcloud {
    const LIBRARY: &'static str = "hcloud";
    /// A POST, and a GET of the server; a DELETE, and a GET of its action.
    const FEWEST: [u32; 2] = [2, 2];

    fn requests(&self) -> u64 {
        count(self.journal().len())
    }

    fn url(&self) -> String {
        hetzner::Hetzner::url(self)
    }

    fn python() -> Result<PathBuf> {
        let requirements = include_str!("../../../clouds/hcloud/requirements.txt");
        pinned_python::prepare("hcloud-python", requirements)
    }
}

impl Subject for OpenStack {
    const LIBRARY: &'static str = "openstacksdk";
    /// One compute host in one process makes all servers.
    const MACHINES: usize = 20;
    /// A POST of the port, one of the server, and a GET; a DELETE of the server, a GET, and a DELETE of the port.
    const FEWEST: [u32; 2] = [3, 3];

    fn requests(&self) -> u64 {
        count(self.journal().len())
    }

    fn url(&self) -> String {
        openstack::Openstack::url(self)
    }

    /// The services run on a Python that has their clients' library, too.
    fn python() -> Result<PathBuf> {
        Ok(openstack::environment::prepared()?.python())
    }
}

impl Subject for Lxd<false> {
    const LIBRARY: &'static str = "pylxd";
    /// Each is a real container on this machine.
    const MACHINES: usize = 20;
    /// A POST, a wait for its operation, the start, and a wait; the stop, a wait, a DELETE, and a wait.
    const FEWEST: [u32; 2] = [4, 4];

    fn requests(&self) -> u64 {
        count(self.journal().len())
    }

    fn url(&self) -> String {
        lxd::Lxd::url(self)
    }

    fn python() -> Result<PathBuf> {
        pinned_python::prepare("lxd-client", include_str!("../../plain/lxd.txt"))
    }
}

fn count(requests: usize) -> u64 {
    requests.try_into().unwrap_or(u64::MAX)
}
