//! The names and numbers of cluster-autoscaler's published interface, as versions from 1.35 on have them.
//!
//! `host/autoscaler/proto` must have all of them, and no more than the fields of versions before.

use std::collections::BTreeSet;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto};

use crate::descriptors;

const PACKAGE: &str = "clusterautoscaler.cloudprovider.v1.externalgrpc";

/// Each call, with the messages that its name begins.
const CALLS: &str = "
    NodeGroups NodeGroupForNode PricingNodePrice PricingPodPrice GPULabel GetAvailableGPUTypes Cleanup Refresh
    NodeGroupTargetSize NodeGroupIncreaseSize NodeGroupDeleteNodes NodeGroupDecreaseTargetSize NodeGroupNodes
    NodeGroupTemplateNodeInfo
";

/// The call whose messages have another name.
const GET_OPTIONS: (&str, &str) = ("NodeGroupGetOptions", "NodeGroupAutoscalingOptions");

/// Message, field, number and type. `*` means repeated.
const FIELDS: &str = "
    NodeGroup id 1 string
    NodeGroup minSize 2 int32
    NodeGroup maxSize 3 int32
    NodeGroup debug 4 string
    ExternalGrpcNode providerID 1 string
    ExternalGrpcNode name 2 string
    ExternalGrpcNode labels 3 string=string
    ExternalGrpcNode annotations 4 string=string
    NodeGroupsResponse nodeGroups 1 NodeGroup*
    NodeGroupForNodeRequest node 1 ExternalGrpcNode
    NodeGroupForNodeResponse nodeGroup 1 NodeGroup
    PricingNodePriceRequest node 1 ExternalGrpcNode
    PricingNodePriceRequest startTimestamp 4 google.protobuf.Timestamp
    PricingNodePriceRequest endTimestamp 5 google.protobuf.Timestamp
    PricingNodePriceResponse price 1 double
    PricingPodPriceRequest pod_bytes 4 bytes
    PricingPodPriceRequest startTimestamp 5 google.protobuf.Timestamp
    PricingPodPriceRequest endTimestamp 6 google.protobuf.Timestamp
    PricingPodPriceResponse price 1 double
    GPULabelResponse label 1 string
    GetAvailableGPUTypesResponse gpuTypes 1 string=google.protobuf.Any
    NodeGroupTargetSizeRequest id 1 string
    NodeGroupTargetSizeResponse targetSize 1 int32
    NodeGroupIncreaseSizeRequest delta 1 int32
    NodeGroupIncreaseSizeRequest id 2 string
    NodeGroupDeleteNodesRequest nodes 1 ExternalGrpcNode*
    NodeGroupDeleteNodesRequest id 2 string
    NodeGroupDecreaseTargetSizeRequest delta 1 int32
    NodeGroupDecreaseTargetSizeRequest id 2 string
    NodeGroupNodesRequest id 1 string
    NodeGroupNodesResponse instances 1 Instance*
    Instance id 1 string
    Instance status 2 InstanceStatus
    InstanceStatus instanceState 1 InstanceStatus.InstanceState
    InstanceStatus errorInfo 2 InstanceErrorInfo
    InstanceErrorInfo errorCode 1 string
    InstanceErrorInfo errorMessage 2 string
    InstanceErrorInfo instanceErrorClass 3 int32
    NodeGroupTemplateNodeInfoRequest id 1 string
    NodeGroupTemplateNodeInfoResponse nodeBytes 2 bytes
    NodeGroupTemplateNodeInfoResponse resourceSliceBytes 3 bytes*
    NodeGroupAutoscalingOptions scaleDownUtilizationThreshold 1 double
    NodeGroupAutoscalingOptions scaleDownGpuUtilizationThreshold 2 double
    NodeGroupAutoscalingOptions zeroOrMaxNodeScaling 6 bool
    NodeGroupAutoscalingOptions ignoreDaemonSetsUtilization 7 bool
    NodeGroupAutoscalingOptions scaleDownUnneededDuration 8 google.protobuf.Duration
    NodeGroupAutoscalingOptions scaleDownUnreadyDuration 9 google.protobuf.Duration
    NodeGroupAutoscalingOptions MaxNodeProvisionDuration 10 google.protobuf.Duration
    NodeGroupAutoscalingOptions maxNodeStartupDuration 11 google.protobuf.Duration
    NodeGroupAutoscalingOptions allowNonAtomicScaleUpToMax 12 bool
    NodeGroupAutoscalingOptionsRequest id 1 string
    NodeGroupAutoscalingOptionsRequest defaults 2 NodeGroupAutoscalingOptions
    NodeGroupAutoscalingOptionsResponse nodeGroupAutoscalingOptions 1 NodeGroupAutoscalingOptions
