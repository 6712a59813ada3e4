//! The functions in `shim.c`. They may be called only while MPI is usable, from any thread that may call MPI.

use std::os::raw::{c_int, c_void};

use ::mpi::ffi::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Errhandler};

unsafe extern "C" {
    /// Returns the handle of the base type with this number, or `MPI_DATATYPE_NULL` if the library lacks the
    /// type.
    pub(crate) fn dtype_shim_handle(base: c_int) -> MPI_Datatype;

    /// Writes the numbers of integers, addresses, large counts and datatypes, and a letter for the
    /// constructor.
    pub(crate) fn dtype_shim_envelope(datatype: MPI_Datatype, numbers: *mut i64, combiner: *mut i32)
    -> c_int;

    /// Writes the arguments of the constructor. `numbers` come from the envelope and give the lengths of the
    /// arrays.
    pub(crate) fn dtype_shim_contents(
        datatype: MPI_Datatype,
        numbers: *const i64,
        integers: *mut c_int,
        addresses: *mut MPI_Aint,
        counts: *mut MPI_Count,
        datatypes: *mut MPI_Datatype,
    ) -> c_int;

    /// Returns 1 for `MPI_ORDER_FORTRAN`.
    pub fn dtype_shim_is_fortran_order(order: c_int) -> c_int;
    /// Returns 1 for `MPI_DISTRIBUTE_DFLT_DARG`.
    pub fn dtype_shim_default_darg(darg: c_int) -> c_int;

    /// Returns `b` for block, `c` for cyclic, and `n` for no distribution.
    pub fn dtype_shim_distribution(distribution: c_int) -> c_int;

    pub(crate) fn dtype_shim_has_large_counts() -> c_int;
    pub(crate) fn dtype_shim_contiguous(count: i64, old: MPI_Datatype, new: *mut MPI_Datatype) -> c_int;
    pub(crate) fn dtype_shim_hvector(
        count: i64,
        blocklength: i64,
        stride: i64,
        old: MPI_Datatype,
        new: *mut MPI_Datatype,
    ) -> c_int;
    pub(crate) fn dtype_shim_hindexed_block(
        count: i64,
        blocklength: i64,
        displacements: *const i64,
        old: MPI_Datatype,
        new: *mut MPI_Datatype,
    ) -> c_int;
    pub(crate) fn dtype_shim_hindexed(
        count: i64,
        blocklengths: *const i64,
        displacements: *const i64,
        old: MPI_Datatype,
        new: *mut MPI_Datatype,
    ) -> c_int;
    pub(crate) fn dtype_shim_struct(
        count: i64,
        blocklengths: *const i64,
        displacements: *const i64,
        old: *const MPI_Datatype,
        new: *mut MPI_Datatype,
    ) -> c_int;

    pub(crate) fn dtype_shim_make_stand_in() -> c_int;
    pub(crate) fn dtype_shim_free_stand_in() -> c_int;
    pub(crate) fn dtype_shim_enter();
    pub(crate) fn dtype_shim_leave();
    pub(crate) fn dtype_shim_last_error() -> c_int;

    /// Returns 1 if the stand-in was put on the communicator; then `before` must be put back.
    pub(crate) fn dtype_shim_stand_in(communicator: MPI_Comm, before: *mut MPI_Errhandler) -> c_int;
    pub(crate) fn dtype_shim_put_back(
        communicator: MPI_Comm,
        before: *mut MPI_Errhandler,
        may_have_changed: c_int,
    );
    pub(crate) fn dtype_shim_return_errors(communicator: MPI_Comm) -> c_int;

    pub(crate) fn dtype_shim_greatest_tag(communicator: MPI_Comm) -> c_int;

    /// Returns `MPI_IN_PLACE`.
    pub safe fn dtype_shim_in_place() -> *mut c_void;
    /// Returns `MPI_ROOT`.
    pub safe fn dtype_shim_root() -> c_int;
}
