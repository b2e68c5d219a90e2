package drivertest_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const value = "s3cret-token"

// Sends the request that a test makes of a placeholder.
type sender struct {
	send func(*driver.Host) error
}

func (sender) Describe(*driver.Host) driver.About                         { return driver.About{} }
func (sender) ValidateClass(*driver.Host, driver.Class) ([]string, error) { return nil, nil }
func (sender) Delete(*driver.Host, driver.Request) (driver.Deletion, error) {
	return driver.Deleted{}, nil
}
func (of sender) Create(host *driver.Host, _ driver.Request) (driver.Creation, error) {
	return driver.VM{}, of.send(host)
}

func host(cloud drivertest.Cloud) *drivertest.Host {
	return &drivertest.Host{
		Cloud:    cloud,
		Secrets:  map[string]string{"token": value, "other": "another-secret"},
		UserData: "#cloud-config\n",
		Places: map[string][]drivertest.Place{
			"token":    {{Header: "Authorization"}, {JSON: "/auth/token~1"}, {Form: "the token"}},
			"userData": {{JSON: "/userData"}},
		},
	}
}

func call(of *drivertest.Host, send func(*driver.Host) error) error {
	_, err := of.Serve(sender{send}).Create(drivertest.Request(1, driver.Class{}))
	return err
}

func placeholder(test *testing.T, host *driver.Host, encodings ...driver.Encoding) string {
	test.Helper()
	secret, err := host.Secret("token", "a token")
	if err != nil {
		test.Fatal(err)
	}
	placeholder, err := secret.Placeholder(encodings...)
	if err != nil {
		test.Fatal(err)
	}
	return placeholder
}

func TestASecretIsFilledInWhereItMayTravelAndNowhereElse(test *testing.T) {
	type made = func(placeholder string) driver.HTTPRequest
	request := func(url, kind, body string) driver.HTTPRequest {
		return driver.HTTPRequest{Method: "POST", URL: url, Header: driver.Header{"Content-Type": kind}, Body: []byte(body)}
	}
	const at = "http://cloud.test/"
	table := []struct {
		made made
		seen string
	}{
		{func(token string) driver.HTTPRequest {
			return driver.HTTPRequest{URL: at, Header: driver.Header{"authorization": "Bearer " + token}}
		}, "Bearer " + value},
		{func(token string) driver.HTTPRequest {
			return driver.HTTPRequest{URL: at, Header: driver.Header{"x-other": token}}
		}, ""},
		{func(token string) driver.HTTPRequest {
			return driver.HTTPRequest{URL: at, Header: driver.Header{token: "x"}}
		}, ""},
		{func(token string) driver.HTTPRequest { return request(at+token, "", "") }, ""},
		{func(token string) driver.HTTPRequest {
			return request(at, "application/json", `{"auth": {"token/": "`+token+`", "n": 1e30}}`)
		}, `{"auth":{"n":1e30,"token/":"` + value + `"}}`},
		{func(token string) driver.HTTPRequest {
			return request(at, "application/json", `{"token": "`+token+`"}`)
		}, ""},
		{func(token string) driver.HTTPRequest { return request(at, "application/json", `{"`+token+`": 1}`) }, ""},
		{func(token string) driver.HTTPRequest { return request(at, "application/json", token) }, ""},
		{func(token string) driver.HTTPRequest {
			return request(at, "application/x-www-form-urlencoded", "a=b&the+token="+token)
		}, "a=b&the+token=" + value},
		{func(token string) driver.HTTPRequest {
			return request(at, "application/x-www-form-urlencoded", "a="+token)
		}, ""},
		{func(token string) driver.HTTPRequest { return request(at, "text/plain", token) }, ""},
		{func(token string) driver.HTTPRequest {
			return request(at, "application/json", `{"auth": "`+token[:30]+`"}`)
		}, ""},
	}
	for number, row := range table {
		of := host(drivertest.Answers(&driver.HTTPAnswer{Status: 200}))
		err := call(of, func(host *driver.Host) error {
			token := placeholder(test, host)
			if strings.Contains(token, value) {
				test.Error("the placeholder is the secret")
			}
			_, err := host.Send(row.made(token))
			return err
		})
		if row.seen == "" {
			if err == nil || !strings.Contains(err.Error(), "not granted") || len(of.Seen) > 0 {
				test.Error(number, err, of.Seen)
			}
			continue
		}
		if err != nil || len(of.Seen) != 1 {
			test.Error(number, err)
			continue
		}
		if got := of.Seen[0].Header["authorization"] + string(of.Seen[0].Body); got != row.seen {
			test.Error(number, got)
		}
	}
}

