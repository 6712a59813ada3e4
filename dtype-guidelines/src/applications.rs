//! Layouts of published applications: the datatype of the authors, the loops by hand, and the code of
//! `layout!` and the derive. The type trees of their data are in [`crate::generate`].

// Arrays are views of a group's memory, which has the size that the layout needs and is aligned.
#![allow(clippy::undocumented_unsafe_blocks, clippy::cast_ptr_alignment)]

use std::{convert::Infallible, sync::LazyLock};

use dtype_core::{BaseType, TypeTree};
use dtype_runtime::{
    DynamicLayout, Layout, MpiDatatype, layout,
    layout::{ArrayLikeMut, Disjoint},
};

use crate::{
    description::Description,
    generate::{Sample, measured},
    way::Way,
    written::{Written, seed},
};

/// A layout of an application in one size.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    name: &'static str,
    size: &'static str,
    is_quick: bool,
    /// The name of its sample, and its index among the samples of that name.
    sample: (&'static str, usize),
    /// The datatype that the authors of the application use.
    published: fn(&Sample) -> Description,
    /// The generated code that packs the data at an address: of `layout!` or the derive.
    ours: fn(*mut u8, &Sample) -> Way<'static>,
}

/// Defines an application whose layout is known at compile time: the array type, and the part that is packed.
macro_rules! written {
    ($new:ident, $name:literal, $size:literal, $sample:expr, $published:ident; $array:ty: $($layout:tt)*) => {
        Self::$new($name, $size, $sample, $published, |memory, _| {
            of_static(layout!($($layout)*), memory.cast::<$array>())
        })
    };
}

/// All samples, in the order of the build script.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| measured(seed()));

impl Application {
    /// All applications in all sizes.
    pub const ALL: [Self; 21] = [
        written!(quick, "NAS MG, x face", "130³", ("nas-mg-x", 1), mg_x;
            Cube<130>: f64[130][130][130] => [1..-1, 1..-1, 1]),
        written!(quick, "NAS MG, y face", "130³", ("nas-mg-y", 1), mg_y;
            Cube<130>: f64[130][130][130] => [1..-1, 1, 1..-1]),
        written!(quick, "NAS MG, z face", "130³", ("nas-mg-z", 1), mg_z;
            Cube<130>: f64[130][130][130] => [1, 1..-1, 1..-1]),
        written!(new, "NAS MG, x face", "34³", ("nas-mg-x", 0), mg_x;
            Cube<34>: f64[34][34][34] => [1..-1, 1..-1, 1]),
        written!(new, "NAS MG, y face", "34³", ("nas-mg-y", 0), mg_y;
            Cube<34>: f64[34][34][34] => [1..-1, 1, 1..-1]),
        written!(new, "NAS MG, z face", "34³", ("nas-mg-z", 0), mg_z;
            Cube<34>: f64[34][34][34] => [1, 1..-1, 1..-1]),
        written!(quick, "NAS LU, x face", "33³", ("nas-lu-x", 1), lu_x;
            [[[[f64; 5]; 37]; 37]; 37]: f64[37][37][37][5] => [2..-2, 2..-2, 2..4, ..]),
        written!(quick, "NAS LU, y face", "33³", ("nas-lu-y", 1), lu_y;
            [[[[f64; 5]; 37]; 37]; 37]: f64[37][37][37][5] => [2..-2, 2..4, 2..-2, ..]),
        written!(new, "NAS LU, x face", "102³", ("nas-lu-x", 2), lu_x;
            [[[[f64; 5]; 106]; 106]; 106]: f64[106][106][106][5] => [2..-2, 2..-2, 2..4, ..]),
        written!(new, "NAS LU, y face", "102³", ("nas-lu-y", 2), lu_y;
            [[[[f64; 5]; 106]; 106]; 106]: f64[106][106][106][5] => [2..-2, 2..4, 2..-2, ..]),
        Self::quick("WRF, halo in x", "64²·28", ("wrf-x", 1), weather, |memory, sample| {
            let surface = layout!(f32[72][72] => [4..-4, 4..7]);
            let field = layout!(f32[72][28][72] => [4..-4, .., 4..7]);
            let tracer = layout!(f32[4][72][28][72] => [.., 4..-4, .., 4..7]);
            one_after_the_other(weather_arrays(sample, memory, surface, field, tracer))
        }),
        Self::quick("WRF, halo in y", "64²·28", ("wrf-y", 1), weather, |memory, sample| {
            let surface = layout!(f32[72][72] => [4..7, 4..-4]);
            let field = layout!(f32[72][28][72] => [4..7, .., 4..-4]);
            let tracer = layout!(f32[4][72][28][72] => [.., 4..7, .., 4..-4]);
            one_after_the_other(weather_arrays(sample, memory, surface, field, tracer))
        }),
        written!(quick, "MILC, z down", "16⁴", ("milc-zdown", 1), milc;
            [[[f32; 12_288]; 16]; 2]: f32[2][16][12_288] => [.., .., ..768]),
        written!(new, "MILC, z down", "8⁴", ("milc-zdown", 0), milc;
            [[[f32; 1536]; 8]; 2]: f32[2][8][1536] => [.., .., ..192]),
        Self::quick("LAMMPS, atoms", "3,000 atoms", ("lammps-atomic", 1), lammps, lammps_fields),
        Self::new("LAMMPS, atoms", "60,000 atoms", ("lammps-atomic", 2), lammps, lammps_fields),
        Self::quick("LAMMPS, atoms as structs", "3,000 atoms", ("lammps-structs", 0), lammps, lammps_structs),
        written!(quick, "FFT, transposition", "512²", ("fft-columns", 1), fft;
            [[[f64; 2]; 512]; 512]: f64[512][512][2] => [.., j, ..] for j in 0..128),
        Self::quick("SPECFEM3D, outer core", "20,000 points", ("specfem-outer-core", 1), specfem, points),
        Self::quick("SPECFEM3D, mantle", "20,000 points", ("specfem-mantle", 1), specfem, points),
        Self::new("SPECFEM3D, mantle", "400,000 points", ("specfem-mantle", 2), specfem, points),
    ];

