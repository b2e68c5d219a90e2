package sim

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	// The key of the Secret with the API token.
	tokenKey = "token"
	// Entries of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB.
	pageEntries = 200
	// Pages of one search. No machine has this many VMs: a cloud that returns more pages is broken.
	mostPages = 100

	states = "state=pending&state=running&state=stopping"
)

// The cloud's API, as one account sees it. Reads may be stale; changes and idempotency keys are not.
type cloud struct {
	host          *driver.Host
	at            endpoint
	authorization string
}

// Reads the settings and gets a placeholder for the token.
func openCloud(host *driver.Host) (*cloud, error) {
	at, err := endpointOf(host.Settings())
	if err != nil {
		return nil, err
	}
	token, err := host.Secret(tokenKey, "the cloud's API token")
	if err != nil {
		return nil, err
	}
	placeholder, err := token.Placeholder()
	if err != nil {
		return nil, err
	}
	return &cloud{host, at, "Bearer " + placeholder}, nil
}

// Creates a VM, or returns the one that was created with the key.
func (of *cloud) create(body any, idempotencyKey string) (vm simVM, err error) {
	headers := driver.Header{"idempotency-key": idempotencyKey}
	err = of.call(of.change("create the VM"), "POST", "/v1/vms", headers, body, &vm)
	return vm, err
}

// Returns a VM. Nil: there is no such VM, or reads do not show it yet.
func (of *cloud) get(id string) (*simVM, error) {
	var vm simVM
	found, err := unlessAbsent(of.call(of.read("read the VM"), "GET", vmPath(id), nil, nil, &vm))
	return presentVM(vm, found), err
}

// Completes the VM. May be repeated. Nil: there is no such VM.
func (of *cloud) initialize(id string) (*simVM, error) {
	var vm simVM
	body := map[string]bool{"sourceDestCheck": false}
	found, err := unlessAbsent(of.call(of.change("initialize the VM"), "POST", vmPath(id)+"/initialize", nil, body, &vm))
	return presentVM(vm, found), err
}

// Restarts the VM. False: there is no such VM.
func (of *cloud) reboot(id string) (bool, error) {
	return unlessAbsent(of.call(of.change("reboot the VM"), "POST", vmPath(id)+"/reboot", nil, nil, nil))
}

// Deletes the VM. If it does not exist, that is success.
func (of *cloud) delete(id string) error {
	_, err := unlessAbsent(of.call(of.change("delete the VM"), "DELETE", vmPath(id), nil, nil, nil))
	return err
}

// Deletes the volume. If it does not exist, that is success.
func (of *cloud) deleteVolume(id string) error {
	path := "/v1/volumes/" + driver.Escaped(id)
	_, err := unlessAbsent(of.call(of.change("delete the machine's volume"), "DELETE", path, nil, nil, nil))
	return err
}

// Returns the size of a type of VMs. Nil: there is no such type.
func (of *cloud) size(kind string) (*simSize, error) {
	attempt := of.read("read the types of VMs")
	var answer simRegions
	if err := of.call(attempt, "GET", "/v1/regions", nil, nil, &answer); err != nil {
		return nil, err
	}
	if answer.Types == nil {
		return nil, attempt.Unexpected("has no types")
	}
	size, found := answer.Types[kind]
	if !found {
		return nil, nil
	}
	if size.CPUs == 0 || size.MemoryGiB == 0 {
		return nil, attempt.Unexpected("has a type without cpus and memoryGib")
	}
	return &size, nil
}

// Returns one page of the cluster's VMs that exist. A repeated cursor is an error: the listing would never end.
func (of *cloud) page(cluster, cursor string) ([]simVM, string, error) {
	attempt := of.read("list VMs")
	target := fmt.Sprintf("/v1/vms?tag=%s:%s&%s", clusterTag, driver.Escaped(cluster), states)
	page, err := of.onePage(attempt, target, cursor)
	if err != nil {
		return nil, "", err
	}
	if page.VMs == nil {
		return nil, "", attempt.Unexpected("is not a listing")
	}
	if page.Next != "" && page.Next == cursor {
		return nil, "", attempt.Unexpected("repeats a cursor of its listing")
	}
	return *page.VMs, page.Next, nil
}

// Returns the VMs of the cluster that exist and have this uid.
func (of *cloud) find(cluster, uid string) ([]simVM, error) {
	attempt := of.read("look for the VM")
	var found []simVM
	err := of.allPages(attempt, "/v1/vms?"+marks(cluster, uid)+"&"+states, func(page simPage) bool {
		if page.VMs == nil {
			return false
		}
		// The cloud filters; a VM that passes wrongly is still not ours.
		for _, vm := range *page.VMs {
			if vm.exists() && vm.Tags.areOfMachine(cluster, uid) {
				found = append(found, vm)
			}
		}
		return true
	})
	return found, err
}

