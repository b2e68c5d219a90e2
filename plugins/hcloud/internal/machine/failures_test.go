package machine

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

type fault = func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error)

func page(status int) *driver.HTTPAnswer {
	return &driver.HTTPAnswer{Status: status, Header: driver.Header{"content-type": "text/html"}, Body: []byte("<html>gateway</html>")}
}

// The cloud does the work, and gives another answer.
func done(given *driver.HTTPAnswer, reason driver.NoAnswerReason) fault {
	return func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		answer()
		if given == nil {
			return nil, drivertest.Silence(reason)
		}
		return given, nil
	}
}

// The cloud does not get the request.
func instead(given *driver.HTTPAnswer) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return given, nil }
}

func cut(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
	whole := answer()
	return &driver.HTTPAnswer{Status: whole.Status, Header: whole.Header, Body: whole.Body[:len(whole.Body)/2]}, nil
}

func TestAnOutcomeThatNobodyKnowsSaysSoAndTheNameBringsTheServerBack(test *testing.T) {
	garbage := &driver.HTTPAnswer{Status: 200, Header: driver.Header{}, Body: []byte("\x00\xffgarbage")}
	for _, row := range []struct {
		fault fault
		code  driver.Code
	}{
		{done(nil, driver.TimedOut), driver.DeadlineExceeded},
		{done(nil, driver.CutOff), driver.Unavailable},
		{done(refused(500, "server_error"), 0), driver.Unavailable},
		{done(refused(503, "unavailable_for_tests"), 0), driver.Unavailable},
		{done(refused(409, "unknown_error"), 0), driver.Unavailable},
		{done(garbage, 0), driver.Internal},
		{done(page(502), 0), driver.Unavailable},
		{done(page(200), 0), driver.Unavailable},
		{done(drivertest.JSON(201, object{}), 0), driver.Internal},
		{cut, driver.Unavailable},
	} {
		fixture := newFixture(test)
		fixture.cloud.faults["POST servers"] = row.fault
		said := fixture.fails(row.code, second(fixture.driver.Create(request(1, nil))))
		fixture.check(said.MayHaveHappened && !said.Terminal, said)
		fixture.check(!strings.ContainsAny(said.Message, "<\x00") && len(said.Message) < 400, said)
		fixture.check(len(fixture.live()) == 1, said)
		clear(fixture.cloud.faults)
		fixture.created(request(1, nil))
		fixture.check(len(fixture.live()) == 1, said)
	}
}

func TestTheCloudsCodesHaveTheirCodesOfTheContract(test *testing.T) {
	for _, row := range []struct {
		status     int
		code       string
		wanted     driver.Code
		isTerminal bool
	}{
		{401, "unauthorized", driver.Unauthenticated, true},
		{403, "forbidden", driver.PermissionDenied, false},
		{403, "token_readonly", driver.PermissionDenied, false},
		{403, "resource_limit_exceeded", driver.ResourceExhausted, false},
		{412, "resource_unavailable", driver.ResourceExhausted, false},
		{412, "placement_error", driver.ResourceExhausted, false},
		{409, "no_subnet_available", driver.ResourceExhausted, false},
		{409, "ip_not_available", driver.ResourceExhausted, false},
		{422, "invalid_input", driver.InvalidArgument, true},
		{400, "json_error", driver.InvalidArgument, true},
		{422, "invalid_server_type", driver.InvalidArgument, true},
		{422, "unsupported_error", driver.InvalidArgument, true},
		{404, "not_found", driver.InvalidArgument, false},
		{423, "locked", driver.Aborted, false},
		{409, "conflict", driver.Aborted, false},
		{423, "protected", driver.FailedPrecondition, false},
		{423, "resource_locked", driver.FailedPrecondition, false},
		{429, "rate_limit_exceeded", driver.Unavailable, false},
		{503, "maintenance", driver.Unavailable, false},
		{410, "deprecated_api_endpoint", driver.Internal, false},
		{418, "a_code_of_the_future", driver.Unknown, false},
	} {
		fixture := newFixture(test)
		fixture.cloud.faults["POST servers"] = instead(refused(row.status, row.code))
		said := fixture.fails(row.wanted, second(fixture.driver.Create(request(1, nil))))
		fixture.check(said.Terminal == row.isTerminal && said.MayHaveHappened == (row.status >= 500), row.code, said)
		fixture.check(strings.Contains(said.Message, row.code), said)
	}
}

