package life

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/machines"
	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const variable = "MACHINIST_OPENSTACK"

// given is the output of `openstack run`.
type given struct {
	URL    string            `json:"url"`
	Secret map[string]string `json:"secret"`
	Facts  struct {
		Region     string            `json:"region"`
		Project    string            `json:"project_id"`
		Password   string            `json:"password"`
		Credential string            `json:"application_credential_id"`
		Value      string            `json:"application_credential_secret"`
		Image      string            `json:"image_id"`
		Nodes      string            `json:"nodes_network_id"`
		NodeSubnet string            `json:"nodes_subnet_id"`
		Pods       string            `json:"pods_network_id"`
		Full       string            `json:"full_network_id"`
		FullSubnet string            `json:"full_subnet_id"`
		Group      string            `json:"server_group_id"`
		Services   map[string]string `json:"services"`
	} `json:"facts"`
}

var theCloud = sync.OnceValue(func() *given {
	text := os.Getenv(variable)
	if text == "" {
		return nil
	}
	var read given
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		panic(variable + " is not the output of `openstack run`: " + err.Error())
	}
	return &read
})

func cloudOf(t *testing.T) *given {
	t.Helper()
	cloud := theCloud()
	if cloud == nil {
		t.Skip(variable + " is not set: cargo test -p openstack --test cloud driver runs these tests")
	}
	return cloud
}

// A user of the services, without the driver.
type user struct {
	cloud         *given
	name, project string
	lock          sync.Mutex
	token         string
}

var admins, members sync.Map

func (of *given) admin() *user  { return userOf(&admins, of, "admin", "admin") }
func (of *given) member() *user { return userOf(&members, of, "driver", "machines") }

func userOf(all *sync.Map, cloud *given, name, project string) *user {
	one, _ := all.LoadOrStore(cloud, &user{cloud: cloud, name: name, project: project})
	return one.(*user)
}

func (of *user) call(t *testing.T, method, service, path string, body any) map[string]any {
	t.Helper()
	of.lock.Lock()
	if of.token == "" {
		of.token = login(t, of.cloud.Facts.Services["keystone"]+"/v3", passwordLogin(of.name, of.cloud.Facts.Password, of.project))
	}
	token := of.token
	of.lock.Unlock()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		must(t, err)
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, of.cloud.Facts.Services[service]+path, content)
	must(t, err)
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	// Shows user data to the admin, and takes tags of server groups.
	request.Header.Set("X-OpenStack-Nova-API-Version", "2.3")
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	read := map[string]any{}
	_ = json.Unmarshal(text, &read)
	return read
}

func passwordLogin(name, password, project string) any {
	domain := map[string]string{"id": "default"}
	return map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"name": name, "password": password, "domain": domain}}},
		"scope": map[string]any{"project": map[string]any{"name": project, "domain": domain}},
	}}
}

// login returns a token, as the host fetches it.
func login(t *testing.T, identity string, body any) string {
	t.Helper()
	answer, err := fetchToken(identity, body)
	must(t, err)
	defer answer.Body.Close()
	token := answer.Header.Get("X-Subject-Token")
	if token == "" {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("Keystone gave no token: %d %s", answer.StatusCode, text)
	}
	return token
}

func fetchToken(identity string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return http.Post(identity+"/auth/tokens?nocatalog", "application/json", bytes.NewReader(text))
}

// loss is what happens to one request of the driver.
type loss uint8

const (
	lostRequest loss = iota
	lostAnswer
	// crash: the host ends after the request; nothing that the call found out is kept.
	crash
)

var errCrash = errors.New("the host has ended")

// subject is one Machine, its driver, and what the host stores about it.
type subject struct {
	t        *testing.T
	cloud    *given
	host     *drivertest.Host
	calls    *drivertest.Calls
	request  driver.Request
	requests []string
	// Of the request with this number, from 1; zero for none.
	losesAt int
	loss    loss
	crashed bool
	token   string
}

var numbers atomic.Int64

