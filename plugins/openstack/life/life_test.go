package life

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Each way to make a server: the class's changes, and what must be true of the result.
func TestEachKindOfClassMakesOneServerAndLeavesNothing(t *testing.T) {
	cloud := cloudOf(t)
	kinds := []struct {
		name           string
		changes        map[string]any
		ports, volumes int
	}{
		{"image", nil, 0, 0},
		{"image by name", map[string]any{"imageID": nil, "imageName": "debian-12"}, 0, 0},
		{"port of its own", map[string]any{"subnetIDs": []string{cloud.Facts.NodeSubnet}, "securityGroups": []string{"nodes"}}, 1, 0},
		{"volume of a type", map[string]any{"rootDiskSize": 2, "rootDiskType": "fast"}, 0, 1},
		{"volume of no type", map[string]any{"rootDiskSize": 2}, 0, 0},
		{"two networks", map[string]any{"networkID": nil, "networks": []map[string]any{
			{"id": cloud.Facts.Nodes}, {"name": "pods", "podNetwork": true}}}, 0, 0},
		{"group and config drive", map[string]any{"serverGroupID": cloud.Facts.Group, "useConfigDrive": true,
			"securityGroups": []string{"nodes"}}, 0, 0},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			of := machine(t, cloud.spec(kind.changes))
			vm := of.made()
			servers, ports, volumes := of.left()
			if len(servers) != 1 || len(ports) != kind.ports || len(volumes) != kind.volumes {
				t.Fatalf("%d servers, %d ports, %d volumes", len(servers), len(ports), len(volumes))
			}
			if vm.NodeName != of.request.Machine.Name || vm.State != driver.VMRunning || vm.FailureDomain != "nova" || len(vm.Addresses) == 0 {
				t.Fatalf("%+v", vm)
			}
			// The answer is either the server, or that nothing is missing.
			if _, err := of.calls.Initialize(of.request); err != nil && asError(t, err).Code != driver.Unimplemented {
				t.Fatal(err)
			}
			of.mustHavePairs(t, kind.name == "two networks")
			status, err := of.calls.GetStatus(of.request)
			must(t, err)
			if status.ProviderID != vm.ProviderID || status.NodeName != vm.NodeName {
				t.Fatalf("%+v is not %+v", status, vm)
			}
			must(t, of.calls.Reboot(of.request))
			must(t, of.delete())
			of.mustLeaveNothing()
			if _, err := of.calls.GetStatus(of.request); asError(t, err).Code != driver.NotFound {
				t.Fatal(err)
			}
		})
	}
}

// mustHavePairs: each port that carries pods allows both ranges, once.
func (of *subject) mustHavePairs(t *testing.T, isPodsAlone bool) {
	t.Helper()
	id := of.request.Machine.ProviderID[strings.LastIndex(of.request.Machine.ProviderID, "/")+1:]
	ports := of.cloud.member().call(t, "GET", "neutron", "/v2.0/ports?device_id="+id, nil)["ports"].([]any)
	if len(ports) == 0 {
		t.Fatal("the server has no port")
	}
	for _, entry := range ports {
		port := entry.(map[string]any)
		var found []string
		for _, pair := range port["allowed_address_pairs"].([]any) {
			found = append(found, pair.(map[string]any)["ip_address"].(string))
		}
		slices.Sort(found)
		wanted := []string{"100.64.0.0/11", "fd00::/56"}
		if isPodsAlone && port["network_id"] != of.cloud.Facts.Pods {
			wanted = nil
		}
		if !slices.Equal(found, wanted) {
			t.Fatalf("the port allows %v and not %v", found, wanted)
		}
	}
}

func TestAServerCarriesUserDataMarksAndTheClassesProperties(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(map[string]any{"subnetID": cloud.Facts.NodeSubnet, "securityGroups": []string{"nodes"}}))
	vm := of.made()
	id := vm.ProviderID[strings.LastIndex(vm.ProviderID, "/")+1:]
	server := cloud.admin().call(t, "GET", "nova", "/v2.1/servers/"+id, nil)["server"].(map[string]any)
	encoded, _ := server["OS-EXT-SRV-ATTR:user_data"].(string)
	if data, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(data) != of.host.UserData {
		t.Fatalf("%q %v", data, err)
	}
	metadata := server["metadata"].(map[string]any)
	for key, value := range map[string]string{"machinist.dev-cluster": "life", "machinist.dev-machine-uid": of.request.Machine.UID,
		"kubernetes.io-cluster-life": "1", "kubernetes.io-role-node": "1"} {
		if metadata[key] != value {
			t.Fatalf("%s is %v", key, metadata[key])
		}
	}
	_, ports, _ := of.left()
	fixed := ports[0]["fixed_ips"].([]any)
	if len(fixed) != 1 || fixed[0].(map[string]any)["subnet_id"] != cloud.Facts.NodeSubnet {
		t.Fatal(fixed)
	}
	if tags := ports[0]["tags"].([]any); len(tags) != 2 {
		t.Fatal(tags)
	}
	if groups := ports[0]["security_groups"].([]any); len(groups) != 1 {
		t.Fatal(groups)
	}
	for _, seen := range of.host.Lines {
		if strings.Contains(seen.Message, "boot-payload") {
			t.Fatal(seen)
		}
	}
}

func TestBothLoginsWork(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	of.host.Secrets = map[string]string{"authURL": cloud.Secret["authURL"], "applicationCredentialID": cloud.Facts.Credential,
		"applicationCredentialSecret": cloud.Facts.Value}
	of.made()
	must(t, of.delete())
	of.mustLeaveNothing()
}

func TestANodeHasTheFlavorsResources(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(map[string]any{"flavorName": "m1.small"}))
	found, err := of.calls.NodeCapacity(of.request.Class)
	must(t, err)
	if found.Resources["cpu"] != "1" || found.Resources["memory"] != "2048Mi" || found.Resources["ephemeral-storage"] != "20Gi" ||
		found.Architecture != "amd64" {
		t.Fatalf("%+v", found)
	}
}

func TestRequestsOfAMachine(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	of.made()
	created := len(of.requests)
	must(t, of.delete())
	t.Logf("%d requests to create, %d to delete:\n%s", created, len(of.requests)-created, strings.Join(of.requests, "\n"))
	// Catalog, search, flavors, server; then catalog and search until Nova is done.
	if of.requests[3][:4] != "POST" {
		t.Fatal("the fourth request does not create the server")
	}
}