    const fn new(
        name: &'static str,
        size: &'static str,
        sample: (&'static str, usize),
        published: fn(&Sample) -> Description,
        ours: fn(*mut u8, &Sample) -> Way<'static>,
    ) -> Self {
        Self { name, size, is_quick: false, sample, published, ours }
    }

    /// Returns an application that also belongs to a quick run.
    const fn quick(
        name: &'static str,
        size: &'static str,
        sample: (&'static str, usize),
        published: fn(&Sample) -> Description,
        ours: fn(*mut u8, &Sample) -> Way<'static>,
    ) -> Self {
        Self { is_quick: true, ..Self::new(name, size, sample, published, ours) }
    }

    /// Returns the name of the application, and of the part that is packed.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the size, in the terms of the application.
    pub fn size(&self) -> &'static str {
        self.size
    }

    /// Returns `true` if the application also belongs to a quick run.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    fn number(&self) -> usize {
        let (name, which) = self.sample;
        let is_of_it = |sample: &Sample| sample.name.split('/').next() == Some(name);
        let all = SAMPLES.iter().enumerate().filter(|(_, sample)| is_of_it(sample));
        all.map(|(number, _)| number).nth(which).expect("a sample of that name")
    }

    /// Returns the sample, which holds the type tree of the data.
    pub fn sample(&self) -> &'static Sample {
        &SAMPLES[self.number()]
    }

    /// Returns the loops in C.
    pub fn written(&self) -> Written {
        Written::of(self.number(), &self.sample().tree)
    }

    /// Returns the datatype that the authors of the application use.
    pub fn published(&self) -> Description {
        (self.published)(self.sample())
    }

    /// Returns the code that `layout!` and the derive generate, for the data at `memory`.
    pub fn ours(&self, memory: *mut u8) -> Way<'static> {
        (self.ours)(memory, self.sample())
    }
}

type Cube<const N: usize> = [[[f64; N]; N]; N];

