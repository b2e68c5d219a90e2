//! Figures of the process itself, by the names that dashboards know from every exporter.

use std::fmt;
use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Ticks of the processor's time in a second, as Linux shows them to programs on every architecture.
const TICKS: f64 = 100.0;

/// Puts the figures of this process into a registry.
pub(crate) fn register(registry: &mut Registry) {
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("arch", std::env::consts::ARCH)];
    registry.register("machinist_build", "The program that runs", Info::new(labels.to_vec()));
    registry.register_collector(Box::new(Process));
}

/// Reads what Linux says of this process at each scrape. A figure that cannot be read is left out.
#[derive(Debug)]
struct Process;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    cpu_seconds: Option<f64>,
    start_time_seconds: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = Figures::read(Path::new("/proc"));
        if let Some(seconds) = figures.cpu_seconds {
            encoder
                .encode_descriptor(
                    "process_cpu_seconds",
                    "Time of processors that this process took",
                    None,
                    MetricType::Counter,
                )?
                .encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
        }
        let whole = |value: Option<u64>| value.map(|value| value as f64);
        for (name, help, value) in [
            (
                "process_start_time_seconds", "When this process started, since 1970",
                figures.start_time_seconds,
            ),
            ("process_resident_memory_bytes", "Memory of this process in RAM", whole(figures.resident_bytes)),
            (
                "process_virtual_memory_bytes",
                "Addresses that this process has taken",
                whole(figures.virtual_bytes),
            ),
            ("process_open_fds", "Open file descriptors", whole(figures.open_fds)),
            ("process_max_fds", "File descriptors that may be open", whole(figures.max_fds)),
        ] {
            if let Some(value) = value {
                encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }
}

impl Figures {
    fn read(proc: &Path) -> Self {
        let text = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap_or_default();
        let open = std::fs::read_dir(proc.join("self/fd")).ok().map(Iterator::count);
        let figures =
            Self::parse(&text("self/stat"), &text("self/status"), &text("self/limits"), &text("stat"));
        // The folder itself is open while it is read.
        Self { open_fds: open.and_then(|count| u64::try_from(count.saturating_sub(1)).ok()), ..figures }
    }

    /// From the texts of `/proc/self/stat`, `/proc/self/status`, `/proc/self/limits` and `/proc/stat`.
    fn parse(stat: &str, status: &str, limits: &str, system: &str) -> Self {
        // The name of the program is in brackets, and may contain anything.
        let fields: Vec<&str> =
            stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok().map(|ticks| ticks / TICKS);
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
        };
        let booted =
            || system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse::<f64>().ok();
        let max =
            || limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next();
        Self {
            cpu_seconds: ticks(14).zip(ticks(15)).map(|(user, system)| user + system),
            start_time_seconds: booted().zip(ticks(22)).map(|(booted, since)| booted + since),
            resident_bytes: kilobytes("VmRSS:"),
            virtual_bytes: kilobytes("VmSize:"),
            open_fds: None,
            max_fds: max().and_then(|max| max.parse().ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_linux_are_read_also_with_a_name_full_of_brackets() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 5551 0 3 0 150 50 0 0 20 0 9 0 12345 1000 200 18446744073709551615";
        let status = "Name:\ta\nVmSize:\t  2000 kB\nVmRSS:\t    1000 kB\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 4096                 files\n";
        let figures = Figures::parse(stat, status, limits, "cpu 1 2\nbtime 1000\n");
        let expected = Figures {
            cpu_seconds: Some(2.0),
            start_time_seconds: Some(1_123.45),
            resident_bytes: Some(1_024_000),
            virtual_bytes: Some(2_048_000),
            open_fds: None,
            max_fds: Some(1_024),
        };
        assert_eq!(figures, expected);
        assert_eq!(Figures::parse("", "", "", ""), Figures::default(), "what cannot be read is left out");
    }

    #[test]
    fn this_process_shows_all_of_them() {
        let mut registry = Registry::default();
        register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for name in [
            "machinist_build_info{version=", "process_cpu_seconds_total ", "process_start_time_seconds ",
            "process_resident_memory_bytes ", "process_virtual_memory_bytes ", "process_open_fds ",
            "process_max_fds ",
        ] {
            assert!(text.lines().any(|line| line.starts_with(name)), "{name} is missing in\n{text}");
        }
    }
}
