//! Circles among the top modules of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::not_yet::Finding;
use crate::tree::File;
use crate::tree::packages::{Crate, crates};
use crate::tree::rust::CratePath;
use crate::tree::rust::sources::{Source, sources};

/// Which top module uses which, by which names, and where each name is first used.
#[derive(Debug, Default)]
pub struct Modules {
    uses: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
}

/// No top module of a crate uses another that uses the first, directly or through others. Tests do not count, and
/// neither does the root: a name that it re-exports is of the module that declares it.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for of in crates(files) {
        // The check of type names complains of files that are no Rust.
        let modules = Modules::of(&sources(&format!("{}/src", of.folder), files).unwrap_or_default());
        findings.extend(modules.findings(&of));
    }
    findings
}

impl Modules {
    fn of(sources: &[Source<'_>]) -> Self {
        let production = || sources.iter().filter(|source| !source.is_test);
        let top: BTreeSet<&str> = production().filter_map(|it| Some(it.module.first()?.as_str())).collect();
        let mut exported: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in production().filter(|it| it.module.is_empty()).flat_map(|it| &it.outline.paths) {
            if let Some(alias) = path.alias.as_deref().filter(|_| path.inner.is_empty()) {
                let skipped = usize::from(matches!(path.parts[0].as_str(), "crate" | "self"));
                exported.insert(alias, path.parts[skipped..].to_vec());
            }
        }
        let mut modules = Self::default();
        for source in production() {
            for path in source.outline.paths.iter().filter(|path| !path.is_test) {
                let from = [&source.module[..], &path.inner].concat();
                let Some(mut to) = resolve(&from, path) else { continue };
                let is_module = |to: &[String]| to.first().is_some_and(|first| top.contains(first.as_str()));
                if !is_module(&to)
                    && let Some(real) = to.first().and_then(|first| exported.get(first.as_str()))
                {
                    to.splice(..1, real.iter().cloned());
                }
                if is_module(&to) {
                    modules.add(&from[0], &to, format!("{}:{}", source.file.path, path.line));
                }
            }
        }
        modules
    }

    fn add(&mut self, from: &str, to: &[String], place: String) {
        let Some(target) = to.first().filter(|first| *first != from) else { return };
        let parts: Vec<&str> = to.iter().map(String::as_str).filter(|part| *part != "self").collect();
        let edges = self.uses.entry(from.to_owned()).or_default();
        edges.entry(target.clone()).or_default().entry(parts.join("::")).or_insert(place);
    }

    fn findings(&self, of: &Crate<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (from, edges) in &self.uses {
            for (to, names) in edges {
                let Some(back) = self.way(to, from) else { continue };
                let circle = [&[from.as_str()][..], &back].concat().join(" → ");
                for (name, place) in names {
                    let complaint = format!(
                        "{place}: {from} uses {name} in the circle {circle}: move the name into a module below both, or pass it in"
                    );
                    findings.push(Finding::one(format!("{} {from} -> {to}", of.folder), complaint));
                }
            }
        }
        findings
    }

    /// The shortest way from a module to another, both included.
    fn way<'a>(&'a self, start: &'a str, end: &str) -> Option<Vec<&'a str>> {
        let mut ways = VecDeque::from([vec![start]]);
        let mut seen = BTreeSet::from([start]);
        while let Some(way) = ways.pop_front() {
            let last = *way.last()?;
            if last == end {
                return Some(way);
            }
            for next in self.uses.get(last).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(next) {
                    ways.push_back([&way[..], &[next.as_str()]].concat());
                }
            }
        }
        None
    }
}

/// The path from the root of the crate; None for paths of other crates, and for those of the root itself.
fn resolve(from: &[String], path: &CratePath) -> Option<Vec<String>> {
    from.first()?;
    let mut base: &[String] = match path.parts.first()?.as_str() {
        "crate" => &[],
        "self" | "super" => from,
        _ => return None,
    };
    let mut rest = &path.parts[..];
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => base = base.split_last()?.1,
            _ => break,
        }
        rest = after;
    }
    Some([base, rest].concat())
}

#[cfg(test)]
mod tests;
