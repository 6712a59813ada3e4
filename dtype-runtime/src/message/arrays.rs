//! Arrays of `ndarray` and matrices of `nalgebra` as messages: the shape, and then the elements.

use super::{
    Fingerprint, FromMessage, MpiMessage, Reader, Writer, limits::malformed, sequences::describe_values,
};
use crate::Error;

#[cold]
fn misshapen(shape: &[usize]) -> Error {
    malformed(format!("the elements of an array do not have its shape, which is {shape:?}"))
}

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use ndarray::{Array, ArrayBase, Data, Dimension, IxDyn};

    use super::{
        super::limits::unsendable, Error, Fingerprint, FromMessage, MpiMessage, Reader, Writer,
        describe_values, malformed, misshapen,
    };

    /// The greatest number of dimensions.
    const MOST: usize = 32;

    impl<T: MpiMessage, S: Data<Elem = T>, D: Dimension> MpiMessage for ArrayBase<S, D> {
        const LEAST: usize = 1;
        const KEPT: usize = Vec::<T>::KEPT;

        fn describe(of: &mut Fingerprint) {
            of.field("ndarray", describe_values::<T>);
            of.number(D::NDIM.map_or(u64::MAX, |dimensions| dimensions as u64));
        }

        /// Writes the shape, and the elements in the order of their indices: as a slice if they are one.
        fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
            if self.ndim() > MOST {
                return Err(unsendable(too_many(self.ndim())));
            }
            if D::NDIM.is_none() {
                to.length(self.ndim());
            }
            self.shape().iter().for_each(|length| to.length(*length));
            let slice = self.as_slice();
            to.bytes(&[slice.is_some().into()]);
            match slice {
                Some(elements) => elements.write(to),
                None => to.nested(|to| {
                    if T::LEAST == 0 {
                        to.blank(self.len());
                    }
                    self.iter().try_for_each(|element| element.write(to))
                }),
            }
        }
    }

    impl<T: FromMessage, D: Dimension> FromMessage for Array<T, D> {
        fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
            let (shape, is_slice) = shape::<D>(from)?;
            let elements = if is_slice {
                Vec::read(from)?
            } else {
                let count = from.fits::<T>(count(&shape)?, T::LEAST)?;
                from.nested::<T, _>(|from| (0..count).map(|_| T::read(from)).collect::<Result<_, _>>())?
            };
            let array = Array::from_shape_vec(IxDyn(&shape), elements);
            array.and_then(Array::into_dimensionality).map_err(|_| misshapen(&shape))
        }
    }

    /// Reads the shape of an array. Returns `true` if its elements are a slice.
    fn shape<D: Dimension>(from: &mut Reader<'_>) -> Result<(Vec<usize>, bool), Error> {
        let dimensions = D::NDIM.map_or_else(|| from.length(), Ok)?;
        if dimensions > MOST {
            return Err(malformed(too_many(dimensions)));
        }
        let shape = (0..dimensions).map(|_| from.length()).collect::<Result<_, _>>()?;
        match from.array()? {
            [slice @ (0 | 1)] => Ok((shape, slice == 1)),
            [other] => Err(malformed(format!("an array of the unknown form {other}"))),
        }
    }

    fn too_many(dimensions: usize) -> String {
        format!("an array has {dimensions} dimensions, more than {MOST}")
    }

    fn count(shape: &[usize]) -> Result<usize, Error> {
        let product = shape.iter().try_fold(1usize, |product, length| product.checked_mul(*length));
        product.ok_or_else(|| misshapen(shape))
    }
}

#[cfg(any(feature = "nalgebra", feature = "nalgebra-0_34"))]
mod of_nalgebra {
    use super::{
        super::Plain, Error, Fingerprint, FromMessage, MpiMessage, Reader, Writer, describe_values, misshapen,
    };

    /// Implements both traits for the matrices of one version of nalgebra.
    macro_rules! matrices {
        ($module:ident, $nalgebra:ident) => {
            mod $module {
                use $nalgebra::{
                    ArrayStorage, Dim, IsContiguous, Matrix, RawStorage, SMatrix, Scalar, VecStorage,
                };

                use super::{
                    Error, Fingerprint, FromMessage, MpiMessage, Plain, Reader, Writer, describe_values,
                    misshapen,
                };

                impl<T: MpiMessage + Scalar, const R: usize, const C: usize> MpiMessage for SMatrix<T, R, C> {
                    const PLAIN: Option<Plain<Self>> = match <[[T; R]; C]>::PLAIN {
                        // SAFETY: 1, since nalgebra documents `ArrayStorage` as an array of columns.
                        Some(plain) => Some(unsafe { Plain::new(plain.of) }),
                        None => None,
                    };
                    const LEAST: usize = <[[T; R]; C]>::LEAST;
                    const KEPT: usize = T::KEPT;

                    fn describe(of: &mut Fingerprint) {
                        of.field("nalgebra", <[[T; R]; C]>::describe);
                    }

                    #[inline]
                    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                        self.data.0.write(to)
                    }
                }

                impl<T: FromMessage + Scalar, const R: usize, const C: usize> FromMessage
                    for SMatrix<T, R, C>
                {
                    #[inline]
                    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                        let columns = <[[T; R]; C]>::read(from)?;
                        Ok(Self::from_array_storage(ArrayStorage(columns)))
                    }
                }

                // Matrices on the heap.
                impl<T: MpiMessage + Scalar, R: Dim, C: Dim> MpiMessage
                    for Matrix<T, R, C, VecStorage<T, R, C>>
                where
                    VecStorage<T, R, C>: RawStorage<T, R, C> + IsContiguous,
                {
                    const LEAST: usize = 12;
                    const KEPT: usize = Vec::<T>::KEPT;

                    fn describe(of: &mut Fingerprint) {
                        of.field("nalgebra", describe_values::<T>);
                        for dimension in [R::try_to_usize(), C::try_to_usize()] {
                            of.number(dimension.map_or(u64::MAX, |length| length as u64));
                        }
                    }

                    /// Writes the numbers of rows and columns, and the elements column by column.
                    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                        to.length(self.nrows());
                        to.length(self.ncols());
                        self.as_slice().write(to)
                    }
                }

                impl<T: FromMessage + Scalar, R: Dim, C: Dim> FromMessage
                    for Matrix<T, R, C, VecStorage<T, R, C>>
                where
                    VecStorage<T, R, C>: RawStorage<T, R, C> + IsContiguous,
                {
                    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                        let shape = [from.length()?, from.length()?];
                        let elements = Vec::<T>::read(from)?;
                        let fits = |fixed: Option<usize>, length| fixed.is_none_or(|fixed| fixed == length);
                        if shape[0].checked_mul(shape[1]) != Some(elements.len())
                            || !fits(R::try_to_usize(), shape[0])
                            || !fits(C::try_to_usize(), shape[1])
                        {
                            return Err(misshapen(&shape));
                        }
                        let (rows, columns) = (R::from_usize(shape[0]), C::from_usize(shape[1]));
                        Ok(Self::from_data(VecStorage::new(rows, columns, elements)))
                    }
                }
            }
        };
    }

    #[cfg(feature = "nalgebra")]
    matrices!(newest, nalgebra);
    #[cfg(feature = "nalgebra-0_34")]
    matrices!(before, nalgebra_0_34);
}
