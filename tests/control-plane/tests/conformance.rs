//! A real API server answers as it is written down for the one in memory.

use control_plane::{ControlPlane, Options};
use memory_api::conformance::{EXPECTED, NAMESPACE, transcript};

#[tokio::test]
async fn a_real_api_server_answers_the_script_as_the_one_in_memory_does() {
    let plane = ControlPlane::start(Options::without_controller_manager()).await.unwrap();
    plane.apply_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds")).await.unwrap();
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n");
    plane.apply(&namespace).await.unwrap();
    // Without controllers nobody makes the account that pods need.
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: conformance}\n";
    plane.apply(account).await.unwrap();
    let transcript_of_server = transcript(&plane.client_that_asks_once().unwrap()).await.unwrap();
    let differs: Vec<String> = transcript_of_server
        .lines()
        .zip(EXPECTED.lines())
        .filter(|(real, expected)| real != expected)
        .map(|(real, expected)| format!("real:     {real}\nexpected: {expected}"))
        .collect();
    assert!(
        differs.is_empty() && transcript_of_server == EXPECTED,
        "{}\n\nall of it:\n{transcript_of_server}",
        differs.join("\n")
    );
}
