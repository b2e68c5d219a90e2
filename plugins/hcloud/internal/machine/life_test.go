package machine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func TestAServerIsCreatedInOneRequestWithEverythingThatTheClassNames(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"networkName": "nodes", "placementGroupID": "897", "firewalls": []string{"nodes"},
		"enableIPv6": false, "labels": object{"team": "blue"}})
	created, err := fixture.driver.Create(asked)
	fixture.ok(err)
	progress, is := created.(driver.Progress)
	fixture.check(is && progress.AskAgain == 2*time.Second, created)
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{
		"GET /v1/server_types", "GET /v1/images", "GET /v1/ssh_keys", "GET /v1/networks", "GET /v1/firewalls", "POST /v1/servers",
	}))
	body := fixture.cloud.created
	fixture.check(body["user_data"] == userData, body)
	delete(body, "user_data")
	text, err := json.Marshal(body)
	fixture.ok(err)
	fixture.check(string(text) == `{"firewalls":[{"firewall":38}],"image":161,"labels":{"machinist.dev/cluster":"c1",`+
		`"machinist.dev/machine-uid":"uid-1","mcm.gardener.cloud/cluster":"shoot--a--b","mcm.gardener.cloud/role":"node","team":"blue",`+
		`"topology.kubernetes.io/region":"hel1","topology.kubernetes.io/zone":"hel1-dc2"},"location":"hel1","name":"machine-1",`+
		`"networks":[31],"placement_group":897,"public_net":{"enable_ipv4":true,"enable_ipv6":false},"server_type":"cx23",`+
		`"ssh_keys":[7],"start_after_create":true}`, string(text))

	fixture.cloud.complete()
	asked.Machine.LastKnownState = progress.ResumeToken
	vm := fixture.created(asked)
	fixture.check(vm.ProviderID == "hcloud:///hel1-dc2/42" && vm.NodeName == "machine-1" && vm.State == driver.VMRunning, vm)
	fixture.check(vm.FailureDomain == "hel1-dc2" && reflect.DeepEqual(vm.Addresses, []driver.Address{
		{Kind: "Hostname", Address: "machine-1"}, {Kind: "InternalIP", Address: "10.0.0.2"},
		{Kind: "ExternalIP", Address: "203.0.113.7"}, {Kind: "ExternalIP", Address: "2001:db8:1::1"},
	}), vm.Addresses)
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"GET /v1/actions", "GET /v1/servers/42"}))
	seen, err := fixture.driver.GetStatus(stored(asked, vm))
	fixture.ok(err)
	fixture.check(seen.ProviderID == vm.ProviderID && seen.NodeName == vm.NodeName, seen)
	id, err := fixture.driver.NodeID(asked, vm)
	fixture.check(err == nil && id == "hcloud://42", id, err)
}

func TestTheImageHasTheArchitectureOfTheServerType(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, object{"serverType": "cax11"}))
	fixture.check(fixture.cloud.created["image"] == 162.0, fixture.cloud.created)
}

func TestACreateThatIsRepeatedFindsItsServerByName(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	vm := fixture.created(asked)
	// The host has forgotten everything, and the class has changed.
	for _, changes := range []object{nil, {"serverType": "cax11", "zone": "fsn1"}} {
		fixture.requests()
		again := fixture.created(request(1, changes))
		fixture.check(again.ProviderID == vm.ProviderID && len(fixture.cloud.servers) == 1, again)
		requests := fixture.requests()
		fixture.check(len(requests) == 5 && requests[4] == "GET /v1/servers", requests)
	}
}

func TestAServerThatReadsDoNotShowYetIsWaitedFor(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.cloud.isHiding = true
	said := fixture.fails(driver.Aborted, second(fixture.driver.Create(request(1, nil))))
	fixture.check(said.MayHaveHappened && said.RetryAfter > 0, said)
	// An order reaches it, if this driver has noted that it created it.
	fixture.ok(second(fixture.driver.Delete(stored(request(1, nil), vm))))
	fixture.check(len(fixture.live()) == 0)
}

func TestAnIDThatOthersWroteIsNoReasonToDeleteAServerThatReadsDoNotShow(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.cloud.isHiding = true
	asked := request(2, nil)
	asked.Machine.ProviderID = vm.ProviderID
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.live()) == 1)
}

