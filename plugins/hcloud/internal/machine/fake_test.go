package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const (
	fingerprint = "b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d"
	userData    = "#cloud-config\n# \"bootstrap\": abcdef.0123456789abcdef\n"
	secretToken = "sealed-token-of-the-tests"
)

// A driver, its host and the cloud, and the functions that tests use.
type fixture struct {
	*testing.T
	cloud  *fakeCloud
	host   *drivertest.Host
	driver *drivertest.Calls
}

func newFixture(test *testing.T) *fixture {
	cloud := newFakeCloud()
	host := &drivertest.Host{
		Cloud:    cloud,
		Secrets:  map[string]string{"token": secretToken},
		UserData: userData,
		Places:   map[string][]drivertest.Place{"userData": {{JSON: "/user_data"}}},
	}
	return &fixture{test, cloud, host, host.Serve(Driver{Version: "0.1.0"})}
}

// Uses a cloud that gives the same answer to every request.
func newLie(test *testing.T, answer *driver.HTTPAnswer) *fixture {
	of := newFixture(test)
	of.host.Cloud = drivertest.Function(func(driver.HTTPRequest) (*driver.HTTPAnswer, error) { return answer, nil })
	return of
}

func specWith(changes object) object {
	spec := object{
		"cluster": "shoot--a--b", "zone": "hel1-dc2", "serverType": "cx23", "imageName": "ubuntu-24.04", "sshFingerprint": fingerprint,
	}
	maps.Copy(spec, changes)
	return spec
}

// Returns a request for the Machine with this number.
func request(number int, changes object) driver.Request {
	return drivertest.Request(number, drivertest.Class("hcloud", specWith(changes)))
}

// Returns the same request after the host has stored the VM.
func stored(request driver.Request, vm driver.VM) driver.Request {
	request.Machine.ProviderID, request.Machine.LastKnownState = vm.ProviderID, vm.LastKnownState
	return request
}

// Creates the server to its end.
func (of *fixture) created(request driver.Request) driver.VM {
	of.Helper()
	for range 5 {
		created, err := of.driver.Create(request)
		if err != nil {
			of.Fatal(err)
		}
		switch answer := created.(type) {
		case driver.VM:
			return answer
		case driver.Progress:
			request.Machine.LastKnownState = answer.ResumeToken
			of.cloud.complete()
		}
	}
	of.Fatal("the create never ends")
	return driver.VM{}
}

// Returns the requests since the last call, one line each.
func (of *fixture) requests() []string {
	lines := []string{}
	for _, request := range of.host.Sent {
		parsed, err := url.Parse(request.URL)
		if err != nil {
			of.Fatal(err)
		}
		lines = append(lines, request.Method+" "+parsed.Path)
	}
	of.host.Sent = nil
	return lines
}

// Returns the error that a call must have.
func (of *fixture) fails(code driver.Code, err error) *driver.Error {
	of.Helper()
	var said *driver.Error
	if !errors.As(err, &said) || said.Code != code {
		of.Fatalf("must fail with %v: %v", code, err)
	}
	return said
}

func (of *fixture) check(isSo bool, what ...any) {
	of.Helper()
	if !isSo {
		of.Fatal(what...)
	}
}

func (of *fixture) ok(err error) {
	of.Helper()
	if err != nil {
		of.Fatal(err)
	}
}

// Returns the servers that are not being deleted.
func (of *fixture) live() (live []object) {
	for _, server := range of.cloud.servers {
		if server["status"] != "deleting" {
			live = append(live, server)
		}
	}
	return live
}

func second[First any](_ First, err error) error { return err }

type object map[string]any

// Hetzner's API as far as the driver's tests need it, without time: actions end when the test lets them. The whole
// cloud is in tests/clouds/hcloud.
type fakeCloud struct {
	servers, addresses, actions []object
	lastID                      int
	// Servers that reads do not show yet.
	isHiding bool
	// Locations without room.
	full []string
	// The error of the next action that starts a server.
	startFailure string
	// Answers by method and path, in which * matches an id. A nil answer lets the cloud answer.
	faults map[string]func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error)
	// The last body that created a server.
	created object
	pages   int
}

func newFakeCloud() *fakeCloud {
	return &fakeCloud{lastID: 41, pages: 50, faults: map[string]func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error){}}
}

func (of *fakeCloud) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	parsed, err := url.Parse(request.URL)
	if err != nil {
		return nil, err
	}
	path := strings.Split(strings.TrimPrefix(parsed.Path, "/v1/"), "/")
	shape := slices.Clone(path)
	if len(shape) > 1 {
		shape[1] = "*"
	}
	answer := func() *driver.HTTPAnswer { return of.answer(request, path, parsed.Query()) }
	if fault, found := of.faults[request.Method+" "+strings.Join(shape, "/")]; found {
		return fault(answer)
	}
	return answer(), nil
}

