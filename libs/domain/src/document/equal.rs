//! When two values are equal to a `test`.

use serde_json::{Number, Value};

/// Equal as RFC 6902 has it: numbers by value (1 is 1.0), objects in any order.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || matches!((whole(left), whole(right)), (Some(left), Some(right)) if left == right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// The whole number that this is. Whole numbers above 64 bits are floats on both sides, and equal as such.
fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i128() {
        return Some(number);
    }
    number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e20).map(|float| float as i128)
}