/// Returns the generated code of a static layout.
fn of_static<L, A>(layout: L, array: *mut A) -> Way<'static>
where
    L: Layout<Coverage: Disjoint<Infallible, L>> + 'static,
    A: ArrayLikeMut<L::Element, L::Shape, Mismatch = Infallible> + 'static,
{
    let also = layout.clone();
    Way::new(
        move |packed| {
            layout.of(unsafe { &*array }).pack_into(packed).expect("room for it");
        },
        move |packed| also.of_mut(unsafe { &mut *array }).unpack(packed).expect("as many bytes"),
    )
}

/// Returns the code of a layout that is known at run time, for an array of `length` elements.
fn of_dynamic<T: MpiDatatype + 'static, const D: usize>(
    layout: DynamicLayout<T, D>,
    memory: *mut u8,
    length: usize,
) -> Way<'static> {
    let also = layout.clone();
    let memory = memory.cast::<T>();
    Way::new(
        move |packed| {
            let array = unsafe { std::slice::from_raw_parts(memory, length) };
            layout.of(array).expect("its size").pack_into(packed).expect("room for it");
        },
        move |packed| {
            let array = unsafe { std::slice::from_raw_parts_mut(memory, length) };
            also.of_mut(array).expect("its size").unpack(packed).expect("as many bytes");
        },
    )
}

/// Returns a way that runs several ways in turn. Each `usize` is the packed size of a way, in bytes.
fn one_after_the_other(ways: Vec<(usize, Way<'static>)>) -> Way<'static> {
    let ways = std::rc::Rc::new(ways);
    let also = std::rc::Rc::clone(&ways);
    Way::new(
        move |mut packed| {
            for (size, way) in ways.iter() {
                let (own, rest) = packed.split_at_mut(*size);
                (way.pack)(own);
                packed = rest;
            }
        },
        move |mut packed| {
            for (size, way) in also.iter() {
                let (own, rest) = packed.split_at(*size);
                (way.unpack)(own);
                packed = rest;
            }
        },
    )
}

/// Returns the arrays of a sample that is a struct of arrays: the displacement of each, and its packed part.
fn arrays(sample: &Sample) -> impl Iterator<Item = (usize, &TypeTree)> {
    let TypeTree::Struct { displacements, children } = &sample.tree else { unreachable!("several arrays") };
    displacements.iter().map(|at| *at as usize).zip(children)
}

/// Returns the ways of four surfaces, three fields and two tracers, each with its packed size in bytes.
fn weather_arrays<S, F, T>(
    sample: &Sample,
    memory: *mut u8,
    surface: S,
    field: F,
    tracer: T,
) -> Vec<(usize, Way<'static>)>
where
    S: Layout<Element = f32, Coverage: Disjoint<Infallible, S>> + 'static,
    F: Layout<Element = f32, Coverage: Disjoint<Infallible, F>> + 'static,
    T: Layout<Element = f32, Coverage: Disjoint<Infallible, T>> + 'static,
    [[f32; 72]; 72]: ArrayLikeMut<f32, S::Shape, Mismatch = Infallible>,
    [[[f32; 72]; 28]; 72]: ArrayLikeMut<f32, F::Shape, Mismatch = Infallible>,
    [[[[f32; 72]; 28]; 72]; 4]: ArrayLikeMut<f32, T::Shape, Mismatch = Infallible>,
{
    let way = |(i, (at, _)): (usize, (usize, &TypeTree))| {
        let place = memory.wrapping_add(at);
        match i {
            0..4 => (surface.packed_size(), of_static(surface.clone(), place.cast::<[[f32; 72]; 72]>())),
            4..7 => (field.packed_size(), of_static(field.clone(), place.cast::<[[[f32; 72]; 28]; 72]>())),
            _ => {
                let array = place.cast::<[[[[f32; 72]; 28]; 72]; 4]>();
                (tracer.packed_size(), of_static(tracer.clone(), array))
            }
        }
    };
    arrays(sample).enumerate().map(way).collect()
}

/// Returns the displacements of a list, in elements of its child, and the length of the array.
fn list(tree: &TypeTree) -> (Vec<usize>, usize) {
    let TypeTree::Index { displacements, child } = tree else { unreachable!("a list") };
    let size = child.measure().expect("a small tree").extent() as usize;
    let places: Vec<_> = displacements.iter().map(|at| *at as usize / size).collect();
    let length = places.iter().max().map_or(0, |last| last + 1);
    (places, length)
}

/// Returns the way that packs listed elements of an array. An element is a point of three numbers, or one
/// number.
fn gathered(tree: &TypeTree, memory: *mut u8) -> Way<'static> {
    let (places, n) = list(tree);
    match tree.children()[0] {
        TypeTree::Vector { count: 3, ref child, .. } if **child == TypeTree::Leaf(BaseType::F32) => {
            of_dynamic(layout!(f32[n][3] => [{&places}, ..]).expect("points of it"), memory, 3 * n)
        }
        TypeTree::Vector { count: 3, .. } => {
            of_dynamic(layout!(f64[n][3] => [{&places}, ..]).expect("points of it"), memory, 3 * n)
        }
        TypeTree::Leaf(BaseType::F32) => {
            of_dynamic(layout!(f32[n] => {&places}).expect("points of it"), memory, n)
        }
        TypeTree::Leaf(_) => of_dynamic(layout!(i32[n] => {&places}).expect("points of it"), memory, n),
        _ => unreachable!("points of one or three numbers"),
    }
}

fn points(memory: *mut u8, sample: &Sample) -> Way<'static> {
    gathered(&sample.tree, memory)
}

/// Returns the way that packs listed elements of several arrays, one for each field.
fn lammps_fields(memory: *mut u8, sample: &Sample) -> Way<'static> {
    let field = |(at, tree): (usize, &TypeTree)| {
        let size = tree.measure().expect("a small tree").size as usize;
        (size, gathered(tree, memory.wrapping_add(at)))
    };
    one_after_the_other(arrays(sample).map(field).collect())
}

