"""The life of an instance, by Google's own client. Arguments: URL of the cloud, file with the service account."""

import sys
import uuid

import google_auth_httplib2
import httplib2
from google.oauth2 import service_account
from googleapiclient import discovery
from googleapiclient.errors import HttpError

url, key_file = sys.argv[1:]
PROJECT, ZONE = "machinist-lab", "europe-west1-b"
SCOPES = ["https://www.googleapis.com/auth/compute"]

# The audience of the assertion stays Google's. Only the requests go to the cloud of the test.
credentials = service_account.Credentials.from_service_account_file(key_file, scopes=SCOPES)


class Rerouted(httplib2.Http):
    """Sends requests for Google's token service to the cloud of the test."""

    def request(self, uri, *arguments, **named):
        return super().request(uri.replace("https://oauth2.googleapis.com", url), *arguments, **named)


http = google_auth_httplib2.AuthorizedHttp(credentials, http=Rerouted(timeout=30))
http._request = google_auth_httplib2.Request(Rerouted(timeout=30))
# The document comes out of the package; nothing is downloaded.
compute = discovery.build("compute", "v1", http=http, static_discovery=True, client_options={"api_endpoint": url + "/compute/v1/"})


def finished(operation):
    name = operation["name"]
    for _ in range(200):
        operation = compute.zoneOperations().wait(project=PROJECT, zone=ZONE, operation=name).execute()
        if operation["status"] == "DONE":
            return operation
    raise AssertionError(f"{name} does not end")


def refused(call):
    try:
        call.execute()
    except HttpError as error:
        return error.status_code, error.error_details[0]["reason"], error.reason
    raise AssertionError("it is not refused")


body = {
    "name": "by-hand",
    "machineType": f"zones/{ZONE}/machineTypes/e2-medium",
    "disks": [
        {
            "boot": True,
            "autoDelete": True,
            "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12", "diskSizeGb": "20"},
        }
    ],
    "networkInterfaces": [{"network": "global/networks/default", "accessConfigs": [{}]}],
    "labels": {"team": "a"},
    "metadata": {"items": [{"key": "startup-script", "value": "#!/bin/sh\necho 'hello'\n"}]},
    "scheduling": {"provisioningModel": "SPOT", "automaticRestart": False, "onHostMaintenance": "TERMINATE"},
}
instances = compute.instances()
request_id = str(uuid.uuid4())
first = instances.insert(project=PROJECT, zone=ZONE, body=body, requestId=request_id).execute()
again = instances.insert(project=PROJECT, zone=ZONE, body=body, requestId=request_id).execute()
assert first["name"] == again["name"], "a request id means one operation"
assert "error" not in finished(first)

machine = instances.get(project=PROJECT, zone=ZONE, instance="by-hand").execute()
assert machine["status"] == "RUNNING", machine
assert machine["metadata"]["items"] == body["metadata"]["items"]
assert machine["scheduling"]["provisioningModel"] == "SPOT"
assert machine["networkInterfaces"][0]["accessConfigs"][0]["natIP"]

labels = {"team": "b"}
finished(
    instances.setLabels(
        project=PROJECT, zone=ZONE, instance="by-hand", body={"labels": labels, "labelFingerprint": machine["labelFingerprint"]}
    ).execute()
)
stale = instances.setLabels(
    project=PROJECT, zone=ZONE, instance="by-hand", body={"labels": {}, "labelFingerprint": machine["labelFingerprint"]}
)
assert refused(stale)[:2] == (412, "conditionNotMet")

# Each page by the client's own pager.
for number in range(4):
    finished(
        instances.insert(project=PROJECT, zone=ZONE, body=dict(body, name=f"more-{number}"), requestId=str(uuid.uuid4())).execute()
    )
names, pages = [], 0
request = instances.list(project=PROJECT, zone=ZONE, maxResults=2)
while request is not None:
    page = request.execute()
    names += [machine["name"] for machine in page.get("items", [])]
    pages += 1
    request = instances.list_next(previous_request=request, previous_response=page)
assert (sorted(names), pages) == (["by-hand", "more-0", "more-1", "more-2", "more-3"], 3), (names, pages)

found = instances.aggregatedList(project=PROJECT, filter='labels.team="b"', fields="items/*/instances(name)").execute()
assert [vm["name"] for scope in found["items"].values() for vm in scope.get("instances", [])] == ["by-hand"]

assert compute.machineTypes().get(project=PROJECT, zone=ZONE, machineType="e2-medium").execute()["guestCpus"] == 2
assert refused(instances.insert(project=PROJECT, zone=ZONE, body=body))[:2] == (409, "alreadyExists")
assert refused(instances.insert(project=PROJECT, zone=ZONE, body=dict(body, name="x", colour="red")))[0] == 400
assert refused(instances.get(project=PROJECT, zone=ZONE, instance="nobody"))[:2] == (404, "notFound")
assert refused(instances.get(project="other", zone=ZONE, instance="by-hand"))[:2] == (403, "forbidden")

for name in names:
    finished(instances.delete(project=PROJECT, zone=ZONE, instance=name).execute())
left = compute.disks().list(project=PROJECT, zone=ZONE).execute()
assert left.get("items", []) == [], left
print("ok")
