package driver_test

import (
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func TestMarksAreAsTheHostReadsThem(test *testing.T) {
	table := map[string]string{
		driver.AuthAWSSigV4("ec2", "eu-west-1"):               "aws-sigv4; service=ec2; region=eu-west-1",
		driver.AuthBearer:                                     "bearer",
		driver.AuthBasic:                                      "basic",
		driver.AuthKeystone:                                   "keystone",
		driver.AuthClientCertificate:                          "client-certificate",
		driver.AuthOAuth2ClientCredentials():                  "oauth2-client-credentials",
		driver.AuthOAuth2ClientCredentials("a/.default", "b"): "oauth2-client-credentials; scope=a/.default b",
		driver.AuthJWTBearer("compute"):                       "jwt-bearer; scope=compute",
	}
	for mark, expected := range table {
		if mark != expected {
			test.Errorf("%q, expected %q", mark, expected)
		}
	}
	if driver.AuthHeader != "machinist-auth" {
		test.Error(driver.AuthHeader)
	}
}
