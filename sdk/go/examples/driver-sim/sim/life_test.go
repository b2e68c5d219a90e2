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
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"POST /v1/vms"}))
	made := fixture.cloud.live()[0]
	expected := driver.VM{
		ProviderID: "sim:///sim-1a/" + made.text("id"), NodeName: "machine-1", State: driver.VMPending,
		Addresses: []driver.Address{{Kind: "InternalIP", Address: "10.0.0.1"}}, FailureDomain: "sim-1a",
	}
	fixture.check(reflect.DeepEqual(vm, expected), vm)
	tags := map[string]any{"cluster": "c1", "machine-name": "machine-1", "machine-uid": "uid-1"}
	fixture.check(reflect.DeepEqual(made.tags(), tags), made)

	fixture.fails(driver.Unimplemented, second(fixture.driver.Initialize(request(1, nil))))
	known, err := fixture.driver.Initialize(withID(request(1, nil), vm.ProviderID))
	fixture.ok(err)
	fixture.check(known.ProviderID == vm.ProviderID && known.NodeName == vm.NodeName, known)
	fixture.check(len(fixture.requests()) == 0, "asks nobody")
}

func TestSecretsReachTheCloudAndNeverTheDriver(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	inBase64 := base64.StdEncoding.EncodeToString([]byte(userData))
	fixture.check(reflect.DeepEqual(fixture.cloud.userData, []any{inBase64}), fixture.cloud.userData)
	sent := fmt.Sprintf("%v %s", fixture.host.Sent, fixture.host.Sent[0].Body)
	for _, secret := range []string{token, "abcdef.0123456789abcdef", inBase64} {
		fixture.check(!strings.Contains(sent, secret), sent)
	}
}

func TestACreateRepeatedIsTheSameVM(test *testing.T) {
	fixture := newFixture(test)
	first := fixture.created(request(1, nil))
	fixture.cloud.complete()
	again := fixture.created(request(1, nil))
	fixture.check(first.ProviderID == again.ProviderID && again.State == driver.VMRunning && len(fixture.cloud.live()) == 1, again)
}

func TestAVMIsFoundByIDAndWithoutItByUID(test *testing.T) {
	fixture := newFixture(test)
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(request(1, nil))))
	vm := fixture.created(request(1, nil))
	fixture.requests()
	for _, asked := range []driver.Request{request(1, nil), withID(request(1, nil), vm.ProviderID)} {
		seen, err := fixture.driver.GetStatus(asked)
		fixture.ok(err)
		fixture.check(seen.ProviderID == vm.ProviderID && seen.State == driver.VMPending, seen)
		fixture.check(len(fixture.requests()) == 1)
	}
}

func TestAClassThatAsksIsInitializedOnce(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"initialize": true})
	vm := fixture.created(asked)
	fixture.cloud.complete()
	said := fixture.fails(driver.Uninitialized, second(fixture.driver.GetStatus(asked)))
	fixture.check(said.ProviderID == vm.ProviderID && said.NodeName == "machine-1", said)
	fixture.requests()

	fixture.ok(second(fixture.driver.Initialize(withID(asked, vm.ProviderID))))
	fixture.check(len(fixture.requests()) == 1 && fixture.cloud.live()[0]["sourceDestCheck"] == false)
	seen, err := fixture.driver.Initialize(asked)
	fixture.ok(err)
	fixture.check(seen.ProviderID == vm.ProviderID && reflect.DeepEqual(fixture.requests(), []string{"GET /v1/vms"}))
	fixture.ok(second(fixture.driver.GetStatus(asked)))
	fixture.fails(driver.NotFound, second(fixture.driver.Initialize(request(2, object{"initialize": true}))))
}

