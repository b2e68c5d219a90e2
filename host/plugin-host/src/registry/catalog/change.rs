//! Handles a change of a source, or of a part that it names.

use jiff::Timestamp;

use super::{CatalogState, Details, LoadAction, LoadActions, bounds};
use crate::health_policy::PolicyTerms;
use crate::registry::Stage;
use crate::sources::configmap::Fingerprint;
use crate::sources::parts::Assembly;
use crate::sources::remote::{Origin, Remote, Resolved};
use crate::sources::{Age, Declared, PluginKey, SourceId};

/// A source as it was just seen.
pub(super) struct Seen {
    pub(super) id: SourceId,
    pub(super) plugin: PluginKey,
    pub(super) age: Age,
    /// Its own content, whatever the parts that it names are like.
    pub(super) fingerprint: Fingerprint,
    /// The kind of plugin, in the word of its label.
    pub(super) kind: String,
    pub(super) terms: Option<PolicyTerms>,
}

impl CatalogState {
    /// The source has a component. Nothing is ordered when that is known.
    pub(super) fn load(
        &mut self,
        seen: Seen,
        declared: Declared<Origin>,
        fingerprint: Fingerprint,
        now: Timestamp,
    ) -> LoadActions {
        let Seen { id, plugin, age, fingerprint: content, kind, terms } = seen;
        let declaration = self.registry.declare(id.clone(), plugin, age, fingerprint, now);
        let Some(declaration) = declaration else {
            // A part that was lost is back.
            self.details.entry(id).or_default().lost = None;
            return Vec::new();
        };
        let warnings = declared.warnings.clone();
        let remote = match &declared.component {
            Origin::Here(_) => None,
            Origin::Remote(remote) => Some(remote.clone()),
        };
        let resolved = self.resolved_before(&id);
        let is_strict = self.is_strict;
        let details = Details {
            content: Some(content),
            kind,
            terms,
            warnings,
            resolved,
            remote,
            is_strict,
            ..Details::default()
        };
        self.details.insert(id.clone(), details);
        vec![(id, LoadAction::Load(declaration, Box::new(declared)))]
    }

    /// The source has nothing to load; the stage says why.
    pub(super) fn declare_without_load(
        &mut self,
        seen: Seen,
        fingerprint: Fingerprint,
        stage: Stage,
        warnings: Vec<String>,
        now: Timestamp,
    ) -> LoadActions {
        let Seen { id, plugin, age, fingerprint: content, kind, terms } = seen;
        let declaration = self.registry.declare(id.clone(), plugin, age, fingerprint, now);
        let Some(declaration) = declaration else { return Vec::new() };
        // A problem elsewhere in the declaration does not cause another resolution of the reference.
        let resolved = self.resolved_before(&id);
        let details =
            Details { content: Some(content), kind, terms, warnings, resolved, ..Details::default() };
        self.details.insert(id.clone(), details);
        self.registry.reach(&id, declaration, stage, now);
        vec![(id, LoadAction::Stop)]
    }

    fn resolved_before(&self, id: &SourceId) -> Option<Resolved> {
        self.details.get(id).and_then(|details| details.resolved.clone())
    }

    /// The source names an artifact. Nothing is loaded if the artifact is known, as declared or as resolved: a
    /// resolution of another host counts, so that all hosts serve the same.
    pub(super) fn declare_remote(
        &mut self,
        seen: Seen,
        mut declared: Declared<Remote>,
        now: Timestamp,
    ) -> LoadActions {
        let (content, remote) = (seen.fingerprint, &declared.component);
        let details = self.details.get(&seen.id);
        let resolved = details.and_then(|details| details.resolved.as_ref());
        let before = details.and_then(|details| details.remote.as_ref()).and_then(|remote| remote.pin);
        let is_new_pin = remote.pin.is_some_and(|pin| {
            Some(pin) != before && Some(pin) != resolved.map(|resolved| resolved.manifest)
        });
        if details.is_some_and(|details| {
            details.content == Some(content)
                && details.remote.is_some()
                && details.is_strict == self.is_strict
        }) && !is_new_pin
        {
            return Vec::new();
        }
        declared.component.pin = remote.pinned_by(resolved);
        let pin = declared.component.pin;
        let fingerprint = pin.map_or(content, |pin| content.and(&pin.to_string()));
        let fingerprint = self.under_rule(fingerprint);
        let remote = declared.component.clone();
        self.load(seen, declared.with(Origin::Remote(remote)), fingerprint, now)
    }

    /// Looks again at the indexes that name this part.
    pub(super) fn update_indexes_of(&mut self, part: &SourceId, now: Timestamp) -> LoadActions {
        let indexes = self.part_store.indexes_of(part);
        indexes.iter().flat_map(|index| self.update_index(index, now)).collect()
    }

    /// Assembles the parts of an index, as far as they exist. A loaded version needs its parts no more.
    pub(super) fn update_index(&mut self, id: &SourceId, now: Timestamp) -> LoadActions {
        let (Some((declared, kept)), Some(assembly)) =
            (self.part_store.index(id), self.part_store.assemble(id))
        else {
            return Vec::new();
        };
        let content = kept.fingerprint;
        let complete = self.under_rule(content.and("complete"));
        let seen = Seen {
            id: id.clone(),
            plugin: PluginKey { name: declared.plugin.clone(), role: declared.kind.contract() },
            age: declared.age.clone(),
            fingerprint: content,
            kind: declared.kind.name().to_owned(),
            terms: declared.kind.terms().cloned(),
        };
        match assembly {
            Ok(Assembly::Complete(component)) => {
                let declared = declared.assembled(component);
                let component = Origin::Here(declared.component.clone());
                let declared = declared.with(component);
                self.load(seen, declared, complete, now)
            }
            Ok(Assembly::Waits { missing }) if self.registry.fingerprint(id) == Some(complete) => {
                let lost = format!("gone, so that another start of the host would wait for it: {missing}");
                self.details.entry(id.clone()).or_default().lost = Some(lost);
                Vec::new()
            }
            Ok(Assembly::Waits { missing }) => {
                let warnings = declared.warnings.clone();
                let reason = format!("waits for {missing}");
                let fingerprint = content.and(&reason);
                self.declare_without_load(seen, fingerprint, Stage::Waiting { reason }, warnings, now)
            }
            Err(error) => {
                let warnings = declared.warnings.clone();
                let reason = bounds::reason(&error);
                let fingerprint = content.and(&reason);
                self.declare_without_load(seen, fingerprint, Stage::Rejected { reason }, warnings, now)
            }
        }
    }

    /// Nothing of this source is left.
    pub(super) fn forget_source(&mut self, id: &SourceId, now: Timestamp) -> LoadActions {
        self.part_store.take_index(id);
        let was_known = self.registry.fingerprint(id).is_some();
        self.registry.withdraw(id, now);
        self.details.remove(id);
        self.last_reported.remove(id);
        if was_known { vec![(id.clone(), LoadAction::Stop)] } else { Vec::new() }
    }
}