func TestARefusedFieldIsNamedAndItsValueIsNot(test *testing.T) {
	fixture := newFixture(test)
	details := object{"fields": []object{{"name": "user_data", "messages": []string{"#cloud-config is not valid: secret-word"}}}}
	answer := drivertest.JSON(422, object{"error": object{"code": "invalid_input", "message": "invalid input", "details": details}})
	fixture.cloud.faults["POST servers"] = instead(answer)
	said := fixture.fails(driver.InvalidArgument, second(fixture.driver.Create(request(1, nil))))
	fixture.check(strings.Contains(said.Message, "in user_data") && !strings.Contains(said.Message, "secret-word"), said)
	details = object{"fields": []object{{"name": "location", "messages": []string{"location not found"}}}}
	answer = drivertest.JSON(422, object{"error": object{"code": "invalid_input", "message": "invalid input", "details": details}})
	fixture.cloud.faults["POST servers"] = instead(answer)
	said = fixture.fails(driver.InvalidArgument, second(fixture.driver.Create(request(1, nil))))
	fixture.check(strings.Contains(said.Message, "location (zone of the MachineClass's providerSpec)"), said)
}

func TestThrottlingPassesTheCloudsOwnPauseOnAndIsNotRepeated(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.faults["POST servers"] = instead(refused(429, "rate_limit_exceeded", "retry-after", "7"))
	said := fixture.fails(driver.Unavailable, second(fixture.driver.Create(request(1, nil))))
	fixture.check(said.RetryAfter == 7*time.Second && !said.MayHaveHappened, said)
	fixture.check(len(fixture.requests()) == 4)
	// The host itself answers so, in a sentence.
	fixture.cloud.faults["POST servers"] = instead(&driver.HTTPAnswer{Status: 429, Body: []byte("the project rests"), Header: driver.Header{
		"content-type": "text/plain", "machinist-throttled": "true", "retry-after": "9",
	}})
	said = fixture.fails(driver.Unavailable, second(fixture.driver.Create(request(1, nil))))
	fixture.check(said.RetryAfter == 9*time.Second && !said.MayHaveHappened && strings.Contains(said.Message, "rests"), said)
}

func TestTheTokenStaysInTheHostAndItsAbsenceIsNamed(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	for _, sent := range fixture.host.Seen {
		fixture.check(sent.Header.Get("authorization") == "" && sent.Header.Get(driver.AuthHeader) == "bearer", sent.Header)
	}
	fixture.requests()
	for _, secrets := range []map[string]string{nil, {"token": ""}, {"hcloudToken": "x"}} {
		fixture.host.Secrets = secrets
		said := fixture.fails(driver.Unauthenticated, second(fixture.driver.Create(request(1, nil))))
		fixture.check(said.Terminal && strings.Contains(said.Message, "token"), said)
	}
	fixture.check(len(fixture.requests()) == 0)
}

func TestUserDataIsSentAsItIsAndInBase64OnlyIfItIsNotUnicode(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.UserData = "\xff\xfe binary"
	fixture.created(request(1, nil))
	fixture.check(fixture.cloud.created["user_data"] == "//4gYmluYXJ5", fixture.cloud.created["user_data"])
	for text, part := range map[string]string{"": "no userData", strings.Repeat("a", 32<<10+1): "accepts 32768"} {
		fixture := newFixture(test)
		fixture.host.UserData = text
		said := fixture.fails(driver.InvalidArgument, second(fixture.driver.Create(request(1, nil))))
		fixture.check(said.Terminal && strings.Contains(said.Message, part), said)
		fixture.check(len(fixture.requests()) == 0)
	}
}

func TestAnObjectThatTheProjectLacksIsNamedWithItsField(test *testing.T) {
	for field, value := range map[string]any{
		"serverType": "cx11", "imageName": "ubuntu-12.04", "sshFingerprint": "00:11", "networkName": "other",
	} {
		fixture := newFixture(test)
		said := fixture.fails(driver.InvalidArgument, second(fixture.driver.Create(request(1, object{field: value}))))
		fixture.check(said.Terminal && strings.Contains(said.Message, field) && strings.Contains(said.Message, value.(string)), said)
		fixture.check(len(fixture.cloud.servers) == 0)
	}
	fixture := newFixture(test)
	said := fixture.fails(driver.InvalidArgument, second(fixture.driver.Create(request(1, object{"firewalls": []string{"other"}}))))
	fixture.check(strings.Contains(said.Message, "firewalls"), said)
}

