package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Settings are the operator's settings beside the plugin.
type Settings struct {
	// Endpoint is the base of all URLs, without a trailing slash.
	Endpoint string
	// Host is the host of the endpoint, as grants name it.
	Host string
	// Adopt maps the mark of a cluster to the value of the label by which machine-controller-manager marked its
	// servers.
	Adopt map[string]string
}

// ReadSettings parses settings. The operator can fix them, so its error is not terminal.
func ReadSettings(text string) (Settings, error) {
	var fields struct {
		Endpoint *json.RawMessage
		Adopt    *map[string]*string
	}
	if driver.ReadJSON([]byte(text), &fields) != nil {
		return Settings{}, wrongSettings("are not JSON of the right form")
	}
	read := Settings{Endpoint: hcloud.Endpoint, Adopt: map[string]string{}}
	if fields.Endpoint != nil && json.Unmarshal(*fields.Endpoint, &read.Endpoint) != nil {
		return Settings{}, wrongSettings("have an endpoint that is no text")
	}
	parsed, err := driver.ParseURL(read.Endpoint)
	if err != nil || strings.Contains(read.Endpoint, "?") {
		return Settings{}, wrongSettings(fmt.Sprintf("have the endpoint %q instead of http(s)://HOST[:PORT][/PATH]",
			driver.Quoted(read.Endpoint)))
	}
	read.Endpoint, read.Host = strings.TrimRight(read.Endpoint, "/"), parsed.Host()
	return read, read.adopt(fields.Adopt)
}

// Two clusters with one label would each take the other's servers for its own.
func (read *Settings) adopt(clusters *map[string]*string) error {
	if clusters == nil {
		return nil
	}
	owners := map[string]string{}
	for cluster, label := range *clusters {
		if label == nil || *label == "" || !class.IsLabelValue(*label) {
			return wrongSettings(fmt.Sprintf("adopt no valid label for cluster %q", driver.Quoted(cluster)))
		}
		if other, isTaken := owners[*label]; isTaken {
			first, second := min(cluster, other), max(cluster, other)
			return wrongSettings(fmt.Sprintf("adopt the label %q for two clusters, %q and %q", driver.Quoted(*label),
				driver.Quoted(first), driver.Quoted(second)))
		}
		owners[*label], read.Adopt[cluster] = cluster, *label
	}
	return nil
}

// AdoptAdvice returns the setting with which a cluster adopts servers. It contains no value of a class: the class's
// author could name another cluster's label, and an operator would copy it.
func AdoptAdvice(cluster string) string {
	text, err := json.Marshal(map[string]map[string]string{"adopt": {driver.Quoted(cluster): "LABEL"}})
	if err != nil {
		return "adopt"
	}
	return string(text)
}

func wrongSettings(problem string) error {
	return driver.Failed(driver.FailedPrecondition, fmt.Sprintf(
		`the plugin's settings %s: write {"endpoint": "https://HOST/v1"} and %s, or leave both out`, problem, AdoptAdvice("CLUSTER-ID")))
}
