//! The prices by which `Wire::Auto` chooses, fitted to the recorded times of ping-pongs.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Result, ensure};
use dtype_engine::prices::{NAMES, PRICES, Shape};
use dtype_guidelines::calibrate::least_squares;

use crate::record::{self, Size, split_shape};

/// The least sizes in bytes that are too large for the prices of a class of messages: short ones, those in
/// the first caches, those in the last cache, and all others.
const CLASSES: [usize; 4] = [1 << 10, 32 << 10, 2 << 20, usize::MAX];

/// The contenders that the prices are about: our wire of datatypes, and that of packed bytes.
const WAYS: [&str; 2] = ["typed-wire", "packed"];

/// The contender that replaces our wire of datatypes where a plan has no datatype.
const PLAIN: &str = "least-cost";

/// Returns the prices of all recorded libraries, as `dtype-engine/src/prices.csv` has them: for each
/// library and class of sizes, those of a typed message, and those of a packed one.
///
/// # Errors
/// If the text is no file of recorded rows, or has too few cases for a price.
pub fn prices(recorded: &str) -> Result<String> {
    let mut libraries: BTreeMap<String, Vec<(Shape, [f64; 2])>> = BTreeMap::new();
    for ((library, case), times) in record::read(recorded)? {
        let (_, Some(Size::Blocks(shape))) = split_shape(&case) else { continue };
        // A way by which wrong values arrive has no time.
        let [typed, packed] = WAYS.map(|way| times.get(way));
        if let (Some(typed), Some(packed)) = (typed.or_else(|| times.get(PLAIN)), packed) {
            libraries.entry(library).or_default().push((shape, [1e3 * typed, 1e3 * packed]));
        }
    }
    let mut text = "library,below".to_owned();
    for way in ["typed", "packed"] {
        for price in NAMES {
            write!(text, ",{way} {price}")?;
        }
    }
    text.push('\n');
    for (library, cases) in libraries {
        let mut least = 0;
        for end in CLASSES {
            let of_class: Vec<_> =
                cases.iter().filter(|(shape, _)| (least..end).contains(&shape.bytes)).collect();
            let end_word = if end == usize::MAX { "any".to_owned() } else { end.to_string() };
            write!(text, "{library},{end_word}")?;
            let count = of_class.len();
            ensure!(
                count >= PRICES,
                "{library} has {count} cases of {least} to {end} bytes: too few for prices"
            );
            let terms: Vec<Vec<f64>> = of_class.iter().map(|(shape, _)| shape.terms().to_vec()).collect();
            for way in 0..WAYS.len() {
                let times: Vec<f64> = of_class.iter().map(|(_, times)| times[way]).collect();
                for price in fitted(&terms, &times) {
                    write!(text, ",{price:.4}")?;
                }
            }
            text.push('\n');
            least = end;
        }
    }
    Ok(text)
}

/// Returns the prices that predict the times with the least relative errors. Too long and too short weigh
/// equally: the errors are divided by the geometric mean of the time and its prediction.
fn fitted(terms: &[Vec<f64>], times: &[f64]) -> [f64; PRICES] {
    const ROUNDS: usize = 8;
    let mut weights: Vec<f64> = times.to_vec();
    let mut prices = [0.0; PRICES];
    for _ in 0..ROUNDS {
        let rows = terms
            .iter()
            .zip(&weights)
            .map(|(terms, weight)| terms.iter().map(|term| term / weight).collect());
        let wanted: Vec<f64> = times.iter().zip(&weights).map(|(time, weight)| time / weight).collect();
        let found = least_squares(&rows.collect::<Vec<_>>(), &wanted);
        prices.iter_mut().zip(found).for_each(|(price, found)| *price = found);
        for ((weight, terms), time) in weights.iter_mut().zip(terms).zip(times) {
            let predicted: f64 = terms.iter().zip(prices).map(|(term, price)| term * price).sum();
            *weight = (predicted.max(time / 20.0) * time).sqrt();
        }
    }
    prices
}
