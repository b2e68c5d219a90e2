package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const (
	token     = "sim-token"
	readToken = "sim-read-token"
)

// A VM or a volume of the cloud's API.
type object map[string]any

func (of object) text(field string) string {
	text, _ := of[field].(string)
	return text
}

func (of object) tags() map[string]any {
	tags, _ := of["tags"].(map[string]any)
	return tags
}

// Replaces an answer. The fake may do the work before or not.
type fault func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error)

type key struct{ id, body string }

// The simulated cloud as far as the driver's tests need it, by tests/clouds/simcloud/API.md. Without a clock.
type fakeCloud struct {
	vms, volumes []object
	userData     []any
	fullZones    []string
	// Ids of VMs that reads do not show yet.
	hidden map[string]bool
	// By method and path, in which * matches an id.
	faults map[string]fault
	keys   map[string]key
}

func newFakeCloud() *fakeCloud {
	return &fakeCloud{hidden: map[string]bool{}, faults: map[string]fault{}, keys: map[string]key{}}
}

func (of *fakeCloud) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	parsed, err := url.Parse(request.URL)
	if err != nil {
		return nil, err
	}
	segments := strings.Split(parsed.EscapedPath(), "/")
	shape := slices.Clone(segments)
	if len(shape) > 3 {
		shape[3] = "*"
	}
	answer := func() *driver.HTTPAnswer { return of.answer(request, segments[2:], parsed.Query()) }
	if fault, found := of.faults[request.Method+" "+strings.Join(shape, "/")]; found {
		return fault(answer)
	}
	return answer(), nil
}

// Returns the VMs that are not being deleted.
func (of *fakeCloud) live() (live []object) {
	for _, vm := range of.vms {
		if vm["state"] == "pending" || vm["state"] == "running" {
			live = append(live, vm)
		}
	}
	return live
}

func (of *fakeCloud) hideAll() {
	for _, vm := range of.vms {
		of.hidden[vm.text("id")] = true
	}
}

// Lets all VMs boot or shut down, and reads show everything.
func (of *fakeCloud) complete() {
	clear(of.hidden)
	for _, vm := range of.vms {
		switch vm["state"] {
		case "pending":
			vm["state"] = "running"
		case "stopping":
			vm["state"] = "terminated"
		}
	}
	of.volumes = slices.DeleteFunc(of.volumes, func(volume object) bool {
		vm := find(of.vms, volume.text("attachedTo"))
		return vm != nil && vm["state"] == "terminated"
	})
}

func find(objects []object, id string) object {
	for _, each := range objects {
		if each["id"] == id {
			return each
		}
	}
	return nil
}

func refused(status int, code string, headers ...string) *driver.HTTPAnswer {
	return drivertest.JSON(status, object{"code": code, "message": "because", "requestId": "req-1"}, headers...)
}

func (of *fakeCloud) answer(request driver.HTTPRequest, path []string, query url.Values) *driver.HTTPAnswer {
	authorization := request.Header.Get("authorization")
	if authorization != "Bearer "+token && authorization != "Bearer "+readToken {
		return refused(401, "unauthorized")
	}
	if request.Method != "GET" && authorization == "Bearer "+readToken {
		return refused(403, "forbidden")
	}
	body := object{}
	if len(request.Body) > 0 && json.Unmarshal(request.Body, &body) != nil {
		return refused(400, "invalid_parameter")
	}
	switch request.Method + " " + path[0] + fmt.Sprint(len(path)) {
	case "POST vms1":
		return of.create(body, request.Header.Get("idempotency-key"))
	case "GET regions1":
		small, gpu := object{"cpus": 2, "memoryGib": 4, "gpus": 0}, object{"cpus": 8, "memoryGib": 64, "gpus": 1}
		return drivertest.JSON(200, object{"types": object{"sim.small": small, "sim.gpu": gpu}})
	case "GET vms1":
		return of.page("vms", of.vms, query)
	case "GET volumes1":
		return of.page("volumes", of.volumes, query)
	case "DELETE volumes2":
		of.volumes = slices.DeleteFunc(of.volumes, func(volume object) bool { return volume["id"] == path[1] })
		return drivertest.JSON(202, object{})
	}
	vm := object(nil)
	if len(path) > 1 && path[0] == "vms" {
		vm = find(of.vms, path[1])
	}
	if vm == nil || (request.Method == "GET" && of.hidden[path[1]]) {
		return refused(404, "not_found")
	}
	switch request.Method + fmt.Sprint(path[2:]) {
	case "GET[]":
	case "DELETE[]":
		if vm["state"] != "terminated" {
			vm["state"] = "stopping"
		}
	case "POST[initialize]":
		vm["initialized"], vm["sourceDestCheck"] = true, body["sourceDestCheck"]
	case "POST[reboot]":
		vm["bootId"] = vm["bootId"].(int) + 1
	default:
		return refused(404, "not_found")
	}
	return drivertest.JSON(200, vm)
}

func (of *fakeCloud) create(body object, idempotencyKey string) *driver.HTTPAnswer {
	text, _ := json.Marshal(body)
	if made, known := of.keys[idempotencyKey]; known {
		vm := find(of.vms, made.id)
		switch {
		case made.body != string(text):
			return refused(409, "idempotency_mismatch")
		case vm["state"] == "stopping" || vm["state"] == "terminated":
			return refused(410, "idempotency_gone")
		}
		return drivertest.JSON(200, vm)
	}
	if slices.Contains(of.fullZones, body.text("zone")) {
		return refused(409, "capacity_exhausted")
	}
	id := fmt.Sprintf("vm-%016x", len(of.vms)+1)
	vm := object{
		"id": id, "state": "pending", "addresses": []object{{"type": "InternalIP", "address": "10.0.0.1"}}, "bootId": 1,
		"created": "2026-01-02T03:04:05.678Z", "sourceDestCheck": true, "initialized": body["needsInitialize"] != true,
	}
	for _, field := range []string{"name", "zone", "type", "image", "tags"} {
		vm[field] = body[field]
	}
	volumes, _ := body["volumes"].([]any)
	for index := range volumes {
		volume := object{"id": fmt.Sprintf("vol-%s-%d", id, index), "tags": maps.Clone(body.tags()), "attachedTo": id}
		of.volumes = append(of.volumes, volume)
	}
	of.userData = append(of.userData, body["userData"])
	of.vms = append(of.vms, vm)
	of.keys[idempotencyKey] = key{id, string(text)}
	return drivertest.JSON(201, vm)
}

func (of *fakeCloud) page(kind string, objects []object, query url.Values) *driver.HTTPAnswer {
	fitting := []object{}
	for _, each := range objects {
		fits := !of.hidden[each.text("id")]
		for _, tag := range query["tag"] {
			name, value, _ := strings.Cut(tag, ":")
			fits = fits && each.tags()[name] == value
		}
		if fits && (!query.Has("state") || slices.Contains(query["state"], each.text("state"))) {
			fitting = append(fitting, each)
		}
	}
	start, _ := strconv.Atoi(query.Get("cursor"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	end := min(start+limit, len(fitting))
	page := object{kind: fitting[min(start, end):end]}
	if end < len(fitting) {
		page["nextCursor"] = strconv.Itoa(end)
	}
	return drivertest.JSON(200, page)
}
