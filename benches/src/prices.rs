//! The prices by which `Wire::Auto` chooses, fitted to the recorded times of ping-pongs.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Result, ensure};
use dtype_engine::prices::{NAMES, PRICES, Shape, Way};
use dtype_guidelines::calibrate::least_squares;

use crate::record::{self, Size, Times, split_shape};

/// The least sizes in bytes that are too large for the prices of a class of messages. Of several divisions,
/// this one led to the fewest wrong choices on five libraries and two machines. It has the limits of 4 KiB of
/// Open MPI and of 8 KiB of MPICH. No case is as large as a bound.
const CLASSES: [usize; 8] = [1 << 10, 4032, 8180, 32_000, 128 << 10, 1 << 20, 8 << 20, usize::MAX];

/// Returns the contenders whose times are those of a way. The second one replaces the first one where a plan
/// has no datatype of ours.
fn contenders(way: Way) -> &'static [&'static str] {
    match way {
        Way::Typed => &["typed-wire", "least-cost"],
        Way::Packed => &["packed"],
    }
}

/// Returns the prices of all recorded libraries, as `dtype-engine/src/prices.csv` has them: for each
/// library and class of sizes, those of each way.
///
/// # Errors
/// If the text is no file of recorded rows, or has too few cases for a price.
pub fn prices(recorded: &str) -> Result<String> {
    let mut libraries: BTreeMap<String, Vec<(Shape, Times)>> = BTreeMap::new();
    for ((library, case), times) in record::read(recorded)? {
        let (_, Some(Size::Blocks(shape))) = split_shape(&case) else { continue };
        libraries.entry(library).or_default().push((shape, times));
    }
    let mut text = "library,below".to_owned();
    for way in Way::ALL {
        for price in NAMES {
            write!(text, ",{} {price}", way.name())?;
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
            for way in Way::ALL {
                // A way by which wrong values arrive has no time.
                let timed = of_class.iter().filter_map(|(shape, times)| {
                    let time = contenders(way).iter().find_map(|contender| times.get(*contender))?;
                    Some((shape.terms().to_vec(), 1e3 * time))
                });
                let (terms, times): (Vec<_>, Vec<_>) = timed.unzip();
                let count = times.len();
                ensure!(
                    count >= PRICES,
                    "{library} has {count} cases of {least} to {end} bytes, {}: too few for prices",
                    way.name()
                );
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
