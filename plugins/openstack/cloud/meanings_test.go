package cloud

import (
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Answers of real services to a create, and what the driver makes of them.
func TestEachAnswerHasItsCode(t *testing.T) {
	rows := []struct {
		status          int
		body            string
		code            driver.Code
		terminal, mayBe bool
	}{
		{400, `{"badRequest": {"code": 400, "message": "Flavor m1 could not be found."}}`, driver.ResourceExhausted, false, false},
		{400, `{"badRequest": {"code": 400, "message": "Flavor's disk is too small for requested image."}}`, driver.InvalidArgument, true, false},
		{400, `{"badRequest": {"code": 400, "message": "The requested availability zone is not available"}}`, driver.InvalidArgument, true, false},
		{400, `{"badRequest": {"code": 400, "message": "Invalid key_name provided."}}`, driver.InvalidArgument, true, false},
		{400, `{"badRequest": {"code": 400, "message": "Unable to find security_group with name or id 'x'"}}`, driver.InvalidArgument, true, false},
		{401, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`, driver.Unauthenticated, false, false},
		{401, `Authentication required`, driver.Unauthenticated, false, false},
		{403, `{"forbidden": {"code": 403, "message": "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances"}}`, driver.ResourceExhausted, false, false},
		{403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:os-quota-sets:update to be performed."}}`, driver.PermissionDenied, false, false},
		{403, `{"forbidden": {"code": 403, "message": "rule:create_port is disallowed by policy"}}`, driver.PermissionDenied, false, false},
		{403, `{"forbidden": {"code": 403, "message": "Policy does not allow os_compute_api:os-quota-sets:show to be performed."}}`, driver.PermissionDenied, false, false},
		{403, `{"forbidden": {"code": 403, "message": "Maximum number of ports exceeded"}}`, driver.ResourceExhausted, false, false},
		{403, `{"forbidden": {"code": 403, "message": "Maximum number of metadata items exceeds 128"}}`, driver.InvalidArgument, true, false},
		{404, `{"error": {"code": 404, "message": "not found"}}`, driver.Unavailable, false, false},
		{404, `{"NeutronError": {"type": "NetworkNotFound", "message": "Network x could not be found.", "detail": ""}}`, driver.NotFound, false, false},
		{409, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network x.", "detail": ""}}`, driver.ResourceExhausted, false, false},
		{409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`, driver.ResourceExhausted, false, false},
		{409, `{"conflictingRequest": {"code": 409, "message": "Port x is still in use."}}`, driver.Aborted, false, false},
		{409, `{"conflictingRequest": {"code": 409, "message": "Instance x is locked"}}`, driver.FailedPrecondition, false, false},
		{413, `{"overLimit": {"code": 413, "message": "VolumeSizeExceedsAvailableQuota: Requested volume exceeds allowed gigabytes quota.", "retryAfter": "0"}}`, driver.ResourceExhausted, false, false},
		{413, `{"overLimit": {"code": 413, "message": "This request was rate-limited.", "retryAfter": "7"}}`, driver.Unavailable, false, false},
		{429, `slow down`, driver.Unavailable, false, false},
		{500, `{"computeFault": {"code": 500, "message": "Unexpected API Error."}}`, driver.Unavailable, false, true},
		{503, `{"serviceUnavailable": {"code": 503, "message": "down"}}`, driver.Unavailable, false, true},
		{502, `<html>Bad Gateway</html>`, driver.Unavailable, false, true},
		{404, `<html>no such page</html>`, driver.Unavailable, false, false},
	}
	for _, row := range rows {
		answer := &driver.HTTPAnswer{Status: row.status, Header: driver.Header{"retry-after": "7"}, Body: []byte(row.body)}
		said := refusal(doing("create the server", changes, "server"), answer)
		if said.Code != row.code || said.Terminal != row.terminal || said.MayHaveHappened != row.mayBe || said.RetryAfter != 7*time.Second {
			t.Errorf("%d %s: %+v", row.status, row.body, said)
		}
	}
}

func TestALoginThatFailedHasNotHappened(t *testing.T) {
	for status, code := range map[int]driver.Code{
		401: driver.Unauthenticated, 403: driver.Unauthenticated, 404: driver.FailedPrecondition, 429: driver.Unavailable, 500: driver.Unavailable,
		502: driver.Unavailable,
	} {
		answer := &driver.HTTPAnswer{Status: status, Header: driver.Header{"machinist-auth": "failed"},
			Body: []byte(`{"error": {"code": 401, "title": "Unauthorized", "message": "no"}}`)}
		if said := refusal(doing("create the server", changes, "server"), answer); said.Code != code || said.MayHaveHappened {
			t.Errorf("%d: %+v", status, said)
		}
	}
}

// Nova's check of a request repeats the value that it refuses.
func TestUserDataIsNeverInAMessage(t *testing.T) {
	long, short := strings.Repeat("I2Nsb3VkLWNvbmZpZ", 400), "I2Nsb3VkLWNvbmZpZw=="
	for _, message := range []string{
		"Invalid input for field/attribute user_data. Value: " + long + ". '" + long + "' is too long",
		"user_data '" + long + "' is not base64",
		"user_data '" + short + "' is not base64",
		"Invalid input for field/attribute server. Value: {'name': 'a', 'user_data': '" + short + "'}. Unexpected",
		"Malformed request body: " + long,
	} {
		body := `{"badRequest": {"code": 400, "message": "` + message + `"}}`
		answer := &driver.HTTPAnswer{Status: 400, Header: driver.Header{}, Body: []byte(body)}
		said := refusal(doing("create the server", changes, "server"), answer)
		if strings.Contains(said.Message, "I2Nsb3") || said.Code != driver.InvalidArgument || !strings.Contains(said.Message, "correct") {
			t.Error(said.Message)
		}
	}
}

func TestAFaultIsSplitByItsText(t *testing.T) {
	for message, code := range map[string]driver.Code{
		"No valid host was found. ": driver.ResourceExhausted,
		"Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance x.":                               driver.ResourceExhausted,
		"Build of instance x aborted: Failed to allocate the network(s) with error No fixed IP addresses available for network: y, not rescheduling.": driver.ResourceExhausted,
		"Build of instance x aborted: VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota.":                 driver.ResourceExhausted,
		"Build of instance x aborted: Image y is unacceptable":                                                                                        driver.Internal,
		"": driver.Internal,
	} {
		if said := FaultError("server", message); said.Code != code || said.MayHaveHappened || said.Terminal {
			t.Errorf("%s: %+v", message, said)
		}
	}
}

func TestPairsAreMergedAndNoneIsLost(t *testing.T) {
	port := Port{AllowedAddressPairs: pairs([]string{"192.0.2.0/24", "100.64.0.0/11"})}
	if missing := missingPairs(port, []string{"100.64.0.0/11", "fd00::/56"}); len(missing) != 1 || missing[0] != "fd00::/56" {
		t.Fatal(missing)
	}
}
