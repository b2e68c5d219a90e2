package cloud

import (
	"strings"
	"testing"
)

func entry(kind string, urls ...string) Entry {
	one := Entry{Type: kind}
	for index := 0; index+1 < len(urls); index += 2 {
		one.Endpoints = append(one.Endpoints,
			Endpoint{Interface: "internal", RegionID: urls[index], URL: "http://internal"},
			Endpoint{Interface: "public", RegionID: urls[index], URL: urls[index+1]})
	}
	return one
}

func TestEndpointsAreThoseOfTheRegionWithTheirVersions(t *testing.T) {
	catalog := []Entry{
		entry("compute", "A", "https://a.test:8774/v2.1/9f3b", "B", "https://b.test/compute"),
		entry("network", "A", "https://a.test:9696", "B", "https://b.test/network/v2.0/"),
		entry("volumev2", "A", "https://a.test:8776/v2/9f3b"),
		entry("volumev3", "A", "https://a.test:8776/v3/9f3b"),
		entry("image", "B", "https://b.test/image"),
	}
	for region, wanted := range map[string]Endpoints{
		"A": {"A", "https://a.test:8774/v2.1/9f3b/", "https://a.test:9696/v2.0/", "https://a.test:8776/v3/9f3b/", ""},
		"B": {"B", "https://b.test/compute/v2.1/", "https://b.test/network/v2.0/", "", "https://b.test/image/v2/"},
	} {
		if found, err := endpointsOf(catalog, region); err != nil || found != wanted {
			t.Errorf("%s: %+v %v", region, found, err)
		}
	}
	if _, err := endpointsOf(catalog, "C"); err == nil || !strings.Contains(err.Error(), "A, B") {
		t.Error(err)
	}
	if _, err := endpointsOf(catalog, ""); err == nil || !strings.Contains(err.Error(), "spec.region") {
		t.Error(err)
	}
	if found, err := endpointsOf([]Entry{catalog[0], catalog[1]}[:0], "A"); err == nil {
		t.Error(found)
	}
}

func TestTheOfficialTypeOfBlockStorageComesFirst(t *testing.T) {
	catalog := []Entry{
		entry("compute", "A", "https://c/v2.1"), entry("network", "A", "https://n"),
		entry("volumev3", "A", "https://old/v3"), entry("block-storage", "A", "https://new/v3"),
	}
	if found, err := endpointsOf(catalog, ""); err != nil || found.Volume != "https://new/v3/" {
		t.Fatal(found, err)
	}
}

func TestMissingKeysOfASecretAreNamed(t *testing.T) {
	for keys, wanted := range map[string]string{
		"authURL username password domainName tenantName":                                       "",
		"authURL username password domainID tenantID":                                           "",
		"authURL applicationCredentialID applicationCredentialSecret":                           "",
		"authURL applicationCredentialName applicationCredentialSecret username userDomainName": "",
		"":                                   "authURL",
		"authURL":                            "username and password",
		"authURL password domainName":        "username",
		"authURL username password":          "domainName",
		"authURL username password domainID": "tenantName",
		"authURL applicationCredentialSecret applicationCredentialName": "applicationCredentialID",
	} {
		has := map[string]bool{}
		for _, key := range strings.Fields(keys) {
			has[key] = true
		}
		missing := missingIn(has)
		if (wanted == "") != (missing == "") || !strings.Contains(missing, wanted) {
			t.Errorf("%s: %s", keys, missing)
		}
	}
}

// The host masks authURL in answers, as it does with each value of the Secret.
func TestEndpointsBelowAuthURLAreUnmasked(t *testing.T) {
	catalog := unmasked([]Entry{entry("compute", "A", "***/compute/v2.1"), entry("network", "A", "***network")}, "https://cloud.test/v3")
	found, err := endpointsOf(catalog, "A")
	if err != nil || found.Compute != "https://cloud.test/compute/v2.1/" || found.Network != "https://cloud.test/network/v2.0/" {
		t.Fatal(found, err)
	}
}
