//! The folder of results that take long to build or to download. It outlives a clone, and several clones share it.

use std::path::PathBuf;

use anyhow::Context;

/// Returns `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`. It need not exist. Fails if
/// none of the three variables is set.
pub fn folder() -> anyhow::Result<PathBuf> {
    from(&|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
        .context("none of MACHINIST_CACHE, XDG_CACHE_HOME and HOME is set: set one of them")
}

fn from(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("MACHINIST_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("machinist")))
        .or_else(|| Some(variable("HOME")?.join(".cache/machinist")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        from(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_folder_is_ours_then_the_users_then_in_the_home() {
        let all = [("MACHINIST_CACHE", "/m"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(folder_with(&all), Some("/m".into()));
        assert_eq!(folder_with(&all[1..]), Some("/x/machinist".into()));
        assert_eq!(folder_with(&all[2..]), Some("/h/.cache/machinist".into()));
        assert_eq!(folder_with(&[]), None);
    }
}
