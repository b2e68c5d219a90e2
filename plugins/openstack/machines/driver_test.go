package machines

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const spec = `{"apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig", "spec": {
	"region": "A", "availabilityZone": "nova", "flavorName": "m1.small", "keyName": "nodes", "imageID": "img-1", "networkID": "net-1",
	"podNetworkCIDRs": ["100.64.0.0/11"], "tags": {"kubernetes.io-cluster-a": "1", "kubernetes.io-role-node": "1"}}}`

const catalog = `{"catalog": [
	{"type": "compute", "endpoints": [{"interface": "public", "region_id": "A", "url": "https://nova.test/v2.1"}]},
	{"type": "network", "endpoints": [{"interface": "public", "region_id": "A", "url": "https://neutron.test"}]}]}`

// answers are JSON, by method and path.
func hostWith(answers map[string]string) *drivertest.Host {
	return &drivertest.Host{
		Cloud: drivertest.Function(func(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
			at, _ := url.Parse(request.URL)
			body, isKnown := answers[request.Method+" "+at.Path]
			if at.Path == "/v3/auth/catalog" && !isKnown {
				body, isKnown = catalog, true
			}
			if !isKnown {
				panic(request.Method + " " + request.URL)
			}
			status := 200
			if body == "" {
				status = 204
			}
			return &driver.HTTPAnswer{Status: status, Header: driver.Header{"content-type": "application/json"}, Body: []byte(body)}, nil
		}),
		Secrets: map[string]string{"authURL": "https://keystone.test/v3", "username": "u", "password": "long-password", "domainName": "d",
			"tenantName": "t"},
		Settings: `{"authURL": "https://keystone.test/v3"}`,
	}
}

func code(err error) driver.Code {
	var said *driver.Error
	if !errors.As(err, &said) {
		return driver.Unknown
	}
	return said.Code
}

