//! What was expected against what was measured.

use std::fmt;

use super::{
    groups::Expectation,
    results::{Kind, Layout, Operation, Results},
    statistics::{Estimate, ratio},
};

/// So much longer something may take and still count as no slower: nobody rewrites a program for less.
pub const MARGIN: f64 = 0.15;

/// A run differs from the next by more than its passes tell, since its processes lie elsewhere in memory:
/// both ends of an interval are so far out.
pub const BETWEEN_RUNS: f64 = 0.05;

/// So many microseconds are noise however little something takes.
const NOISE: f64 = 0.03;

/// Whether an expectation is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// It is not.
    Violated,
    /// Both are possible.
    TooClose,
    /// It is.
    Holds,
}

/// What is to be said of a pair.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// Of which layout.
    pub layout: &'a Layout,
    /// What was expected.
    pub by: Expectation,
    /// Of which operation.
    pub operation: Operation,
    /// What should be no slower, and its time in microseconds;
    pub left: (&'a str, f64),
    /// than what, with its time.
    pub right: (String, f64),
    /// How many times as long the former takes.
    pub factor: Estimate,
    /// What follows.
    pub judgement: Judgement,
}

impl Judgement {
    /// Of a ratio that should not be above 1, of times in microseconds.
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

    /// Words for it, with the factor.
    pub fn text(self, factor: Estimate) -> String {
        match self {
            Self::Holds => "holds".to_owned(),
            Self::TooClose => "too close to call".to_owned(),
            Self::Violated => format!("violated by a factor {factor}"),
        }
    }
}

/// The value, and how far it may be off: `3.2 (± 0.1)`; if that is much more to one side, from where to
/// where:
/// `3.2 (3.1 to 9.5)`.
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

/// All verdicts on a library.
pub fn verdicts(results: &Results) -> Vec<Verdict<'_>> {
    results.layouts.iter().flat_map(of_layout).collect()
}

/// The verdicts on a layout.
fn of_layout<'a>(layout: &'a Layout) -> Vec<Verdict<'a>> {
    const OF_WAYS: [Operation; 4] =
        [Operation::Pack, Operation::PingPong, Operation::Broadcast, Operation::AllGather];
    let mut all = Vec::new();
    let mut judge = |by, (left, left_does): (&'a str, Operation), (right, right_does): (&str, Operation)| {
        let times = |way: &str, operation| layout.way(way)?.times.get(&operation);
        let (Some(one), Some(other)) = (times(left, left_does), times(right, right_does)) else { return };
        let Some(factor) = ratio(one, other) else { return };
        let (left_time, right_time) = (one.median(), other.median());
        all.push(Verdict {
            layout,
            by,
            operation: left_does,
            left: (left, left_time),
            right: (if left == right { "packed first" } else { right }.to_owned(), right_time),
            factor,
            judgement: Judgement::of(factor, left_time, right_time),
        });
    };
    for expected in &layout.expected {
        for operation in OF_WAYS {
            judge(expected.by, (&expected.left, operation), (&expected.right, operation));
        }
    }
    let hand = layout.ways.iter().find(|way| way.kind == Kind::ByHand).map(|way| way.name.as_str());
    for way in layout.ways.iter().filter(|way| way.kind == Kind::Datatype) {
        for operation in OF_WAYS {
            if let Some(packed) = operation.packed() {
                judge(Expectation::Packing, (&way.name, operation), (&way.name, packed));
            }
        }
        for operation in [Operation::Pack, Operation::Unpack] {
            if let Some(hand) = hand {
                judge(Expectation::ByHand, (&way.name, operation), (hand, operation));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_never_said_to_be_what_it_is_not() {
        let text = |value, low, high| Estimate { value, low, high }.to_string();
        assert_eq!(text(3.0, 2.9, 3.1), "3.00 (± 0.10)");
        assert_eq!(text(2.72, 1.5, 55.0), "2.72 (1.50 to 55.00)");
        assert_eq!(text(12.9, 12.86, 13.1), "12.9 (± 0.2)");
    }

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