func TestAnswersThatAreNotTheAPIsAreErrorsAndNeverAnAbsence(test *testing.T) {
	deep := strings.Repeat("[", 100_000)
	server := `{"id": 1, "name": "a", "status": "running", "location": {"id": 3, "name": "hel1"}}`
	lists := `{"servers": [], "images": [], "ssh_keys": [], "server_types": [], "floating_ips": []`
	for _, body := range []string{
		"", "{", "null", "{}", "7", "[]", `{"servers": 1}`, `{"servers": []}`, lists + `}`, lists + `, "meta": {}}`, `{"servers": [{"id": 0}], "meta": {"pagination": {"page": 1}}}`,
		`{"server": ` + server + `, "servers": [` + server + `], "meta": {"pagination": {"page": 1}}}`, deep, "\x00\xff",
	} {
		for _, contentType := range []string{"application/json", ""} {
			fixture := newLie(test, &driver.HTTPAnswer{Status: 200, Header: driver.Header{"content-type": contentType}, Body: []byte(body)})
			known := request(1, nil)
			known.Machine.ProviderID = "hcloud:///hel1/1"
			for _, err := range []error{
				second(fixture.driver.GetStatus(request(1, nil))), second(fixture.driver.GetStatus(known)),
				second(fixture.driver.Create(request(1, nil))), second(fixture.driver.Delete(request(1, nil))),
				second(fixture.driver.List(known.Class, "c1", "")), second(fixture.driver.NodeCapacity(known.Class)),
			} {
				var said *driver.Error
				if !errors.As(err, &said) || (said.Code != driver.Internal && said.Code != driver.Unavailable) {
					test.Errorf("%.60s (%s): %v", body, contentType, err)
				}
			}
		}
	}
}

func TestAListThatRepeatsAPageEndsWithAnError(test *testing.T) {
	body := `{"servers": [], "floating_ips": [], "meta": {"pagination": {"page": 1, "next_page": 1}}}`
	fixture := newLie(test, &driver.HTTPAnswer{Status: 200, Header: driver.Header{}, Body: []byte(body)})
	for _, err := range []error{
		second(fixture.driver.GetStatus(request(1, nil))), second(fixture.driver.Delete(request(1, nil))),
		second(fixture.driver.List(request(1, nil).Class, "c1", "")),
	} {
		fixture.check(strings.Contains(fixture.fails(driver.Internal, err).Message, "repeats a page"))
	}
}

func TestAProxysPageIsNoProofThatThereIsNoServer(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	for _, answer := range []*driver.HTTPAnswer{
		page(404), page(200), {Status: 404, Header: driver.Header{}, Body: []byte("not found")}, {Status: 302, Header: driver.Header{}},
		drivertest.JSON(404, object{"message": "no Route matched"}),
	} {
		fixture.cloud.faults["GET servers/*"] = instead(answer)
		fixture.fails(driver.Unavailable, second(fixture.driver.GetStatus(asked)))
		fixture.cloud.faults["DELETE servers/*"] = instead(answer)
		fixture.check(fixture.fails(driver.Unavailable, second(fixture.driver.Delete(asked))).MayHaveHappened)
	}
}

func TestWhatACloudListsBesideTheQuestionIsNotOurs(test *testing.T) {
	body := `{"servers": [{"id": 1, "name": "a", "status": "running", "location": {"id": 3, "name": "hel1"}, "labels":
		{"machinist.dev/cluster": "c2", "machinist.dev/machine-uid": "uid-9"}}], "floating_ips": [{"id": 2, "name": "b", "labels": {}}],
		"meta": {"pagination": {"page": 1}}}`
	fixture := newLie(test, &driver.HTTPAnswer{Status: 200, Header: driver.Header{}, Body: []byte(body)})
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(request(1, nil))))
	page, err := fixture.driver.List(request(1, nil).Class, "c1", "")
	fixture.check(err == nil && len(page.Machines) == 0, page, err)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	for _, sent := range fixture.host.Sent {
		fixture.check(sent.Method == "GET", sent)
	}
}

