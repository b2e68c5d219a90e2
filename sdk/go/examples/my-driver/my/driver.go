package my

import (
	"encoding/json"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const base = "https://api.cloud.example/v1"

type Driver struct{ Version string }

type spec struct{ Size string }

func (of Driver) Describe(*driver.Host) driver.About {
	return driver.About{Name: "my", Version: of.Version, Providers: []string{"my"}, Hosts: []string{"api.cloud.example"}}
}

func read(class driver.Class) (read spec, err error) {
	if driver.ReadJSON([]byte(class.Spec), &read) != nil || read.Size == "" {
		return read, driver.Invalid("providerSpec.size is required")
	}
	return read, nil
}

func (Driver) ValidateClass(_ *driver.Host, class driver.Class) ([]string, error) {
	_, err := read(class)
	return nil, err
}

func (Driver) Create(host *driver.Host, request driver.Request) (driver.Creation, error) {
	wanted, err := read(request.Class)
	if err != nil {
		return nil, err
	}
	name := request.Machine.Name
	body := map[string]any{"name": name, "size": wanted.Size, "tags": map[string]string{"cluster": request.Cluster}}
	var made struct{ ID string }
	if err := call(host, "create the VM", "PUT", "/vms/"+driver.Escaped(request.IdempotencyKey), body, &made); err != nil {
		return nil, err
	}
	return driver.VM{ProviderID: "my:///" + made.ID, NodeName: name, State: driver.VMPending}, nil
}

func (Driver) Delete(host *driver.Host, request driver.Request) (driver.Deletion, error) {
	path := "/vms/" + driver.Escaped(request.IdempotencyKey)
	return driver.Deleted{}, call(host, "delete the VM", "DELETE", path, nil, &struct{}{})
}

func call(host *driver.Host, doing, method, path string, body, into any) error {
	attempt := driver.Attempt{Doing: doing, Host: "api.cloud.example", Changes: method != "GET"}
	token, err := host.Secret("token", "the cloud's API token")
	if err != nil {
		return err
	}
	placeholder, err := token.Placeholder()
	if err != nil {
		return err
	}
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := host.Send(driver.HTTPRequest{Method: method, URL: base + path, Body: content, Header: driver.Header{
		"authorization": "Bearer " + placeholder,
		"content-type":  "application/json",
	}})
	if err != nil {
		return attempt.NoAnswer(err)
	}
	if !answer.IsSuccess() {
		return attempt.Refused(answer, driver.CloudRefusal{Message: string(answer.Body)})
	}
	return attempt.JSON(answer, into)
}
