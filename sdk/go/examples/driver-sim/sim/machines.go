package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The time until the next search for a VM that exists and that reads do not show yet.
const lagRetry = time.Second

// The work of each call in the cloud. A machine's VM has three tags: the cluster, the Machine's uid and its name. The
// driver never touches a VM without the cluster's tag.
type machines struct {
	host  *driver.Host
	cloud *cloud
}

func machinesOf(host *driver.Host) (machines, error) {
	opened, err := openCloud(host)
	return machines{host, opened}, err
}

// Sends one request in the normal case. The key makes repetitions safe, so no search comes first.
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

// Returns a placeholder for the user data in base64; empty if there is none.
func (of machines) userData() (string, error) {
	secret, err := of.host.UserData()
	if err != nil || secret == nil {
		return "", err
	}
	return secret.Placeholder(driver.Base64)
}

// An earlier create with another class, other user data or another zone made a VM with this key: it is the machine's.
func (of machines) adopt(request driver.Request) (driver.Creation, error) {
	found, err := of.cloud.find(request.Cluster, request.Machine.UID)
	var vm *simVM
	if err == nil {
		vm, err = only(found)
	}
	if err != nil {
		var said *driver.Error
		if errors.As(err, &said) {
			// From here on every error must say that there may be a VM.
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

// Sends no request unless the class asks for it.
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

// Returns the state of the machine's VM. Changes nothing.
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

// Restarts the machine's VM. A VM that is being deleted counts as none.
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

// Finds the VM by id, else by uid. An id that leads to another Machine's VM leads nowhere; one that leads to another
// cluster's VM, or to one without a mark, is refused.
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

// Deletes every VM with the machine's marks, and volumes that no VM takes along.
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

// Deletes a VM that the listing does not show. Reads are stale, so an unknown VM may exist: the order is not stale, and
// the id is one that this driver returned.
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

// Deletes this VM and no other, with its volumes.
func (of machines) deleteOne(request driver.Request, providerID string) error {
	_, id, isKnown := parts(providerID)
	if !isKnown {
		return driver.Failed(driver.InvalidArgument, driver.Quoted(providerID)+" is no id of this driver")
	}
	if _, kept, has := parts(request.Machine.ProviderID); has && kept == id {
		return driver.Failed(driver.FailedPrecondition, "the VM "+id+" is the one that the Machine keeps, left alone")
	}
	vm, err := of.cloud.get(id)
	switch {
	case err != nil:
		return err
	case vm == nil || !vm.exists() || vm.isGoing():
		return nil
	case !vm.Tags.areOf(request.Cluster):
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
		// An attached volume is deleted with its VM. If not, it is free when the host calls again after the VM's end.
		if volume.AttachedTo != "" {
			continue
		}
		if err := of.cloud.deleteVolume(volume.ID); err != nil {
			return err
		}
	}
	return nil
}

// Leaves another machine's VM alone. Refuses one with another cluster's mark (a control plane was moved) or without a
// mark (it may be anybody's): both "there is none" and "it is removed" would be wrong.
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

// Returns one page of the cluster's VMs.
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

// Returns the facts that are known without a request. In the same reconcile as the create the id may be unknown. The
// answer is then that there is no such step, since reads may not show the VM yet.
func notAskedFor(request driver.Request, zone string) (driver.VM, error) {
	if zone == "" {
		return driver.VM{}, driver.Failed(driver.Unimplemented,
			"nothing to initialize: the MachineClass does not ask for it (initialize in its providerSpec)")
	}
	return driver.VM{ProviderID: request.Machine.ProviderID, NodeName: request.Machine.Name, FailureDomain: zone}, nil
}

// A Machine that was restored from a backup has another uid and the same name.
//
// A cloud with VMs of machine-controller-manager needs one more case: a VM without any cluster's mark, with the tags
// that the plugin's settings adopt and the Machine's name. The class's own tags prove nothing: anyone who can write
// classes chooses them.
func belongs(vm simVM, request driver.Request) bool {
	machine := request.Machine
	return vm.Tags.areOf(request.Cluster) && (has(vm.Tags, uidTag, machine.UID) || has(vm.Tags, nameTag, machine.Name))
}

// Returns the VM that is not being deleted, else one that is.
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
