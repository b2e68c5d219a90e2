package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// How soon a VM that exists, and that reads do not show, is looked for again.
const lagRetry = time.Second

// What each call does in the cloud. A machine's VM carries three tags: the cluster, the Machine's uid and its name. What does not
// carry the cluster's tag is never touched.
type machines struct {
	host  *driver.Host
	cloud *cloud
}

func machinesOf(host *driver.Host) (machines, error) {
	opened, err := openCloud(host)
	return machines{host, opened}, err
}

// One request where nothing is in the way. The key makes repetitions safe, so nobody looks before.
func (of machines) create(request driver.Request) (driver.Creation, error) {
	wanted, _, err := readSpec(request.Class)
	if err != nil {
		return nil, err
	}
	userData, err := of.userData()
	if err != nil {
		return nil, err
	}
	var full *driver.Error
	for _, zone := range wanted.zones {
		vm, err := of.cloud.create(wanted.body(request, zone, userData), request.IdempotencyKey)
		if err == nil {
			return vmOf(vm), nil
		}
		var said *driver.Error
		switch {
		case !errors.As(err, &said):
			return nil, err
		case said.CloudCode == capacityExhausted:
			of.host.Log().Info("zone has no room", "zone", zone)
			full = said
		case said.CloudCode == idempotencyMismatch:
			return of.adopt(request)
		default:
			return nil, said
		}
	}
	if full == nil {
		return nil, driver.Failed(driver.Internal, "failed to create the VM: the class names no zone")
	}
	full.Message += "; asked for in " + strings.Join(wanted.zones, ", ")
	return nil, full
}

// A placeholder; empty without user data.
func (of machines) userData() (string, error) {
	secret, err := of.host.UserData()
	if err != nil || secret == nil {
		return "", err
	}
	return secret.Placeholder(driver.Base64)
}

// Another class, other user data or another zone made a VM under the key: that one is the machine's.
func (of machines) adopt(request driver.Request) (driver.Creation, error) {
	found, err := of.cloud.find(request.Cluster, request.Machine.UID)
	var vm *simVM
	if err == nil {
		vm, err = only(found)
	}
	if err != nil {
		var said *driver.Error
		if errors.As(err, &said) {
			// From here on no error may hide that there is a VM.
			said.MayHaveHappened = true
			return nil, said
		}
		return nil, err
	}
	if vm == nil {
		return nil, &driver.Error{
			Code: driver.Aborted,
			Message: "failed to create the VM: an earlier create made it with other parameters, and the cloud's reads do not show " +
				"it yet",
			CloudCode:       idempotencyMismatch,
			RetryAfter:      lagRetry,
			MayHaveHappened: true,
		}
	}
	of.host.Log().Info("VM of an earlier create adopted", "provider-id", providerID(*vm))
	return vmOf(*vm), nil
}

// Nothing in the cloud unless the class asks for it.
func (of machines) initialize(request driver.Request) (driver.VM, error) {
	zone, id, isKnown := parts(request.Machine.ProviderID)
	if !asksForInitialize(request.Class) {
		return notAskedFor(request, zone)
	}
	if !isKnown {
		found, err := of.cloud.find(request.Cluster, request.Machine.UID)
		if err != nil {
			return driver.VM{}, err
		}
		vm, err := only(found)
		if err != nil || vm == nil || vm.isInitialized() {
			return shown(vm, err, request)
		}
		id = vm.ID
	}
	vm, err := of.cloud.initialize(id)
	return shown(vm, err, request)
}

// How the machine's VM is. Changes nothing.
func (of machines) status(request driver.Request) (driver.VM, error) {
	vm, err := of.locate(request)
	if err != nil || vm == nil || vm.isGoing() || vm.isInitialized() || !asksForInitialize(request.Class) {
		return shown(vm, err, request)
	}
	return driver.VM{}, &driver.Error{
		Code:       driver.Uninitialized,
		Message:    fmt.Sprintf("the VM %s is made and not initialized yet", vm.ID),
		ProviderID: providerID(*vm),
		NodeName:   *vm.Name,
	}
}

// Starts the machine's VM anew. One that is going is as good as none.
func (of machines) reboot(request driver.Request) error {
	vm, err := of.locate(request)
	if err != nil {
		return err
	}
	if vm == nil || vm.isGoing() {
		return noVM(request)
	}
	isThere, err := of.cloud.reboot(vm.ID)
	if err == nil && !isThere {
		return noVM(request)
	}
	return err
}

// By id, else by uid. An id that leads to another Machine's VM leads nowhere, and one that leads to another cluster's is refused.
func (of machines) locate(request driver.Request) (*simVM, error) {
	if _, id, isKnown := parts(request.Machine.ProviderID); isKnown {
		vm, err := of.cloud.get(id)
		if err != nil {
			return nil, err
		}
		if vm != nil && vm.exists() {
			if belongs(*vm, request) {
				return vm, nil
			}
			if err := of.foreign(*vm, request); err != nil {
				return nil, err
			}
		}
	}
	found, err := of.cloud.find(request.Cluster, request.Machine.UID)
	if err != nil {
		return nil, err
	}
	return only(found)
}

