package sim

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func TestAnOrdinaryCreateTakesOneRequestAndItsInitializationNone(test *testing.T) {
	world := newWorld(test)
	vm := world.created(request(1, nil))
	world.check(reflect.DeepEqual(world.requests(), []string{"POST /v1/vms"}))
	made := world.cloud.live()[0]
	expected := driver.VM{
		ProviderID: "sim:///sim-1a/" + made.text("id"), NodeName: "machine-1", State: driver.VMPending,
		Addresses: []driver.Address{{Kind: "InternalIP", Address: "10.0.0.1"}}, FailureDomain: "sim-1a",
	}
	world.check(reflect.DeepEqual(vm, expected), vm)
	tags := map[string]any{"cluster": "c1", "machine-name": "machine-1", "machine-uid": "uid-1"}
	world.check(reflect.DeepEqual(made.tags(), tags), made)

	world.fails(driver.Unimplemented, second(world.driver.Initialize(request(1, nil))))
	known, err := world.driver.Initialize(withID(request(1, nil), vm.ProviderID))
	world.ok(err)
	world.check(known.ProviderID == vm.ProviderID && known.NodeName == vm.NodeName, known)
	world.check(len(world.requests()) == 0, "asks nobody")
}

func TestSecretsReachTheCloudAndNeverTheDriver(test *testing.T) {
	world := newWorld(test)
	world.created(request(1, nil))
	inBase64 := base64.StdEncoding.EncodeToString([]byte(userData))
	world.check(reflect.DeepEqual(world.cloud.userData, []any{inBase64}), world.cloud.userData)
	sent := fmt.Sprintf("%v %s", world.host.Sent, world.host.Sent[0].Body)
	for _, secret := range []string{token, "abcdef.0123456789abcdef", inBase64} {
		world.check(!strings.Contains(sent, secret), sent)
	}
}

func TestACreateRepeatedIsTheSameVM(test *testing.T) {
	world := newWorld(test)
	first := world.created(request(1, nil))
	world.cloud.settle()
	again := world.created(request(1, nil))
	world.check(first.ProviderID == again.ProviderID && again.State == driver.VMRunning && len(world.cloud.live()) == 1, again)
}

func TestAVMIsFoundByIDAndWithoutItByUID(test *testing.T) {
	world := newWorld(test)
	world.fails(driver.NotFound, second(world.driver.GetStatus(request(1, nil))))
	vm := world.created(request(1, nil))
	world.requests()
	for _, asked := range []driver.Request{request(1, nil), withID(request(1, nil), vm.ProviderID)} {
		seen, err := world.driver.GetStatus(asked)
		world.ok(err)
		world.check(seen.ProviderID == vm.ProviderID && seen.State == driver.VMPending, seen)
		world.check(len(world.requests()) == 1)
	}
}

func TestAClassThatAsksIsInitializedOnce(test *testing.T) {
	world := newWorld(test)
	asked := request(1, object{"initialize": true})
	vm := world.created(asked)
	world.cloud.settle()
	said := world.fails(driver.Uninitialized, second(world.driver.GetStatus(asked)))
	world.check(said.ProviderID == vm.ProviderID && said.NodeName == "machine-1", said)
	world.requests()

	world.ok(second(world.driver.Initialize(withID(asked, vm.ProviderID))))
	world.check(len(world.requests()) == 1 && world.cloud.live()[0]["sourceDestCheck"] == false)
	seen, err := world.driver.Initialize(asked)
	world.ok(err)
	world.check(seen.ProviderID == vm.ProviderID && reflect.DeepEqual(world.requests(), []string{"GET /v1/vms"}))
	world.ok(second(world.driver.GetStatus(asked)))
	world.fails(driver.NotFound, second(world.driver.Initialize(request(2, object{"initialize": true}))))
}

func TestADeletionTakesTheVMAndItsVolumesAndMayBeRepeated(test *testing.T) {
	world := newWorld(test)
	asked := request(1, object{"volumes": []object{{"sizeGib": 20, "name": "data"}}})
	asked = withID(asked, world.created(asked).ProviderID)
	other := world.created(request(2, nil))
	mark := func(cluster string) map[string]any { return map[string]any{"cluster": cluster, "machine-uid": "uid-1"} }
	world.cloud.volumes = append(world.cloud.volumes, object{"id": "left", "tags": mark("c1")}, object{"id": "foreign", "tags": mark("c2")})
	world.cloud.settle()
	world.requests()

	world.ok(second(world.driver.Delete(asked)))
	world.check(len(world.requests()) == 4)
	world.cloud.settle()
	world.check(len(world.cloud.volumes) == 1 && world.cloud.volumes[0]["id"] == "foreign", world.cloud.volumes)
	world.fails(driver.NotFound, second(world.driver.GetStatus(asked)))
	world.requests()
	world.ok(second(world.driver.Delete(asked)))
	world.check(len(world.requests()) == 3)
	// Also if not even a record is left.
	world.cloud.vms = world.cloud.vms[1:]
	world.ok(second(world.driver.Delete(asked)))
	listed, err := world.driver.List(asked.Class, "c1", "")
	world.ok(err)
	world.check(len(listed.Machines) == 1 && listed.Machines[0].ProviderID == other.ProviderID, listed)
}