/// The fields of an atom that LAMMPS sends.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Atom {
    position: [f64; 3],
    tag: i32,
    kind: i32,
    mask: i32,
}

fn lammps_structs(memory: *mut u8, sample: &Sample) -> Way<'static> {
    let (places, n) = list(&sample.tree);
    of_dynamic(layout!(Atom[n] => {&places}).expect("atoms of it"), memory, n)
}

const DOUBLE: Description = Description::Base(BaseType::F64);
const FLOAT: Description = Description::Base(BaseType::F32);

/// Returns the number of grid points along an edge of a cube.
fn side(sample: &Sample) -> u64 {
    let inside = (sample.tree.measure().expect("a small tree").size / 8).isqrt();
    inside + 2
}

/// Returns vectors of vectors, as NPB-MPI's `comm3` would use them in C's order.
fn mg_x(sample: &Sample) -> Description {
    let n = side(sample);
    let line = DOUBLE.vector(n - 2, 1, n as i64);
    moved(8 * (n * n + n + 1), line.hvector(n - 2, 1, (8 * n * n) as i64))
}

fn mg_y(sample: &Sample) -> Description {
    let n = side(sample);
    moved(8 * (n * n + n + 1), DOUBLE.vector(n - 2, n - 2, (n * n) as i64))
}

fn mg_z(sample: &Sample) -> Description {
    let n = side(sample);
    moved(8 * (n * n + n + 1), DOUBLE.vector(n - 2, n - 2, n as i64))
}

/// Returns a datatype at a displacement in bytes. A user would add it to the address. The loops by hand start
/// at the same address as the datatype, so the displacement is part of the datatype.
fn moved(bytes: u64, datatype: Description) -> Description {
    Description::structure([(bytes as i64, datatype)])
}

/// Returns vectors of vectors of cells of five numbers. `part` returns the number and the length of the
/// blocks in each plane.
fn lu(sample: &Sample, part: impl Fn(u64) -> (u64, u64)) -> Description {
    let n = (sample.tree.measure().expect("a small tree").size / 80).isqrt();
    let (side, (count, length)) = (n + 4, part(n));
    let plane = DOUBLE.contiguous(5).vector(count, length, side as i64);
    moved(40 * 2 * (side * side + side + 1), plane.hvector(n, 1, (40 * side * side) as i64))
}

