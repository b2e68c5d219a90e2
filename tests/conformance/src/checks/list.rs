//! All of the cluster's machines, each once, and nobody else's.

use std::collections::BTreeSet;

use machinist_core::driver::Listed;

use super::checks;
use crate::case::{Case, Outcome, failed, fine, guest, must, said, skipped};
use crate::proxy::{Effect, On, Times};

checks! {
    "list/own" Shared cloud own "a listing has the cluster's machines, with name and uid";
    "list/foreign" Shared cloud foreign "a listing never has another cluster's VM";
    "list/unmarked" Shared cloud unmarked
        "a listing never has a VM without any mark that no operator lets the cluster adopt";
    "list/empty" Shared cloud empty "a listing of a cluster without machines is empty, and no error";
    "list/gone" Shared cloud gone "a listing does not have what was deleted";
    "list/pages" Shared cloud pages "a listing of several pages has every machine exactly once";
    "list/endless" Shared cloud endless "a cloud that repeats a page for ever is an error, not a listing without end";
}

fn has(listed: &[Listed], uid: &str) -> bool {
    listed.iter().any(|machine| machine.machine_uid.as_ref().is_some_and(|known| known.as_str() == uid))
}

async fn own(case: Case) -> Outcome {
    case.offers("get-status")?;
    let machine = case.made("own").await?;
    let listed = fine(case.list().await, "list")?;
    let found = listed.iter().find(|listed| Some(&listed.provider_id) == machine.provider_id.as_ref());
    let Some(found) = found else {
        return failed(format!("list does not have {:?}: {listed:?}", machine.provider_id));
    };
    must(found.machine_name.as_str() == machine.name && has(&listed, &machine.uid), || {
        format!("list does not tell name and uid of a machine as create was given them: {found:?}")
    })
}

async fn foreign(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut theirs = case.machine("foreign");
    "another-uid".clone_into(&mut theirs.uid);
    let id = case.plant(&case.other_cluster(), &theirs).await?;
    let listed = fine(case.list().await, "list")?;
    must(!listed.iter().any(|machine| machine.provider_id == id), || {
        format!("list has the VM {id} of another cluster, which would be deleted as an orphan")
    })
}

async fn unmarked(case: Case) -> Outcome {
    case.offers("get-status")?;
    let id = case.plant_unmarked(&case.machine("unmarked")).await?;
    let listed = fine(case.list().await, "list")?;
    must(!listed.iter().any(|machine| machine.provider_id == id), || {
        format!("list has the VM {id} that carries no mark: a class's tags are chosen by whoever writes it")
    })
}

async fn empty(case: Case) -> Outcome {
    case.offers("get-status")?;
    // Not even a VM of a check that is over.
    let page = fine(
        case.page(&format!("{}-empty", case.cluster), None).await,
        "list of a cluster without machines",
    )?;
    must(page.machines.is_empty(), || {
        format!("list of a cluster without machines has {} of them", page.machines.len())
    })
}

async fn gone(case: Case) -> Outcome {
    case.offers("get-status")?;
    let mut machine = case.made("gone").await?;
    fine(case.delete_to_end(&mut machine).await, "delete")?;
    let listed = fine(case.list().await, "list")?;
    must(!has(&listed, &machine.uid), || "list has a machine that was deleted".to_owned())
}

async fn pages(case: Case) -> Outcome {
    case.offers("get-status")?;
    let Some(paging) = case.profile().paging.clone() else {
        return skipped("the profile does not say how listings get several pages (paging)");
    };
    let mut uids = BTreeSet::new();
    let names: Vec<String> = (0..paging.machines).map(|index| format!("page-{index}")).collect();
    for names in names.chunks(4) {
        for made in futures::future::join_all(names.iter().map(|name| case.made(name))).await {
            uids.insert(made?.uid);
        }
    }
    case.stage.proxy.cut_pages(&paging);
    let first = fine(case.page(&case.cluster, None).await, "list")?;
    let listed = fine(case.list().await, "list of several pages")?;
    if first.next.is_none() && first.machines.len() == uids.len() && paging.query.is_some() {
        // The driver itself went through all pages; then each of them was small.
        must(case.stage.proxy.journal().len() > uids.len(), || {
            format!("the page has {} machines: the profile's paging does not cut listings", uids.len())
        })?;
    }
    let mut found = Vec::new();
    found.extend(listed.iter().filter_map(|machine| Some(machine.machine_uid.as_ref()?.as_str().to_owned())));
    let once: BTreeSet<String> = found.iter().cloned().collect();
    let (missing, doubled) = (uids.difference(&once).count(), found.len() - once.len());
    must(missing == 0 && doubled == 0, || {
        format!(
            "of {} machines on several pages, list leaves {missing} out and has {doubled} twice",
            uids.len()
        )
    })
}

async fn endless(case: Case) -> Outcome {
    case.offers("get-status")?;
    let Some(paging) = case.profile().paging.clone().filter(|paging| paging.query.is_some()) else {
        return skipped("the profile does not say which parameter makes pages small (paging.query)");
    };
    for index in 0..=paging.size {
        case.made(&format!("endless-{index}")).await?;
    }
    case.stage.proxy.cut_pages(&paging);
    case.stage.proxy.disturb(On::Any, Times::Always, Effect::Repeat);
    let mut token = None;
    // The same page has come often enough after these.
    for _ in 0..4 {
        match case.page(&case.cluster, token).await {
            Ok(page) if page.next.is_none() => {
                return failed("list ends as if it were complete while the cloud repeats a page");
            }
            Ok(page) => token = page.next,
            Err(error @ machinist_core::driver::error::CallError::Guest(_)) => {
                return guest::<()>(Err(error), "list").map(drop);
            }
            Err(error) => return failed(format!("list does not answer: {}", said(&error))),
        }
    }
    failed("list goes on for ever while the cloud repeats a page")
}
