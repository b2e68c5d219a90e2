//! One MachineDeployment, from its creation until all its Machines run, in several sizes.

use anyhow::Result;
use e2e::manifests::deployments::deployment;

use super::scene::{CLASSES, Cost, Scene};
use crate::machines::Baseline;
use crate::times::Times;

/// One size, on a control plane of its own.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    pub(crate) machines: usize,
    pub(crate) cost: Cost,
    /// From when each was seen first until it ran.
    pub(crate) each: Times,
    pub(crate) baseline: Baseline,
}

#[derive(Clone, Debug)]
pub(crate) struct Growth {
    pub(crate) sizes: Vec<Size>,
}

impl Growth {
    /// How log time grows with log number: 1 when each Machine costs the same. None of a single size.
    pub(crate) fn slope(&self) -> Option<f64> {
        let point = |size: &Size| {
            let machines = f64::from(u32::try_from(size.machines).ok()?);
            Some((machines.ln(), size.cost.wall.as_secs_f64().ln()))
        };
        slope(&self.sizes.iter().filter_map(point).collect::<Vec<_>>())
    }
}

pub(crate) async fn measure(sizes: &[u32]) -> Result<Growth> {
    let mut measured = Vec::new();
    for machines in sizes {
        measured.push(size(*machines).await?);
    }
    Ok(Growth { sizes: measured })
}

async fn size(machines: u32) -> Result<Size> {
    const NAME: &str = "pool";
    let wanted = usize::try_from(machines)?;
    let scene = Scene::start(&format!("a deployment of {machines}")).await?;
    let work = async {
        scene.lab.create_deployment(&deployment(NAME, CLASSES[0], machines, machines / 10, 0)).await?;
        scene.runs(wanted).await
    };
    let cost = scene.counted(&format!("{machines} Machines until all run"), work).await?;
    let each = Times::of(scene.fleet.look(e2e::fleet::Fleet::times_to_running));
    let baseline = scene.creations(wanted, &cost.requests).await?;
    Ok(Size { machines: wanted, cost, each, baseline })
}

/// Of the line that fits these points best.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = f64::from(u32::try_from(points.len()).ok()?);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.0).then(|| common / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[(f64, f64)]) -> Option<f64> {
        slope(&runs.iter().map(|(machines, secs)| (machines.ln(), secs.ln())).collect::<Vec<_>>())
    }

    #[test]
    fn the_slope_is_one_when_each_machine_costs_the_same_and_two_when_all_look_at_all() {
        let linear = of(&[(100.0, 2.0), (1_000.0, 20.0), (5_000.0, 100.0)]).unwrap();
        assert!((linear - 1.0).abs() < 1e-9, "{linear}");
        let square = of(&[(100.0, 1.0), (1_000.0, 100.0), (5_000.0, 2_500.0)]).unwrap();
        assert!((square - 2.0).abs() < 1e-9, "{square}");
        assert_eq!(of(&[(100.0, 2.0)]), None);
    }
}
