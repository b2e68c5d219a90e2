// Package api is Hetzner's API through Hetzner's own client library.
//
// The library runs unchanged in the sandbox, over the host's HTTP. It waits for nothing and repeats nothing: both are
// the host's. Each answer is checked before the library reads it.
//
//	opens the API for a call                     client.go
//	servers and their actions                    servers.go
//	the objects that a class names               catalog.go
//	Floating IPs                                 floating.go
//	between the library and the host             transport.go, shapes.go
//	errors, and the table of Hetzner's codes     errors.go, codes.go
//	the plugin's settings                        settings.go
package api

import (
	"net/http"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	// The key of the Secret with the API token. Only the host reads its value.
	tokenKey = "token"
	// Entries of a page: the most that Hetzner gives.
	pageEntries = 50
	// Pages of one search. No Machine has this many servers, and a call of the host has 100 requests.
	mostPages = 20
)

// Cloud is the API, as one project sees it.
type Cloud struct {
	Settings Settings
	client   *hcloud.Client
}

// Open reads the settings, checks that there is a token, and sets up the library.
func Open(host *driver.Host) (*Cloud, error) {
	settings, err := ReadSettings(host.Settings())
	if err != nil {
		return nil, err
	}
	token, err := host.Secret(tokenKey, "an API token of the project")
	if err != nil {
		return nil, err
	}
	if token.Len() == 0 {
		return nil, &driver.Error{Code: driver.Unauthenticated, Terminal: true,
			Message: "the MachineClass's Secret has an empty token: write an API token of the project"}
	}
	client := &http.Client{
		Transport:     checked{host},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	library := hcloud.NewClient(
		hcloud.WithEndpoint(settings.Endpoint),
		hcloud.WithHTTPClient(client),
		hcloud.WithApplication("machinist", ""),
		hcloud.WithRetryOpts(hcloud.RetryOpts{MaxRetries: 0}),
	)
	return &Cloud{settings, library}, nil
}

func (of *Cloud) reads(doing string) driver.Attempt {
	return driver.Attempt{Doing: doing, Host: of.Settings.Host}
}

func (of *Cloud) changes(doing string) driver.Attempt {
	return driver.Attempt{Doing: doing, Host: of.Settings.Host, Changes: true}
}

// Returns the entries of all pages.
func everyPage[Entry any](attempt driver.Attempt, list func(page int) ([]Entry, *hcloud.Response, error)) ([]Entry, error) {
	var entries []Entry
	page := 1
	for range mostPages {
		found, response, err := list(page)
		if err != nil {
			return nil, failed(attempt, err)
		}
		entries = append(entries, found...)
		next, err := following(attempt, page, response)
		if err != nil || next == 0 {
			return entries, err
		}
		page = next
	}
	return nil, attempt.Unexpected("is a list without end")
}

// Returns the number of the next page, zero after the last one. A list that goes back would never end.
func following(attempt driver.Attempt, page int, response *hcloud.Response) (int, error) {
	pagination := response.Meta.Pagination
	if pagination == nil {
		return 0, attempt.Unexpected("is a list without page numbers")
	}
	if pagination.NextPage != 0 && pagination.NextPage <= page {
		return 0, attempt.Unexpected("repeats a page of its list")
	}
	return pagination.NextPage, nil
}