func TestAServerWhoseStartFailsIsRemovedAndTheClassHasNoRoom(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	created, err := fixture.driver.Create(asked)
	fixture.ok(err)
	fixture.cloud.startFailure = "resource_unavailable"
	fixture.cloud.complete()
	asked.Machine.LastKnownState = created.(driver.Progress).ResumeToken
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	fixture.check(!said.MayHaveHappened && said.CloudCode == "resource_unavailable" && len(fixture.live()) == 0, said)
	fixture.cloud.startFailure = ""
	fixture.cloud.complete()
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "hel1-dc2")
}

func TestAServerOfAnEarlierCreateThatIsOffIsStartedAndNeverRemoved(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.cloud.servers[0]["status"] = "off"
	created, err := fixture.driver.Create(request(1, nil))
	fixture.ok(err)
	fixture.cloud.startFailure = "resource_unavailable"
	fixture.cloud.complete()
	asked := request(1, nil)
	asked.Machine.LastKnownState = created.(driver.Progress).ResumeToken
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	fixture.check(len(fixture.live()) == 1, said)
	fixture.cloud.startFailure = ""
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).ProviderID == vm.ProviderID)
}

func TestAFloatingIPIsCreatedAfterTheServerAndDeletedWithIt(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"floatingPoolName": "public"})
	asked = stored(asked, fixture.created(asked))
	said := fixture.fails(driver.Uninitialized, second(fixture.driver.GetStatus(asked)))
	fixture.check(said.ProviderID == asked.Machine.ProviderID && said.NodeName == "machine-1", said)
	for range 2 {
		fixture.ok(second(fixture.driver.Initialize(asked)))
		fixture.check(len(fixture.cloud.addresses) == 1 && fixture.cloud.addresses[0]["name"] == "public-machine-1-ipv4")
	}
	fixture.ok(second(fixture.driver.GetStatus(asked)))
	// The class asks for none any more: the driver has noted that it did.
	asked.Class = request(1, nil).Class
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.live()) == 0 && len(fixture.cloud.addresses) == 0, fixture.cloud.addresses)
}

func TestAFloatingIPWhoseAnswerWasLostIsFoundAndAssigned(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"floatingPoolName": "public"})
	asked = stored(asked, fixture.created(asked))
	fixture.ok(second(fixture.driver.Initialize(asked)))
	fixture.cloud.addresses[0]["server"] = nil
	fixture.cloud.servers[0]["public_net"].(object)["floating_ips"] = []int{}
	fixture.ok(second(fixture.driver.Initialize(asked)))
	fixture.check(len(fixture.cloud.addresses) == 1 && fixture.cloud.addresses[0]["server"] == 42, fixture.cloud.addresses)
	// The server is gone, and its address is not.
	fixture.cloud.servers = nil
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.addresses) == 0)
}

func TestAFloatingIPThatAPersonGaveTheServerStays(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.cloud.addresses = []object{{"id": 99, "name": "by-hand", "labels": map[string]any{"a": "b"}, "ip": "1.2.3.4", "server": 42}}
	fixture.cloud.attach(42, 99)
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.addresses) == 1 && len(fixture.live()) == 0)
}

func TestAForeignFloatingIPOfTheSameNameIsLeftAlone(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"floatingPoolName": "public"})
	asked = stored(asked, fixture.created(asked))
	fixture.cloud.addresses = []object{{"id": 99, "name": "public-machine-1-ipv4", "labels": map[string]any{}, "ip": "1.2.3.4"}}
	fixture.fails(driver.AlreadyExists, second(fixture.driver.Initialize(asked)))
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.addresses) == 1 && len(fixture.live()) == 0)
}

func TestADeletionSendsTwoRequestsAndMayBeRepeated(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.requests()
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"GET /v1/servers", "DELETE /v1/servers/42"}))
	fixture.ok(second(fixture.driver.Delete(asked)))
	seen, err := fixture.driver.GetStatus(asked)
	fixture.check(err == nil && seen.State == driver.VMStopping, seen, err)
	fixture.cloud.complete()
	fixture.requests()
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(asked)))
	fixture.check(len(fixture.requests()) == 1)
	// An id that the driver has not noted proves less.
	asked.Machine.LastKnownState = ""
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(asked)))
	fixture.check(len(fixture.requests()) == 3)
	fixture.ok(second(fixture.driver.Delete(asked)))
}

