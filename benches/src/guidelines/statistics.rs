//! Medians, how sure they are, and rank correlation.

use serde::{Deserialize, Serialize};

use super::results::Samples;
use crate::generate::Random;

/// The middle one of some numbers, the mean of the two middle ones for an even number of them; NaN of none.
pub fn median(numbers: &mut [f64]) -> f64 {
    let (middle, is_odd) = (numbers.len() / 2, numbers.len() % 2 == 1);
    if numbers.is_empty() {
        return f64::NAN;
    }
    let (below, high, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd { *high } else { f64::midpoint(below.iter().copied().fold(f64::MIN, f64::max), *high) }
}

impl Samples {
    /// The median of all times.
    pub fn median(&self) -> f64 {
        median(&mut self.0.concat())
    }

    /// The median of the quicker half of the passes: what it takes on a machine that does nothing else.
    pub fn quiet(&self) -> f64 {
        let mut passes: Vec<f64> = self.0.iter().map(|pass| median(&mut pass.clone())).collect();
        passes.sort_by(f64::total_cmp);
        let half = passes.len().div_ceil(2);
        median(&mut passes[..half])
    }
}

/// An interval that holds a number with a confidence of 95 %, and its likeliest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The likeliest value.
    pub value: f64,
    /// Not less than this,
    pub low: f64,
    /// and not more than this.
    pub high: f64,
}

impl Estimate {
    /// Of one over the number, which is positive.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// As many times is drawn from what was measured.
const DRAWS: usize = 200;

/// A statistic of some passes of one or two samples that were measured in turn: bootstrapped over the passes
/// and over the rounds within them.
fn bootstrap<const N: usize>(
    samples: [&Samples; N],
    statistic: impl Fn([&mut Vec<f64>; N]) -> f64,
) -> Option<Estimate> {
    let passes = samples.iter().map(|samples| samples.0.len()).min().filter(|passes| *passes > 0)?;
    let mut all = samples.map(|samples| samples.0.concat());
    let value = statistic(all.each_mut());
    let mut random = Random::new(passes as u64);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            all.iter_mut().for_each(Vec::clear);
            for _ in 0..passes {
                let pass = random.below(passes as u64) as usize;
                let rounds = samples.iter().map(|samples| samples.0[pass].len()).min().unwrap_or(0);
                for _ in 0..rounds {
                    let round = random.below(rounds as u64) as usize;
                    all.iter_mut().zip(&samples).for_each(|(all, of)| all.push(of.0[pass][round]));
                }
            }
            statistic(all.each_mut())
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let (low, high) = (drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]);
    value.is_finite().then_some(Estimate { value, low: low.min(value), high: high.max(value) })
}

/// How many times as long one takes as the other, by their medians.
pub fn ratio(left: &Samples, right: &Samples) -> Option<Estimate> {
    bootstrap([left, right], |[left, right]| median(left) / median(right))
}

/// The median.
pub fn time(samples: &Samples) -> Option<Estimate> {
    bootstrap([samples], |[times]| median(times))
}

/// Spearman's rank correlation of pairs, 1 where both are in the same order; equal numbers share their ranks.
/// 0 of fewer than two pairs, and where all are equal.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let numbers: Vec<f64> = pairs.iter().map(of).collect();
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        let mut ranks = vec![0.0; numbers.len()];
        let mut first = 0;
        for equal in order.chunk_by(|a, b| numbers[*a].total_cmp(&numbers[*b]).is_eq()) {
            let rank = first as f64 + (equal.len() - 1) as f64 / 2.0;
            for at in equal {
                ranks[*at] = rank;
            }
            first += equal.len();
        }
        ranks
    };
    let (left, right) = (ranks(&|pair| pair.0), ranks(&|pair| pair.1));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let products =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let spread = (products(&left, &left) * products(&right, &right)).sqrt();
    if spread > 0.0 { products(&left, &right) / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_middle_ones() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn an_estimate_is_as_wide_as_passes_differ() {
        let alike = Samples(vec![vec![10.0, 10.1, 9.9, 10.0, 10.0]; 5]);
        let twice = Samples(vec![vec![20.0, 20.2, 19.8, 20.0, 20.0]; 5]);
        let Estimate { value, low, high } = ratio(&twice, &alike).unwrap();
        assert!((1.99..2.01).contains(&value) && low > 1.95 && high < 2.05, "{low} to {high}");
        let uneven = Samples(vec![vec![10.0; 5], vec![30.0; 5], vec![10.0; 5], vec![30.0; 5]]);
        let Estimate { low, high, .. } = ratio(&uneven, &alike).unwrap();
        assert!(low < 1.1 && high > 2.9, "{low} to {high}");
        assert!(ratio(&alike, &Samples::default()).is_none());
    }

    #[test]
    fn ranks_correlate_as_spearman_says() {
        let pairs = |right: [f64; 5]| [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().zip(right).collect::<Vec<_>>();
        assert_eq!(rank_correlation(&pairs([1.0, 10.0, 100.0, 1000.0, 9999.0])), 1.0);
        assert_eq!(rank_correlation(&pairs([5.0, 4.0, 3.0, 2.0, 1.0])), -1.0);
        assert!((rank_correlation(&pairs([2.0, 1.0, 4.0, 3.0, 5.0])) - 0.8).abs() < 1e-12);
        assert_eq!(rank_correlation(&pairs([7.0; 5])), 0.0);
    }
}