fn lu_x(sample: &Sample) -> Description {
    lu(sample, |n| (n, 2))
}

fn lu_y(sample: &Sample) -> Description {
    lu(sample, |n| (2, n))
}

/// Returns a struct of subarrays.
fn weather(sample: &Sample) -> Description {
    let is_x = sample.name.starts_with("wrf-x");
    let (whole, strip) = ((64, 4), (3, 4));
    let (y, x) = if is_x { (whole, strip) } else { (strip, whole) };
    let part = |(_, tree): (usize, &TypeTree)| {
        let sizes = [4, 72, 28, 72];
        let parts = [(4, 0), y, (28, 0), x];
        let of = |dimensions: &[usize]| {
            FLOAT.subarray(
                dimensions.iter().map(|d| sizes[*d]).collect(),
                dimensions.iter().map(|d| parts[*d].0).collect(),
                dimensions.iter().map(|d| parts[*d].1).collect(),
            )
        };
        match tree.measure().expect("a small tree").size / 4 / (64 * 3) {
            1 => of(&[1, 3]),
            28 => of(&[1, 2, 3]),
            _ => of(&[0, 1, 2, 3]),
        }
    };
    let starts: Vec<_> = arrays(sample).map(|(at, _)| at as i64).collect();
    Description::structure(starts.into_iter().zip(arrays(sample).map(part)))
}

/// Returns a vector of contiguous sites, for each half of the lattice.
fn milc(sample: &Sample) -> Description {
    let n = if sample.name.ends_with(&format!("/{}", 2 * 16 * 768 * 4)) { 16 } else { 8_u64 };
    let site = FLOAT.contiguous(6);
    let slices = site.vector(n, n * n / 2, (n * n * n / 2) as i64);
    slices.hvector(2, 1, (n * n * n * n / 2 * 24) as i64)
}

/// Returns a list of blocks for each array.
fn lammps(sample: &Sample) -> Description {
    let field = |tree: &TypeTree| {
        let (places, _) = list(tree);
        let places = places.iter().map(|at| *at as i64).collect();
        match &tree.children()[0] {
            TypeTree::Vector { .. } => DOUBLE.contiguous(3).indexed_block(1, places),
            TypeTree::Leaf(base) => Description::Base(*base).indexed_block(1, places),
            _ => {
                let (number, int) = (DOUBLE.contiguous(3), Description::Base(BaseType::I32));
                let atom = [(0, number), (24, int.clone()), (28, int.clone()), (32, int)];
                Description::structure(atom).resized(40).indexed_block(1, places)
            }
        }
    };
    match &sample.tree {
        TypeTree::Struct { .. } => {
            Description::structure(arrays(sample).map(|(at, tree)| (at as i64, field(tree))))
        }
        tree => field(tree),
    }
}

/// Returns columns of a matrix of complex numbers. Each column begins one number behind the one before.
fn fft(sample: &Sample) -> Description {
    let elements = sample.tree.measure().expect("a small tree").size / 16;
    let n = (4 * elements).isqrt();
    let column = Description::Base(BaseType::C64).vector(n, 1, n as i64);
    column.resized(16).contiguous(n / 4)
}

fn specfem(sample: &Sample) -> Description {
    let (places, _) = list(&sample.tree);
    let places = places.iter().map(|at| *at as i64);
    match sample.tree.children()[0] {
        TypeTree::Vector { .. } => FLOAT.indexed_block(3, places.map(|at| 3 * at).collect()),
        _ => FLOAT.indexed_block(1, places.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_datatype_describes_its_sample() {
        for application in Application::ALL {
            let datatype = application.published().datatype().unwrap();
            let (found, expected) =
                (datatype.tree.runs().unwrap(), application.sample().tree.runs().unwrap());
            let bytes = |runs: &dtype_core::Runs| {
                // Bytes are compared, because a description may count a complex number as two entries.
                let all = runs.as_slice().iter();
                all.map(|run| (run.displacement, run.count * run.base.size())).collect::<Vec<_>>()
            };
            assert!(bytes(&found) == bytes(&expected), "{} {}", application.name, application.size);
        }
    }
}
