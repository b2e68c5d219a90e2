//! Which operation a call asks for.

use crate::request::{Method, Request};

/// An operation with the object that its path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    Regions,
    CreateVm,
    GetVm(&'a str),
    ListVms,
    DeleteVm(&'a str),
    RebootVm(&'a str),
    TagVm(&'a str),
    InitializeVm(&'a str),
    UserData(&'a str),
    Console(&'a str),
    CreateVolume,
    GetVolume(&'a str),
    ListVolumes,
    DeleteVolume(&'a str),
    AttachVolume(&'a str),
    DetachVolume(&'a str),
    Stats,
    Admin(AdminOperation<'a>),
}

/// An operation of the admin API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AdminOperation<'a> {
    ResetStats,
    GetFaults,
    PutFaults,
    Changes,
    KillVm(&'a str),
    AppendConsole(&'a str),
    PutAccount(&'a str),
}

/// How long an operation takes, as the latency settings class it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Create,
    Get,
    List,
    Delete,
    Change,
    Instant,
}

impl<'a> Operation<'a> {
    pub(crate) fn parse(request: &'a Request) -> Option<Self> {
        let path = request.path.trim_start_matches('/');
        let mut segments = [""; 5];
        let mut count = 0;
        for segment in path.split('/') {
            *segments.get_mut(count)? = segment;
            count += 1;
        }
        let [first, second, third, fourth, _] = segments;
        Some(match (request.method, count, first, second, fourth) {
            (Method::Get, 2, "v1", "regions", _) => Self::Regions,
            (Method::Post, 2, "v1", "vms", _) => Self::CreateVm,
            (Method::Get, 2, "v1", "vms", _) => Self::ListVms,
            (Method::Get, 3, "v1", "vms", _) => Self::GetVm(third),
            (Method::Delete, 3, "v1", "vms", _) => Self::DeleteVm(third),
            (Method::Post, 4, "v1", "vms", "reboot") => Self::RebootVm(third),
            (Method::Patch, 4, "v1", "vms", "tags") => Self::TagVm(third),
            (Method::Post, 4, "v1", "vms", "initialize") => Self::InitializeVm(third),
            (Method::Get, 4, "v1", "vms", "user-data") => Self::UserData(third),
            (Method::Get, 4, "v1", "vms", "console") => Self::Console(third),
            (Method::Post, 2, "v1", "volumes", _) => Self::CreateVolume,
            (Method::Get, 2, "v1", "volumes", _) => Self::ListVolumes,
            (Method::Get, 3, "v1", "volumes", _) => Self::GetVolume(third),
            (Method::Delete, 3, "v1", "volumes", _) => Self::DeleteVolume(third),
            (Method::Post, 4, "v1", "volumes", "attach") => Self::AttachVolume(third),
            (Method::Post, 4, "v1", "volumes", "detach") => Self::DetachVolume(third),
            (Method::Get, 1, "stats", _, _) => Self::Stats,
            (Method::Post, 2, "admin", "reset-stats", _) => Self::Admin(AdminOperation::ResetStats),
            (Method::Get, 2, "admin", "faults", _) => Self::Admin(AdminOperation::GetFaults),
            (Method::Put, 2, "admin", "faults", _) => Self::Admin(AdminOperation::PutFaults),
            (Method::Get, 2, "admin", "vms", _) => Self::Admin(AdminOperation::Changes),
            (Method::Delete, 3, "admin", "vms", _) => Self::Admin(AdminOperation::KillVm(third)),
            (Method::Post, 4, "admin", "vms", "console") => Self::Admin(AdminOperation::AppendConsole(third)),
            (Method::Put, 3, "admin", "accounts", _) => Self::Admin(AdminOperation::PutAccount(third)),
            _ => return None,
        })
    }

    /// The name under which `/stats` counts it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Regions => "region.list",
            Self::CreateVm => "vm.create",
            Self::GetVm(_) => "vm.get",
            Self::ListVms => "vm.list",
            Self::DeleteVm(_) => "vm.delete",
            Self::RebootVm(_) => "vm.reboot",
            Self::TagVm(_) => "vm.tag",
            Self::InitializeVm(_) => "vm.initialize",
            Self::UserData(_) => "vm.userData",
            Self::Console(_) => "vm.console",
            Self::CreateVolume => "volume.create",
            Self::GetVolume(_) => "volume.get",
            Self::ListVolumes => "volume.list",
            Self::DeleteVolume(_) => "volume.delete",
            Self::AttachVolume(_) => "volume.attach",
            Self::DetachVolume(_) => "volume.detach",
            Self::Stats => "stats",
            Self::Admin(_) => "admin",
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        match self {
            Self::CreateVm | Self::CreateVolume => Pace::Create,
            Self::GetVm(_) | Self::GetVolume(_) | Self::Console(_) => Pace::Get,
            Self::ListVms | Self::ListVolumes => Pace::List,
            Self::DeleteVm(_) | Self::DeleteVolume(_) => Pace::Delete,
            Self::RebootVm(_)
            | Self::TagVm(_)
            | Self::InitializeVm(_)
            | Self::AttachVolume(_)
            | Self::DetachVolume(_) => Pace::Change,
            Self::Regions | Self::UserData(_) | Self::Stats | Self::Admin(_) => Pace::Instant,
        }
    }

    /// Whether it leaves the cloud of an account as it was.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Regions
            | Self::GetVm(_)
            | Self::ListVms
            | Self::Console(_)
            | Self::UserData(_)
            | Self::GetVolume(_)
            | Self::ListVolumes
            | Self::Stats => true,
            Self::CreateVm
            | Self::DeleteVm(_)
            | Self::RebootVm(_)
            | Self::TagVm(_)
            | Self::InitializeVm(_)
            | Self::CreateVolume
            | Self::DeleteVolume(_)
            | Self::AttachVolume(_)
            | Self::DetachVolume(_)
            | Self::Admin(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_operations_and_nothing_else_does() {
        let parse = |method, path: &str| {
            let request = Request::new(method, path);
            Operation::parse(&request).map(|operation| format!("{operation:?}"))
        };
        let check = |method, path, expected: Option<&str>| {
            assert_eq!(parse(method, path).as_deref(), expected, "{method:?} {path}");
        };
        check(Method::Get, "/v1/vms?limit=3", Some("ListVms"));
        check(Method::Get, "/v1/vms/vm-1", Some("GetVm(\"vm-1\")"));
        check(Method::Post, "/v1/vms/vm-1/reboot", Some("RebootVm(\"vm-1\")"));
        check(Method::Post, "/v1/vms/vm-1/reboot/now", None);
        check(Method::Put, "/v1/vms", None);
        check(Method::Get, "/admin/faults", Some("Admin(GetFaults)"));
        check(Method::Get, "/", None);
        check(Method::Get, "/a/b/c/d/e/f/g", None);
    }
}
