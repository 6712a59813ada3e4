//! Medians with confidence intervals, and rank correlation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::generate::Random;

/// Returns the median. For an even count it is the mean of the two middle numbers; for none it is NaN.
pub fn median(numbers: &mut [f64]) -> f64 {
    let (middle, is_odd) = (numbers.len() / 2, numbers.len() % 2 == 1);
    if numbers.is_empty() {
        return f64::NAN;
    }
    let (below, high, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd { *high } else { f64::midpoint(below.iter().copied().fold(f64::MIN, f64::max), *high) }
}

/// Times in microseconds, by pass. The passes are minutes apart and use memory at other addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples(pub Vec<Vec<f64>>);

impl Samples {
    /// Returns the median of all times.
    pub fn median(&self) -> f64 {
        median(&mut self.0.concat())
    }

    /// Returns the median of the faster half of the passes: the time on an otherwise idle machine.
    pub fn quiet(&self) -> f64 {
        let mut passes: Vec<f64> = self.0.iter().map(|pass| median(&mut pass.clone())).collect();
        passes.sort_by(f64::total_cmp);
        let half = passes.len().div_ceil(2);
        median(&mut passes[..half])
    }
}

/// An estimate of a number, with a 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimated value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Returns the estimate of the reciprocal. The interval must be positive.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// Writes the value with its error: `3.2 (± 0.1)`. If the interval is much longer on one side, writes both of
/// its ends: `3.2 (3.1 to 9.5)`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (below, above) = (self.value - self.low, self.high - self.value);
        let digits = if self.value < 10.0 { 2 } else { 1 };
        let unit = 0.1_f64.powi(digits as i32);
        if below.max(above) <= 2.0 * (below.min(above) + unit) {
            write!(f, "{:.digits$} (± {:.digits$})", self.value, below.max(above))
        } else {
            write!(f, "{:.digits$} ({:.digits$} to {:.digits$})", self.value, self.low, self.high)
        }
    }
}

/// The number of bootstrap samples.
const DRAWS: usize = 200;

/// Estimates a statistic of one or two samples that were measured in turn, by bootstrap over the passes and
/// over the rounds within them.
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

/// Estimates the ratio of the medians of two samples. Returns `None` if one of them has no pass.
pub fn ratio(left: &Samples, right: &Samples) -> Option<Estimate> {
    bootstrap([left, right], |[left, right]| median(left) / median(right))
}

/// Estimates the median. Returns `None` if there is no pass.
pub fn time(samples: &Samples) -> Option<Estimate> {
    bootstrap([samples], |[times]| median(times))
}

/// Returns Spearman's rank correlation of pairs: 1 if both are in the same order. Equal numbers share their
/// ranks. The result is 0 for fewer than two pairs, or if all numbers of a side are equal.
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

    #[test]
    fn an_estimate_is_never_said_to_be_what_it_is_not() {
        let text = |value, low, high| Estimate { value, low, high }.to_string();
        assert_eq!(text(3.0, 2.9, 3.1), "3.00 (± 0.10)");
        assert_eq!(text(2.72, 1.5, 55.0), "2.72 (1.50 to 55.00)");
        assert_eq!(text(12.9, 12.86, 13.1), "12.9 (± 0.2)");
    }
}
