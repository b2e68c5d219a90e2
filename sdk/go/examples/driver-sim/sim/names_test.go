package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func TestTimesAreThoseOfRFC3339InUTC(test *testing.T) {
	table := map[string]int64{
		"1970-01-01T00:00:00Z":           0,
		"2026-01-02T03:04:05.678Z":       1_767_323_045_678,
		"2024-02-29T23:59:59.9Z":         1_709_251_199_900,
		"2000-03-01T00:00:00.123456789Z": 951_868_800_123,
	}
	for text, expected := range table {
		if at := moment(text); at.UnixMilli() != expected {
			test.Error(text, at)
		}
	}
	for _, text := range []string{"", "2026-13-02T03:04:05Z", "2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05,5Z", "yesterday"} {
		if at := moment(text); !at.IsZero() {
			test.Error(text, at)
		}
	}
}

func TestAProviderIDHasAZoneAndAnID(test *testing.T) {
	if zone, id, is := parts("sim:///sim-1a/vm-1"); zone != "sim-1a" || id != "vm-1" || !is {
		test.Error(zone, id, is)
	}
	others := []string{"", "vm-1", "sim:///vm-1", "sim:////vm-1", "sim:///sim-1a/", "sim:///a/b/c", "aws:///a/b"}
	for _, other := range others {
		if _, _, is := parts(other); is {
			test.Error(other)
		}
	}
}

func TestAnEndpointIsABaseAndAHost(test *testing.T) {
	table := map[string]endpoint{
		`{"endpoint": "http://127.0.0.1:8080/", "other": 1}`: {"http://127.0.0.1:8080", "127.0.0.1"},
		`{"endpoint": "https://[::1]/cloud/"}`:               {"https://[::1]/cloud", "[::1]"},
	}
	for settings, expected := range table {
		if at, err := endpointOf(settings); at != expected || err != nil {
			test.Error(settings, at, err)
		}
	}
	wrong := []string{"", "{}", "[]"}
	for _, url := range []string{`null`, `1`, `"127.0.0.1:1"`, `"ftp://a"`, `"http://"`, `"http://me@a"`, `"http://a/?b"`, `"http://a/ b"`} {
		wrong = append(wrong, `{"endpoint": `+url+`}`)
	}
	for _, settings := range wrong {
		_, err := endpointOf(settings)
		var said *driver.Error
		// The operator can fix the settings, so the error is not terminal.
		if !errors.As(err, &said) || said.Code != driver.FailedPrecondition || said.Terminal || !strings.Contains(said.Message, "settings") {
			test.Error(settings, err)
		}
	}
}
