//! What a deletion asks of the API servers, and what it tells.

use memory_api::wire::table;

use super::*;

/// Events of the Machine since `from` of them, as `kubectl describe` shows them.
fn told(stage: &Stage, from: usize) -> Vec<String> {
    let (reasons, notes) = (stage.events("a"), stage.event_notes("a"));
    reasons.into_iter().zip(notes).skip(from).map(|(reason, note)| format!("{reason}: {note}")).collect()
}

#[tokio::test(start_paused = true)]
async fn explore() {
    for pods in [0, 1, 10] {
        for lasts in [3, 25] {
        let stage = running().await;
        let _host = stage.host("host");
        stage.until_running("a").await;
        tokio::time::sleep(2 * MOMENT).await;
        let names: Vec<String> = (0..pods).map(|number| format!("web-{number}")).collect();
        add_pods(&stage, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let _kubelet = kubelet_that_takes(&stage, Duration::from_secs(lasts));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (begun, from) = (stage.wire.len(), stage.events("a").len());
        delete(&stage);
        stage.until_gone("a").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let all = stage.wire.records_since(begun, |_| true);
        println!("== {pods} pods, {lasts} s\n{}\n{:#?}", table(&all), told(&stage, from));
        }
    }
}
