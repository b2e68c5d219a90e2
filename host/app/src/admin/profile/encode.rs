//! From samples to a file: gzip around protobuf, as <https://github.com/google/pprof/blob/main/proto/profile.proto> has
//! it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use pprof::{Report, Symbol};

/// Numbers of the fields of `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
}

/// One stack and how often it was seen, the innermost frame first.
struct Stack {
    frames: Vec<Frame>,
    count: u64,
}

/// A function on the stack. One that was inlined is a frame of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    function: String,
    file: String,
    line: u64,
}

pub(super) fn encode(
    report: &Report,
    began: SystemTime,
    took: Duration,
    samples_per_second: i32,
) -> io::Result<Vec<u8>> {
    let stacks = report.data.iter().map(|(frames, count)| Stack {
        frames: frames.frames.iter().flatten().map(frame).collect(),
        count: u64::try_from(*count).unwrap_or_default(),
    });
    let period = 1_000_000_000 / u64::try_from(samples_per_second).unwrap_or(1).max(1);
    let message = message(stacks.collect(), began, took, period);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&message)?;
    packed.finish()
}

fn frame(symbol: &Symbol) -> Frame {
    Frame { function: symbol.name(), file: symbol.filename().into_owned(), line: u64::from(symbol.lineno()) }
}

fn message(stacks: Vec<Stack>, began: SystemTime, took: Duration, period: u64) -> Vec<u8> {
    let mut strings = Strings::default();
    let mut out = Message::default();
    for (kind, unit) in [("samples", "count"), ("cpu", "nanoseconds")] {
        out.nested(profile::SAMPLE_TYPE, &value_type(&mut strings, kind, unit));
    }
    let mut locations: BTreeMap<Frame, u64> = BTreeMap::new();
    for stack in stacks {
        let mut ids = Message::default();
        for frame in stack.frames {
            let next = locations.len() as u64 + 1;
            ids.varint(*locations.entry(frame).or_insert(next));
        }
        let mut values = Message::default();
        values.varint(stack.count);
        values.varint(stack.count.saturating_mul(period));
        let mut sample = Message::default();
        sample.nested(1, &ids);
        sample.nested(2, &values);
        out.nested(profile::SAMPLE, &sample);
    }
    let mut functions: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (frame, id) in locations {
        let key = (strings.index(&frame.function), strings.index(&frame.file));
        let next = functions.len() as u64 + 1;
        let function = *functions.entry(key).or_insert(next);
        let mut line = Message::default();
        line.number(1, function);
        line.number(2, frame.line);
        let mut location = Message::default();
        location.number(1, id);
        location.nested(4, &line);
        out.nested(profile::LOCATION, &location);
    }
    for ((name, file), id) in functions {
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, name);
        function.number(3, name);
        function.number(4, file);
        out.nested(profile::FUNCTION, &function);
    }
    let since_epoch = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    out.number(profile::TIME_NANOS, u64::try_from(since_epoch.as_nanos()).unwrap_or_default());
    out.number(profile::DURATION_NANOS, u64::try_from(took.as_nanos()).unwrap_or_default());
    out.nested(profile::PERIOD_TYPE, &value_type(&mut strings, "cpu", "nanoseconds"));
    out.number(profile::PERIOD, period);
    for text in strings.in_order {
        out.text(profile::STRING_TABLE, &text);
    }
    out.bytes
}

fn value_type(strings: &mut Strings, kind: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(1, strings.index(kind));
    message.number(2, strings.index(unit));
    message
}

/// The table of strings. The first is empty by contract.
struct Strings {
    in_order: Vec<String>,
    index: BTreeMap<String, u64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { in_order: vec![String::new()], index: [(String::new(), 0)].into() }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.index.get(text) {
            return *index;
        }
        let index = self.in_order.len() as u64;
        self.in_order.push(text.to_owned());
        self.index.insert(text.to_owned(), index);
        index
    }
}

/// A message of protobuf.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3));
        self.varint(value);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.varint(u64::from(field << 3 | 2));
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn nested(&mut self, field: u32, message: &Self) {
        self.varint(u64::from(field << 3 | 2));
        self.varint(message.bytes.len() as u64);
        self.bytes.extend_from_slice(&message.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field numbers and values of a message; nested ones as bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            value
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            if tag & 7 == 2 {
                let (inner, rest) = bytes.split_at(usize::try_from(value).unwrap());
                found.push((tag >> 3, inner.to_vec(), 0));
                bytes = rest;
            } else {
                found.push((tag >> 3, Vec::new(), value));
            }
        }
        found
    }

    fn frame(function: &str, line: u64) -> Frame {
        Frame { function: function.into(), file: "a.rs".into(), line }
    }

    #[test]
    fn a_profile_names_its_functions_and_counts_its_stacks() {
        let stacks = vec![
            Stack { frames: vec![frame("inner", 300), frame("outer", 2)], count: 7 },
            Stack { frames: vec![frame("outer", 2)], count: 1 },
        ];
        let bytes = message(stacks, SystemTime::UNIX_EPOCH, Duration::from_secs(2), 10_000_000);
        let all = fields(&bytes);
        let of = |field: u32| all.iter().filter(move |(number, _, _)| *number == u64::from(field));
        let strings: Vec<&str> =
            of(profile::STRING_TABLE).map(|(_, text, _)| std::str::from_utf8(text).unwrap()).collect();
        assert_eq!(strings.first(), Some(&""), "the contract wants the empty one first");
        for text in ["inner", "outer", "a.rs", "cpu", "nanoseconds", "samples", "count"] {
            assert!(strings.contains(&text), "{text} is missing in {strings:?}");
        }
        assert_eq!(of(profile::LOCATION).count(), 2);
        assert_eq!(of(profile::FUNCTION).count(), 2);
        let samples: Vec<_> = of(profile::SAMPLE).map(|(_, sample, _)| fields(sample)).collect();
        assert_eq!(samples[0][0].1, [1, 2], "locations, the innermost first");
        assert_eq!(samples[0][1].1[0], 7);
        assert_eq!(samples[1][0].1, [2]);
        assert_eq!(of(profile::DURATION_NANOS).next().unwrap().2, 2_000_000_000);
        assert_eq!(of(profile::PERIOD).next().unwrap().2, 10_000_000);
    }
}
