//! The parts that exist, and the indexes that wait for them. Pure: arrivals and removals are arguments.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{self, Assembly, FoundPart, Index};
use super::{Declared, Packed, SourceId};

/// For parts that no index names, such as those that arrive before their index: one largest component.
const MOST_SPARE_BYTES: usize = super::encoding::MOST_PACKED_BYTES;

/// `T` is what the caller keeps with each index.
#[derive(Debug)]
pub(crate) struct PartStore<T> {
    parts: BTreeMap<SourceId, StoredPart>,
    indexes: BTreeMap<SourceId, (Declared<Index>, T)>,
    arrivals: u64,
}

#[derive(Debug)]
struct StoredPart {
    arrival: u64,
    found: FoundPart,
}

impl<T> Default for PartStore<T> {
    fn default() -> Self {
        Self { parts: BTreeMap::new(), indexes: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> PartStore<T> {
    /// A part is there, or has changed.
    pub(crate) fn put_part(&mut self, id: SourceId, found: FoundPart) {
        self.arrivals += 1;
        self.parts.insert(id, StoredPart { arrival: self.arrivals, found });
        self.forget_spare();
    }

    /// A part is gone.
    pub(crate) fn take_part(&mut self, id: &SourceId) {
        self.parts.remove(id);
    }

    /// An index is there, or has changed.
    pub(crate) fn put_index(&mut self, id: SourceId, declared: Declared<Index>, kept: T) {
        self.indexes.insert(id, (declared, kept));
        self.forget_spare();
    }

    /// An index is gone.
    pub(crate) fn take_index(&mut self, id: &SourceId) {
        self.indexes.remove(id);
        self.forget_spare();
    }

    /// An index, and what is kept with it.
    pub(crate) fn index(&self, id: &SourceId) -> Option<&(Declared<Index>, T)> {
        self.indexes.get(id)
    }

    /// The indexes that name a part.
    pub(crate) fn indexes_of(&self, part: &SourceId) -> Vec<SourceId> {
        let names_it = |id: &SourceId, index: &Index| {
            id.namespace == part.namespace
                && index.parts.iter().any(|named| named.config_map == part.name.as_str())
        };
        self.indexes
            .iter()
            .filter(|(id, (declared, _))| names_it(id, &declared.component))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Assembles the parts of an index; `None` without the index.
    pub(crate) fn assemble(&self, id: &SourceId) -> Option<Result<Assembly, parts::Error>> {
        let (declared, _) = self.indexes.get(id)?;
        let find = |name: &str| {
            let part = SourceId::new(id.namespace.as_str(), name);
            self.parts.get(&part).map(|stored| &stored.found)
        };
        Some(declared.component.assemble(find))
    }

    /// Drops the bytes of parts that no index names, the oldest first, if they are too many.
    fn forget_spare(&mut self) {
        let named: BTreeSet<SourceId> = self
            .indexes
            .iter()
            .flat_map(|(id, (declared, _))| {
                declared
                    .component
                    .parts
                    .iter()
                    .map(|part| SourceId::new(id.namespace.as_str(), &part.config_map))
            })
            .collect();
        let mut spare: Vec<&mut StoredPart> =
            self.parts.iter_mut().filter(|(id, _)| !named.contains(id)).map(|(_, stored)| stored).collect();
        spare.sort_by_key(|stored| std::cmp::Reverse(stored.arrival));
        let mut bytes = 0_usize;
        for stored in spare {
            let FoundPart::Part(part) = &stored.found else { continue };
            bytes = bytes.saturating_add(part.bytes.len());
            if bytes > MOST_SPARE_BYTES {
                stored.found = FoundPart::Forgotten;
            }
        }
    }
}

impl Declared<Index> {
    pub fn assembled(&self, component: Packed) -> Declared {
        self.clone().with(component)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::sources::Encoding;
    use crate::sources::parts::{MOST_PART_BYTES, split};

    fn id(name: &str) -> SourceId {
        SourceId::new("machinist", name)
    }

    #[test]
    fn parts_of_an_index_stay_and_the_oldest_that_nobody_names_are_forgotten() {
        let whole = Bytes::from(vec![1; 2 * MOST_PART_BYTES]);
        let (index, parts) = split(&whole, Encoding::None, MOST_PART_BYTES, "mine");
        let mut part_store = PartStore::default();
        for (name, part) in &parts {
            part_store.put_part(id(name), FoundPart::Part(part.clone()));
        }
        part_store.put_index(id("index"), Declared::bare(id("index"), index.clone()), ());
        let many = Bytes::from(vec![2; MOST_SPARE_BYTES + MOST_PART_BYTES]);
        let (spare, pieces) = split(&many, Encoding::None, MOST_PART_BYTES, "spare");
        for (name, part) in &pieces {
            part_store.put_part(id(name), FoundPart::Part(part.clone()));
        }
        assert_eq!(part_store.parts[&id("spare-1")].found, FoundPart::Forgotten);
        assert!(matches!(part_store.parts[&id("spare-2")].found, FoundPart::Part(_)));
        assert!(matches!(part_store.assemble(&id("index")), Some(Ok(Assembly::Complete(_)))));
        part_store.put_index(id("late"), Declared::bare(id("late"), spare), ());
        let late = part_store.assemble(&id("late"));
        assert!(matches!(late, Some(Err(parts::Error::Forgotten { .. }))), "{late:?}");
        assert_eq!(part_store.indexes_of(&id("mine-2")), [id("index")]);
        assert_eq!(part_store.indexes_of(&SourceId::new("elsewhere", "mine-2")), []);
    }
}