";

/// Fields of versions before 1.35. The first is a message there, which is its bytes.
const EARLIER: &str = "
    NodeGroupTemplateNodeInfoResponse nodeInfo 1 bytes
    NodeGroupAutoscalingOptions scaleDownUnneededTime 3 Nanoseconds
    NodeGroupAutoscalingOptions scaleDownUnreadyTime 4 Nanoseconds
    NodeGroupAutoscalingOptions MaxNodeProvisionTime 5 Nanoseconds
    Nanoseconds duration 1 int64
";

const STATES: [(&str, i32); 4] =
    [("unspecified", 0), ("instanceRunning", 1), ("instanceCreating", 2), ("instanceDeleting", 3)];

fn lines(table: &str) -> BTreeSet<String> {
    table.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// A field as a line of the table.
fn line(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let entry = message.nested_type.iter().find(|nested| {
        field.type_name().ends_with(&format!(".{}", nested.name()))
            && nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry)
    });
    let kind = match entry {
        Some(entry) => format!("{}={}", kind(&entry.field[0]), kind(&entry.field[1])),
        None if field.label() == Label::Repeated => format!("{}*", kind(field)),
        None => kind(field),
    };
    format!("{} {} {} {kind}", message.name(), field.name(), field.number())
}

fn kind(field: &FieldDescriptorProto) -> String {
    let name = match field.r#type() {
        Type::String => "string",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Double => "double",
        Type::Bool => "bool",
        Type::Bytes => "bytes",
        _ => field.type_name().trim_start_matches('.'),
    };
    name.trim_start_matches(&format!("{PACKAGE}.")).to_owned()
}

#[test]
fn the_messages_have_the_published_names_and_numbers() {
    let all = descriptors().unwrap();
    let file = all.file.iter().find(|file| file.package() == PACKAGE).unwrap();
    let fields = file
        .message_type
        .iter()
        .flat_map(|message| message.field.iter().map(move |field| line(message, field)));
    let expected: BTreeSet<String> = lines(FIELDS).union(&lines(EARLIER)).cloned().collect();
    assert_eq!(fields.collect::<BTreeSet<String>>(), expected);
    let status = file.message_type.iter().find(|message| message.name() == "InstanceStatus").unwrap();
    let states: Vec<(&str, i32)> =
        status.enum_type[0].value.iter().map(|value| (value.name(), value.number())).collect();
    assert_eq!((status.enum_type[0].name(), states.as_slice()), ("InstanceState", STATES.as_slice()));
}

#[test]
fn the_service_has_the_fifteen_published_calls() {
    let all = descriptors().unwrap();
    let file = all.file.iter().find(|file| file.package() == PACKAGE).unwrap();
    let [service] = file.service.as_slice() else { panic!("there is one service") };
    assert_eq!(service.name(), "CloudProvider");
    let calls: BTreeSet<(String, String, String)> = service
        .method
        .iter()
        .map(|call| (call.name().to_owned(), call.input_type().to_owned(), call.output_type().to_owned()))
        .collect();
    let expected: BTreeSet<(String, String, String)> = CALLS
        .split_whitespace()
        .map(|call| (call, call))
        .chain([GET_OPTIONS])
        .map(|(call, front)| {
            (call.to_owned(), format!(".{PACKAGE}.{front}Request"), format!(".{PACKAGE}.{front}Response"))
        })
        .collect();
    assert_eq!((calls.len(), &calls), (15, &expected));
    assert!(service.method.iter().all(|call| !call.client_streaming() && !call.server_streaming()));
}
