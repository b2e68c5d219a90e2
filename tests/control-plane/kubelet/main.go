// A kubelet without containers: the real kubelet, which joins its cluster by TLS bootstrap as everywhere else, on
// an imitated container runtime and an imitated machine. Its flags have the names of the real kubelet's;
// `--machine-…` and `--boot-id` describe the machine. It serves nothing, writes below --root-dir only, and looks no
// name up but in /etc/hosts.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	utilflag "k8s.io/kubernetes/pkg/util/flag"
)

const (
	// exitOnStdinEOF names the variable that ties this process to the one that holds the other end of its standard
	// input.
	exitOnStdinEOF = "CONTROL_PLANE_EXIT_ON_STDIN_EOF"
	// removeOnStdinEOF names the variable with the folder to remove at that moment: the one that would have done so
	// is gone.
	removeOnStdinEOF = "CONTROL_PLANE_REMOVE_ON_STDIN_EOF"
)

func main() {
	if os.Getenv(exitOnStdinEOF) != "" {
		go exitWithParent()
	}
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	kubelet, machine, err := parse(args)
	if err != nil {
		return err
	}
	return run(kubelet, machine)
}

// parse reads the flags into the kubelet's own settings, with its own defaults and checks.
func parse(args []string) (*options.KubeletServer, *machine, error) {
	kubelet, err := options.NewKubeletServer()
	if err != nil {
		return nil, nil, err
	}
	kubelet.CertDirectory = ""
	machine := &machine{}
	labels := flag.ConfigurationMap(kubelet.NodeLabels)
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.StringVar(&kubelet.HostnameOverride, "hostname-override", "", "name of the Node")
	flags.StringVar(&kubelet.ProviderID, "provider-id", "", "the cloud's identity of the machine")
	flags.StringVar(&kubelet.BootstrapKubeconfig, "bootstrap-kubeconfig", "", "kubeconfig that asks for a certificate")
	flags.StringVar(&kubelet.KubeConfig, "kubeconfig", "",
		"kubeconfig with the certificate; default <root-dir>/kubeconfig")
	flags.StringVar(&kubelet.RootDirectory, "root-dir", "/var/lib/kubelet", "folder for everything that is written")
	flags.StringVar(&kubelet.CertDirectory, "cert-dir", "", "folder of certificate and key; default <root-dir>/pki")
	flags.StringVar(&kubelet.NodeIP, "node-ip", "", "address of the Node; must be one of this machine's")
	flags.Var(&labels, "node-labels", "labels of the Node when it registers")
	flags.Var(utilflag.RegisterWithTaintsVar{Value: &kubelet.RegisterWithTaints}, "register-with-taints",
		"taints of the Node when it registers")
	flags.DurationVar(&kubelet.NodeStatusUpdateFrequency.Duration, "node-status-update-frequency",
		kubelet.NodeStatusUpdateFrequency.Duration, "time between two looks at the Node's status")
	flags.IntVar(&machine.cpus, "machine-cpus", 2, "cores of the machine")
	flags.Uint64Var(&machine.memoryGiB, "machine-memory-gib", 4, "memory of the machine in GiB")
	flags.StringVar(&machine.id, "machine-id", "", "identity of the machine in the Node's status")
	flags.StringVar(&machine.bootID, "boot-id", "", "identity of this boot in the Node's status")
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	if flags.NArg() > 0 {
		return nil, nil, fmt.Errorf("unknown arguments: %q", flags.Args())
	}
	// Beyond this length of a folder's name, the sockets in it cannot be used; see unix(7).
	const longestRoot = 70
	root, err := filepath.Abs(kubelet.RootDirectory)
	if err != nil {
		return nil, nil, err
	}
	if len(root) > longestRoot {
		return nil, nil, fmt.Errorf("--root-dir is longer than %d bytes: %s", longestRoot, root)
	}
	kubelet.RootDirectory = root
	if kubelet.KubeConfig == "" {
		kubelet.KubeConfig = filepath.Join(root, "kubeconfig")
	}
	if kubelet.CertDirectory == "" {
		kubelet.CertDirectory = filepath.Join(root, "pki")
	}
	return kubelet, machine, options.ValidateKubeletFlags(&kubelet.KubeletFlags)
}

// exitWithParent ends the process when the pipe on its standard input closes. The kernel closes it however the
// parent ends, SIGKILL included.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	if folder := os.Getenv(removeOnStdinEOF); folder != "" {
		// Other threads may still write a file meanwhile.
		for range 5 {
			if os.RemoveAll(folder) == nil {
				break
			}
		}
	}
	os.Exit(0)
}
