//! The command lines of the four programs. They run in the control plane's folder, so file names are relative.

use super::options::Options;

/// etcd listens on Unix sockets in the folder: nobody else can reach it, and it needs no port. etcd wants a port in
/// the address all the same, which becomes part of the file name.
pub(crate) const ETCD_SOCKET: &str = "etcd.sock:1";
const ETCD_PEER_SOCKET: &str = "peer.sock:1";

/// The key of the certificate authority, for the controller that signs certificates of kubelets.
pub(crate) const CA_KEY: &str = "ca.key";

/// Flags that demo and tests rely on.
const CONTROLLERS: [&str; 5] = [
    "disruption-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
];
const NODE_LIFECYCLE: [&str; 2] = ["node-lifecycle-controller", "taint-eviction-controller"];
const TOKEN_CLEANER: &str = "token-cleaner-controller";
/// The controllers that approve and sign the requests of kubelets for certificates, and delete old requests.
const CERTIFICATES: [&str; 3] = [
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
];
/// The controllers that create pods of workloads, clean up behind deleted Nodes, and move volumes.
const WORKLOADS: [&str; 7] = [
    "daemonset-controller",
    "deployment-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "statefulset-controller",
];

/// A server without data worth keeping: nothing waits for the disk.
pub(crate) fn etcd() -> Vec<String> {
    let (client, peer) = (format!("unix://{ETCD_SOCKET}"), format!("unix://{ETCD_PEER_SOCKET}"));
    vec![
        "--name=default".into(),
        "--data-dir=etcd".into(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".into(),
        "--quota-backend-bytes=8589934592".into(),
        "--log-level=warn".into(),
    ]
}

pub(crate) fn api_server(port: u16, options: &Options) -> Vec<String> {
    let mut args: Vec<String> = vec![
        format!("--etcd-servers=unix://{ETCD_SOCKET}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        // There is no other server to agree with on the endpoints of the `kubernetes` service, and loopback is none.
        "--advertise-address=127.0.0.1".into(),
        "--endpoint-reconciler-type=none".into(),
        "--service-cluster-ip-range=10.96.0.0/24".into(),
        "--tls-cert-file=server.crt".into(),
        "--tls-private-key-file=server.key".into(),
        "--client-ca-file=ca.crt".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        "--service-account-signing-key-file=service-account.key".into(),
        "--service-account-key-file=service-account.pub".into(),
        format!("--authorization-mode={}", if options.node_authorization { "Node,RBAC" } else { "RBAC" }),
        "--enable-bootstrap-token-auth=true".into(),
        "--allow-privileged=true".into(),
        "--max-requests-inflight=3000".into(),
        "--max-mutating-requests-inflight=1500".into(),
        "--profiling=false".into(),
        format!("--disable-admission-plugins={}", disabled_admission(options)),
    ];
    if options.node_authorization {
        args.push("--enable-admission-plugins=NodeRestriction".into());
    }
    if !options.runtime_config.is_empty() {
        args.push(format!("--runtime-config={}", options.runtime_config.join(",")));
    }
    args.extend(feature_gates(options));
    args.extend(options.api_server_args.iter().cloned());
    args
}

pub(crate) fn controller_manager(options: &Options) -> Vec<String> {
    let mut args: Vec<String> = vec![
        "--kubeconfig=kube-controller-manager.kubeconfig".into(),
        "--leader-elect=false".into(),
        // Serves nothing: whether it works shows in the API.
        "--secure-port=0".into(),
        "--root-ca-file=ca.crt".into(),
        "--service-account-private-key-file=service-account.key".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=1000".into(),
        "--profiling=false".into(),
        format!("--controllers={}", controllers(options)),
    ];
    if options.node_authorization {
        args.extend([
            "--cluster-signing-cert-file=ca.crt".into(),
            format!("--cluster-signing-key-file={CA_KEY}"),
            // Each controller has the rights of its own role, which are those that the signer's approval needs.
            "--use-service-account-credentials=true".into(),
        ]);
    }
    args.extend(feature_gates(options));
    args.extend(options.controller_manager_args.iter().cloned());
    args
}

pub(crate) fn scheduler(options: &Options) -> Vec<String> {
    let mut args: Vec<String> = vec![
        "--kubeconfig=kube-scheduler.kubeconfig".into(),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=1000".into(),
        "--profiling=false".into(),
    ];
    args.extend(feature_gates(options));
    args
}

/// Pods are to need no service account of their namespace, which comes a moment after it. And where nobody watches the
/// conditions of Nodes, nobody takes away the taint that a new Node would get.
fn disabled_admission(options: &Options) -> &'static str {
    if options.node_lifecycle { "ServiceAccount" } else { "ServiceAccount,TaintNodesByCondition" }
}

fn controllers(options: &Options) -> String {
    let mut names: Vec<&str> = CONTROLLERS.to_vec();
    if options.node_lifecycle {
        names.extend(NODE_LIFECYCLE);
    }
    if options.token_cleaner {
        names.push(TOKEN_CLEANER);
    }
    if options.node_authorization {
        names.extend(CERTIFICATES);
    }
    if options.workloads {
        names.extend(WORKLOADS);
    }
    names.extend(options.controllers.iter().map(String::as_str));
    names.join(",")
}

fn feature_gates(options: &Options) -> Option<String> {
    let gates: Vec<String> = options.feature_gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
    (!gates.is_empty()).then(|| format!("--feature-gates={}", gates.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_tainted_by_condition_only_where_somebody_takes_the_taint_away() {
        let off = Options::default();
        assert!(api_server(1, &off).iter().any(|arg| arg.contains("TaintNodesByCondition")));
        assert!(!controllers(&off).contains("node-lifecycle"));
        let on = Options { node_lifecycle: true, ..Options::default() };
        assert!(!api_server(1, &on).iter().any(|arg| arg.contains("TaintNodesByCondition")));
        assert!(controllers(&on).contains("node-lifecycle-controller"));
    }

    #[test]
    fn only_an_authority_that_signs_for_kubelets_lends_its_key() {
        let (off, on) = (Options::default(), Options::with_node_authorization());
        let has_key = |options| controller_manager(options).iter().any(|arg| arg.ends_with(CA_KEY));
        assert_eq!((has_key(&off), has_key(&on)), (false, true));
        assert!(controllers(&on).contains("certificatesigningrequest-signing-controller"));
        assert!(api_server(1, &on).contains(&"--authorization-mode=Node,RBAC".to_owned()));
    }

    #[test]
    fn the_callers_arguments_come_last_so_that_they_win() {
        let options = Options {
            feature_gates: [("A".to_owned(), true), ("B".to_owned(), false)].into(),
            api_server_args: vec!["--v=4".into()],
            ..Options::default()
        };
        let args = api_server(1, &options);
        assert_eq!(args.last().unwrap(), "--v=4");
        assert!(args.contains(&"--feature-gates=A=true,B=false".to_owned()));
    }
}