func TestACallWithoutTimeLeftAsksNobody(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.Remaining = 200 * time.Millisecond
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(request(1, nil))))
	fixture.check(!said.MayHaveHappened && len(fixture.requests()) == 0, said)
}

// A class with an alternative of its own; the host names another one.
func threeZones() driver.Request {
	asked := request(1, object{"alternativeZones": []string{"fsn1"}})
	asked.Class.Zones = []string{"hel1", "nbg1"}
	return asked
}

func lostRequest(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
	return nil, drivertest.Silence(driver.TimedOut)
}

// Creates once, and returns the request of the next call, in the zone that the driver names.
func (of *fixture) next(asked driver.Request, zone string) driver.Request {
	of.Helper()
	created, err := of.driver.Create(asked)
	of.ok(err)
	progress, is := created.(driver.Progress)
	of.check(is && strings.HasSuffix(progress.Message, "zone "+zone+" is tried next"), created)
	asked.Machine.LastKnownState = progress.ResumeToken
	noted, _ := stateOf(asked)
	of.check(noted.Zone == zone && noted.Server == 0, noted)
	return asked
}

func (of *fixture) orders() (count int) {
	for _, line := range of.requests() {
		if line == "POST /v1/servers" {
			count++
		}
	}
	return count
}

func TestALocationWithoutRoomIsFollowedByTheNextInACallOfItsOwn(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.check(fixture.orders() == 1 && len(fixture.cloud.servers) == 0, "the host stores the zone before it is asked there")
	vm := fixture.created(asked)
	fixture.check(vm.FailureDomain == "fsn1" && len(fixture.live()) == 1, vm)
	// Without id and facts, and with another class, it is found in any zone.
	seen, err := fixture.driver.GetStatus(request(1, nil))
	fixture.check(err == nil && seen.ProviderID == vm.ProviderID, seen, err)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	fixture.check(len(fixture.live()) == 0)
}

func TestALostAnswerStaysInItsZoneAndMakesOneServer(test *testing.T) {
	for _, full := range [][]string{nil, {"hel1"}} {
		fixture := newFixture(test)
		asked, zone := threeZones(), "hel1-dc2"
		if fixture.cloud.full = full; len(full) > 0 {
			asked, zone = fixture.next(asked, "fsn1"), "fsn1"
		}
		fixture.cloud.faults["POST servers"] = done(nil, driver.TimedOut)
		said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
		fixture.check(said.MayHaveHappened && len(fixture.live()) == 1, said)
		clear(fixture.cloud.faults)
		// Whatever room there is then, and whatever the host has stored, the server of the lost answer is the Machine's.
		fixture.cloud.full = []string{"hel1", "fsn1"}
		kept := asked
		if said.LastKnownState != "" {
			kept.Machine.LastKnownState = said.LastKnownState
		}
		for _, again := range []driver.Request{kept, asked, request(1, nil)} {
			vm := fixture.created(again)
			fixture.check(vm.FailureDomain == zone && len(fixture.live()) == 1, vm)
		}
	}
}

func TestARequestThatWasLostIsRepeatedInItsZone(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = lostRequest
	fixture.requests()
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
	fixture.check(said.MayHaveHappened && fixture.orders() == 1, said)
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1")
}

func TestACertainNoOfTheLastZoneIsTheAnswerAndTheFirstIsNext(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1", "fsn1", "nbg1"}
	asked := fixture.next(fixture.next(threeZones(), "fsn1"), "nbg1")
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	fixture.check(strings.HasSuffix(said.Message, "asked for in hel1-dc2, fsn1, nbg1") && !said.Terminal && !said.MayHaveHappened, said)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "hel1-dc2")
}

func TestALocationThatAcceptsAServerAndCannotStartItIsFollowedByTheNext(test *testing.T) {
	fixture := newFixture(test)
	asked := threeZones()
	created, err := fixture.driver.Create(asked)
	fixture.ok(err)
	fixture.cloud.startFailure = "resource_unavailable"
	fixture.cloud.complete()
	asked.Machine.LastKnownState = created.(driver.Progress).ResumeToken
	asked = fixture.next(asked, "fsn1")
	fixture.check(len(fixture.live()) == 0, "the server that never ran is ordered away")
	fixture.cloud.startFailure = ""
	// Its name is not free before it is gone.
	said := fixture.fails(driver.Aborted, second(fixture.driver.Create(asked)))
	noted, _ := stateOf(driver.Request{Machine: driver.Machine{LastKnownState: said.LastKnownState}})
	fixture.check(said.RetryAfter > 0 && noted.Zone == "fsn1", said)
	fixture.cloud.complete()
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1" && len(fixture.live()) == 1)
}

