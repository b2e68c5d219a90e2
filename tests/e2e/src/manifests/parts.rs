//! Plugins that are larger than a ConfigMap.

use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use machinist_plugin_host::parts::split;
use machinist_plugin_host::{Encoding, PluginKeys};

use super::plugin_with;

/// A ConfigMap has at most a MiB, which settings and grants need a part of.
const PART_BYTES: usize = 900 * 1024;
/// So much of the component's digest is in the names of its parts: two versions have different ones.
const DIGITS: usize = 8;

/// The ConfigMaps of a packed plugin in the order in which they are written. A component that fits stays with its
/// settings and grants; otherwise its parts come before the ConfigMap that names them.
pub fn in_parts(plugin: &ConfigMap) -> Vec<ConfigMap> {
    let mut index = plugin.clone();
    let component = index.binary_data.as_mut().and_then(|all| all.remove(Encoding::Zstd.key()));
    let Some(packed) = component.filter(|packed| packed.0.len() > PART_BYTES) else {
        return vec![plugin.clone()];
    };
    let name = index.metadata.name.as_deref().unwrap_or_default();
    let data = index.data.get_or_insert_default();
    let digest = data.get(PluginKeys::SHA256).map(String::as_str).unwrap_or_default();
    let prefix = format!("{name}-{}", digest.get(..DIGITS).unwrap_or_default());
    let (places, parts) = split(&Bytes::from(packed.0), Encoding::Zstd, PART_BYTES, &prefix);
    data.insert(PluginKeys::INDEX_KEY.to_owned(), places.to_json());
    let mut maps: Vec<ConfigMap> = parts
        .into_iter()
        .map(|(name, part)| {
            let mut map = plugin_with(&name, PluginKeys::BYTES_KEY, part.bytes.to_vec());
            let labels = map.metadata.labels.get_or_insert_default();
            labels.insert(PluginKeys::KIND_LABEL.to_owned(), PluginKeys::PART_KIND.to_owned());
            let place = (PluginKeys::PLACE_KEY.to_owned(), part.place.to_string());
            map.data = Some([place].into());
            map
        })
        .collect();
    maps.push(index);
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(bytes: usize) -> ConfigMap {
        let mut map = plugin_with("large", Encoding::Zstd.key(), vec![7; bytes]);
        map.data = Some([("sha256".to_owned(), "0123456789abcdef".to_owned())].into());
        map
    }

    #[test]
    fn a_component_that_fits_into_a_configmap_stays_whole() {
        assert_eq!(in_parts(&plugin(PART_BYTES)), [plugin(PART_BYTES)]);
    }

    #[test]
    fn a_larger_component_comes_in_parts_before_the_configmap_that_names_them() {
        let maps = in_parts(&plugin(2 * PART_BYTES + 1));
        let names: Vec<&str> = maps.iter().filter_map(|map| map.metadata.name.as_deref()).collect();
        assert_eq!(names, ["large-01234567-1", "large-01234567-2", "large-01234567-3", "large"]);
        let [first, .., index] = &maps[..] else { panic!("{maps:?}") };
        assert_eq!(first.data.as_ref().unwrap()["part"], "1/3");
        assert!(index.data.as_ref().unwrap()["parts.json"].contains("large-01234567-3"));
        assert!(index.binary_data.as_ref().unwrap().is_empty());
    }
}
