package machines

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const (
	bootData = "#cloud-config\n# \"bootstrap\": abcdef.0123456789abcdef\n"
	password = "long-password"
)

type object = map[string]any

// fault replaces the answer to a request. It may let the cloud do the work first.
type fault = func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error)

// fixture is one Machine, its driver, and what the host stores about it.
type fixture struct {
	*testing.T
	cloud   *fakeCloud
	host    *drivertest.Host
	calls   *drivertest.Calls
	request driver.Request
}

// newFixture returns a Machine of a class with a port and a volume of its own, and the changes; nil removes a field.
func newFixture(t *testing.T, changes object) *fixture {
	t.Helper()
	cloud := &fakeCloud{faults: map[string]fault{}}
	host := &drivertest.Host{
		Cloud: cloud,
		Secrets: map[string]string{"authURL": "https://keystone.test/v3", "username": "driver", "password": password,
			"domainName": "Default", "tenantName": "machines"},
		UserData: bootData,
		Places:   map[string][]drivertest.Place{"userData": {{JSON: "/server/user_data"}}},
		Settings: `{"authURL": "https://keystone.test/v3"}`,
	}
	all := object{
		"region": "A", "availabilityZone": "nova", "flavorName": "m1.small", "keyName": "nodes", "imageID": "img-1",
		"networkID": "net-1", "subnetIDs": []string{"sub-1"}, "podNetworkCIDRs": []string{"100.64.0.0/11"},
		"securityGroups": []string{"nodes"}, "rootDiskSize": 50, "rootDiskType": "fast",
		"tags": object{"kubernetes.io-cluster-a": "1", "kubernetes.io-role-node": "1"},
	}
	for key, value := range changes {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = value
		}
	}
	class := drivertest.Class("OpenStack", object{
		"apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig", "spec": all})
	return &fixture{t, cloud, host, host.Serve(Driver{Version: "0.1.0"}), drivertest.Request(1, class)}
}

// create calls until it is decided, and stores what the host would store.
func (of *fixture) create() (driver.VM, error) {
	of.Helper()
	for range 12 {
		created, err := of.calls.Create(of.request)
		if err != nil {
			of.keep(of.said(err).LastKnownState)
			return driver.VM{}, err
		}
		if vm, isMade := created.(driver.VM); isMade {
			of.keep(vm.LastKnownState)
			of.request.Machine.ProviderID = vm.ProviderID
			return vm, nil
		}
		of.keep(created.(driver.Progress).ResumeToken)
		of.cloud.complete()
	}
	of.Fatal("the create never ends")
	return driver.VM{}, nil
}

func (of *fixture) created() driver.VM {
	of.Helper()
	vm, err := of.create()
	of.ok(err)
	return vm
}

// delete calls until nothing is left.
func (of *fixture) delete() error {
	of.Helper()
	for range 12 {
		deleted, err := of.calls.Delete(of.request)
		if err != nil {
			of.keep(of.said(err).LastKnownState)
			return err
		}
		progress, isProgress := deleted.(driver.Progress)
		if !isProgress {
			of.keep(deleted.(driver.Deleted).LastKnownState)
			return nil
		}
		of.keep(progress.ResumeToken)
		of.cloud.complete()
	}
	of.Fatal("the deletion never ends")
	return nil
}

func (of *fixture) keep(state string) {
	if state != "" {
		of.request.Machine.LastKnownState = state
	}
}

func (of *fixture) said(err error) *driver.Error {
	of.Helper()
	var said *driver.Error
	if !errors.As(err, &said) {
		of.Fatalf("%v is no error of the contract", err)
	}
	return said
}

// fails returns the error that a call must have.
func (of *fixture) fails(code driver.Code, err error) *driver.Error {
	of.Helper()
	said := of.said(err)
	if said.Code != code {
		of.Fatalf("must fail with %v: %v %s", code, said.Code, said.Message)
	}
	return said
}

func (of *fixture) ok(err error) {
	of.Helper()
	if err != nil {
		of.Fatal(err)
	}
}

func (of *fixture) check(isSo bool, what ...any) {
	of.Helper()
	if !isSo {
		of.Fatal(what...)
	}
}

// plantStrangers adds a server, a port and a volume of the Machine's name, which belong to others.
func (of *fixture) plantStrangers() {
	name := of.request.Machine.Name
	of.cloud.plant(name, object{clusterMark: "c2", uidMark: "theirs"})
	of.cloud.ports = append(of.cloud.ports, object{"id": of.cloud.next(), "name": name, "network_id": "net-1", "description": ""})
	of.cloud.volumes = append(of.cloud.volumes, object{"id": of.cloud.next(), "name": name, "status": "available",
		"metadata": object{clusterMark: "c2", uidMark: "theirs"}})
}

