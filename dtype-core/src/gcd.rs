//! Greatest common divisors.

/// Returns the greatest common divisor. Every number divides 0, so `gcd(0, b)` is `b`.
///
/// ```
/// assert_eq!((dtype_core::gcd(12, 18), dtype_core::gcd(0, 7)), (6, 7));
/// ```
pub const fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the greatest common divisor of two positive numbers, and an x with a·x ≡ the divisor (mod b) and
/// |x| ≤ b.
pub(crate) const fn gcd_and_inverse(a: i128, b: i128) -> (i128, i128) {
    let (mut remainder, mut next) = (a, b);
    let (mut x, mut next_x) = (1, 0);
    while next != 0 {
        let quotient = remainder / next;
        (remainder, next) = (next, remainder - quotient * next);
        (x, next_x) = (next_x, x - quotient * next_x);
    }
    (remainder, x)
}
