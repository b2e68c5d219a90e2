//! Throw-away probe.
use std::collections::BTreeMap;
use std::time::Instant;
use machinist_core::driver::*;
use machinist_plugin_host::source::configmap::*;
use machinist_plugin_host::*;
#[tokio::main(flavor="multi_thread", worker_threads=2)]
async fn main() {
    let dir = tempfile::tempdir().unwrap();
    let s = HostSettings::new(dir.path(), CacheKey::Bytes([1;32]), std::env::args().nth(1).unwrap(), Vec::<std::ffi::OsString>::new());
    let host = PluginHost::start(s).unwrap();
    let raw = RawConfigMap { namespace: "m".into(), name: "plain".into(), labels: BTreeMap::from([(KIND_LABEL.to_owned(), "driver".to_owned())]), binary_data: BTreeMap::from([("plugin.wasm".to_owned(), std::fs::read(std::env::args().nth(2).unwrap()).unwrap().into())]), ..Default::default() };
    let t = Instant::now();
    host.declare(raw).await;
    let class = || ClassSpec { name: "c".into(), provider: "plain".into(), spec: "{}".into(), node_template: None, zones: vec![], driver_digest: None };
    host.validate_class(class()).await.unwrap();
    println!("declare to first answer {:?}", t.elapsed());
    let mut all = vec![];
    for _ in 0..20000 { let t = Instant::now(); host.validate_class(class()).await.unwrap(); all.push(t.elapsed()); }
    all.sort();
    println!("p50 {:?} p99 {:?} min {:?}", all[10000], all[19800], all[0]);
    let t = Instant::now();
    let mut js = vec![];
    for _ in 0..64 { let host = host.clone(); js.push(tokio::spawn(async move { for _ in 0..300 { host.validate_class(ClassSpec { name: "c".into(), provider: "plain".into(), spec: "{}".into(), node_template: None, zones: vec![], driver_digest: None }).await.unwrap(); } })); }
    for j in js { j.await.unwrap(); }
    println!("64 callers: {:.0}/s", 64.0*300.0 / t.elapsed().as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for l in status.lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM") || l.starts_with("RssAnon")) { println!("{l}"); }
}
