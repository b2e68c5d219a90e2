package machines

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// marked returns the marks of the fixture's Machine.
func (of *fixture) marked() object {
	return object{clusterMark: of.request.Cluster, uidMark: of.request.Machine.UID}
}

func TestAServerThatIsRemovedByHandIsGoneAndLeavesNothing(t *testing.T) {
	of := newFixture(t, nil)
	of.plantStrangers()
	vm := of.created()
	of.cloud.end(strings.TrimPrefix(vm.ProviderID, "openstack:///A/"))
	of.check(len(of.cloud.ports) == 2 && len(of.cloud.volumes) == 2, of.cloud.ports, of.cloud.volumes)
	of.fails(driver.NotFound, second(of.calls.GetStatus(of.request)))
	of.fails(driver.NotFound, of.calls.Reboot(of.request))
	of.ok(of.delete())
	of.hasStrangersAlone()
}

// pending begins a create, until Nova works on the server.
func (of *fixture) pending() {
	of.Helper()
	for len(of.cloud.servers) == 0 {
		created, err := of.calls.Create(of.request)
		of.ok(err)
		of.keep(created.(driver.Progress).ResumeToken)
		if len(of.cloud.servers) == 0 {
			of.cloud.complete()
		}
	}
}

// moved changes the time at which the driver has noted the server.
func (of *fixture) moved(by time.Duration) {
	noted := parseState(of.request.Machine.LastKnownState)
	noted.Created += by.Milliseconds()
	of.request.Machine.LastKnownState = noted.text()
}

func TestAServerThatIsRemovedByHandWhileItIsBuiltIsMadeAgain(t *testing.T) {
	of := newFixture(t, nil)
	of.pending()
	of.cloud.end(of.cloud.servers[0]["id"])
	created, err := of.calls.Create(of.request)
	of.ok(err)
	_, isWaiting := created.(driver.Progress)
	of.check(isWaiting && len(of.cloud.servers) == 0, "within the window the search may be late", created)
	of.moved(-2 * consistencyWindow)
	of.created()
	of.check(len(of.cloud.servers) == 1 && len(of.cloud.ports) == 1 && len(of.cloud.volumes) == 1, of.cloud.servers)
	of.ok(of.delete())
	of.check(len(of.cloud.servers)+len(of.cloud.ports)+len(of.cloud.volumes) == 0, of.cloud.ports)
}

// The id decides where the search does not find the server: after the window, after the clock went back, and if
// somebody has renamed it.
func TestNeitherAClockNorAnotherNameMakesASecondServer(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"a search that finds nothing": func(of *fixture) {
			of.moved(-2 * consistencyWindow)
			of.cloud.faults["GET /v2.1/servers/detail"] = given(200, `{"servers": []}`)
		},
		"a clock that went back": func(of *fixture) {
			of.moved(48 * time.Hour)
			of.cloud.faults["GET /v2.1/servers/detail"] = given(200, `{"servers": []}`)
		},
		"another name": func(of *fixture) {
			of.moved(-2 * consistencyWindow)
			of.cloud.servers[0]["name"] = "by-hand"
		},
	} {
		of := newFixture(t, nil)
		of.pending()
		change(of)
		of.created()
		of.check(len(of.cloud.servers) == 1, name, of.cloud.servers)
		clear(of.cloud.faults)
		of.ok(of.delete())
		of.check(len(of.cloud.servers)+len(of.cloud.ports)+len(of.cloud.volumes) == 0, name, of.cloud.servers)
	}
}

func TestOfTwoServersOfAMachineACreateKeepsOneAndADeletionRemovesBoth(t *testing.T) {
	of := newFixture(t, nil)
	of.plantStrangers()
	name := of.request.Machine.Name
	first := of.cloud.plant(name, of.marked())
	of.cloud.plant(name, of.marked())
	said := of.fails(driver.OutOfRange, second(of.calls.GetStatus(of.request)))
	of.check(strings.Contains(said.Message, "delete all but one"), said.Message)
	vm := of.created()
	of.check(len(of.cloud.servers) == 2 && strings.HasSuffix(vm.ProviderID, first["id"].(string)), vm.ProviderID, of.cloud.servers)

	of.cloud.plant(name, of.marked())
	of.ok(of.delete())
	of.hasStrangersAlone()
}

// Each row is a server that is not certainly the Machine's. No call takes it, and none takes it for absent.
func TestAServerOfAnotherClusterIsNeitherTakenNorTouched(t *testing.T) {
	theirs := object{clusterMark: "c2", uidMark: "uid-1"}
	tags := object{"kubernetes.io-cluster-a": "1", "kubernetes.io-role-node": "1"}
	for name, row := range map[string]struct {
		metadata object
		hasID    bool
		advice   string
	}{
		"by the id":                          {object{clusterMark: "c2", uidMark: "theirs"}, true, "--cluster-id=c2"},
		"by uid and name":                    {theirs, false, "--cluster-id=c2"},
		"without marks, by the id":           {object{}, true, "write adopt into the plugin's settings"},
		"without marks, by name and by tags": {tags, false, "write adopt into the plugin's settings"},
	} {
		of := newFixture(t, nil)
		planted := of.cloud.plant(of.request.Machine.Name, row.metadata)
		if row.hasID {
			of.request.Machine.ProviderID = "openstack:///A/" + planted["id"].(string)
		}
		for call, err := range map[string]error{
			"get-status": second(of.calls.GetStatus(of.request)), "delete": second(of.calls.Delete(of.request)),
			"create": second(of.calls.Create(of.request)), "reboot": of.calls.Reboot(of.request),
		} {
			said := of.fails(driver.FailedPrecondition, err)
			of.check(strings.Contains(said.Message, row.advice), name, call, said.Message)
		}
		listed, err := of.calls.List(of.request.Class, of.request.Cluster, "")
		of.check(err == nil && len(listed.Machines) == 0, listed, err)
		of.check(len(of.cloud.servers) == 1 && planted["OS-EXT-STS:task_state"] == nil, name, of.cloud.servers)
		of.check(len(of.cloud.ports)+len(of.cloud.volumes) == 0, name)
	}
}

// Exactly one server, with a port and a volume of its own; each request of a life is sent once.
func TestAMachineIsOneServerOnePortAndOneVolume(t *testing.T) {
	of := newFixture(t, nil)
	vm := of.created()
	of.check(len(of.cloud.servers) == 1 && len(of.cloud.ports) == 1 && len(of.cloud.volumes) == 1, of.cloud.servers)
	status, err := of.calls.GetStatus(of.request)
	of.check(err == nil && status.ProviderID == vm.ProviderID && status.State == driver.VMRunning, status, err)
	of.ok(of.delete())
	orders := []string{}
	for _, sent := range of.host.Seen {
		if sent.Method != "GET" {
			orders = append(orders, sent.Method)
		}
	}
	// Volume, port, its tags, server; then server, port, volume.
	of.check(slices.Equal(orders, []string{"POST", "POST", "PUT", "POST", "DELETE", "DELETE", "DELETE"}), orders)
	of.check(len(of.cloud.servers)+len(of.cloud.ports)+len(of.cloud.volumes) == 0, of.cloud.ports)
}
