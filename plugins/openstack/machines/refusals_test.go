package machines

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	authFailed = "machinist-auth"
	badRequest = `{"badRequest": {"code": 400, "message": "%s"}}`
	forbidden  = `{"forbidden": {"code": 403, "message": "%s"}}`
	neutrons   = `{"NeutronError": {"type": "%s", "message": "%s", "detail": ""}}`
	page       = "<html><body>Bad Gateway</body></html>"
)

func nova(form, message string) string { return fmt.Sprintf(form, message) }

func neutron(kind, message string) string { return fmt.Sprintf(neutrons, kind, message) }

// Each row is a class, or an answer to one request of a create: the code, whether it is terminal, whether the server
// may exist, and a part of the advice. A deletion then leaves nothing, and touches nothing of others.
func TestEachBadInputHasItsCodeItsAdviceAndLeavesNothing(t *testing.T) {
	const catalogs, servers, ports, volumes = "GET /v3/auth/catalog", "POST /v2.1/servers", "POST /v2.0/ports", "POST /v3/volumes"
	rows := []struct {
		name            string
		changes         object
		request         string
		fault           fault
		code            driver.Code
		terminal, mayBe bool
		advice          string
	}{
		{"a wrong password", nil, catalogs,
			given(401, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`,
				authFailed, "failed"), driver.Unauthenticated, true, false, "correct the login in the MachineClass's Secret"},
		{"no such Keystone", nil, catalogs, given(404, page, authFailed, "failed", "content-type", "text/html"),
			driver.FailedPrecondition, false, false, "correct authURL"},
		{"a proxy before Keystone", nil, catalogs, given(403, page, authFailed, "failed", "content-type", "text/html"),
			driver.Unavailable, false, false, "between the host and Keystone"},
		{"a clock that is off", nil, catalogs,
			given(502, "the credential service keystone.test answered with status 201 Created, but its token ended at 2026-01-02T03:04:05Z, "+
				"and the host's clock says 2026-01-02T09:04:05Z: one of both clocks is wrong", authFailed, "failed", "content-type", "text/plain"),
			driver.Unavailable, false, false, "the token has ended by the host's clock; set this clock"},
		{"a certificate that does not count", nil, catalogs, silent(driver.TLSFailed), driver.Unavailable, false, false,
			"check the host's clock"},
		{"a token that is refused twice", nil, servers, given(401, "Authentication required", "content-type", "text/plain"),
			driver.Unauthenticated, false, false, "refused twice"},
		{"an unknown region", object{"region": "Atlantis"}, "", nil, driver.InvalidArgument, false, false, "it has the regions A"},
		{"an unknown image", nil, servers, given(400, nova(badRequest, "Can not find requested image")), driver.InvalidArgument, true,
			false, "imageID"},
		{"an unknown image name", object{"imageID": nil, "imageName": "windows-3.11"}, "", nil, driver.InvalidArgument, false, false,
			"imageName"},
		{"an unknown flavor", object{"flavorName": "m9.none"}, "", nil, driver.ResourceExhausted, false, false, "flavorName"},
		{"an unknown network name", object{"networkID": nil, "subnetIDs": nil, "networks": []object{{"name": "none"}}}, "", nil,
			driver.InvalidArgument, false, false, "networks in the MachineClass's providerSpec"},
		{"an unknown security group", object{"securityGroups": []string{"nobody"}}, "", nil, driver.InvalidArgument, false, false,
			"securityGroups"},
		{"an unknown subnet", nil, ports, given(404, neutron("SubnetNotFound", "Subnet sub-1 could not be found.")),
			driver.InvalidArgument, false, false, "correct subnetIDs in the MachineClass's providerSpec"},
		{"an unknown volume type", nil, volumes,
			given(404, `{"itemNotFound": {"code": 404, "message": "Volume type with name fast could not be found."}}`),
			driver.InvalidArgument, false, false, "correct rootDiskType"},
		{"a server group that is gone", nil, servers,
			given(404, `{"itemNotFound": {"code": 404, "message": "Instance group x could not be found."}}`),
			driver.InvalidArgument, false, false, "correct the MachineClass's providerSpec"},
		{"a full subnet", nil, ports,
			given(409, neutron("IpAddressGenerationFailure", "No more IP addresses available on network net-1.")),
			driver.ResourceExhausted, false, false, "extend the subnet"},
		{"a full quota of Nova", nil, servers,
			given(403, nova(forbidden, "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances")),
			driver.ResourceExhausted, false, false, "raise the project's quota"},
		{"a full quota of Nova's ports", nil, servers, given(403, nova(forbidden, "Maximum number of ports exceeded")),
			driver.ResourceExhausted, false, false, "raise the project's quota"},
		{"a full quota of Neutron", nil, ports, given(409, neutron("OverQuota", "Quota exceeded for resources: ['port'].")),
			driver.ResourceExhausted, false, false, "raise the project's quota"},
		{"a full quota of Cinder", nil, volumes,
			given(413, `{"overLimit": {"code": 413, "message": "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.", "retryAfter": "0"}}`),
			driver.ResourceExhausted, false, false, "raise the project's quota"},
		{"a policy of Nova", nil, servers,
			given(403, nova(forbidden, "Policy doesn't allow os_compute_api:servers:create:zone_forced_host to be performed.")),
			driver.PermissionDenied, false, false, "role"},
		{"a policy that speaks of quota", nil, servers,
			given(403, nova(forbidden, "Policy does not allow os_compute_api:os-quota-sets:show to be performed.")),
			driver.PermissionDenied, false, false, "role"},
		{"a policy of Neutron", nil, ports, given(403, neutron("PolicyNotAuthorized", "rule:create_port is disallowed by policy")),
			driver.PermissionDenied, false, false, "role"},
		{"throttling", nil, servers, given(429, "slow down", "content-type", "text/plain", "retry-after", "7"), driver.Unavailable,
			false, false, "limit of requests"},
		{"throttling by the host", nil, servers, given(429, "the host holds this request back", "content-type", "text/plain",
			"machinist-throttled", "true", "retry-after", "7"), driver.Unavailable, false, false, "the host holds this request back"},
		{"throttling by a limit of rate", nil, volumes,
			given(413, `{"overLimit": {"code": 413, "message": "This request was rate-limited.", "retryAfter": "7"}}`),
			driver.Unavailable, false, false, "limit of requests"},
		{"user data that is repeated", nil, servers,
			given(400, nova(badRequest, "Invalid input for field/attribute user_data. Value: I2Nsb3VkLWNvbmZpZw==. 'I2Nsb3VkLWNvbmZpZw==' is not valid")),
			driver.InvalidArgument, true, false, "userData in the MachineClass's Secret"},
		{"a request that is repeated", nil, servers,
			given(400, nova(badRequest, "Malformed request body: {'server': {'user_data': 'I2Nsb3VkLWNvbmZpZw=='}}")),
			driver.InvalidArgument, true, false, "userData in the MachineClass's Secret"},
		{"an outage", nil, servers, given(503, `{"serviceUnavailable": {"code": 503, "message": "down"}}`), driver.Unavailable, false,
			true, "log of the service"},
		{"HTML for JSON", nil, servers, done(given(200, page, "content-type", "text/html")), driver.Unavailable, false, true,
			"look at what is in between"},
		{"a gateway's page", nil, servers, given(502, page, "content-type", "text/html"), driver.Unavailable, false, true,
			"look at what is in between"},
		{"half an answer", nil, servers, half, driver.Unavailable, false, true, "half of an answer"},
		{"half an answer of Neutron", nil, ports, half, driver.Unavailable, false, false, "half of an answer"},
		{"half an answer of Cinder", nil, volumes, half, driver.Unavailable, false, false, "half of an answer"},
		{"another shape", nil, servers, done(given(202, `{"server": {}}`)), driver.Internal, false, true, "without id"},
		{"another shape of Neutron", nil, ports, done(given(201, `{"port": {}}`)), driver.Internal, false, false, "without id"},
		{"another kind", nil, volumes, done(given(202, `{"volume": []}`)), driver.Internal, false, false, "lacks volume"},
		{"no answer", nil, servers, done(silent(driver.TimedOut)), driver.DeadlineExceeded, false, true, "in time"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			of := newFixture(t, row.changes)
			of.plantStrangers()
			if row.fault != nil {
				of.cloud.faults[row.request] = row.fault
			}
			_, err := of.create()
			said := of.fails(row.code, err)
			of.check(said.Terminal == row.terminal && said.MayHaveHappened == row.mayBe, said.Terminal, said.MayHaveHappened, said.Message)
			of.check(strings.Contains(said.Message, row.advice), said.Message)
			if strings.HasPrefix(row.name, "throttling") && row.name != "throttling by a limit of rate" {
				of.check(said.RetryAfter == 7*time.Second, said.RetryAfter)
			}
			of.showsNothing(said)
			clear(of.cloud.faults)
			if row.mayBe {
				// There is one server, whatever the answer was.
				of.created()
				of.check(len(of.cloud.servers) == 2, of.cloud.servers)
			}
			if row.name != "an unknown region" {
				of.ok(of.delete())
			}
			of.hasStrangersAlone()
		})
	}
}

// The fault of a server says what the API could not know when it accepted the server.
func TestAServerThatFailsIsRemovedWithItsPortAndItsVolume(t *testing.T) {
	for fault, row := range map[string]struct {
		code   driver.Code
		advice string
	}{
		"No valid host was found. There are not enough hosts available.":                              {driver.ResourceExhausted, "another availabilityZone"},
		"Build of instance x aborted: No fixed IP addresses available for network: net-1.":            {driver.ResourceExhausted, "extend the subnet"},
		"Build of instance x aborted: Maximum number of ports exceeded":                               {driver.ResourceExhausted, "raise the project's quota"},
		"Build of instance x aborted: user_data 'I2Nsb3VkLWNvbmZpZw==' is unacceptable":               {driver.Internal, "nova-compute"},
		"Build of instance x aborted: " + strings.Repeat("I2Nsb3VkLWNvbmZpZw", 20) + " is not base64": {driver.Internal, "nova-compute"},
	} {
		of := newFixture(t, nil)
		of.plantStrangers()
		of.cloud.fault = fault
		_, err := of.create()
		said := of.fails(row.code, err)
		of.check(strings.Contains(said.Message, row.advice) && !said.MayHaveHappened && !said.Terminal, said.Message)
		of.showsNothing(said)
		of.hasStrangersAlone()
		of.cloud.fault = ""
		of.created()
	}
}

func TestAVolumeThatFailsIsRemovedAndItsLogIsNamed(t *testing.T) {
	of := newFixture(t, nil)
	of.plantStrangers()
	of.cloud.volumeStatus = "error"
	_, err := of.create()
	said := of.fails(driver.Internal, err)
	of.check(strings.Contains(said.Message, "cinder-volume") && strings.Contains(said.Message, "another volume"), said.Message)
	of.hasStrangersAlone()
}

// The host fetches another token after a 401. The second request may have been done although no answer came.
func TestATokenThatHasExpiredIsReplacedOnce(t *testing.T) {
	of := newFixture(t, nil)
	requests := 0
	of.cloud.faults["POST /v2.1/servers"] = func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		if requests++; requests == 1 {
			return given(401, "expired", "content-type", "text/plain")(answer)
		}
		return answer(), nil
	}
	of.created()
	of.check(requests == 2 && len(of.cloud.servers) == 1, requests)

	of = newFixture(t, nil)
	requests = 0
	of.cloud.faults["POST /v2.1/servers"] = func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		if requests++; requests == 1 {
			return given(401, "expired", "content-type", "text/plain")(answer)
		}
		return done(silent(driver.TimedOut))(answer)
	}
	_, err := of.create()
	of.check(of.fails(driver.DeadlineExceeded, err).MayHaveHappened, err)
	clear(of.cloud.faults)
	of.created()
	of.check(len(of.cloud.servers) == 1, of.cloud.servers)
}

// A list whose next page is the same one ends with an error, and after a few requests.
func TestPagesThatRepeatEndEachSearch(t *testing.T) {
	byNetworkName := object{"networkID": nil, "subnetIDs": nil, "networks": []object{{"name": "nodes"}}}
	for request, row := range map[string]struct {
		changes object
		key     string
		entry   string
	}{
		"GET /v2.1/servers/detail":  {nil, "servers", `{"id": "id-9", "name": "machine-2", "status": "ACTIVE"}`},
		"GET /v2.1/flavors/detail":  {nil, "flavors", `{"id": "id-9", "name": "m1.other"}`},
		"GET /v2.0/ports":           {nil, "ports", `{"id": "id-9", "name": "machine-1", "network_id": "net-1"}`},
		"GET /v2.0/security-groups": {nil, "security_groups", `{"id": "id-9", "name": "nodes"}`},
		"GET /v2.0/networks":        {byNetworkName, "networks", `{"id": "id-9", "name": "nodes"}`},
		"GET /v3/volumes/detail":    {nil, "volumes", `{"id": "id-9", "name": "machine-1", "status": "available"}`},
	} {
		of := newFixture(t, row.changes)
		next := fmt.Sprintf(`"%s_links": [{"rel": "next", "href": "https://elsewhere.test/?marker=id-9"}]`, row.key)
		of.cloud.faults[request] = given(200, fmt.Sprintf(`{"%s": [%s], %s}`, row.key, row.entry, next))
		_, err := of.create()
		said := of.fails(driver.Internal, err)
		of.check(strings.Contains(said.Message, "repeats a page") && len(of.host.Sent) < 20, request, said.Message, len(of.host.Sent))
		for _, sent := range of.host.Sent {
			of.check(!strings.Contains(sent.URL, "elsewhere"), sent.URL)
		}
	}
}

// A service that ignores the filter lists all objects, and the only one of them need not be the class's.
func TestAnObjectOfAnotherNameIsNotTaken(t *testing.T) {
	of := newFixture(t, object{"networkID": nil, "subnetIDs": nil, "networks": []object{{"name": "nodes"}}})
	of.cloud.faults["GET /v2.0/networks"] = given(200, `{"networks": [{"id": "net-9", "name": "theirs"}]}`)
	_, err := of.create()
	of.check(strings.Contains(of.fails(driver.InvalidArgument, err).Message, "no network nodes"), err)
}

// Only a service's own word is proof that a server is gone.
func TestA404OfSomethingInBetweenIsNoAbsence(t *testing.T) {
	for _, answer := range []fault{
		given(404, page, "content-type", "text/html"), given(404, "404 page not found", "content-type", "text/plain"),
		given(404, `{"message": "no Route matched"}`), given(404, `{"error": {"code": 404, "message": "not found"}}`),
		given(302, ""), given(200, page, "content-type", "text/html"),
	} {
		of := newFixture(t, nil)
		of.created()
		for _, request := range []string{"GET /v2.1/servers/*", "DELETE /v2.1/servers/*", "DELETE /v2.0/ports/*"} {
			of.cloud.faults[request] = answer
		}
		of.fails(driver.Unavailable, second(of.calls.GetStatus(of.request)))
		of.fails(driver.Unavailable, of.delete())
		of.check(len(of.cloud.servers) == 1 && len(of.cloud.ports) == 1, of.cloud.servers)
		// The server goes, and its port is not taken for gone.
		delete(of.cloud.faults, "DELETE /v2.1/servers/*")
		of.fails(driver.Unavailable, of.delete())
		of.check(len(of.cloud.ports) == 1, of.cloud.ports)
		clear(of.cloud.faults)
		of.ok(of.delete())
		of.check(len(of.cloud.servers)+len(of.cloud.ports)+len(of.cloud.volumes) == 0, of.cloud.ports)
	}
}
