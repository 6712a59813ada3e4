//! Plans of Rust types, and data of values.

use std::borrow::Cow;

use dtype_core::BaseType;
use dtype_engine::{Data, DataMut, Layer, Plan};

use crate::types::{MpiDatatype, Visitor, check::restricted};

/// Returns the plan of a type.
///
/// ```
/// use dtype_runtime::pack::plan_of;
///
/// let plan = plan_of::<(u8, u32)>();
/// assert_eq!((plan.packed_size(), plan.extent()), (5, 8));
/// ```
pub fn plan_of<T: MpiDatatype>() -> &'static Plan {
    T::lazy().plan(&|| Plan::of_layer(layer::<T>(), size_of::<T>() as isize))
}

/// Joins values to the plan of their type.
///
/// ```
/// let values = [(1u8, 2u16.to_be()), (3, 4u16.to_be())];
/// let data = dtype_runtime::pack::data_of(&values);
/// let mut part = [0; 3];
/// data.pack_range(2..5, &mut part)?;
/// assert_eq!(part, [2, 3, 0]);
/// # Ok::<(), dtype_runtime::pack::Error>(())
/// ```
pub fn data_of<T: MpiDatatype>(values: &[T]) -> Data<'_> {
    let (plan, first) = (Cow::Borrowed(plan_of::<T>()), values.as_ptr().cast_mut().cast());
    // SAFETY: the plan of a type covers only fields of its values, which are borrowed.
    unsafe { Data::from_raw(plan, values.len(), first) }
}

/// Joins values to the plan of their type, to be written.
///
/// ```
/// let mut values = [(0u8, false); 2];
/// dtype_runtime::pack::data_of_mut(&mut values).unpack_range(2, &[7, 1])?;
/// assert_eq!(values, [(0, false), (7, true)]);
/// # Ok::<(), dtype_runtime::pack::Error>(())
/// ```
pub fn data_of_mut<T: MpiDatatype>(values: &mut [T]) -> DataMut<'_> {
    let (plan, first) = (Cow::Borrowed(plan_of::<T>()), values.as_mut_ptr().cast());
    // SAFETY: the plan of a type covers only fields of its values, which are borrowed mutably. Values of
    // restricted types are checked.
    unsafe { DataMut::from_raw(plan, values.len(), first, restricted::<T>()) }
}

/// Returns the layer of a type: the fields that are sent.
fn layer<T: MpiDatatype>() -> Layer {
    let mut fields = Fields(Vec::new());
    T::visit(&mut fields);
    Layer::sequence(fields.0)
}

/// A visitor that collects the parts of a type.
struct Fields(Vec<(isize, Layer)>);

impl Visitor for Fields {
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType) {
        self.0.push((0, Layer::leaf(base)));
    }

    fn field<F: MpiDatatype>(&mut self, offset: usize) {
        self.0.push((offset as isize, layer::<F>()));
    }

    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        self.0.push((0, layer::<F>().repeated(count, size_of::<F>() as isize)));
    }
}