// Orders the end of every VM that carries the machine's marks, and of volumes that no VM takes along.
func (of machines) delete(request driver.Request) error {
	cluster, uid := request.Cluster, request.Machine.UID
	found, err := of.cloud.find(cluster, uid)
	if err != nil {
		return err
	}
	_, id, isKnown := parts(request.Machine.ProviderID)
	for _, vm := range found {
		isKnown = isKnown && vm.ID != id
		if vm.isGoing() {
			continue
		}
		if err := of.cloud.delete(vm.ID); err != nil {
			return err
		}
	}
	if isKnown {
		if err := of.deleteByID(id, request); err != nil {
			return err
		}
	}
	return of.deleteVolumes(cluster, uid)
}

// For a VM that the listing does not show. Reads lag, so one that they do not know may be there: the order does not lag, and the id
// is one that this driver gave.
func (of machines) deleteByID(id string, request driver.Request) error {
	vm, err := of.cloud.get(id)
	switch {
	case err != nil:
		return err
	case vm != nil && (!vm.exists() || vm.isGoing()):
		return nil
	case vm != nil && !belongs(*vm, request):
		return of.foreign(*vm, request)
	}
	return of.cloud.delete(id)
}

func (of machines) deleteVolumes(cluster, uid string) error {
	volumes, err := of.cloud.volumes(cluster, uid)
	if err != nil {
		return err
	}
	for _, volume := range volumes {
		// An attached one goes with its VM. If not, it is free when the host asks again after the VM's end.
		if volume.AttachedTo != "" {
			continue
		}
		if err := of.cloud.deleteVolume(volume.ID); err != nil {
			return err
		}
	}
	return nil
}

// Another cluster's mark on it means that a control plane was moved, and without one it may be anybody's: neither "there
// is none" nor "it is removed".
func (of machines) foreign(vm simVM, request driver.Request) error {
	of.host.Log().Info("the provider id leads to another machine's VM, left alone", "vm", vm.ID)
	cluster, isMarked := vm.Tags[clusterTag]
	if !isMarked {
		return driver.Failed(driver.FailedPrecondition, fmt.Sprintf(
			"the VM %s carries no cluster's mark, left alone: tag it if it is this Machine's, else correct the Machine", vm.ID))
	}
	if cluster == request.Cluster {
		return nil
	}
	return driver.Failed(driver.FailedPrecondition, fmt.Sprintf(
		"the VM %s carries the mark of cluster %s, left alone: start the host with --cluster-id=%s", vm.ID, cluster, cluster))
}

// One page of the cluster's VMs.
func (of machines) list(cluster, token string) (driver.Page, error) {
	vms, next, err := of.cloud.page(cluster, token)
	page := driver.Page{Next: next}
	for _, vm := range vms {
		if vm.exists() && vm.Tags.areOf(cluster) {
			page.Machines = append(page.Machines, listed(vm))
		}
	}
	return page, err
}

func shown(vm *simVM, err error, request driver.Request) (driver.VM, error) {
	if err != nil {
		return driver.VM{}, err
	}
	if vm == nil {
		return driver.VM{}, noVM(request)
	}
	return vmOf(*vm), nil
}

// What is known without a request. The id may be unknown in the same pass as the create; then the answer is that there is no such
// step, rather than a look at reads that lag.
func notAskedFor(request driver.Request, zone string) (driver.VM, error) {
	if zone == "" {
		return driver.VM{}, driver.Failed(driver.Unimplemented,
			"nothing to initialize: the MachineClass does not ask for it (initialize in its providerSpec)")
	}
	return driver.VM{ProviderID: request.Machine.ProviderID, NodeName: request.Machine.Name, FailureDomain: zone}, nil
}

// A Machine that was restored from a backup has another uid and the name of before.
//
// A cloud in which machine-controller-manager made VMs needs one case more: without any cluster's mark, the class's own
// marks together with the Machine's name.
func belongs(vm simVM, request driver.Request) bool {
	machine := request.Machine
	return vm.Tags.areOf(request.Cluster) && (has(vm.Tags, uidTag, machine.UID) || has(vm.Tags, nameTag, machine.Name))
}

// The one that works; else one that goes.
func only(vms []simVM) (*simVM, error) {
	var working []simVM
	var ids []string
	for _, vm := range vms {
		if !vm.isGoing() {
			working = append(working, vm)
			ids = append(ids, vm.ID)
		}
	}
	switch {
	case len(working) > 1:
		message := fmt.Sprintf("%d VMs carry this Machine's uid: %s; delete all but one", len(working),
			strings.Join(ids[:min(len(ids), 5)], ", "))
		return nil, driver.Failed(driver.OutOfRange, message)
	case len(working) == 1:
		return &working[0], nil
	case len(vms) > 0:
		return &vms[0], nil
	}
	return nil, nil
}

func noVM(request driver.Request) error {
	machine := request.Machine
	message := fmt.Sprintf("there is no VM of Machine %s with uid %s", machine.Name, machine.UID)
	return driver.Failed(driver.NotFound, message)
}