func TestADeletionWorksWithoutAnIDAndWithAnyClass(test *testing.T) {
	world := newWorld(test)
	asked := request(1, nil)
	world.created(asked)
	asked.Class.Spec = "{ nonsense"
	world.ok(second(world.driver.Delete(asked)))
	world.check(len(world.cloud.live()) == 0)
}

func TestAllVMsOfOneUIDAreSeenAndDeleted(test *testing.T) {
	world := newWorld(test)
	world.created(request(1, nil))
	another := request(1, nil)
	another.IdempotencyKey = "another"
	world.created(another)
	said := world.fails(driver.OutOfRange, second(world.driver.GetStatus(another)))
	world.check(strings.Contains(said.Message, "2 VMs"), said)
	world.ok(second(world.driver.Delete(another)))
	world.check(len(world.cloud.live()) == 0)
}

func TestWhatBelongsToAnotherClusterIsLeftAlone(test *testing.T) {
	world := newWorld(test)
	theirs := request(1, nil)
	theirs.Cluster = "c2"
	vm := world.created(theirs)
	world.fails(driver.NotFound, second(world.driver.GetStatus(request(1, nil))))
	world.ok(second(world.driver.Delete(request(1, nil))))
	// The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
	known := withID(request(1, nil), vm.ProviderID)
	world.fails(driver.FailedPrecondition, second(world.driver.GetStatus(known)))
	err := second(world.driver.Delete(known))
	world.fails(driver.FailedPrecondition, err)
	world.check(strings.Contains(err.Error(), "--cluster-id=c2"), err)
	world.check(len(world.cloud.live()) == 1)
	world.check(strings.Contains(strings.Join(world.host.Messages(), "\n"), "left alone"), world.host.Lines)
	page, err := world.driver.List(theirs.Class, "c1", "")
	world.ok(err)
	world.check(len(page.Machines) == 0, page)
}

func TestAMachineRestoredUnderAnotherUIDKeepsItsVM(test *testing.T) {
	world := newWorld(test)
	restored := withID(request(1, nil), world.created(request(1, nil)).ProviderID)
	restored.Machine.UID = "uid-of-later"
	vm, err := world.driver.GetStatus(restored)
	world.ok(err)
	world.check(vm.ProviderID == restored.Machine.ProviderID)
	world.ok(second(world.driver.Delete(restored)))
	world.check(len(world.cloud.live()) == 0)
}

func TestAListingShowsEachVMOnceOverAllPages(test *testing.T) {
	world := newWorld(test)
	for number := range 450 {
		world.created(request(number, nil))
	}
	count, cursor := 0, ""
	for {
		page, err := world.driver.List(request(0, nil).Class, "c1", cursor)
		world.ok(err)
		for _, machine := range page.Machines {
			names := fmt.Sprintf("uid-%d machine-%d", count, count)
			world.check(machine.MachineUID+" "+machine.MachineName == names, machine, names)
			world.check(machine.Created.UnixMilli() == 1_767_323_045_678, machine)
			count++
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	world.check(count == 450, count)
}

func TestAVMIsStartedAnewAndStaysTheSame(test *testing.T) {
	world := newWorld(test)
	world.fails(driver.NotFound, world.driver.Reboot(request(1, nil)))
	vm := world.created(request(1, nil))
	id := world.cloud.live()[0].text("id")
	world.requests()
	world.ok(world.driver.Reboot(withID(request(1, nil), vm.ProviderID)))
	world.check(reflect.DeepEqual(world.requests(), []string{"GET /v1/vms/" + id, "POST /v1/vms/" + id + "/reboot"}))
	world.check(world.cloud.live()[0]["bootId"] == 2)
	world.ok(second(world.driver.Delete(request(1, nil))))
	world.fails(driver.NotFound, world.driver.Reboot(request(1, nil)))
}