func TestADeletionWorksWithoutAnIDAndWithAnyClass(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	asked := request(1, nil)
	asked.Class.Spec = "{ nonsense"
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.live()) == 0)
}

func TestALockedServerIsDeletedLater(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.cloud.faults["DELETE servers/*"] = func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		return refused(423, "locked"), nil
	}
	deleted, err := fixture.driver.Delete(asked)
	progress, is := deleted.(driver.Progress)
	fixture.check(err == nil && is && progress.ResumeToken == asked.Machine.LastKnownState && progress.AskAgain > 0, deleted, err)
}

func TestAServerIsResetAndStaysTheSame(test *testing.T) {
	fixture := newFixture(test)
	fixture.fails(driver.NotFound, fixture.driver.Reboot(request(1, nil)))
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.requests()
	fixture.ok(fixture.driver.Reboot(asked))
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"GET /v1/servers/42", "POST /v1/servers/42/actions/reset"}))
}

func TestAListingShowsEachServerOnceOverAllPages(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.pages = 3
	for number := range 8 {
		fixture.created(request(number, nil))
	}
	fixture.cloud.plant("stranger", map[string]any{clusterLabel: "c2"})
	count, token := 0, ""
	for {
		page, err := fixture.driver.List(request(0, nil).Class, "c1", token)
		fixture.ok(err)
		for _, machine := range page.Machines {
			fixture.check(machine.MachineUID == fmt.Sprintf("uid-%d", count) && machine.MachineName == fmt.Sprintf("machine-%d", count), machine)
			fixture.check(machine.Created.Unix() == 1_767_323_045, machine)
			count++
		}
		if token = page.Next; token == "" {
			break
		}
	}
	fixture.check(count == 8, count)
	for _, token := range []string{"x", "m:0", "m:-1", "m:01", "2", "a:", "m:m:1"} {
		fixture.fails(driver.InvalidArgument, second(fixture.driver.List(request(0, nil).Class, "c1", token)))
	}
}

func TestTheResourcesOfANodeAreThoseOfItsServerType(test *testing.T) {
	fixture := newFixture(test)
	resources, err := fixture.driver.NodeCapacity(request(1, object{"serverType": "cax11"}).Class)
	fixture.ok(err)
	wanted := map[string]string{"cpu": "2", "memory": "4608Mi", "ephemeral-storage": "40G"}
	fixture.check(reflect.DeepEqual(resources.Resources, wanted) && resources.Architecture == "arm64", resources)
	fixture.fails(driver.InvalidArgument, second(fixture.driver.NodeCapacity(request(1, object{"serverType": "cx11"}).Class)))
}

func TestVolumesOfTheCSIDriverHaveIDs(test *testing.T) {
	fixture := newFixture(test)
	ids, err := fixture.driver.GetVolumeIDs([]string{
		`{"csi": {"driver": "csi.hetzner.cloud", "volumeHandle": "12"}}`, `{"nfs": {}}`, "{", `{"csi": 7}`,
	})
	fixture.check(err == nil && reflect.DeepEqual(ids, []string{"12", "", "", ""}), ids, err)
}

func TestOnlyAnIDInTheSpellingOfAProviderIsOne(test *testing.T) {
	for text, wanted := range map[string]int64{
		"hcloud:///hel1-dc2/42": 42, "hcloud:///fsn1/1": 1, "hcloud://42": 42,
		"hcloud:///hel1/": 0, "hcloud:////42": 0, "hcloud:///hel1/0": 0, "hcloud:///hel1/-1": 0, "hcloud:///hel1/042": 0,
		"hcloud:///hel1/42/": 0, "hcloud:///a/b/42": 0, "aws:///a/42": 0, "": 0, "hcloud://": 0, "hcloud:///hel1/99999999999999999999": 0,
	} {
		id, isKnown := serverID(text)
		if isKnown != (wanted != 0) || (isKnown && id != wanted) {
			test.Error(text, id, isKnown)
		}
	}
}
