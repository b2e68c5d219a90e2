"""Instances of Compute Engine, by Google's own library."""

import json
import threading
import uuid

import google_auth_httplib2
import httplib2
from crowd import given, measure
from google.oauth2 import service_account
from googleapiclient import discovery

asked = given()
url, spec = asked["url"], asked["spec"]
account = json.loads(asked["secret"]["serviceAccountJSON"])
project, zone = account["project_id"], spec["zone"]
credentials = service_account.Credentials.from_service_account_info(
    account, scopes=["https://www.googleapis.com/auth/compute"]
)
boot = spec["disks"][0]
BODY = {
    "machineType": f"zones/{zone}/machineTypes/{spec['machineType']}",
    "disks": [
        {
            "boot": True,
            "autoDelete": True,
            "initializeParams": {"sourceImage": boot["image"], "diskSizeGb": str(boot["sizeGb"])},
        }
    ],
    "networkInterfaces": [{"network": "global/networks/default"}],
    "metadata": {"items": [{"key": "user-data", "value": asked["secret"]["userData"]}]},
}


class Rerouted(httplib2.Http):
    """Sends requests for Google's token service to the cloud of the test."""

    def request(self, uri, *arguments, **named):
        return super().request(uri.replace("https://oauth2.googleapis.com", url), *arguments, **named)


# The library's connections are not for several threads at once.
own = threading.local()


def compute():
    if not hasattr(own, "compute"):
        http = google_auth_httplib2.AuthorizedHttp(credentials, http=Rerouted(timeout=30))
        http._request = google_auth_httplib2.Request(Rerouted(timeout=30))
        endpoint = {"api_endpoint": url + "/compute/v1/"}
        own.compute = discovery.build("compute", "v1", http=http, static_discovery=True, client_options=endpoint)
    return own.compute


def finished(operation):
    while operation["status"] != "DONE":
        wait = compute().zoneOperations().wait(project=project, zone=zone, operation=operation["name"])
        operation = wait.execute()
    assert "error" not in operation, operation


def create(name):
    body, request = dict(BODY, name=name), str(uuid.uuid4())
    finished(compute().instances().insert(project=project, zone=zone, body=body, requestId=request).execute())
    instance = compute().instances().get(project=project, zone=zone, instance=name).execute()
    assert instance["status"] == "RUNNING", instance["status"]
    return name


def delete(name):
    finished(compute().instances().delete(project=project, zone=zone, instance=name).execute())


measure(asked["count"], create, delete)
