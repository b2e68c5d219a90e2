package machines

import (
	"fmt"
	"sort"
	"strings"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// authURLKey is the key of the Secret with the URL of Keystone.
const authURLKey = "authURL"

const settingsExample = `{"authURL": "https://keystone.example.com:5000/v3"}`

// settings are those of the plugin. Operators write them.
type settings struct {
	// AuthURL is the URL of Keystone: that of the Secrets, if the grants do not reveal it.
	AuthURL string `json:"authURL"`
	// AuthURLs are those of regions with a Keystone of their own.
	AuthURLs map[string]string `json:"authURLs"`
	// Adopt names for each cluster the keys of the two tags of servers that it adopts.
	Adopt map[string][]string `json:"adopt"`
	// RegionalNodeIDs is true if the cloud controller manager writes the region into the ids of Nodes.
	RegionalNodeIDs bool `json:"regionalNodeIDs"`
}

// readSettings parses the settings. The operator can correct them, so no error is terminal.
func readSettings(text string) (settings, error) {
	var read settings
	if err := driver.ReadJSON([]byte(text), &read); err != nil {
		return settings{}, wrong("are not JSON of the right form: write " + settingsExample)
	}
	urls := []string{read.AuthURL}
	for _, url := range read.AuthURLs {
		urls = append(urls, url)
	}
	for _, url := range urls {
		if url != "" && !isIdentity(url) {
			return settings{}, wrong(fmt.Sprintf("have an authURL that is not http(s)://HOST[:PORT][/PATH]: %s", driver.Quoted(url)))
		}
	}
	return read, read.checkAdopted()
}

func isIdentity(url string) bool {
	_, err := driver.ParseURL(url)
	return err == nil && !strings.ContainsAny(url, "?#")
}

// keystone returns the URL of Keystone for a region: that of the settings, else that of the Secret if the grants
// reveal it.
func (of settings) keystone(host *driver.Host, region string) (string, error) {
	if of.AuthURL != "" || len(of.AuthURLs) > 0 {
		return of.identity(region), nil
	}
	url, err := revealed(host, authURLKey)
	if err != nil {
		return "", err
	}
	if url == "" {
		return "", wrong("lack authURL: add the URL of Keystone, as the Secrets have it, " + settingsExample +
			", or add authURL to reveal in the plugin's grants")
	}
	if !isIdentity(url) {
		return "", driver.Failed(driver.FailedPrecondition,
			"authURL of the MachineClass's Secret is not http(s)://HOST[:PORT][/PATH]: correct it")
	}
	of.AuthURL = url
	return of.identity(region), nil
}

// revealed returns the value of a key of the Secret; empty if there is none, or if the grants do not reveal it.
func revealed(host *driver.Host, key string) (string, error) {
	secret, err := host.OptionalSecret(key)
	if err != nil || secret == nil {
		return "", err
	}
	value, err := secret.Reveal()
	if err != nil {
		// Not granted, which is no failure: the settings have to name it.
		return "", nil
	}
	return strings.TrimSpace(string(value)), nil
}

// checkAdopted refuses keys that could mean servers of other clusters.
func (of settings) checkAdopted() error {
	clusters := map[string]bool{}
	for _, keys := range of.Adopt {
		found := class.TagKeys{}
		if len(keys) == 2 {
			found = class.KeysOf(map[string]string{keys[0]: "", keys[1]: ""})
		}
		if found.Cluster == "" || found.Role == "" || strings.HasSuffix(found.Cluster, "-") || strings.HasSuffix(found.Role, "-") {
			return wrong(`need two keys of tags for each cluster in adopt: {"adopt": {"CLUSTER-ID": ` +
				`["kubernetes.io-cluster-NAME", "kubernetes.io-role-node"]}}`)
		}
		if clusters[found.Cluster] {
			return wrong("let two clusters adopt the servers with the key " + driver.Quoted(found.Cluster))
		}
		clusters[found.Cluster] = true
	}
	return nil
}

func wrong(what string) error {
	return driver.Failed(driver.FailedPrecondition, "the plugin's settings "+what)
}

// identity returns the URL of Keystone, version 3, without a slash at its end.
func (of settings) identity(region string) string {
	url := of.AuthURL
	if own := of.AuthURLs[region]; own != "" {
		url = own
	}
	if url == "" {
		// Of several any would be a guess; of one region it is that region's.
		for _, region := range sorted(of.AuthURLs) {
			url = of.AuthURLs[region]
			break
		}
	}
	url = strings.TrimRight(url, "/")
	if !strings.HasSuffix(url, "/v3") {
		url += "/v3"
	}
	return url
}

func (of settings) hosts() []string {
	seen := map[string]string{}
	for _, url := range of.AuthURLs {
		if parsed, err := driver.ParseURL(url); err == nil {
			seen[parsed.Host()] = ""
		}
	}
	if parsed, err := driver.ParseURL(of.AuthURL); err == nil {
		seen[parsed.Host()] = ""
	}
	return sorted(seen)
}

// adopted returns nil if the cluster adopts nothing.
func (of settings) adopted(cluster string) *class.TagKeys {
	keys := of.Adopt[cluster]
	if len(keys) != 2 {
		return nil
	}
	found := class.KeysOf(map[string]string{keys[0]: "", keys[1]: ""})
	return &found
}

func (of settings) nodeID(region, id string) string {
	if of.RegionalNodeIDs {
		return "openstack://" + region + "/" + id
	}
	return "openstack:///" + id
}

func sorted(of map[string]string) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