// hasStrangersAlone: nothing of the Machine is left, and nothing else is gone.
func (of *fixture) hasStrangersAlone() {
	of.Helper()
	if len(of.cloud.servers) != 1 || len(of.cloud.ports) != 1 || len(of.cloud.volumes) != 1 {
		of.Fatalf("left: %v %v %v", of.cloud.servers, of.cloud.ports, of.cloud.volumes)
	}
}

// showsNothing: neither message nor log has user data or a password.
func (of *fixture) showsNothing(said *driver.Error) {
	of.Helper()
	texts := []string{said.Message, said.LastKnownState, said.CloudCode}
	for _, line := range of.host.Lines {
		texts = append(append(texts, line.Message), slices.Collect(maps.Values(line.Fields))...)
	}
	for _, text := range texts {
		for _, hidden := range []string{"bootstrap", "I2Nsb3VkLWNvbmZpZ", password, "<html"} {
			of.check(!strings.Contains(text, hidden), text)
		}
	}
}

func second[First any](_ First, err error) error { return err }

// given is an answer in place of the cloud's: the cloud does not get the request.
func given(status int, body string, headers ...string) fault {
	answer := &driver.HTTPAnswer{Status: status, Header: driver.Header{"content-type": "application/json"}, Body: []byte(body)}
	for index := 0; index+1 < len(headers); index += 2 {
		answer.Header[headers[index]] = headers[index+1]
	}
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return answer, nil }
}

// done lets the cloud do the work, and gives another answer.
func done(instead fault) fault {
	return func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		answer()
		return instead(answer)
	}
}

func silent(reason driver.NoAnswerReason) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return nil, drivertest.Silence(reason) }
}

func half(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
	whole := answer()
	return &driver.HTTPAnswer{Status: whole.Status, Header: whole.Header, Body: whole.Body[:len(whole.Body)/2]}, nil
}

// fakeCloud is OpenStack as far as the driver's tests need it, in memory and without time: what it works on ends when a
// test lets it. The real services are in tests/clouds/openstack.
type fakeCloud struct {
	servers, ports, volumes []object
	lastID                  int
	// The fault of the next server.
	fault string
	// The state of the next volume; empty for one that can be used.
	volumeStatus string
	// By method and path, in which * means an id.
	faults map[string]fault
}

func (of *fakeCloud) next() string { of.lastID++; return fmt.Sprintf("id-%d", of.lastID) }

// plant adds a server as another program creates it.
func (of *fakeCloud) plant(name string, metadata object) object {
	planted := object{
		"id": of.next(), "name": name, "status": "ACTIVE", "metadata": metadata,
		"created": fmt.Sprintf("2026-01-02T03:04:%02dZ", of.lastID), "OS-SRV-USG:launched_at": "2026-01-02T03:05:00.000000",
	}
	of.servers = append(of.servers, planted)
	return planted
}

var idInPath = regexp.MustCompile(`/id-[0-9]+`)

func (of *fakeCloud) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	at, err := url.Parse(request.URL)
	if err != nil {
		return nil, err
	}
	shape := request.Method + " " + idInPath.ReplaceAllString(at.Path, "/*")
	answer := func() *driver.HTTPAnswer { return of.answer(shape, at, request.Body) }
	if replaced, isThere := of.faults[shape]; isThere {
		return replaced(answer)
	}
	return answer(), nil
}

func (of *fakeCloud) answer(shape string, at *url.URL, text []byte) *driver.HTTPAnswer {
	body, id := object{}, strings.TrimPrefix(idInPath.FindString(at.Path), "/")
	_ = json.Unmarshal(text, &body)
	ok := func(status int, value any) *driver.HTTPAnswer { return drivertest.JSON(status, value) }
	name := at.Query().Get("name")
	switch shape {
	case "GET /v3/auth/catalog":
		return ok(200, object{"catalog": []object{
			service("compute", "https://nova.test/v2.1"), service("network", "https://neutron.test"),
			service("block-storage", "https://cinder.test/v3"), service("image", "https://glance.test"),
		}})
	case "GET /v2.1/flavors/detail":
		return ok(200, object{"flavors": []object{{"id": "1", "name": "m1.small", "vcpus": 1, "ram": 2048, "disk": 20}}})
	case "GET /v2/images":
		return ok(200, object{"images": those([]object{{"id": "img-1", "name": "debian-12", "architecture": "x86_64"}}, name)})
	case "GET /v2.0/networks":
		return ok(200, object{"networks": those([]object{{"id": "net-1", "name": "nodes"}}, name)})
	case "GET /v2.0/security-groups":
		return ok(200, object{"security_groups": those([]object{{"id": "group-1", "name": "nodes"}}, name)})
	case "GET /v2.1/servers/detail":
		pattern := regexp.MustCompile(name)
		differs := func(one object) bool { return !pattern.MatchString(one["name"].(string)) }
		return ok(200, object{"servers": slices.DeleteFunc(append([]object{}, of.servers...), differs)})
	case "POST /v2.1/servers":
		return ok(202, object{"server": object{"id": of.createServer(body["server"].(object)), "adminPass": "do-not-tell-this"}})
	case "GET /v2.0/ports":
		return ok(200, object{"ports": those(of.ports, name)})
	case "POST /v2.0/ports":
		return ok(201, object{"port": of.createPort(body["port"].(object))})
	case "PUT /v2.0/ports/*/tags":
		find(of.ports, id)["tags"] = body["tags"]
		return ok(200, body)
	case "DELETE /v2.0/ports/*":
		of.ports = without(of.ports, id)
		return &driver.HTTPAnswer{Status: 204, Header: driver.Header{}}
	case "GET /v3/volumes/detail":
		return ok(200, object{"volumes": those(of.volumes, name)})
	case "POST /v3/volumes":
		made := object{"id": of.next(), "status": "creating"}
		maps.Copy(made, body["volume"].(object))
		of.volumes = append(of.volumes, made)
		return ok(202, object{"volume": made})
	case "DELETE /v3/volumes/*":
		find(of.volumes, id)["status"] = "deleting"
		return &driver.HTTPAnswer{Status: 202, Header: driver.Header{}}
	}
	return of.ofServer(shape, find(of.servers, id))
}

