package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	cadvisor "github.com/google/cadvisor/info/v1"
	"go.opentelemetry.io/otel/trace/noop"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-helpers/node/util"
	remote "k8s.io/cri-client/pkg"
	fakeruntime "k8s.io/cri-client/pkg/fake"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	fakecadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
)

// runtimeTimeout limits calls of the imitated container runtime, which answers at once.
const runtimeTimeout = 15 * time.Second

// machine is the hardware as cAdvisor would report it.
type machine struct {
	fakecadvisor.Fake
	cpus       int
	memoryGiB  uint64
	id, bootID string
}

func (m *machine) MachineInfo() (*cadvisor.MachineInfo, error) {
	return &cadvisor.MachineInfo{
		NumCores:       m.cpus,
		MemoryCapacity: m.memoryGiB << 30,
		MachineID:      m.id,
		SystemUUID:     m.id,
		BootID:         m.bootID,
	}, nil
}

// run joins the cluster and works as its kubelet. It returns only if that fails.
func run(settings *options.KubeletServer, machine *machine) error {
	// The kubelet looks the name of its Node up at each report. Name servers know nothing of an imitated machine.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("this kubelet asks no name server")
	}}
	ctx := context.Background()
	name, err := util.GetHostname(settings.HostnameOverride)
	if err != nil {
		return err
	}
	machine.NodeName = name
	if err := os.MkdirAll(settings.CertDirectory, 0o700); err != nil {
		return err
	}
	if err := join(ctx, settings, name); err != nil {
		return err
	}
	client, heartbeats, err := clients(settings)
	if err != nil {
		return err
	}
	endpoint := "unix://" + filepath.Join(settings.RootDirectory, "runtime.sock")
	// Left by a kubelet of the same folder that was killed.
	_ = os.Remove(filepath.Join(settings.RootDirectory, "runtime.sock"))
	containers := fakeruntime.NewFakeRemoteRuntime()
	if err := containers.Start(endpoint); err != nil {
		return err
	}
	runtime, err := remote.NewRemoteRuntimeService(ctx, endpoint, runtimeTimeout, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	touchNothingElse(settings)
	kubemark.NewHollowKubelet(&settings.KubeletFlags, &settings.KubeletConfiguration, client, heartbeats, machine,
		containers.ImageService, runtime, cm.NewStubContainerManager()).Run(ctx)
	return errors.New("the kubelet stopped")
}

// touchNothingElse turns everything off that would reach beyond the folder of this kubelet.
func touchNothingElse(settings *options.KubeletServer) {
	settings.PodLogsDir = filepath.Join(settings.RootDirectory, "logs")
	kubelet.ContainerLogsDir = filepath.Join(settings.RootDirectory, "containers")
	settings.EnableServer = false
	settings.Port, settings.ReadOnlyPort = 0, 0
	// No chains in the machine's packet filter, no cgroups.
	settings.MakeIPTablesUtilChains = false
	settings.CgroupsPerQOS = false
	settings.EnforceNodeAllocatable = nil
	settings.MaxOpenFiles = 1024
}

// join gets the client certificate of the Node, unless there is a valid one.
func join(ctx context.Context, settings *options.KubeletServer, name string) error {
	if settings.BootstrapKubeconfig == "" {
		return nil
	}
	if _, err := os.Stat(settings.KubeConfig); errors.Is(err, os.ErrNotExist) {
		if err := refused(ctx, settings.BootstrapKubeconfig); err != nil {
			return err
		}
	}
	err := bootstrap.LoadClientCert(ctx, settings.KubeConfig, settings.BootstrapKubeconfig, settings.CertDirectory,
		types.NodeName(name))
	if err != nil {
		return fmt.Errorf("failed to get a client certificate: %w", err)
	}
	return nil
}

// refused returns an error if the API server does not know the bootstrap token. The bootstrap itself would take a
// refusal for a server that is not ready yet, and wait for a minute. It also deals with all other failures.
func refused(ctx context.Context, path string) error {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("failed to read the bootstrap kubeconfig: %w", err)
	}
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("the API server refuses the bootstrap token: %w", err)
	}
	return nil
}

// clients returns one client for everything, and one for heartbeats, which nothing else may delay.
func clients(settings *options.KubeletServer) (*kubernetes.Clientset, *kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", settings.KubeConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read the kubeconfig: %w", err)
	}
	config.ContentType = settings.ContentType
	config.QPS = float32(settings.KubeAPIQPS)
	config.Burst = int(settings.KubeAPIBurst)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	heartbeat := rest.CopyConfig(config)
	heartbeat.QPS = -1
	lease := time.Duration(settings.NodeLeaseDurationSeconds) * time.Second
	heartbeat.Timeout = min(settings.NodeStatusUpdateFrequency.Duration, lease)
	heartbeats, err := kubernetes.NewForConfig(heartbeat)
	return client, heartbeats, err
}