func TestADeletionTakesTheVMAndItsVolumesAndMayBeRepeated(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"volumes": []object{{"sizeGib": 20, "name": "data"}}})
	asked = withID(asked, fixture.created(asked).ProviderID)
	other := fixture.created(request(2, nil))
	mark := func(cluster string) map[string]any { return map[string]any{"cluster": cluster, "machine-uid": "uid-1"} }
	fixture.cloud.volumes = append(fixture.cloud.volumes, object{"id": "left", "tags": mark("c1")}, object{"id": "foreign", "tags": mark("c2")})
	fixture.cloud.complete()
	fixture.requests()

	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.requests()) == 4)
	fixture.cloud.complete()
	fixture.check(len(fixture.cloud.volumes) == 1 && fixture.cloud.volumes[0]["id"] == "foreign", fixture.cloud.volumes)
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(asked)))
	fixture.requests()
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.requests()) == 3)
	// Also if not even a record is left.
	fixture.cloud.vms = fixture.cloud.vms[1:]
	fixture.ok(second(fixture.driver.Delete(asked)))
	listed, err := fixture.driver.List(asked.Class, "c1", "")
	fixture.ok(err)
	fixture.check(len(listed.Machines) == 1 && listed.Machines[0].ProviderID == other.ProviderID, listed)
}

func TestADeletionWorksWithoutAnIDAndWithAnyClass(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	fixture.created(asked)
	asked.Class.Spec = "{ nonsense"
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.live()) == 0)
}

func TestAllVMsOfOneUIDAreSeenAndDeleted(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	another := request(1, nil)
	another.IdempotencyKey = "another"
	fixture.created(another)
	said := fixture.fails(driver.OutOfRange, second(fixture.driver.GetStatus(another)))
	fixture.check(strings.Contains(said.Message, "2 VMs"), said)
	fixture.ok(second(fixture.driver.Delete(another)))
	fixture.check(len(fixture.cloud.live()) == 0)
}

func TestWhatBelongsToAnotherClusterIsLeftAlone(test *testing.T) {
	fixture := newFixture(test)
	theirs := request(1, nil)
	theirs.Cluster = "c2"
	vm := fixture.created(theirs)
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(request(1, nil))))
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	// The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
	known := withID(request(1, nil), vm.ProviderID)
	fixture.fails(driver.FailedPrecondition, second(fixture.driver.GetStatus(known)))
	err := second(fixture.driver.Delete(known))
	fixture.fails(driver.FailedPrecondition, err)
	fixture.check(strings.Contains(err.Error(), "--cluster-id=c2"), err)
	fixture.check(len(fixture.cloud.live()) == 1)
	fixture.check(strings.Contains(strings.Join(fixture.host.Messages(), "\n"), "left alone"), fixture.host.Lines)
	page, err := fixture.driver.List(theirs.Class, "c1", "")
	fixture.ok(err)
	fixture.check(len(page.Machines) == 0, page)
}

func TestAMachineRestoredUnderAnotherUIDKeepsItsVM(test *testing.T) {
	fixture := newFixture(test)
	restored := withID(request(1, nil), fixture.created(request(1, nil)).ProviderID)
	restored.Machine.UID = "uid-of-later"
	vm, err := fixture.driver.GetStatus(restored)
	fixture.ok(err)
	fixture.check(vm.ProviderID == restored.Machine.ProviderID)
	fixture.ok(second(fixture.driver.Delete(restored)))
	fixture.check(len(fixture.cloud.live()) == 0)
}

func TestAListingShowsEachVMOnceOverAllPages(test *testing.T) {
	fixture := newFixture(test)
	for number := range 450 {
		fixture.created(request(number, nil))
	}
	count, cursor := 0, ""
	for {
		page, err := fixture.driver.List(request(0, nil).Class, "c1", cursor)
		fixture.ok(err)
		for _, machine := range page.Machines {
			names := fmt.Sprintf("uid-%d machine-%d", count, count)
			fixture.check(machine.MachineUID+" "+machine.MachineName == names, machine, names)
			fixture.check(machine.Created.UnixMilli() == 1_767_323_045_678, machine)
			count++
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	fixture.check(count == 450, count)
}

func TestAVMIsRebootedAndStaysTheSame(test *testing.T) {
	fixture := newFixture(test)
	fixture.fails(driver.NotFound, fixture.driver.Reboot(request(1, nil)))
	vm := fixture.created(request(1, nil))
	id := fixture.cloud.live()[0].text("id")
	fixture.requests()
	fixture.ok(fixture.driver.Reboot(withID(request(1, nil), vm.ProviderID)))
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"GET /v1/vms/" + id, "POST /v1/vms/" + id + "/reboot"}))
	fixture.check(fixture.cloud.live()[0]["bootId"] == 2)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	fixture.fails(driver.NotFound, fixture.driver.Reboot(request(1, nil)))
}
