//! Plans of Rust types.

use dtype_core::BaseType;

use crate::{
    engine::{Layer, Plan},
    types::{MpiDatatype, Visitor},
};

impl Plan {
    /// Returns the plan of a type.
    ///
    /// ```
    /// use dtype_runtime::pack::Plan;
    /// assert_eq!((Plan::of::<(u8, u32)>().packed_size(), Plan::of::<(u8, u32)>().extent()), (5, 8));
    /// ```
    pub fn of<T: MpiDatatype>() -> Self {
        plan_of::<T>().clone()
    }
}

/// Returns a borrowed plan of a type: the reference count of the plan does not change.
pub(super) fn plan_of<T: MpiDatatype>() -> &'static Plan {
    T::lazy().plan(|| Plan::of_layer(layer::<T>(), size_of::<T>() as isize))
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
