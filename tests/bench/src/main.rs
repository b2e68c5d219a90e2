//! Figures, as ratios against a baseline in the same run.

fn main() {}
