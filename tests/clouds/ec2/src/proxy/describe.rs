//! Reads of instances: moto's answers, shown late where reads lag, with what moto does not know of.

use jiff::Timestamp;
use roxmltree::{Document, Node};

use super::Shared;
use super::handle::Request;
use crate::answer::Answer;
use crate::form::Filter;
use crate::proxy::ledger::Ledger;
use crate::xml::{self, Edits, child, items, text};

const TOKEN_FILTER: &str = "client-token";
const STATE_FILTER: &str = "instance-state-name";

pub(super) async fn instances(shared: &Shared, request: &Request) -> Answer {
    if let Some(refusal) = hidden(shared, request) {
        return refusal;
    }
    let shows_past_states = {
        let books = shared.books();
        books.ledger.shows_past_states(books.now())
    };
    // Moto knows no tokens of clients; and by a state that is not the real one it cannot choose.
    let ours =
        |filter: &Filter| filter.name == TOKEN_FILTER || (filter.name == STATE_FILTER && shows_past_states);
    let filters: Vec<Filter> = request.form.filters().into_iter().filter(ours).collect();
    let answer = if filters.is_empty() {
        request.forwarded(shared).await
    } else {
        let mut form = request.form.clone();
        for filter in &filters {
            form.remove_filter(filter);
        }
        request.forwarded_as(shared, form.encoded().into_bytes()).await
    };
    if !answer.is_ok() && request.form.get("NextToken").is_some() && answer.outcome == "InternalError" {
        return request.error("InvalidNextToken", "The token is invalid.");
    }
    let books = shared.books();
    let now = books.now();
    if !answer.is_ok() || (filters.is_empty() && books.ledger.agrees_with_moto(now)) {
        return answer;
    }
    let Some(shown) = answer.text().and_then(|text| shown(text, &filters, &books.ledger, now)) else {
        return answer;
    };
    Answer { body: shown.into(), ..answer }
}

pub(super) async fn others(shared: &Shared, request: &Request) -> Answer {
    if let Some(refusal) = hidden(shared, request) {
        return refusal;
    }
    let answer = request.forwarded(shared).await;
    let Some((text, document)) = answer.text().and_then(|text| Some((text, Document::parse(text).ok()?)))
    else {
        return answer;
    };
    let mut edits = Edits::default();
    let books = shared.books();
    let now = books.now();
    for item in items(document.root_element(), "instanceStatusSet") {
        if xml::text(item, &["instanceId"]).is_some_and(|id| books.ledger.is_hidden(id, now)) {
            edits.replace(item, "");
        }
    }
    let body = edits.apply(text).into();
    Answer { body, ..answer }
}

/// The refusal of a request that names an instance which reads do not show yet.
fn hidden(shared: &Shared, request: &Request) -> Option<Answer> {
    let mut ids = request.form.list("InstanceId");
    ids.extend(request.form.get("InstanceId").map(str::to_owned));
    let books = shared.books();
    let now = books.now();
    let id = ids.into_iter().find(|id| books.ledger.is_hidden(id, now))?;
    Some(request.error("InvalidInstanceID.NotFound", format!("The instance ID '{id}' does not exist")))
}

/// Returns the state that a read shows at this time, if moto would show this.
fn shown(answer: &str, filters: &[Filter], ledger: &Ledger, now: Timestamp) -> Option<String> {
    let document = Document::parse(answer).ok()?;
    let mut edits = Edits::default();
    for reservation in items(document.root_element(), "reservationSet") {
        let (stay, go): (Vec<_>, Vec<_>) =
            items(reservation, "instancesSet").partition(|item| is_shown(*item, filters, ledger, now));
        if stay.is_empty() {
            edits.replace(reservation, "");
            continue;
        }
        for item in go {
            edits.replace(item, "");
        }
        for item in stay {
            retouch(item, ledger, now, &mut edits);
        }
    }
    Some(edits.apply(answer))
}

fn is_shown(item: Node<'_, '_>, filters: &[Filter], ledger: &Ledger, now: Timestamp) -> bool {
    let id = text(item, &["instanceId"]).unwrap_or_default();
    let passes = |filter: &Filter| {
        let value = if filter.name == TOKEN_FILTER {
            text(item, &["clientToken"])
        } else {
            let past = ledger.past_state(id, now).map(|state| state.name.as_str());
            past.or_else(|| text(item, &["instanceState", "name"]))
        };
        value.is_some_and(|value| filter.values.iter().any(|wanted| wanted == value))
    };
    !ledger.is_hidden(id, now) && filters.iter().all(passes)
}

/// An instance as it was, where reads lag; its check of source and destination, which moto keeps at the interface
/// alone; and the prefixes of its interfaces.
fn retouch(item: Node<'_, '_>, ledger: &Ledger, now: Timestamp, edits: &mut Edits) {
    let id = text(item, &["instanceId"]).unwrap_or_default();
    if let (Some(past), Some(state)) = (ledger.past_state(id, now), child(item, "instanceState")) {
        let (code, name) = (&past.code, &past.name);
        edits
            .replace(state, format!("<instanceState><code>{code}</code><name>{name}</name></instanceState>"));
    }
    for interface in items(item, "networkInterfaceSet") {
        let Some(id) = text(interface, &["networkInterfaceId"]) else { continue };
        let real = text(interface, &["sourceDestCheck"]) == Some("true");
        let check = ledger.past_check(id, now).unwrap_or(real);
        let element = format!("<sourceDestCheck>{check}</sourceDestCheck>");
        if let Some(own) = child(interface, "sourceDestCheck") {
            edits.replace(own, element.clone());
        }
        let is_first = text(interface, &["attachment", "deviceIndex"]) == Some("0");
        if let (true, Some(own)) = (is_first, child(item, "sourceDestCheck")) {
            edits.replace(own, element);
        }
        let prefixes = ledger.prefixes(id, now);
        if !prefixes.is_empty() {
            let list: String =
                prefixes.iter().map(|text| format!("<item><ipv6Prefix>{text}</ipv6Prefix></item>")).collect();
            edits.append(interface, format!("<ipv6PrefixSet>{list}</ipv6PrefixSet>"));
        }
    }
}
