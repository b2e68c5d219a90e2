package httpclient_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
	"github.com/machinist-dev/machinist/sdk/go/driver/httpclient"
)

// Creates a VM with a client of net/http.
type client struct {
	use func(*http.Client, string) error
}

func (client) Describe(*driver.Host) driver.About                         { return driver.About{} }
func (client) ValidateClass(*driver.Host, driver.Class) ([]string, error) { return nil, nil }
func (client) Delete(*driver.Host, driver.Request) (driver.Deletion, error) {
	return driver.Deleted{}, nil
}
func (of client) Create(host *driver.Host, _ driver.Request) (driver.Creation, error) {
	secret, err := host.Secret("token", "a token")
	if err != nil {
		return nil, err
	}
	placeholder, err := secret.Placeholder()
	if err != nil {
		return nil, err
	}
	return driver.VM{}, of.use(httpclient.New(host), placeholder)
}

func create(cloud drivertest.Cloud, use func(*http.Client, string) error) (*drivertest.Host, error) {
	host := &drivertest.Host{
		Cloud:   cloud,
		Secrets: map[string]string{"token": "s3cret-token"},
		Places:  map[string][]drivertest.Place{"token": {{Header: "Authorization"}}},
	}
	_, err := host.Serve(client{use}).Create(drivertest.Request(1, driver.Class{}))
	return host, err
}

func TestARequestGoesThroughTheHostWithItsSecret(test *testing.T) {
	cloud := drivertest.Answers(drivertest.JSON(201, map[string]string{"id": "vm-1"}, "X-Request-Id", "7"))
	host, err := create(cloud, func(client *http.Client, placeholder string) error {
		request, err := http.NewRequest("POST", "https://cloud.test:443/v1/vms?a=b#c", strings.NewReader(`{"a": 1}`))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+placeholder)
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 201 || answer.Header.Get("x-request-id") != "7" || string(body) != `{"id":"vm-1"}` {
			test.Error(answer, string(body), err)
		}
		return nil
	})
	if err != nil {
		test.Fatal(err)
	}
	seen := host.Seen[0]
	if seen.URL != "https://cloud.test/v1/vms?a=b" || string(seen.Body) != `{"a": 1}` || seen.Header["authorization"] != "Bearer s3cret-token" {
		test.Error(seen)
	}
}

func TestARedirectIsNotFollowed(test *testing.T) {
	cloud := drivertest.Answers(&driver.HTTPAnswer{Status: 302, Header: driver.Header{"location": "https://elsewhere.test/"}})
	_, err := create(cloud, func(client *http.Client, _ string) error {
		answer, err := client.Get("https://cloud.test/")
		if err != nil || answer.StatusCode != 302 {
			test.Error(answer, err)
		}
		return nil
	})
	if err != nil {
		test.Fatal(err)
	}
}

func TestARequestWithoutAnAnswerKeepsItsReason(test *testing.T) {
	_, err := create(drivertest.Answers(driver.TimedOut), func(client *http.Client, _ string) error {
		_, err := client.Get("https://cloud.test/")
		return err
	})
	var said *driver.Error
	if !errors.As(err, &said) || said.Code != driver.DeadlineExceeded || !said.MayHaveHappened {
		test.Fatal(err)
	}
}