func refused(status int, code string, headers ...string) *driver.HTTPAnswer {
	return drivertest.JSON(status, object{"error": object{"code": code, "message": "because"}}, headers...)
}

func (of *fakeCloud) answer(request driver.HTTPRequest, path []string, query url.Values) *driver.HTTPAnswer {
	if request.Header.Get(driver.AuthHeader) != "bearer" {
		return refused(401, "unauthorized")
	}
	body := object{}
	if len(request.Body) > 0 && json.Unmarshal(request.Body, &body) != nil {
		return refused(400, "json_error")
	}
	id := 0
	if len(path) > 1 {
		id, _ = strconv.Atoi(path[1])
	}
	switch request.Method + " " + path[0] + fmt.Sprint(len(path)) {
	case "GET server_types1":
		types := []object{
			{"id": 1, "name": "cx23", "architecture": "x86", "cores": 2, "memory": 4.0, "disk": 40},
			{"id": 2, "name": "cax11", "architecture": "arm", "cores": 2, "memory": 4.5, "disk": 40},
		}
		return of.list("server_types", types, query)
	case "GET images1":
		images := []object{
			{"id": 161, "name": "ubuntu-24.04", "architecture": "x86"}, {"id": 162, "name": "ubuntu-24.04", "architecture": "arm"},
		}
		return of.list("images", images, query)
	case "GET ssh_keys1":
		return of.list("ssh_keys", []object{{"id": 7, "name": "k", "fingerprint": fingerprint}}, query)
	case "GET networks1":
		return of.list("networks", []object{{"id": 31, "name": "nodes", "ip_range": "10.0.0.0/8"}}, query)
	case "GET firewalls1":
		return of.list("firewalls", []object{{"id": 38, "name": "nodes"}}, query)
	case "GET actions1":
		found := []object{}
		for _, action := range of.actions {
			if slices.Contains(query["id"], fmt.Sprint(action["id"])) {
				found = append(found, action)
			}
		}
		return drivertest.JSON(200, object{"actions": found})
	case "GET servers1":
		return of.list("servers", of.shown(), query)
	case "POST servers1":
		return of.create(body)
	case "GET floating_ips1":
		return of.list("floating_ips", of.addresses, query)
	case "POST floating_ips1":
		return of.createAddress(body)
	}
	if path[0] == "floating_ips" {
		return of.address(request.Method, find(of.addresses, id), path[2:], body)
	}
	return of.server(request.Method, find(of.servers, id), path[2:], body)
}

func (of *fakeCloud) shown() []object {
	if of.isHiding {
		return nil
	}
	return of.servers
}

func find(objects []object, id int) object {
	for _, each := range objects {
		if each["id"] == id {
			return each
		}
	}
	return nil
}

func (of *fakeCloud) next() int { of.lastID++; return of.lastID }

func (of *fakeCloud) act(command string, server int) object {
	action := object{"id": of.next(), "command": command, "status": "running", "server": server}
	of.actions = append(of.actions, action)
	return action
}

func (of *fakeCloud) create(body object) *driver.HTTPAnswer {
	for _, server := range of.servers {
		if server["name"] == body["name"] {
			return refused(409, "uniqueness_error")
		}
	}
	if location, _ := body["location"].(string); slices.Contains(of.full, location) {
		return refused(412, "resource_unavailable")
	}
	of.created = body
	id := of.next()
	server := object{
		"id": id, "name": body["name"], "status": "initializing", "created": "2026-01-02T03:04:05Z", "labels": body["labels"],
		"location":    object{"id": 3, "name": body["location"]},
		"public_net":  object{"ipv4": object{"ip": "203.0.113.7"}, "ipv6": object{"ip": "2001:db8:1::/64"}, "floating_ips": []int{}},
		"private_net": []object{{"network": 31, "ip": "10.0.0.2"}},
	}
	of.servers = append(of.servers, server)
	return drivertest.JSON(201, object{
		"server": server, "action": of.act("create_server", id), "next_actions": []object{of.act("start_server", id)},
		"root_password": "do-not-tell-this",
	})
}

// Adds a server as another program creates it.
func (of *fakeCloud) plant(name string, labels map[string]any) object {
	server := object{
		"id": of.next(), "name": name, "status": "running", "created": "2026-01-02T03:04:05Z", "labels": labels,
		"location": object{"id": 3, "name": "hel1"}, "public_net": object{"floating_ips": []int{}},
	}
	of.servers = append(of.servers, server)
	return server
}