// An answer of another shape, half an answer and a page of HTML must not mean that there is no server.
func TestNoStrangeAnswerMeansThatThereIsNoServer(t *testing.T) {
	for name, body := range map[string]string{
		"another shape": `{"greeting": "hello"}`, "another kind": `{"servers": {}}`, "half": `{"servers": [{"id": "x"`, "nothing": ` `,
		"a list": `[]`, "HTML": "<html></html>", "no id": `{"servers": [{"name": "machine-1", "status": "ACTIVE"}]}`,
		"deep":              `{"servers": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"numbers for texts": `{"servers": [{"id": 7, "name": "machine-1", "status": "ACTIVE"}]}`,
	} {
		host := hostWith(map[string]string{"GET /v2.1/servers/detail": body})
		_, err := host.Serve(Driver{}).GetStatus(drivertest.Request(1, drivertest.Class("OpenStack", spec)))
		if found := code(err); found != driver.Internal && found != driver.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSearchIsForTheExactNameAndEndsAtTheLastPage(t *testing.T) {
	host := hostWith(map[string]string{"GET /v2.1/servers/detail": `{"servers": []}`})
	request := drivertest.Request(1, drivertest.Class("OpenStack", spec))
	request.Machine.Name = "a.b"
	_, err := host.Serve(Driver{}).GetStatus(request)
	if code(err) != driver.NotFound || !strings.Contains(host.Sent[1].URL, "name=%5Ea%5C.b%24") {
		t.Fatal(err, host.Sent[1].URL)
	}
	for _, sent := range host.Sent {
		if sent.Header.Get(driver.AuthHeader) != driver.AuthKeystone {
			t.Fatal("a request has no mark for the host's login")
		}
	}
}

func TestAListingThatRepeatsAPageIsAnError(t *testing.T) {
	host := hostWith(map[string]string{"GET /v2.1/servers/detail": `{"servers": [{"id": "x", "name": "n", "status": "ACTIVE"}],
		"servers_links": [{"rel": "next", "href": "http://elsewhere.test/"}]}`})
	calls, class := host.Serve(Driver{}), drivertest.Class("OpenStack", spec)
	page, err := calls.List(class, "c1", "")
	if err != nil || page.Next != "x" {
		t.Fatal(page, err)
	}
	if _, err := calls.List(class, "c1", page.Next); code(err) != driver.Internal {
		t.Fatal(err)
	}
}

func TestWithoutALoginNothingIsSent(t *testing.T) {
	host := hostWith(nil)
	delete(host.Secrets, "password")
	_, err := host.Serve(Driver{}).Create(drivertest.Request(1, drivertest.Class("OpenStack", spec)))
	if code(err) != driver.Unauthenticated || len(host.Sent) > 0 {
		t.Fatal(err, host.Sent)
	}
}

func TestSettingsThatCannotWorkSayWhatToWrite(t *testing.T) {
	for settings, part := range map[string]string{
		`{}`: "authURL", `{"authURL": 7}`: "authURL", `{"authURL": "keystone"}`: "HOST", `[]`: "authURL",
		`{"authURL": "https://k/v3", "adopt": {"c1": ["kubernetes.io-cluster-a"]}}`:                                                                                          "two keys",
		`{"authURL": "https://k/v3", "adopt": {"c1": ["kubernetes.io-cluster-", "kubernetes.io-role-node"]}}`:                                                                "two keys",
		`{"authURL": "https://k/v3", "adopt": {"c1": ["kubernetes.io-cluster-a", "kubernetes.io-role-node"], "c2": ["kubernetes.io-cluster-a", "kubernetes.io-role-node"]}}`: "two clusters",
	} {
		host := hostWith(nil)
		host.Settings = settings
		_, err := host.Serve(Driver{}).GetStatus(drivertest.Request(1, drivertest.Class("OpenStack", spec)))
		if code(err) != driver.FailedPrecondition || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", settings, err)
		}
		host.Serve(Driver{}).Describe()
	}
}

func TestTheSecretNamesKeystoneIfTheGrantsRevealIt(t *testing.T) {
	request := drivertest.Request(1, drivertest.Class("OpenStack", spec))
	host := hostWith(map[string]string{"GET /v2.1/servers/detail": `{"servers": []}`})
	host.Settings, host.Revealed = `{}`, []string{"authURL"}
	_, err := host.Serve(Driver{}).GetStatus(request)
	if code(err) != driver.NotFound || !strings.HasPrefix(host.Sent[0].URL, "https://keystone.test/v3/auth/catalog") {
		t.Fatal(err, host.Sent)
	}
	host = hostWith(nil)
	host.Settings, host.Revealed, host.Secrets["authURL"] = `{}`, []string{"authURL"}, "keystone.test"
	_, err = host.Serve(Driver{}).GetStatus(request)
	if code(err) != driver.FailedPrecondition || len(host.Sent) > 0 {
		t.Fatal(err, host.Sent)
	}
}

func TestARegionCanHaveItsOwnKeystone(t *testing.T) {
	read, err := readSettings(`{"authURL": "https://one:5000/", "authURLs": {"B": "https://two/identity/v3/"}}`)
	if err != nil || read.identity("A") != "https://one:5000/v3" || read.identity("B") != "https://two/identity/v3" ||
		strings.Join(read.hosts(), " ") != "one two" {
		t.Fatal(read.identity("A"), read.identity("B"), read.hosts(), err)
	}
}

func TestIDsOfNodesAreThoseOfTheCloudControllerManager(t *testing.T) {
	vm := driver.VM{ProviderID: "openstack:///RegionOne/0cd9f84b-3892-4614-8b9c-2f1e2f914005", NodeName: "n"}
	request := drivertest.Request(1, drivertest.Class("OpenStack", spec))
	for settings, wanted := range map[string]string{
		`{"authURL": "https://k"}`:                          "openstack:///0cd9f84b-3892-4614-8b9c-2f1e2f914005",
		`{"authURL": "https://k", "regionalNodeIDs": true}`: "openstack://RegionOne/0cd9f84b-3892-4614-8b9c-2f1e2f914005",
	} {
		host := hostWith(nil)
		host.Settings = settings
		if id, err := host.Serve(Driver{}).NodeID(request, vm); err != nil || id != wanted {
			t.Errorf("%s: %s %v", settings, id, err)
		}
	}
}

func TestProviderIDsOfOthersLeadNowhere(t *testing.T) {
	for _, id := range []string{"", "aws:///eu-west-1/i-1", "openstack:///", "openstack:///RegionOne/", "openstack:///RegionOne/..",
		"openstack:///RegionOne/a?b", "openstack:///only-an-id"} {
		if _, _, is := parts(id); is {
			t.Error(id)
		}
	}
	if region, id, is := parts("openstack:///RegionOne/0cd9f84b"); !is || region != "RegionOne" || id != "0cd9f84b" {
		t.Error(region, id)
	}
}

func TestVolumesAreThoseOfCinder(t *testing.T) {
	ids, err := hostWith(nil).Serve(Driver{}).GetVolumeIDs([]string{
		`{"cinder": {"volumeID": "v1"}}`, `{"csi": {"driver": "cinder.csi.openstack.org", "volumeHandle": "v2"}}`,
		`{"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "v3"}}`, `{`})
	if err != nil || strings.Join(ids, ",") != "v1,v2,," {
		t.Fatal(ids, err)
	}
}

// The host masks values of the Secret in answers: the server's name may be one.
func TestAServerWhoseNameIsMaskedIsFound(t *testing.T) {
	host := hostWith(map[string]string{"GET /v2.1/servers/detail": `{"servers": [{"id": "0cd9f84b", "name": "***", "status": "ACTIVE",
		"metadata": {"machinist.dev-cluster": "c1", "machinist.dev-machine-uid": "uid-1"}}]}`})
	vm, err := host.Serve(Driver{}).GetStatus(drivertest.Request(1, drivertest.Class("OpenStack", spec)))
	if err != nil || vm.ProviderID != "openstack:///A/0cd9f84b" || vm.NodeName != "machine-1" {
		t.Fatal(vm, err)
	}
}