func TestNoOtherZoneIsTriedWhereItWouldNotHelp(test *testing.T) {
	for status, code := range map[int]string{403: "resource_limit_exceeded", 429: "rate_limit_exceeded", 503: "unavailable_for_tests"} {
		fixture := newFixture(test)
		fixture.cloud.faults["POST servers"] = instead(refused(status, code))
		fixture.check(second(fixture.driver.Create(threeZones())) != nil && fixture.orders() == 1, code)
		clear(fixture.cloud.faults)
		fixture.check(fixture.created(threeZones()).FailureDomain == "hel1-dc2", code)
	}
	// After another refusal in a later zone the next round begins with the first, so that no zone holds the Machine up.
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = instead(refused(409, "no_subnet_available"))
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "hel1-dc2")
}

func TestAZoneThatTheClassNoLongerNamesMakesNoSecondServer(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = done(nil, driver.TimedOut)
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Class = request(1, nil).Class
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1" && len(fixture.live()) == 1)
}

func silence(reason driver.NoAnswerReason) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return nil, drivertest.Silence(reason) }
}

func TestEachRefusalSaysWhatToDoAndLeavesNothing(test *testing.T) {
	for code, row := range map[string]struct {
		status int
		wanted driver.Code
		advice string
	}{
		"unauthorized":                {401, driver.Unauthenticated, "correct token in the MachineClass's Secret"},
		"forbidden":                   {403, driver.PermissionDenied, "Read & Write"},
		"token_readonly":              {403, driver.PermissionDenied, "Read & Write"},
		"resource_limit_exceeded":     {403, driver.ResourceExhausted, "raise the project's limit"},
		"resource_unavailable":        {412, driver.ResourceExhausted, "alternativeZones"},
		"placement_error":             {412, driver.ResourceExhausted, "placementGroupID"},
		"no_subnet_available":         {409, driver.ResourceExhausted, "add a subnet"},
		"ip_not_available":            {409, driver.ResourceExhausted, "larger subnet"},
		"invalid_input":               {422, driver.InvalidArgument, "correct the MachineClass's providerSpec"},
		"json_error":                  {400, driver.InvalidArgument, "correct the MachineClass's providerSpec"},
		"unsupported_error":           {422, driver.InvalidArgument, "correct the MachineClass's providerSpec"},
		"invalid_server_type":         {422, driver.InvalidArgument, "correct serverType"},
		"incompatible_network_type":   {422, driver.InvalidArgument, "correct networkName"},
		"firewall_resource_not_found": {422, driver.InvalidArgument, "correct firewalls"},
		"private_net_only_server":     {422, driver.InvalidArgument, "has no firewalls"},
		"not_found":                   {404, driver.InvalidArgument, "does not exist, correct it"},
		"locked":                      {423, driver.Aborted, "the host asks again"},
		"conflict":                    {409, driver.Aborted, "the host asks again"},
		"protected":                   {423, driver.FailedPrecondition, "delete protection"},
		"resource_locked":             {423, driver.FailedPrecondition, "contact Hetzner's support"},
		"rate_limit_exceeded":         {429, driver.Unavailable, "3600 requests an hour"},
		"maintenance":                 {503, driver.Unavailable, "status.hetzner.com"},
		"server_error":                {500, driver.Unavailable, "status.hetzner.com"},
		"deprecated_api_endpoint":     {410, driver.Internal, "update the plugin"},
	} {
		fixture := newFixture(test)
		fixture.cloud.plant("stranger", map[string]any{clusterLabel: "c2"})
		fixture.cloud.faults["POST servers"] = instead(refused(row.status, code))
		said := fixture.fails(row.wanted, second(fixture.driver.Create(request(1, nil))))
		fixture.check(strings.Contains(said.Message, row.advice), code, said.Message)
		clear(fixture.cloud.faults)
		fixture.ok(second(fixture.driver.Delete(request(1, nil))))
		fixture.check(len(fixture.live()) == 1 && len(fixture.cloud.servers) == 1, code, fixture.cloud.servers)
	}
}

