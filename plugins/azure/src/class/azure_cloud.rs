//! The clouds of Microsoft, of which a class names one.

/// A cloud of Microsoft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AzureCloud {
    #[default]
    Public,
    Government,
    China,
}

impl AzureCloud {
    pub(crate) const ALL: [Self; 3] = [Self::Public, Self::Government, Self::China];
    /// The names in classes.
    pub(crate) const NAMES: [&'static str; 3] = ["AzurePublic", "AzureGovernment", "AzureChina"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let index = Self::NAMES.iter().position(|known| *known == name)?;
        Self::ALL.get(index).copied()
    }

    /// The host of Azure Resource Manager.
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::Public => "management.azure.com",
            Self::Government => "management.usgovcloudapi.net",
            Self::China => "management.chinacloudapi.cn",
        }
    }

    /// The token service, which the host asks with the driver's grants.
    pub(crate) fn token_host(self) -> &'static str {
        match self {
            Self::Public => "login.microsoftonline.com",
            Self::Government => "login.microsoftonline.us",
            Self::China => "login.chinacloudapi.cn",
        }
    }

    /// The scope of the tokens that the host asks for.
    pub(crate) fn scope(self) -> &'static str {
        match self {
            Self::Public => "https://management.azure.com/.default",
            Self::Government => "https://management.usgovcloudapi.net/.default",
            Self::China => "https://management.chinacloudapi.cn/.default",
        }
    }
}
