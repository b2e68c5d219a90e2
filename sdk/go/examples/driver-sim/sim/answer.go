package sim

import (
	"errors"
	"fmt"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The tags of a VM: the cluster's name, the Machine's uid (the cloud counts duplicates by it), and the Machine's name.
const (
	clusterTag = "cluster"
	uidTag     = "machine-uid"
	nameTag    = "machine-name"
)

// States that the driver distinguishes: a VM that was deleted, and one of which only its record is left.
const (
	stopping   = "stopping"
	terminated = "terminated"
)

// The object lacks a required field.
var errNotOne = errors.New("lacks a field that its kind of object always has")

// A VM of the cloud's API.
type simVM struct {
	ID        string       `json:"id"`
	Name      *string      `json:"name"`
	State     string       `json:"state"`
	Zone      string       `json:"zone"`
	Addresses []simAddress `json:"addresses"`
	Tags      tags         `json:"tags"`
	// Absent means true.
	Initialized *bool  `json:"initialized"`
	Created     string `json:"created"`
}

type simAddress struct {
	Kind    string `json:"type"`
	Address string `json:"address"`
}

func (vm simVM) check() error {
	if vm.ID == "" || vm.Name == nil || vm.State == "" || vm.Zone == "" {
		return errNotOne
	}
	return nil
}

// True until only its record is left.
func (vm simVM) exists() bool        { return vm.State != terminated }
func (vm simVM) isGoing() bool       { return vm.State == stopping }
func (vm simVM) isInitialized() bool { return vm.Initialized == nil || *vm.Initialized }

// A volume of the cloud's API.
type simVolume struct {
	ID         string `json:"id"`
	AttachedTo string `json:"attachedTo"`
	Tags       tags   `json:"tags"`
}

func (volume simVolume) check() error {
	if volume.ID == "" {
		return errNotOne
	}
	return nil
}

type tags map[string]string

// True if they have the cluster's mark.
func (of tags) areOf(cluster string) bool { return has(of, clusterTag, cluster) }

// True if they have the marks of this machine of this cluster.
func (of tags) areOfMachine(cluster, uid string) bool {
	return of.areOf(cluster) && has(of, uidTag, uid)
}

func has(of tags, key, value string) bool {
	found, is := of[key]
	return is && found == value
}

// One page of a listing, under the name of its kind.
type simPage struct {
	VMs     *[]simVM     `json:"vms"`
	Volumes *[]simVolume `json:"volumes"`
	Next    string       `json:"nextCursor"`
}

// The types of VMs by name.
type simRegions struct {
	Types map[string]simSize `json:"types"`
}

// The size of a type of VMs.
type simSize struct {
	CPUs      uint64 `json:"cpus"`
	MemoryGiB uint64 `json:"memoryGib"`
	GPUs      uint64 `json:"gpus"`
}

// Converts the size into the resources of a Node.
func (of simSize) resources() driver.NodeResources {
	all := map[string]string{"cpu": fmt.Sprint(of.CPUs), "memory": fmt.Sprintf("%dGi", of.MemoryGiB)}
	if of.GPUs > 0 {
		all["nvidia.com/gpu"] = fmt.Sprint(of.GPUs)
	}
	return driver.NodeResources{Resources: all, Architecture: "amd64", OperatingSystem: "linux"}
}