func TestAPlaceholderBelongsToOneCall(test *testing.T) {
	of := host(drivertest.Answers(&driver.HTTPAnswer{Status: 200}))
	var first, second string
	for _, token := range []*string{&first, &second} {
		if err := call(of, func(host *driver.Host) error { *token = placeholder(test, host); return nil }); err != nil {
			test.Fatal(err)
		}
	}
	err := call(of, func(host *driver.Host) error {
		_, err := host.Send(driver.HTTPRequest{URL: "http://cloud.test/", Header: driver.Header{"authorization": first}})
		return err
	})
	if first == second || err == nil || len(of.Seen) != 0 {
		test.Error(first, second, err)
	}
}

func TestWhatACloudEchoesIsTakenOutOfAnswersAndLog(test *testing.T) {
	inBase64 := base64.StdEncoding.EncodeToString([]byte(value))
	of := host(drivertest.Answers(&driver.HTTPAnswer{
		Status: 400, Header: driver.Header{"x-echo": value}, Body: []byte("you sent " + value + ", that is " + inBase64),
	}))
	err := call(of, func(host *driver.Host) error {
		answer, err := host.Send(driver.HTTPRequest{URL: "http://cloud.test/"})
		if err != nil || string(answer.Body) != "you sent ***, that is ***" || answer.Header["x-echo"] != "***" {
			test.Error(answer, err)
		}
		host.Log().With("a", value).WithGroup("b").Warn("got "+value, "c", inBase64)
		return nil
	})
	line := of.Lines[0]
	if err != nil || line.Message != "got ***" || line.Fields["a"] != "***" || line.Fields["b.c"] != "***" {
		test.Error(err, of.Lines)
	}
}

func TestUserDataAnswersHowItStartsAndSecretsDoNot(test *testing.T) {
	err := call(host(nil), func(host *driver.Host) error {
		userData, err := host.UserData()
		if err != nil || !userData.StartsWith([]byte("#cloud-config")) || userData.StartsWith([]byte("#!")) || userData.Len() != 14 {
			test.Error(userData, err)
		}
		token, err := host.Secret("token", "a token")
		if err != nil || token.StartsWith([]byte("s3")) || token.Len() != len(value) {
			test.Error(token, err)
		}
		if _, err := token.Reveal(); err == nil {
			test.Error("nobody granted that")
		}
		keys, err := host.SecretKeys()
		if err != nil || strings.Join(keys, ",") != "other,token" {
			test.Error(keys, err)
		}
		other, err := host.OptionalSecret("gone")
		if other != nil || err != nil {
			test.Error(other, err)
		}
		return nil
	})
	if err != nil {
		test.Error(err)
	}
}

func TestEncodingsAreAppliedInTheirOrder(test *testing.T) {
	of := host(drivertest.Answers(&driver.HTTPAnswer{Status: 200}))
	err := call(of, func(host *driver.Host) error {
		token := placeholder(test, host, driver.Base64, driver.Form)
		if token != placeholder(test, host, driver.Base64, driver.Form) || token == placeholder(test, host) {
			test.Error("the same encodings give the same token, and others another")
		}
		secret, _ := host.Secret("token", "a token")
		if _, err := secret.Placeholder(0, 0, 0, 0, 0); err == nil {
			test.Error("five encodings are too many")
		}
		_, err := host.Send(driver.HTTPRequest{URL: "http://cloud.test/", Header: driver.Header{"authorization": token}})
		return err
	})
	expected := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(value)), "=", "%3D")
	if err != nil || of.Seen[0].Header["authorization"] != expected {
		test.Error(err, of.Seen)
	}
}

func TestARequestThatIsTooLargeOrOneTooManyIsRefused(test *testing.T) {
	of := host(drivertest.Function(func(driver.HTTPRequest) (*driver.HTTPAnswer, error) {
		return &driver.HTTPAnswer{Status: 200, Body: make([]byte, 100)}, nil
	}))
	err := call(of, func(host *driver.Host) error {
		large := driver.HTTPRequest{URL: "http://cloud.test/", Body: make([]byte, 1<<20+1)}
		if _, err := host.Send(large); err == nil || !strings.Contains(err.Error(), "too large") {
			test.Error(err)
		}
		small := driver.HTTPRequest{URL: "http://cloud.test/"}
		if _, err := host.SendWithin(driver.Limits{AnswerBytes: 99}, small); err == nil || !strings.Contains(err.Error(), "larger") {
			test.Error(err)
		}
		for range 98 {
			if _, err := host.Send(small); err != nil {
				test.Error(err)
			}
		}
		_, err := host.Send(small)
		return err
	})
	if err == nil {
		test.Error("101 requests in a call")
	}
}
