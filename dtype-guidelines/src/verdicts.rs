//! The verdicts on a library: its expectations, judged by the measured times.

use crate::{
    groups::Expectation,
    judgement::Judgement,
    results::{Kind, Layout, Operation, Results},
    statistics::{Estimate, ratio},
};

/// A verdict on a pair of times.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// The layout.
    pub layout: &'a Layout,
    /// The expectation.
    pub by: Expectation,
    /// The operation.
    pub operation: Operation,
    /// The way that should be no slower, and its time in microseconds.
    pub left: (&'a str, f64),
    /// The way with which it is compared, and its time in microseconds.
    pub right: (String, f64),
    /// The ratio of the left time to the right one.
    pub factor: Estimate,
    /// The judgement.
    pub judgement: Judgement,
}

/// Returns all verdicts on a library.
pub fn verdicts(results: &Results) -> Vec<Verdict<'_>> {
    results.layouts.iter().flat_map(of_layout).collect()
}

/// Returns the verdicts on a layout.
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

pub fn count(verdicts: &[&Verdict<'_>], judgement: Judgement) -> usize {
    verdicts.iter().filter(|verdict| verdict.judgement == judgement).count()
}

/// Returns the violation with the largest factor, by the lower end of its interval.
pub fn worst<'a, 'b: 'a>(verdicts: impl Iterator<Item = &'a Verdict<'b>>) -> Option<&'a Verdict<'b>> {
    let violated = verdicts.filter(|verdict| verdict.judgement == Judgement::Violated);
    violated.max_by(|a, b| a.factor.low.total_cmp(&b.factor.low))
}
