//! Intervals of zero and of milliseconds: no loop runs without a pause.

use std::time::Duration;

use jiff::SignedDuration;
use machinist_runtime::context::settings::Settings;

use crate::fixture::stage::Stage;

#[tokio::test(start_paused = true)]
async fn no_setting_of_nothing_or_of_a_millisecond_makes_a_loop() {
    type Set = fn(&mut Settings, SignedDuration);
    let all: [(&str, Set); 13] = [
        ("resync", |settings, value| settings.resync = value),
        ("orphan_vms_period", |settings, value| settings.orphan_vms_period = value),
        ("api_check_period and timeout", |settings, value| {
            (settings.api_check_period, settings.api_check_timeout) = (value, value);
        }),
        ("resource_exhausted_retry", |settings, value| settings.resource_exhausted_retry = value),
        ("creation_timeout", |settings, value| settings.creation_timeout = value),
        ("health_timeout", |settings, value| settings.health_timeout = value),
        ("drain_timeout", |settings, value| settings.drain_timeout = value),
        ("volume_detach_timeout", |settings, value| settings.volume_detach_timeout = value),
        ("volume_reattach_timeout", |settings, value| settings.volume_reattach_timeout = value),
        ("in_place_update_timeout", |settings, value| settings.in_place_update_timeout = value),
        ("preserve_timeout", |settings, value| settings.preserve_timeout = value),
        ("deletion_hook_timeout", |settings, value| settings.deletion_hook_timeout = value),
        ("orphan_vm_minimum_age", |settings, value| settings.orphan_vm_minimum_age = value),
    ];
    for (what, set) in all {
        for value in [SignedDuration::ZERO, SignedDuration::from_millis(1)] {
            let stage = Stage::set();
            set(&mut stage.settings.lock().unwrap(), value);
            stage.cloud.sell_out(&["full"]);
            let mut full = crate::fixture::stage::class();
            full["metadata"]["name"] = "full".into();
            stage.api.create("machineclasses", &full).unwrap();
            let _host = stage.host("host");
            stage.add_machine("a");
            stage.add_machine_with("b", |machine| machine["spec"]["class"]["name"] = "full".into());
            tokio::time::sleep(Duration::from_secs(60)).await;
            if stage.api.find("nodes", "a").is_some() {
                stage.report_ready("a", "False");
            }
            let from = stage.wire.len();
            tokio::time::sleep(Duration::from_secs(60)).await;
            // At the least: a look each second at two servers and for a ConfigMap, and a listing each second.
            let calls = stage.wire.len() - from;
            assert!(calls < 60 * 8, "{what}={value:?}: {calls} calls in a minute\n{}", stage.wire.trace());
        }
    }
}
