package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const endpointExample = `{"endpoint": "http://HOST:PORT"}`

// The base of all URLs, without a trailing slash, and the host without its port, as grants name it.
type endpoint struct{ base, host string }

// Parses the plugin's settings. The error says what to write. The operator can fix the settings, so the error is not
// terminal.
func endpointOf(settings string) (endpoint, error) {
	var fields struct{ Endpoint json.RawMessage }
	var value any
	if driver.ReadJSON([]byte(settings), &value) != nil {
		return endpoint{}, wrongSettings("the plugin's settings are not JSON: write " + endpointExample)
	}
	if driver.ReadJSON([]byte(settings), &fields) != nil || len(fields.Endpoint) == 0 || string(fields.Endpoint) == "null" {
		return endpoint{}, wrongSettings("endpoint is missing in the plugin's settings: write " + endpointExample)
	}
	var url string
	if json.Unmarshal(fields.Endpoint, &url) != nil {
		return endpoint{}, wrongSettings("endpoint in the plugin's settings must be a text")
	}
	parsed, err := driver.ParseURL(url)
	if err != nil || strings.Contains(url, "?") {
		return endpoint{}, wrongSettings(fmt.Sprintf("endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got %q",
			driver.Quoted(url)))
	}
	return endpoint{strings.TrimRight(url, "/"), parsed.Host()}, nil
}

func wrongSettings(message string) error { return driver.Failed(driver.FailedPrecondition, message) }