// Returns the volumes of the cluster with this uid.
func (of *cloud) volumes(cluster, uid string) ([]simVolume, error) {
	attempt := of.read("look for the machine's volumes")
	var found []simVolume
	err := of.allPages(attempt, "/v1/volumes?"+marks(cluster, uid), func(page simPage) bool {
		if page.Volumes == nil {
			return false
		}
		for _, volume := range *page.Volumes {
			if volume.Tags.areOfMachine(cluster, uid) {
				found = append(found, volume)
			}
		}
		return true
	})
	return found, err
}

func (of *cloud) read(doing string) driver.Attempt {
	return driver.Attempt{Doing: doing, Host: of.at.host}
}

func (of *cloud) change(doing string) driver.Attempt {
	return driver.Attempt{Doing: doing, Host: of.at.host, Changes: true}
}

// Sends a request, and reads the body of a success into `into`: nil if its content does not matter.
func (of *cloud) call(attempt driver.Attempt, method, target string, headers driver.Header, body, into any) error {
	request := driver.HTTPRequest{Method: method, URL: of.at.base + target, Header: driver.Header{
		"accept":        "application/json",
		"authorization": of.authorization,
	}}
	for name, value := range headers {
		request.Header[name] = value
	}
	if body != nil {
		content, err := json.Marshal(body)
		if err != nil {
			return err
		}
		request.Header["content-type"] = "application/json"
		request.Body = content
	}
	answer, err := of.host.Send(request)
	switch {
	case err != nil:
		return attempt.NoAnswer(err)
	case answer.IsHTML():
		return attempt.Foreign(answer, "an HTML page")
	case !answer.IsSuccess():
		return refusal(attempt, answer)
	}
	if into == nil {
		var anything any
		into = &anything
	}
	if err := attempt.JSON(answer, into); err != nil {
		return err
	}
	return complete(attempt, into)
}

// Checks that objects have their required fields.
func complete(attempt driver.Attempt, into any) error {
	objects := []interface{ check() error }{}
	switch read := into.(type) {
	case *simVM:
		objects = append(objects, *read)
	case *simPage:
		for _, vm := range entries(read.VMs) {
			objects = append(objects, vm)
		}
		for _, volume := range entries(read.Volumes) {
			objects = append(objects, volume)
		}
	}
	for _, object := range objects {
		// One invalid entry makes the listing invalid: an incomplete listing is worse than an error.
		if err := object.check(); err != nil {
			return attempt.Unexpected(err.Error())
		}
	}
	return nil
}

func entries[Entry any](list *[]Entry) []Entry {
	if list == nil {
		return nil
	}
	return *list
}

func (of *cloud) onePage(attempt driver.Attempt, target, cursor string) (page simPage, err error) {
	target = fmt.Sprintf("%s&limit=%d", target, pageEntries)
	if cursor != "" {
		target += "&cursor=" + driver.Escaped(cursor)
	}
	err = of.call(attempt, "GET", target, nil, nil, &page)
	return page, err
}

// Passes each page to `take`, which returns false for an invalid one.
func (of *cloud) allPages(attempt driver.Attempt, target string, take func(simPage) bool) error {
	seen := map[string]bool{}
	cursor := ""
	for range mostPages {
		page, err := of.onePage(attempt, target, cursor)
		if err != nil {
			return err
		}
		if !take(page) {
			return attempt.Unexpected("is not a listing")
		}
		if page.Next == "" {
			return nil
		}
		if seen[page.Next] {
			return attempt.Unexpected("repeats a cursor of its listing")
		}
		seen[page.Next], cursor = true, page.Next
	}
	return attempt.Unexpected("is a listing without end")
}

// Only the cloud's own `not_found` is an answer.
func unlessAbsent(err error) (found bool, failure error) {
	var said *driver.Error
	if errors.As(err, &said) && said.CloudCode == notFound {
		return false, nil
	}
	return err == nil, err
}

func presentVM(vm simVM, found bool) *simVM {
	if !found {
		return nil
	}
	return &vm
}

func vmPath(id string) string { return "/v1/vms/" + driver.Escaped(id) }

func marks(cluster, uid string) string {
	return fmt.Sprintf("tag=%s:%s&tag=%s:%s", clusterTag, driver.Escaped(cluster), uidTag, driver.Escaped(uid))
}
