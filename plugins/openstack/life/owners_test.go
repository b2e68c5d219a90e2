package life

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// plant creates a server without the driver, and returns its id.
func (of *subject) plant(metadata map[string]string) string {
	of.t.Helper()
	made := of.cloud.member().call(of.t, "POST", "nova", "/v2.1/servers", map[string]any{"server": map[string]any{
		"name": of.request.Machine.Name, "flavorRef": "1", "imageRef": of.cloud.Facts.Image,
		"networks": []map[string]any{{"uuid": of.cloud.Facts.Nodes}}, "metadata": metadata}})
	id := made["server"].(map[string]any)["id"].(string)
	of.t.Cleanup(func() {
		for _, one := range named(of.cloud.member().call(of.t, "GET", "nova", "/v2.1/servers/detail", nil)["servers"], of.request.Machine.Name) {
			if one["id"] == id && one["OS-EXT-STS:task_state"] == nil {
				of.cloud.member().call(of.t, "DELETE", "nova", "/v2.1/servers/"+id, nil)
			}
		}
	})
	return id
}

func (of *subject) marks() map[string]string {
	return map[string]string{"machinist.dev-cluster": of.request.Cluster, "machinist.dev-machine-uid": of.request.Machine.UID}
}

func TestOfTwoServersOfAMachineACreateKeepsTheOlder(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	first, _ := of.plant(of.marks()), of.plant(of.marks())
	if _, err := of.calls.GetStatus(of.request); asError(t, err).Code != driver.OutOfRange {
		t.Fatal(err)
	}
	vm := of.made()
	servers, _, _ := of.left()
	if len(servers) != 1 || !strings.HasSuffix(vm.ProviderID, servers[0]["id"].(string)) {
		t.Fatalf("%v of %d servers, the first is %s", vm.ProviderID, len(servers), first)
	}
	must(t, of.delete())
	of.mustLeaveNothing()
}

func TestForeignServersAreNeitherTakenNorRemoved(t *testing.T) {
	cloud := cloudOf(t)
	tags := map[string]string{"kubernetes.io-cluster-life": "1", "kubernetes.io-role-node": "1"}
	for name, marks := range map[string]map[string]string{
		"of another cluster": {"machinist.dev-cluster": "other", "machinist.dev-machine-uid": "theirs"}, "without marks": tags, "of nobody": {},
	} {
		t.Run(name, func(t *testing.T) {
			of := machine(t, cloud.spec(nil))
			id := of.plant(marks)
			of.request.Machine.ProviderID = "openstack:///RegionOne/" + id
			for call, err := range map[string]error{
				"get-status": second(of.calls.GetStatus(of.request)), "delete": second(of.calls.Delete(of.request)),
				"create": second(of.calls.Create(of.request)), "reboot": of.calls.Reboot(of.request),
			} {
				if err == nil || asError(t, err).Code != driver.FailedPrecondition {
					t.Errorf("%s: %v", call, err)
				}
			}
			servers, _, _ := of.left()
			if len(servers) != 1 || servers[0]["OS-EXT-STS:task_state"] == "deleting" {
				t.Fatal(servers)
			}
			of.request.Machine.ProviderID = ""
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestAServerOfAnotherProgramIsAdoptedByTheOperatorsKeys(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(map[string]any{"tags": map[string]string{"kubernetes.io-cluster-old": "1", "kubernetes.io-role-node": "1"}}))
	id := of.plant(map[string]string{"kubernetes.io-cluster-old": "1", "kubernetes.io-role-node": "1"})
	settings, _ := json.Marshal(map[string]any{"authURL": cloud.URL + "/identity/v3",
		"adopt": map[string]any{"life": []string{"kubernetes.io-cluster-old", "kubernetes.io-role-node"}}})
	of.host.Settings = string(settings)
	vm := of.made()
	if !strings.HasSuffix(vm.ProviderID, id) {
		t.Fatal(vm.ProviderID)
	}
	_, err := of.calls.GetStatus(of.request)
	if said := asError(t, err); said.Code != driver.Uninitialized || said.ProviderID != vm.ProviderID || said.NodeName == "" {
		t.Fatalf("%+v", said)
	}
	if _, err := of.calls.Initialize(of.request); err != nil {
		t.Fatal(err)
	}
	of.host.Settings = `{"authURL": "` + cloud.URL + `/identity/v3"}`
	status, err := of.calls.GetStatus(of.request)
	must(t, err)
	if status.ProviderID != vm.ProviderID {
		t.Fatal(status)
	}
	page, err := of.calls.List(of.request.Class, "life", "")
	must(t, err)
	for _, listed := range page.Machines {
		if listed.ProviderID == vm.ProviderID && listed.MachineUID == of.request.Machine.UID {
			must(t, of.delete())
			of.mustLeaveNothing()
			return
		}
	}
	t.Fatal("the listing lacks the adopted server")
}

func TestAServerThatIsRemovedByHandLeavesNoPortAndNoVolume(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.richSpec())
	vm := of.made()
	id := vm.ProviderID[strings.LastIndex(vm.ProviderID, "/")+1:]
	cloud.member().call(t, "DELETE", "nova", "/v2.1/servers/"+id, nil)
	must(t, of.delete())
	of.mustLeaveNothing()
}

func TestADeletionNeedsNeitherIDNorStateNorAReadableClass(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.richSpec())
	of.made()
	of.request.Machine.ProviderID, of.request.Machine.LastKnownState = "", ""
	of.request.Class.Spec = `{"spec": {"region": "RegionOne", "flavorName": 7}}`
	must(t, of.delete())
	of.mustLeaveNothing()
}
