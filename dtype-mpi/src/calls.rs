//! The MPI functions that this product calls, as methods of [`Usable`]: none can be called without the proof
//! that MPI is usable. (`MPI_Initialized` and `MPI_Finalized` need no proof.)
//!
//! A step of the tests checks that no other file of `dtype-mpi` and `dtype-runtime` calls a function of
//! `mpi::ffi`.

use std::os::raw::{c_char, c_int, c_void};

use ::mpi::ffi::{
    self, MPI_Aint, MPI_Comm, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function,
    MPI_Comm_errhandler_function, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info,
    MPI_Message, MPI_Offset, MPI_Op, MPI_Request, MPI_Status, MPI_Type_copy_attr_function,
    MPI_Type_delete_attr_function, MPI_User_function, MPI_Win,
};

use crate::{
    SUCCESS, Usable,
    large::{large_counts, widen},
};

macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The functions of MPI, by their own names. Each returns the code of the library.
        #[allow(non_snake_case, reason = "the names of MPI are what readers know")]
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have them")]
        impl Usable {
            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                ///
                /// # Safety
                /// 1. The handles are live. 2. MPI may read and write what the addresses name, as long as the
                /// standard says for this function.
                #[inline]
                pub unsafe fn $name(&self, $($argument: $type),*) -> c_int {
                    // SAFETY: `self` proves that MPI is usable; the caller guarantees 1 and 2.
                    unsafe { ffi::$name($($argument),*) }
                }
            )*
        }
    };
}

calls! {
    MPI_Abort(comm: MPI_Comm, errorcode: c_int);
    MPI_Accumulate(
        origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
        op: MPI_Op, win: MPI_Win
    );
    MPI_Allgather(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Allgatherv(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Allreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm
    );
    MPI_Alltoall(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Alltoallv(
        sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: MPI_Datatype,
        comm: MPI_Comm
    );
    MPI_Barrier(comm: MPI_Comm);
    MPI_Bcast(buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm);
    MPI_Cancel(request: *mut MPI_Request);
    MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int);
    MPI_Cart_shift(
        comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int
    );
    MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int);
    MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm);
    MPI_Comm_create_errhandler(
        comm_errhandler_fn: MPI_Comm_errhandler_function, errhandler: *mut MPI_Errhandler
    );
    MPI_Comm_create_keyval(
        comm_copy_attr_fn: MPI_Comm_copy_attr_function,
        comm_delete_attr_fn: MPI_Comm_delete_attr_function, comm_keyval: *mut c_int,
        extra_state: *mut c_void
    );
    MPI_Comm_free(comm: *mut MPI_Comm);
    MPI_Comm_free_keyval(comm_keyval: *mut c_int);
    MPI_Comm_get_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int);
    MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler);
    MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group);
    MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int);
    MPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int);
    MPI_Comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void);
    MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler);
    MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm);
    MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int);
    MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int,
        outdegree: c_int, destinations: *const c_int, destweights: *const c_int, info: MPI_Info,
        reorder: c_int, comm_dist_graph: *mut MPI_Comm
    );
    MPI_Dist_graph_neighbors(
        comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
        maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int
    );
    MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm, inneighbors: *mut c_int, outneighbors: *mut c_int, weighted: *mut c_int
    );
    MPI_Errhandler_free(errhandler: *mut MPI_Errhandler);
    MPI_Error_class(errorcode: c_int, errorclass: *mut c_int);
    MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int);
    MPI_Exscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm
    );
    MPI_Fetch_and_op(
        origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win
    );
    MPI_File_close(fh: *mut MPI_File);
    MPI_File_get_byte_offset(fh: MPI_File, offset: MPI_Offset, disp: *mut MPI_Offset);
    MPI_File_get_size(fh: MPI_File, size: *mut MPI_Offset);
    MPI_File_iread_at(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
        request: *mut MPI_Request
    );
    MPI_File_iwrite_at(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
        request: *mut MPI_Request
    );
    MPI_File_open(
        comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File
    );
    MPI_File_read_at(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
        status: *mut MPI_Status
    );
    MPI_File_read_at_all(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
        status: *mut MPI_Status
    );
    MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler);
    MPI_File_set_size(fh: MPI_File, size: MPI_Offset);
    MPI_File_set_view(
        fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype,
        datarep: *const c_char, info: MPI_Info
    );
    MPI_File_sync(fh: MPI_File);
    MPI_File_write_at(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
        status: *mut MPI_Status
    );
    MPI_File_write_at_all(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
        status: *mut MPI_Status
    );
    MPI_Gather(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm
    );
    MPI_Gatherv(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm
    );
    MPI_Get(
        origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win
    );
    MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int);
    MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count);
    MPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int);
    MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int);
    MPI_Group_free(group: *mut MPI_Group);
    MPI_Group_incl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group);
    MPI_Iallreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: *mut MPI_Request
    );
    MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request);
    MPI_Improbe(
        source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message,
        status: *mut MPI_Status
    );
    MPI_Info_create(info: *mut MPI_Info);
    MPI_Info_free(info: *mut MPI_Info);
    MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char);
    MPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status);
    MPI_Irecv(
        buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Is_thread_main(flag: *mut c_int);
    MPI_Isend(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Issend(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Mprobe(
        source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status
    );
    MPI_Mrecv(
        buf: *mut c_void, count: c_int, datatype: MPI_Datatype, message: *mut MPI_Message,
        status: *mut MPI_Status
    );
    MPI_Op_create(function: MPI_User_function, commute: c_int, op: *mut MPI_Op);
    MPI_Op_free(op: *mut MPI_Op);
    MPI_Put(
        origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
        win: MPI_Win
    );
    MPI_Query_thread(provided: *mut c_int);
    MPI_Recv(
        buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        status: *mut MPI_Status
    );
    MPI_Recv_init(
        buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Reduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm
    );
    MPI_Request_free(request: *mut MPI_Request);
    MPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status);
    MPI_Rsend_init(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Scan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm
    );
    MPI_Scatter(
        sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm
    );
    MPI_Scatterv(
        sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm
    );
    MPI_Send(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm
    );
    MPI_Send_init(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Ssend_init(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    MPI_Startall(count: c_int, array_of_requests: *mut MPI_Request);
    MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status);
    MPI_Testall(
        count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int,
        array_of_statuses: *mut MPI_Status
    );
    MPI_Topo_test(comm: MPI_Comm, status: *mut c_int);
    MPI_Type_commit(datatype: *mut MPI_Datatype);
    MPI_Type_contiguous(count: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype);
    MPI_Type_create_darray(
        size: c_int, rank: c_int, ndims: c_int, gsizes: *const c_int, distribs: *const c_int,
        dargs: *const c_int, psizes: *const c_int, order: c_int, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    MPI_Type_create_hindexed(
        count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype
    );
    MPI_Type_create_hindexed_block(
        count: c_int, blocklength: c_int, array_of_displacements: *const MPI_Aint, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    MPI_Type_create_hvector(
        count: c_int, blocklength: c_int, stride: MPI_Aint, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    MPI_Type_create_indexed_block(
        count: c_int, blocklength: c_int, displacements: *const c_int, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    MPI_Type_create_keyval(
        type_copy_attr_fn: MPI_Type_copy_attr_function,
        type_delete_attr_fn: MPI_Type_delete_attr_function, type_keyval: *mut c_int,
        extra_state: *mut c_void
    );
    MPI_Type_create_resized(
        oldtype: MPI_Datatype, lb: MPI_Aint, extent: MPI_Aint, newtype: *mut MPI_Datatype
    );
    MPI_Type_create_struct(
        count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
        array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype
    );
    MPI_Type_create_subarray(
        ndims: c_int, sizes: *const c_int, subsizes: *const c_int, starts: *const c_int, order: c_int,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype
    );
    MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int);
    MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype);
    MPI_Type_free(datatype: *mut MPI_Datatype);
    MPI_Type_free_keyval(type_keyval: *mut c_int);
    MPI_Type_get_attr(
        datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int
    );
    MPI_Type_get_contents(
        datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int,
        array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint,
        array_of_datatypes: *mut MPI_Datatype
    );
    MPI_Type_get_envelope(
        datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int,
        num_datatypes: *mut c_int, combiner: *mut c_int
    );
    MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint);
    MPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int);
    MPI_Type_get_true_extent_x(
        datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count
    );
    MPI_Type_indexed(
        count: c_int, blocklengths: *const c_int, displacements: *const c_int, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    MPI_Type_set_attr(datatype: MPI_Datatype, type_keyval: c_int, attr_val: *mut c_void);
    MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int);
    MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count);
    MPI_Type_vector(
        count: c_int, blocklength: c_int, stride: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype
    );
    MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status);
    MPI_Win_allocate(
        size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
        win: *mut MPI_Win
    );
    MPI_Win_flush(rank: c_int, win: MPI_Win);
    MPI_Win_flush_all(win: MPI_Win);
    MPI_Win_free(win: *mut MPI_Win);
    MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win);
    MPI_Win_lock_all(assert: c_int, win: MPI_Win);
    MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler);
    MPI_Win_sync(win: MPI_Win);
    MPI_Win_unlock(rank: c_int, win: MPI_Win);
    MPI_Win_unlock_all(win: MPI_Win);
}