func (of *fakeCloud) ofServer(shape string, server object) *driver.HTTPAnswer {
	if server == nil {
		return drivertest.JSON(404, object{"itemNotFound": object{"code": 404, "message": "Instance could not be found."}})
	}
	switch shape {
	case "GET /v2.1/servers/*":
		return drivertest.JSON(200, object{"server": server})
	case "DELETE /v2.1/servers/*":
		server["OS-EXT-STS:task_state"] = "deleting"
		return &driver.HTTPAnswer{Status: 204, Header: driver.Header{}}
	case "POST /v2.1/servers/*/action":
		return &driver.HTTPAnswer{Status: 202, Header: driver.Header{}}
	}
	panic(shape)
}

func (of *fakeCloud) createServer(asked object) string {
	id := of.next()
	of.servers = append(of.servers, object{
		"id": id, "name": asked["name"], "status": "BUILD", "metadata": asked["metadata"],
		"created": fmt.Sprintf("2026-01-02T03:04:%02dZ", of.lastID), "OS-EXT-AZ:availability_zone": asked["availability_zone"],
	})
	for _, network := range asked["networks"].([]any) {
		if port := find(of.ports, network.(object)["port"]); port != nil {
			port["device_id"] = id
		}
	}
	devices, _ := asked["block_device_mapping_v2"].([]any)
	for _, device := range devices {
		if volume := find(of.volumes, device.(object)["uuid"]); volume != nil {
			volume["status"], volume["attachments"] = "in-use", []object{{"server_id": id}}
		}
	}
	return id
}

func (of *fakeCloud) createPort(asked object) object {
	made := object{"id": of.next(), "device_id": ""}
	maps.Copy(made, asked)
	of.ports = append(of.ports, made)
	return made
}

// complete ends everything that the cloud works on.
func (of *fakeCloud) complete() {
	for _, server := range slices.Clone(of.servers) {
		switch {
		case server["OS-EXT-STS:task_state"] == "deleting":
			of.end(server["id"])
		case server["status"] == "BUILD" && of.fault != "":
			server["status"] = "ERROR"
			server["fault"] = object{"code": 500, "created": "2026-01-02T03:04:59Z", "message": of.fault}
		case server["status"] == "BUILD":
			server["status"], server["OS-SRV-USG:launched_at"] = "ACTIVE", "2026-01-02T03:05:00.000000"
		}
	}
	for _, volume := range slices.Clone(of.volumes) {
		switch {
		case volume["status"] == "deleting":
			of.volumes = without(of.volumes, volume["id"])
		case volume["status"] == "creating" && of.volumeStatus != "":
			volume["status"] = of.volumeStatus
		case volume["status"] == "creating":
			volume["status"] = "available"
		}
	}
}

// end removes a server, as Nova does at the end of a deletion. Its port and its volume stay.
func (of *fakeCloud) end(id any) {
	of.servers = without(of.servers, id)
	for _, port := range of.ports {
		if port["device_id"] == id {
			port["device_id"] = ""
		}
	}
	for _, volume := range of.volumes {
		attached, _ := volume["attachments"].([]object)
		if len(attached) > 0 && attached[0]["server_id"] == id {
			volume["status"], volume["attachments"] = "available", []object{}
		}
	}
}

func service(kind, base string) object {
	return object{"type": kind, "endpoints": []object{{"interface": "public", "region_id": "A", "url": base}}}
}

// those returns the objects of a name; all without one.
func those(all []object, name string) []object {
	found := []object{}
	for _, one := range all {
		if name == "" || one["name"] == name {
			found = append(found, one)
		}
	}
	return found
}

func find(all []object, id any) object {
	for _, one := range all {
		if one["id"] == id {
			return one
		}
	}
	return nil
}

func without(all []object, id any) []object {
	return slices.DeleteFunc(all, func(one object) bool { return one["id"] == id })
}
