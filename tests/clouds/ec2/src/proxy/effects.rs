//! The effects of faults on a request and its answer.

use bytes::Bytes;
use roxmltree::Document;

use super::Shared;
use super::handle::{Request, work};
use crate::answer::{Answer, AwsError, Delivery, Service, status_of};
use crate::proxy::faults::Effect;
use crate::xml::{Edits, child};

/// The token of the page that repeats.
const REPEATED: &str = "repeated-page";
/// Sound XML of another kind.
const OTHER_SHAPE: &str =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Greeting><to>whom it may concern</to></Greeting>";

/// Lets a request suffer an effect.
pub(super) async fn suffer(
    shared: &Shared,
    mut request: Request,
    service: Service,
    effect: Effect,
) -> Answer {
    let id = request.id.clone();
    match effect {
        Effect::Error { code, status, message, retry_after_seconds, is_after_work } => {
            if is_after_work {
                work(shared, request, service).await;
            }
            let status = status.unwrap_or_else(|| status_of(&code));
            Answer::error(&AwsError { status, code, message, retry_after_seconds }, service, &id)
        }
        Effect::Html { status, is_after_work } => {
            if is_after_work {
                work(shared, request, service).await;
            }
            Answer::html(status)
        }
        Effect::LostRequest { hold } => {
            tokio::time::sleep(hold).await;
            lost()
        }
        Effect::LostAnswer { hold } => {
            work(shared, request, service).await;
            tokio::time::sleep(hold).await;
            lost()
        }
        Effect::Delay(delay) => {
            tokio::time::sleep(delay).await;
            work(shared, request, service).await
        }
        Effect::CutXml => {
            let answer = work(shared, request, service).await;
            Answer { body: answer.body.slice(..answer.body.len() / 2), ..answer }
        }
        Effect::WrongLength => Answer { delivery: Delivery::Half, ..work(shared, request, service).await },
        Effect::OtherShape => {
            work(shared, request, service).await;
            Answer::ok(OTHER_SHAPE)
        }
        Effect::RepeatedPageToken => {
            if request.form.get("NextToken") == Some(REPEATED) {
                request.form.remove("NextToken");
                request.body = request.form.encoded().into_bytes();
            }
            edited(work(shared, request, service).await, repeat_page)
        }
        Effect::NoPrivateDnsName => edited(work(shared, request, service).await, drop_names),
    }
}

fn lost() -> Answer {
    Answer { delivery: Delivery::Never, ..Answer::xml(200, "lost", Bytes::new()) }
}

fn edited(answer: Answer, edit: fn(&Document<'_>, &mut Edits)) -> Answer {
    let Some((text, document)) = answer.text().and_then(|text| Some((text, Document::parse(text).ok()?)))
    else {
        return answer;
    };
    let mut edits = Edits::default();
    edit(&document, &mut edits);
    let body = edits.apply(text).into();
    Answer { body, ..answer }
}

fn repeat_page(document: &Document<'_>, edits: &mut Edits) {
    let root = document.root_element();
    let token = format!("<nextToken>{REPEATED}</nextToken>");
    match child(root, "nextToken") {
        Some(present) => edits.replace(present, token),
        None => edits.append(root, token),
    }
}

fn drop_names(document: &Document<'_>, edits: &mut Edits) {
    for name in document.descendants().filter(|node| node.tag_name().name() == "privateDnsName") {
        edits.replace(name, "<privateDnsName/>");
    }
}