// Lets all actions end.
func (of *fakeCloud) complete() {
	for _, action := range of.actions {
		server := find(of.servers, action["server"].(int))
		if action["status"] != "running" {
			continue
		}
		action["status"] = "success"
		switch {
		case action["command"] == "start_server" && of.startFailure != "":
			action["status"], action["error"] = "error", object{"code": of.startFailure, "message": "no room"}
		case action["command"] == "start_server" && server != nil:
			server["status"] = "running"
		case action["command"] == "create_server" && server != nil:
			server["status"] = "off"
		case action["command"] == "delete_server":
			of.servers = slices.DeleteFunc(of.servers, func(each object) bool { return each["id"] == action["server"] })
		}
	}
}

func (of *fakeCloud) server(method string, server object, rest []string, body object) *driver.HTTPAnswer {
	if server == nil || (method == "GET" && of.isHiding) {
		return refused(404, "not_found")
	}
	id := server["id"].(int)
	switch method + strings.Join(rest, "/") {
	case "GET":
		return drivertest.JSON(200, object{"server": server})
	case "PUT":
		server["labels"] = body["labels"]
		return drivertest.JSON(200, object{"server": server})
	case "DELETE":
		server["status"] = "deleting"
		return drivertest.JSON(200, object{"action": of.act("delete_server", id)})
	case "POSTactions/poweron":
		return drivertest.JSON(201, object{"action": of.act("start_server", id)})
	case "POSTactions/reset":
		return drivertest.JSON(201, object{"action": of.act("reset_server", id)})
	}
	return refused(404, "not_found")
}

func (of *fakeCloud) createAddress(body object) *driver.HTTPAnswer {
	for _, address := range of.addresses {
		if address["name"] == body["name"] {
			return refused(409, "uniqueness_error")
		}
	}
	server := int(body["server"].(float64))
	address := object{"id": of.next(), "name": body["name"], "ip": "131.232.99.1", "labels": body["labels"], "server": server}
	of.addresses = append(of.addresses, address)
	of.attach(server, address["id"].(int))
	return drivertest.JSON(201, object{"floating_ip": address, "action": of.act("assign_floating_ip", server)})
}

func (of *fakeCloud) attach(server, address int) {
	if found := find(of.servers, server); found != nil {
		found["public_net"].(object)["floating_ips"] = []int{address}
	}
}

func (of *fakeCloud) address(method string, address object, rest []string, body object) *driver.HTTPAnswer {
	if address == nil {
		return refused(404, "not_found")
	}
	switch method + strings.Join(rest, "/") {
	case "GET":
		return drivertest.JSON(200, object{"floating_ip": address})
	case "PUT":
		address["labels"] = body["labels"]
		return drivertest.JSON(200, object{"floating_ip": address})
	case "DELETE":
		of.addresses = slices.DeleteFunc(of.addresses, func(each object) bool { return each["id"] == address["id"] })
		return &driver.HTTPAnswer{Status: 204, Header: driver.Header{}}
	case "POSTactions/assign":
		server := int(body["server"].(float64))
		address["server"] = server
		of.attach(server, address["id"].(int))
		return drivertest.JSON(201, object{"action": of.act("assign_floating_ip", server)})
	}
	return refused(404, "not_found")
}

func (of *fakeCloud) list(kind string, objects []object, query url.Values) *driver.HTTPAnswer {
	fitting := []object{}
	for _, each := range objects {
		fits := selects(query.Get("label_selector"), labelsOf(each))
		for _, field := range []string{"name", "fingerprint", "architecture"} {
			fits = fits && (!query.Has(field) || each[field] == query.Get(field))
		}
		if fits {
			fitting = append(fitting, each)
		}
	}
	page := 1
	if query.Has("page") {
		page, _ = strconv.Atoi(query.Get("page"))
	}
	start := min((page-1)*of.pages, len(fitting))
	end := min(start+of.pages, len(fitting))
	pagination := object{"page": page, "per_page": of.pages, "next_page": nil}
	if end < len(fitting) {
		pagination["next_page"] = page + 1
	}
	return drivertest.JSON(200, object{kind: fitting[start:end], "meta": object{"pagination": pagination}})
}

func labelsOf(of object) map[string]any {
	labels, _ := of["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	return maps.Clone(labels)
}

func selects(selector string, labels map[string]any) bool {
	for _, part := range strings.Split(selector, ",") {
		key, value, isPair := strings.Cut(part, "==")
		absent, isAbsent := strings.CutPrefix(part, "!")
		_, hasAbsent := labels[absent]
		switch {
		case part == "":
		case isPair && labels[key] != value, isAbsent && hasAbsent:
			return false
		}
	}
	return true
}