// machine returns a new Machine with a name that no other test uses.
func machine(t *testing.T, spec map[string]any) *subject {
	t.Helper()
	cloud := cloudOf(t)
	number := numbers.Add(1)
	of := &subject{t: t, cloud: cloud}
	of.host = &drivertest.Host{
		Cloud:    drivertest.Function(of.answer),
		Secrets:  maps.Clone(cloud.Secret),
		UserData: "#cloud-config\n# \"boot-payload\" of " + t.Name() + "\n",
		Places:   map[string][]drivertest.Place{"userData": {{JSON: "/server/user_data"}}},
		Settings: fmt.Sprintf(`{"authURL": %q}`, cloud.URL+"/identity/v3"),
	}
	of.calls = of.host.Serve(machines.Driver{Version: "0.1.0"})
	of.request = drivertest.Request(1, drivertest.Class("OpenStack", whole(spec)))
	of.request.Cluster = "life"
	of.request.Machine.Name = fmt.Sprintf("life.%d-%d", time.Now().UnixNano()%1e9, number)
	of.request.Machine.UID = fmt.Sprintf("uid-%d-%d", time.Now().UnixNano(), number)
	t.Cleanup(of.clean)
	return of
}

func whole(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig", "spec": spec}
}

// spec returns a class with changes; nil removes a field.
func (of *given) spec(changes map[string]any) map[string]any {
	all := map[string]any{
		"region": of.Facts.Region, "availabilityZone": "nova", "flavorName": "m1.tiny", "keyName": "nodes",
		"imageID": of.Facts.Image, "networkID": of.Facts.Nodes, "podNetworkCIDRs": []string{"100.64.0.0/11", "fd00::/56"},
		"tags": map[string]string{"kubernetes.io-cluster-life": "1", "kubernetes.io-role-node": "1"},
	}
	for key, value := range changes {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = value
		}
	}
	return all
}

// answer sends a request of the driver to the proxy, with a token if it is marked.
func (of *subject) answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	if of.crashed {
		return nil, drivertest.Silence(driver.Unreachable)
	}
	of.requests = append(of.requests, request.Method+" "+request.URL)
	isLost := len(of.requests) == of.losesAt
	if isLost && of.loss == lostRequest {
		return nil, drivertest.Silence(driver.CutOff)
	}
	asked, err := http.NewRequest(request.Method, request.URL, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range request.Header {
		asked.Header.Set(name, value)
	}
	asked.Header.Del(driver.AuthHeader)
	if request.Header.Get(driver.AuthHeader) == driver.AuthKeystone {
		if of.token == "" {
			if failed := of.login(); failed != nil {
				return failed, nil
			}
		}
		asked.Header.Set("X-Auth-Token", of.token)
	}
	received, err := http.DefaultClient.Do(asked)
	if err != nil {
		return nil, drivertest.Silence(driver.ConnectionRefused)
	}
	defer received.Body.Close()
	body, err := io.ReadAll(received.Body)
	if err != nil || isLost && of.loss == lostAnswer {
		return nil, drivertest.Silence(driver.CutOff)
	}
	if isLost && of.loss == crash {
		of.crashed = true
		return nil, drivertest.Silence(driver.CutOff)
	}
	if received.StatusCode == 401 {
		of.token = ""
	}
	answer := &driver.HTTPAnswer{Status: received.StatusCode, Header: driver.Header{}, Body: body}
	for name := range received.Header {
		answer.Header[strings.ToLower(name)] = received.Header.Get(name)
	}
	return answer, nil
}

