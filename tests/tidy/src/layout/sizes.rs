//! Files that stay small enough to be read, but for generated ones.

use crate::Complaint;
use crate::tree::{File, written};

/// A longer file has more than one idea.
const RUST_LINES: usize = 600;
/// The map must be shorter than the land.
const ARCHITECTURE_LINES: usize = 300;
const ARCHITECTURE: &str = "host/ARCHITECTURE.md";

/// Rust files and the map of the architecture are within their limits, and the map is there.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in written(files) {
        let limit = match file.path.as_str() {
            ARCHITECTURE => ARCHITECTURE_LINES,
            path if path.ends_with(".rs") => RUST_LINES,
            _ => continue,
        };
        let lines = file.lines().count();
        if lines > limit {
            complaints.push(format!("{}: {lines} lines, at most {limit}: split it by idea", file.path));
        }
    }
    if !files.iter().any(|file| file.path == ARCHITECTURE) {
        complaints.push(format!("{ARCHITECTURE}: missing"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, lines: usize) -> Vec<Complaint> {
        check(&[File::new(path, &"x\n".repeat(lines)), File::new(ARCHITECTURE, "x")])
    }

    #[test]
    fn a_file_at_its_limit_passes_and_one_line_more_does_not() {
        assert!(complaints("host/a.rs", RUST_LINES).is_empty());
        assert_eq!(complaints("host/a.rs", RUST_LINES + 1).len(), 1);
        assert_eq!(complaints(ARCHITECTURE, ARCHITECTURE_LINES + 1).len(), 1);
        assert!(complaints("README.md", RUST_LINES + 1).is_empty());
    }

    #[test]
    fn the_map_must_be_there() {
        assert_eq!(check(&[]).len(), 1);
    }
}
