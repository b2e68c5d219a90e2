// One binary with the four processes of a control plane; the first argument chooses which one it is:
//
//	control-plane etcd | kube-apiserver | kube-controller-manager | kube-scheduler [arguments of that program]
package main

import (
	"fmt"
	"io"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const (
	// exitOnStdinEOF names the variable that ties this process to the one that holds the other end of its standard input.
	exitOnStdinEOF = "CONTROL_PLANE_EXIT_ON_STDIN_EOF"
	// removeOnStdinEOF names the variable with the folder to remove at that moment: the one that would have done so is gone.
	removeOnStdinEOF = "CONTROL_PLANE_REMOVE_ON_STDIN_EOF"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	if os.Getenv(exitOnStdinEOF) != "" {
		go exitWithParent()
	}
	// Each program sees its own name as argument 0, as if it were a binary of its own.
	os.Args = os.Args[1:]
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: control-plane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [arguments]")
	os.Exit(2)
}

// exitWithParent ends the process when the pipe on its standard input closes. The kernel closes it however the parent
// ends, SIGKILL included, so no process of a control plane outlives the test that started it.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	if folder := os.Getenv(removeOnStdinEOF); folder != "" {
		// The other programs of the control plane end at the same moment and may still write a file meanwhile.
		for range 5 {
			if os.RemoveAll(folder) == nil {
				break
			}
		}
	}
	os.Exit(0)
}
