// Package cloud sends requests to OpenStack, with gophercloud over the host.
//
//	the connection: credentials, catalog, clients     cloud.go, catalog.go, credentials.go
//	each request on its way                           transport.go
//	the cloud's errors, and their codes               refusal.go, meanings.go
//	servers, ports, volumes                           servers.go, ports.go, volumes.go
//	names of flavors, images, networks                names.go
//	pages of listings                                 pages.go
package cloud

import (
	"context"
	"errors"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/httpclient"
)

// Cloud is one region of a cloud, for one call of the host.
type Cloud struct {
	Endpoints Endpoints
	client    *gophercloud.ProviderClient
}

// Connect returns the region's services. `identity` is the URL of Keystone, version 3. If the endpoints are known, it
// does not read the catalog.
//
// The host alone logs in and has the token. gophercloud neither logs in nor retries here: it builds requests and reads
// answers.
func Connect(host *driver.Host, identity, region string, known *Endpoints) (*Cloud, error) {
	hint, err := checkCredentials(host)
	if err != nil {
		return nil, err
	}
	inner := httpclient.Transport(host, driver.Limits{})
	of := &Cloud{client: &gophercloud.ProviderClient{HTTPClient: http.Client{
		Transport:     transport{inner, hint},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}}
	of.client.UserAgent.Prepend("machinist")
	if known != nil {
		of.Endpoints = *known
		return of, nil
	}
	to := doing("read the catalog of Keystone", reads, "catalog")
	var answer struct {
		Catalog []Entry `json:"catalog"`
	}
	service := of.service(identity + "/")
	_, err = service.Get(to.context(), service.ServiceURL("auth", "catalog"), &answer, nil)
	if err = to.failed(err); err != nil {
		return nil, err
	}
	of.Endpoints, err = endpointsOf(unmasked(answer.Catalog, identity), region)
	return of, err
}

func (of *Cloud) service(base string) *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{ProviderClient: of.client, Endpoint: base}
}

func (of *Cloud) compute() *gophercloud.ServiceClient { return of.service(of.Endpoints.Compute) }
func (of *Cloud) network() *gophercloud.ServiceClient { return of.service(of.Endpoints.Network) }

// volumes fails if the region has no block storage: only classes with volumes of their own need it.
func (of *Cloud) volumes() (*gophercloud.ServiceClient, error) {
	if of.Endpoints.Volume == "" {
		return nil, driver.Failed(driver.FailedPrecondition, "the region "+driver.Quoted(of.Endpoints.Region)+
			" has no block storage: remove rootDiskType from the MachineClass's providerSpec, or correct Keystone's catalog")
	}
	return of.service(of.Endpoints.Volume), nil
}

// effect says whether a request may leave a server behind.
type effect bool

const (
	// reads changes nothing for which the host would have to search.
	reads effect = false
	// changes means that a server may have been created or changed although no answer came.
	changes effect = true
)

// request describes one request for its errors, and for the check of its answer.
type request struct {
	driver.Attempt
	// key is the field that each success has in its answer; empty if it has no body. gophercloud takes an answer without
	// it for an empty list.
	key string
}

func doing(what string, effect effect, key string) request {
	return request{driver.Attempt{Doing: what, Changes: bool(effect)}, key}
}

type requestKey struct{}

func (of request) context() context.Context {
	return context.WithValue(context.Background(), requestKey{}, of)
}

func requestOf(ctx context.Context) request {
	of, _ := ctx.Value(requestKey{}).(request)
	return of
}

// failed returns the error of the transport inside of gophercloud's. Any other error of gophercloud means that it did
// not understand an answer.
func (of request) failed(err error) error {
	var own *driver.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	default:
		return of.Unexpected("is not what its API promises")
	}
}

// IsMissing is true if the service itself answered that the object does not exist.
func IsMissing(err error) bool {
	var own *driver.Error
	return errors.As(err, &own) && own.Code == driver.NotFound
}