impl Usable {
    /// Reads the arguments of a datatype's constructor (`MPI_Type_get_contents`). `numbers` come from the
    /// datatype's envelope.
    ///
    /// # Safety
    /// 1. The datatype is live, and not predefined. 2. There is room for as many integers, addresses, large
    ///    counts and datatypes as `numbers` says, in this order.
    pub unsafe fn contents(
        &self,
        datatype: MPI_Datatype,
        numbers: [i64; 4],
        integers: *mut c_int,
        addresses: *mut MPI_Aint,
        counts: *mut MPI_Count,
        datatypes: *mut MPI_Datatype,
    ) -> c_int {
        let [n_integers, n_addresses, n_counts, n_datatypes] = numbers;
        // A datatype without large counts has its arguments without them, too.
        let Some(large) = large_counts().filter(|_| n_counts > 0) else {
            let [n_integers, n_addresses, n_datatypes] =
                [n_integers, n_addresses, n_datatypes].map(|number| c_int::try_from(number).unwrap_or(0));
            // SAFETY: 1 and 2, by the caller.
            return unsafe {
                self.MPI_Type_get_contents(
                    datatype,
                    n_integers,
                    n_addresses,
                    n_datatypes,
                    integers,
                    addresses,
                    datatypes,
                )
            };
        };
        // SAFETY: `self` proves that MPI is usable; the caller guarantees 1 and 2.
        unsafe {
            let code = (large.contents)(
                datatype,
                n_integers,
                n_addresses,
                n_counts,
                n_datatypes,
                integers,
                addresses.cast(),
                counts,
                datatypes,
            );
            if code == SUCCESS {
                widen(datatypes, usize::try_from(n_datatypes).unwrap_or(0));
            }
            code
        }
    }
}
