package cloud

import (
	"fmt"
	"sort"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Entry is one service of Keystone's catalog.
type Entry struct {
	Type      string     `json:"type"`
	Endpoints []Endpoint `json:"endpoints"`
}

// Endpoint is one address of a service.
type Endpoint struct {
	Interface string `json:"interface"`
	// Catalogs have one of both, or both.
	Region   string `json:"region"`
	RegionID string `json:"region_id"`
	URL      string `json:"url"`
}

// Endpoints are the bases of URLs in one region, each with a slash at its end. Volume and Image may be empty.
type Endpoints struct {
	Region  string `json:"region"`
	Compute string `json:"compute"`
	Network string `json:"network"`
	Volume  string `json:"volume,omitempty"`
	Image   string `json:"image,omitempty"`
}

// Catalogs name the same service by its official type or by an older one. The first that a region has counts.
var (
	computeTypes = []string{"compute"}
	networkTypes = []string{"network"}
	volumeTypes  = []string{"block-storage", "block-store", "volumev3", "volume"}
	imageTypes   = []string{"image"}
)

// mask is the host's text in place of a value of the Secret: authURL is one, and endpoints may begin with it.
const mask = "***"

// unmasked puts the URL of Keystone from the settings into endpoints in which the host has masked it.
func unmasked(catalog []Entry, identity string) []Entry {
	base := strings.TrimSuffix(identity, "/v3")
	for _, entry := range catalog {
		for index, endpoint := range entry.Endpoints {
			if rest, isMasked := strings.CutPrefix(endpoint.URL, mask); isMasked {
				entry.Endpoints[index].URL = base + "/" + strings.TrimLeft(rest, "/")
			}
		}
	}
	return catalog
}

// endpointsOf chooses the public endpoints of a region. Without a region the catalog must have exactly one.
func endpointsOf(catalog []Entry, region string) (Endpoints, error) {
	regions := regionsOf(catalog)
	if region == "" && len(regions) == 1 {
		region = regions[0]
	}
	if region == "" {
		return Endpoints{}, driver.Failed(driver.FailedPrecondition,
			"the region of the server is unknown: write spec.region into the MachineClass's providerSpec")
	}
	found := Endpoints{
		Region:  region,
		Compute: versioned(endpointOf(catalog, computeTypes, region), "/v2", "v2.1/"),
		Network: versioned(endpointOf(catalog, networkTypes, region), "/v2.0", "v2.0/"),
		Volume:  versioned(endpointOf(catalog, volumeTypes, region), "/v3", "v3/"),
		Image:   versioned(endpointOf(catalog, imageTypes, region), "/v2", "v2/"),
	}
	if found.Compute == "" || found.Network == "" {
		err := driver.Invalid(fmt.Sprintf(
			"the catalog of Keystone has no public endpoints of compute and network in region %s; it has the regions %s: "+
				"correct providerSpec.spec.region, or the catalog", driver.Quoted(region), named(regions)))
		// Somebody may correct the catalog, and no change of class or Secret would say so.
		err.Terminal = false
		return Endpoints{}, err
	}
	return found, nil
}

func endpointOf(catalog []Entry, types []string, region string) string {
	for _, wanted := range types {
		for _, entry := range catalog {
			if entry.Type != wanted {
				continue
			}
			for _, endpoint := range entry.Endpoints {
				isThere := endpoint.Region == region || endpoint.RegionID == region
				if isThere && strings.HasPrefix(endpoint.Interface, "public") && endpoint.URL != "" {
					return endpoint.URL
				}
			}
		}
	}
	return ""
}

// versioned returns the URL with its version: catalogs name it with or without.
func versioned(url, version, addition string) string {
	if url == "" {
		return ""
	}
	url = strings.TrimRight(url, "/") + "/"
	start := strings.Index(url, "://") + len("://")
	path := url[start+strings.IndexByte(url[start:], '/'):]
	if strings.Contains(path, version) {
		return url
	}
	return url + addition
}

func regionsOf(catalog []Entry) []string {
	seen := map[string]bool{}
	var all []string
	for _, entry := range catalog {
		for _, endpoint := range entry.Endpoints {
			region := endpoint.RegionID
			if region == "" {
				region = endpoint.Region
			}
			if region != "" && !seen[region] {
				seen[region] = true
				all = append(all, region)
			}
		}
	}
	sort.Strings(all)
	return all
}

// named lists a few of them.
func named(all []string) string {
	const most = 10
	var quoted []string
	for _, one := range all[:min(len(all), most)] {
		quoted = append(quoted, driver.Quoted(one))
	}
	if len(quoted) == 0 {
		return "(none)"
	}
	return strings.Join(quoted, ", ")
}