// Tokens have no end, but a person can delete one at any time.
func TestATokenThatIsTakenAwayStopsEveryCallAndNothingIsTouched(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.host.Cloud = drivertest.Function(func(driver.HTTPRequest) (*driver.HTTPAnswer, error) {
		return refused(401, "unauthorized"), nil
	})
	for _, err := range []error{
		second(fixture.driver.GetStatus(asked)), second(fixture.driver.Delete(asked)), fixture.driver.Reboot(asked),
		second(fixture.driver.Create(request(2, nil))), second(fixture.driver.List(asked.Class, "c1", "")),
		second(fixture.driver.NodeCapacity(asked.Class)), fixture.driver.DeleteByID(request(2, nil), asked.Machine.ProviderID),
	} {
		said := fixture.fails(driver.Unauthenticated, err)
		fixture.check(said.Terminal && !said.MayHaveHappened && strings.Contains(said.Message, "correct token"), said)
	}
	fixture.check(len(fixture.live()) == 1)
}

func TestACertificateThatDoesNotCountNamesTheClock(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.faults["GET server_types"] = silence(driver.TLSFailed)
	said := fixture.fails(driver.Unavailable, second(fixture.driver.Create(request(1, nil))))
	fixture.check(!said.MayHaveHappened && strings.Contains(said.Message, "check the host's clock"), said)
}

func TestAListWithoutEndIsAnErrorAfterAFewRequests(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.Cloud = drivertest.Function(func(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
		parsed, err := url.Parse(request.URL)
		if err != nil {
			return nil, err
		}
		page, _ := strconv.Atoi(parsed.Query().Get("page"))
		pagination := object{"page": page, "next_page": page + 1}
		return drivertest.JSON(200, object{"servers": []object{}, "meta": object{"pagination": pagination}}), nil
	})
	for _, err := range []error{second(fixture.driver.GetStatus(request(1, nil))), second(fixture.driver.Delete(request(1, nil)))} {
		said := fixture.fails(driver.Internal, err)
		fixture.check(strings.Contains(said.Message, "without end"), said)
	}
	fixture.check(len(fixture.requests()) < 50)
}

func TestAServerThatIsRemovedByHandIsGoneWithItsFloatingIP(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"floatingPoolName": "public"})
	asked = stored(asked, fixture.created(asked))
	fixture.ok(second(fixture.driver.Initialize(asked)))
	fixture.cloud.plant("stranger", map[string]any{clusterLabel: "c2"})
	fixture.cloud.servers = fixture.cloud.servers[1:]
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(asked)))
	fixture.fails(driver.NotFound, fixture.driver.Reboot(asked))
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.addresses) == 0 && len(fixture.live()) == 1, fixture.cloud.addresses)
}

func TestAServerThatIsRemovedByHandWhileItIsMadeIsMadeAgain(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	created, err := fixture.driver.Create(asked)
	fixture.ok(err)
	asked.Machine.LastKnownState = created.(driver.Progress).ResumeToken
	fixture.cloud.servers = nil
	fixture.cloud.complete()
	vm := fixture.created(asked)
	fixture.check(len(fixture.live()) == 1 && vm.State == driver.VMRunning, vm)
}

// Hetzner answers the deletion of a Floating IP with nothing at all.
func TestAPageInPlaceOfAnAnswerDoesNotDeleteAFloatingIP(test *testing.T) {
	for _, answer := range []*driver.HTTPAnswer{
		page(200), {Status: 200, Header: driver.Header{"content-type": "text/plain"}, Body: []byte("sign in first")},
	} {
		fixture := newFixture(test)
		asked := request(1, object{"floatingPoolName": "public"})
		asked = stored(asked, fixture.created(asked))
		fixture.ok(second(fixture.driver.Initialize(asked)))
		fixture.cloud.faults["DELETE floating_ips/*"] = instead(answer)
		said := fixture.fails(driver.Unavailable, second(fixture.driver.Delete(asked)))
		fixture.check(len(fixture.cloud.addresses) == 1 && strings.Contains(said.Message, "look at what is in between"), said)
		clear(fixture.cloud.faults)
		fixture.ok(second(fixture.driver.Delete(asked)))
		fixture.check(len(fixture.cloud.addresses) == 0, fixture.cloud.addresses)
	}
}