// login fetches a token, or returns the answer that the host gives in place of the cloud's.
func (of *subject) login() *driver.HTTPAnswer {
	secret := of.host.Secrets
	user := map[string]any{"name": secret["username"], "password": secret["password"], "domain": map[string]string{"name": secret["domainName"]}}
	identity := map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}}
	auth := map[string]any{"identity": identity, "scope": map[string]any{"project": map[string]any{
		"name": secret["tenantName"], "domain": map[string]string{"name": secret["domainName"]}}}}
	if value := secret["applicationCredentialSecret"]; value != "" {
		credential := map[string]any{"secret": value, "id": secret["applicationCredentialID"]}
		auth = map[string]any{"identity": map[string]any{"methods": []string{"application_credential"}, "application_credential": credential}}
	}
	answer, err := fetchToken(secret["authURL"], map[string]any{"auth": auth})
	if err != nil {
		return &driver.HTTPAnswer{Status: 502, Header: driver.Header{"machinist-auth": "failed"}}
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if of.token = answer.Header.Get("X-Subject-Token"); of.token == "" {
		return &driver.HTTPAnswer{Status: answer.StatusCode, Header: driver.Header{"machinist-auth": "failed"}, Body: body}
	}
	return nil
}

// keep stores what the host would store of an answer or an error.
func (of *subject) keep(state string) {
	if state != "" && !of.crashed {
		of.request.Machine.LastKnownState = state
	}
}

const rounds = 120

// create asks until it is decided, as the host does: after an error that may have happened it looks first.
func (of *subject) create() (driver.VM, error) {
	for range rounds {
		created, err := of.calls.Create(of.request)
		if of.crashed {
			return driver.VM{}, errCrash
		}
		if err != nil {
			of.keep(asError(of.t, err).LastKnownState)
			return driver.VM{}, err
		}
		switch answer := created.(type) {
		case driver.VM:
			of.keep(answer.LastKnownState)
			of.request.Machine.ProviderID = answer.ProviderID
			return answer, nil
		case driver.Progress:
			of.keep(answer.ResumeToken)
			time.Sleep(min(answer.AskAgain, time.Second))
		}
	}
	of.t.Fatal("the create never ends")
	return driver.VM{}, nil
}

// delete asks until nothing is left.
func (of *subject) delete() error {
	for range rounds {
		deleted, err := of.calls.Delete(of.request)
		if of.crashed {
			return errCrash
		}
		if err != nil {
			of.keep(asError(of.t, err).LastKnownState)
			return err
		}
		progress, isProgress := deleted.(driver.Progress)
		if !isProgress {
			of.keep(deleted.(driver.Deleted).LastKnownState)
			return nil
		}
		of.keep(progress.ResumeToken)
		time.Sleep(min(progress.AskAgain, time.Second))
	}
	of.t.Fatal("the deletion never ends")
	return nil
}

func (of *subject) made() driver.VM {
	of.t.Helper()
	vm, err := of.create()
	must(of.t, err)
	return vm
}

// left returns what carries the Machine's name.
func (of *subject) left() (servers, ports, volumes []map[string]any) {
	of.t.Helper()
	member, name := of.cloud.member(), of.request.Machine.Name
	servers = named(member.call(of.t, "GET", "nova", "/v2.1/servers/detail", nil)["servers"], name)
	ports = named(member.call(of.t, "GET", "neutron", "/v2.0/ports?name="+name, nil)["ports"], name)
	volumes = named(member.call(of.t, "GET", "cinder", "/v3/volumes/detail?name="+name, nil)["volumes"], name)
	return servers, ports, volumes
}

func named(list any, name string) []map[string]any {
	var all []map[string]any
	for _, entry := range list.([]any) {
		// Nova shows a server as DELETED for a moment after its end.
		if one := entry.(map[string]any); one["name"] == name && one["status"] != "DELETED" {
			all = append(all, one)
		}
	}
	return all
}

func (of *subject) mustLeaveNothing() {
	of.t.Helper()
	servers, ports, volumes := of.left()
	if len(servers)+len(ports)+len(volumes) > 0 {
		of.t.Fatalf("left: %d servers, %d ports, %d volumes: %v %v %v", len(servers), len(ports), len(volumes), servers, ports, volumes)
	}
}

// clean removes what a failed test leaves.
func (of *subject) clean() {
	of.losesAt, of.crashed = 0, false
	for range 3 {
		if of.delete() == nil {
			return
		}
	}
}

func asError(t *testing.T, err error) *driver.Error {
	t.Helper()
	var said *driver.Error
	if !errors.As(err, &said) {
		t.Fatalf("%v is no error of the contract", err)
	}
	return said
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
