//! The judgement of an expectation, from the ratio of two measured times.

use crate::statistics::Estimate;

/// The relative excess up to which a time counts as no slower: a smaller gain is not worth rewriting a
/// program.
pub const MARGIN: f64 = 0.15;

/// The relative difference between two runs, whose memory lies at different addresses. The passes of one run
/// cannot show this difference, so both ends of a confidence interval move outwards by it.
pub const BETWEEN_RUNS: f64 = 0.05;

/// The difference in microseconds that counts as noise, however short the times are.
const NOISE: f64 = 0.03;

/// The judgement of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// The expectation is violated.
    Violated,
    /// The measurement allows both answers.
    TooClose,
    /// The expectation is met.
    Holds,
}

impl Judgement {
    /// Judges a ratio that should not be above 1. `left` and `right` are the times in microseconds.
    pub fn of(factor: Estimate, left: f64, right: f64) -> Self {
        let is_noise = left - right <= NOISE;
        let (low, high) = (factor.low / (1.0 + BETWEEN_RUNS), factor.high * (1.0 + BETWEEN_RUNS));
        if high <= 1.0 + MARGIN || is_noise && factor.value <= 1.0 + MARGIN {
            Self::Holds
        } else if low > 1.0 + MARGIN && !is_noise {
            Self::Violated
        } else {
            Self::TooClose
        }
    }

    /// Returns the judgement in words, with the factor of a violation.
    pub fn text(self, factor: Estimate) -> String {
        match self {
            Self::Holds => "holds".to_owned(),
            Self::TooClose => "too close to call".to_owned(),
            Self::Violated => format!("violated by a factor {factor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_either_is_too_close_to_call() {
        let judge = |value: f64, off: f64, time: f64| {
            let factor = Estimate { value, low: value - off, high: value + off };
            Judgement::of(factor, time * value, time)
        };
        for (value, off, time, judgement) in [
            (1.05, 0.04, 10.0, Judgement::Holds),
            (1.12, 0.00, 10.0, Judgement::TooClose),
            (1.18, 0.01, 10.0, Judgement::TooClose),
            (1.25, 0.04, 10.0, Judgement::Violated),
            (1.25, 0.20, 10.0, Judgement::TooClose),
            (3.00, 0.01, 0.01, Judgement::TooClose),
            (1.05, 0.50, 0.10, Judgement::Holds),
        ] {
            assert_eq!(judge(value, off, time), judgement, "{value} ± {off} of {time} µs");
        }
    }
}
