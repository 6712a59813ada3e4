//! The table of all functions of MPI, by their roles in the life of a message.
//!
//! A message that is sent packed must be received, completed and unpacked by intercepted calls. The code asks
//! this table for the functions of a role, and keeps no other lists of names. A test reads the header, the
//! symbols and the Fortran bindings of the installed library, and fails if a function is not in the table.

use std::collections::HashMap;

/// The role of a function in the life of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Functions that send a message.
    Sends,
    /// Functions that receive a message, whichever function has sent it.
    Receives,
    /// Functions that move data between calls of the same name on several ranks.
    Collective,
    /// Functions that move data to or from a window.
    Moves,
    /// Functions that start, complete or free a request.
    CompletesRequests,
    /// Functions that complete operations on a window.
    CompletesMoves,
    /// Functions that pack into a buffer of the program, or unpack from it.
    Packs,
    /// Functions that begin or end MPI, a datatype or a communicator.
    Lifetime,
    /// Functions that take no part in a message that may be packed.
    Other,
}

/// The functions of each role, without the suffix `_c` of large counts.
const FUNCTIONS: [(Role, &str); 14] = [
    // Chapter 3: send one message, at once or at each start.
    (
        Role::Sends,
        "MPI_Send MPI_Bsend MPI_Ssend MPI_Rsend MPI_Isend MPI_Ibsend MPI_Issend MPI_Irsend MPI_Send_init \
         MPI_Bsend_init MPI_Ssend_init MPI_Rsend_init MPIX_Send_enqueue MPIX_Isend_enqueue \
         MPIX_Stream_send MPIX_Stream_isend",
    ),
    // Chapter 3: receive one message, whichever function has sent it.
    (
        Role::Receives,
        "MPI_Recv MPI_Irecv MPI_Recv_init MPI_Mrecv MPI_Imrecv MPI_Sendrecv MPI_Sendrecv_replace \
         MPI_Isendrecv MPI_Isendrecv_replace MPIX_Recv_enqueue MPIX_Irecv_enqueue MPIX_Stream_recv \
         MPIX_Stream_irecv",
    ),
    // Chapters 6 and 8: move data between calls of the same name on several ranks.
    (
        Role::Collective,
        "MPI_Bcast MPI_Ibcast MPI_Bcast_init MPI_Gather MPI_Igather MPI_Gather_init MPI_Gatherv \
         MPI_Igatherv MPI_Gatherv_init MPI_Scatter MPI_Iscatter MPI_Scatter_init MPI_Scatterv \
         MPI_Iscatterv MPI_Scatterv_init MPI_Allgather MPI_Iallgather MPI_Allgather_init MPI_Allgatherv \
         MPI_Iallgatherv MPI_Allgatherv_init MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init MPI_Alltoallv \
         MPI_Ialltoallv MPI_Alltoallv_init MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init \
         MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init \
         MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init \
         MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init MPI_Neighbor_alltoallv \
         MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallw \
         MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init",
    ),
    // Chapter 12: move data to and from windows.
    (Role::Moves, "MPI_Put MPI_Get"),
    // Chapter 3: start, complete and free requests.
    (
        Role::CompletesRequests,
        "MPI_Start MPI_Startall MPI_Wait MPI_Waitall MPI_Waitany MPI_Waitsome MPI_Test MPI_Testall \
         MPI_Testany MPI_Testsome MPI_Request_get_status MPI_Request_get_status_all \
         MPI_Request_get_status_any MPI_Request_get_status_some MPI_Request_free MPIX_Wait_enqueue \
         MPIX_Waitall_enqueue MPIX_Request_is_complete",
    ),
    // Chapter 12: complete operations on windows.
    (
        Role::CompletesMoves,
        "MPI_Win_fence MPI_Win_complete MPI_Win_unlock MPI_Win_unlock_all MPI_Win_flush MPI_Win_flush_all \
         MPI_Win_flush_local MPI_Win_flush_local_all MPI_Win_free",
    ),
    // Chapter 5: pack into buffers of the program, and unpack from them.
    (Role::Packs, "MPI_Pack MPI_Unpack"),
    // Chapters 5, 7 and 11: begin and end MPI, datatypes and groups of ranks.
    (
        Role::Lifetime,
        "MPI_Init MPI_Init_thread MPI_Finalize MPI_Type_commit MPI_Type_dup MPI_Type_free \
         MPI_Type_get_contents MPI_Intercomm_merge",
    ),
    // Chapter 15: tools.
    (
        Role::Other,
        "MPI_T_category_changed MPI_T_category_get_categories MPI_T_category_get_cvars \
         MPI_T_category_get_events MPI_T_category_get_index MPI_T_category_get_info \
         MPI_T_category_get_num MPI_T_category_get_num_events MPI_T_category_get_pvars \
         MPI_T_cvar_get_index MPI_T_cvar_get_info MPI_T_cvar_get_num MPI_T_cvar_handle_alloc \
         MPI_T_cvar_handle_free MPI_T_cvar_read MPI_T_cvar_write MPI_T_enum_get_info MPI_T_enum_get_item \
         MPI_T_event_callback_get_info MPI_T_event_callback_set_info MPI_T_event_copy \
         MPI_T_event_get_index MPI_T_event_get_info MPI_T_event_get_num MPI_T_event_get_source \
         MPI_T_event_get_timestamp MPI_T_event_handle_alloc MPI_T_event_handle_free \
         MPI_T_event_handle_get_info MPI_T_event_handle_set_info MPI_T_event_read \
         MPI_T_event_register_callback MPI_T_event_set_dropped_handler MPI_T_finalize MPI_T_init_thread \
         MPI_T_pvar_get_index MPI_T_pvar_get_info MPI_T_pvar_get_num MPI_T_pvar_handle_alloc \
         MPI_T_pvar_handle_free MPI_T_pvar_read MPI_T_pvar_readreset MPI_T_pvar_reset \
         MPI_T_pvar_session_create MPI_T_pvar_session_free MPI_T_pvar_start MPI_T_pvar_stop \
         MPI_T_pvar_write MPI_T_source_get_info MPI_T_source_get_num MPI_T_source_get_timestamp",
    ),
    // Chapter 14: files.
    (
        Role::Other,
        "MPI_File_c2f MPI_File_call_errhandler MPI_File_close MPI_File_create_errhandler MPI_File_delete \
         MPI_File_f2c MPI_File_fromint MPI_File_get_amode MPI_File_get_atomicity MPI_File_get_byte_offset \
         MPI_File_get_errhandler MPI_File_get_group MPI_File_get_info MPI_File_get_position \
         MPI_File_get_position_shared MPI_File_get_size MPI_File_get_type_extent MPI_File_get_view \
         MPI_File_iread MPI_File_iread_all MPI_File_iread_at MPI_File_iread_at_all MPI_File_iread_shared \
         MPI_File_iwrite MPI_File_iwrite_all MPI_File_iwrite_at MPI_File_iwrite_at_all \
         MPI_File_iwrite_shared MPI_File_open MPI_File_preallocate MPI_File_read MPI_File_read_all \
         MPI_File_read_all_begin MPI_File_read_all_end MPI_File_read_at MPI_File_read_at_all \
         MPI_File_read_at_all_begin MPI_File_read_at_all_end MPI_File_read_ordered \
         MPI_File_read_ordered_begin MPI_File_read_ordered_end MPI_File_read_shared MPI_File_seek \
         MPI_File_seek_shared MPI_File_set_atomicity MPI_File_set_errhandler MPI_File_set_info \
         MPI_File_set_size MPI_File_set_view MPI_File_sync MPI_File_toint MPI_File_write \
         MPI_File_write_all MPI_File_write_all_begin MPI_File_write_all_end MPI_File_write_at \
         MPI_File_write_at_all MPI_File_write_at_all_begin MPI_File_write_at_all_end \
         MPI_File_write_ordered MPI_File_write_ordered_begin MPI_File_write_ordered_end \
         MPI_File_write_shared",
    ),
    // Extensions of MPICH and Open MPI.
    (
        Role::Other,
        "MPIX_Allgather_init MPIX_Allgatherv_init MPIX_Allreduce_enqueue MPIX_Allreduce_init \
         MPIX_Alltoall_init MPIX_Alltoallv_init MPIX_Alltoallw_init MPIX_Async_get_state MPIX_Async_spawn \
         MPIX_Async_start MPIX_Barrier_init MPIX_Bcast_init MPIX_Comm_ack_failed MPIX_Comm_agree \
         MPIX_Comm_create_errhandler_x MPIX_Comm_failure_ack MPIX_Comm_failure_get_acked \
         MPIX_Comm_get_failed MPIX_Comm_get_stream MPIX_Comm_iagree MPIX_Comm_is_revoked MPIX_Comm_revoke \
         MPIX_Comm_shrink MPIX_Comm_test_threadcomm MPIX_Delete_error_class MPIX_Delete_error_code \
         MPIX_Delete_error_string MPIX_Exscan_init MPIX_File_create_errhandler_x MPIX_GPU_query_support \
         MPIX_Gather_init MPIX_Gatherv_init MPIX_Grequest_class_allocate MPIX_Grequest_class_create \
         MPIX_Grequest_start MPIX_Info_set_hex MPIX_Neighbor_allgather_init MPIX_Neighbor_allgatherv_init \
         MPIX_Neighbor_alltoall_init MPIX_Neighbor_alltoallv_init MPIX_Neighbor_alltoallw_init \
         MPIX_Op_create_x MPIX_Query_cuda_support MPIX_Query_hip_support MPIX_Query_rocm_support \
         MPIX_Query_ze_support MPIX_Reduce_init MPIX_Reduce_scatter_block_init MPIX_Reduce_scatter_init \
         MPIX_Scan_init MPIX_Scatter_init MPIX_Scatterv_init MPIX_Session_create_errhandler_x \
         MPIX_Start_progress_thread MPIX_Stop_progress_thread MPIX_Stream_comm_create \
         MPIX_Stream_comm_create_multiplex MPIX_Stream_create MPIX_Stream_free MPIX_Stream_progress \
         MPIX_Threadcomm_finish MPIX_Threadcomm_free MPIX_Threadcomm_init MPIX_Threadcomm_start \
         MPIX_Type_iov MPIX_Type_iov_len MPIX_Win_create_errhandler_x",
    ),
    // Partitioned communication, reductions, and one-sided operations with requests: they match only their
    // own kind, and are not intercepted.
    (
        Role::Other,
        "MPI_Accumulate MPI_Allreduce MPI_Allreduce_init MPI_Compare_and_swap MPI_Exscan MPI_Exscan_init \
         MPI_Fetch_and_op MPI_Get_accumulate MPI_Iallreduce MPI_Iexscan MPI_Ireduce MPI_Ireduce_scatter \
         MPI_Ireduce_scatter_block MPI_Iscan MPI_Parrived MPI_Pready MPI_Pready_list MPI_Pready_range \
         MPI_Precv_init MPI_Psend_init MPI_Raccumulate MPI_Reduce MPI_Reduce_init MPI_Reduce_local \
         MPI_Reduce_scatter MPI_Reduce_scatter_block MPI_Reduce_scatter_block_init \
         MPI_Reduce_scatter_init MPI_Rget MPI_Rget_accumulate MPI_Rput MPI_Scan MPI_Scan_init",
    ),
    // Conversions of handles and statuses, for Fortran and for the ABI.
    (
        Role::Other,
        "MPI_Comm_c2f MPI_Comm_f2c MPI_Comm_fromint MPI_Comm_toint MPI_Errhandler_c2f MPI_Errhandler_f2c \
         MPI_Errhandler_fromint MPI_Errhandler_toint MPI_Group_c2f MPI_Group_f2c MPI_Group_fromint \
         MPI_Group_toint MPI_Info_c2f MPI_Info_f2c MPI_Info_fromint MPI_Info_toint MPI_Message_c2f \
         MPI_Message_f2c MPI_Message_fromint MPI_Message_toint MPI_Op_c2f MPI_Op_f2c MPI_Op_fromint \
         MPI_Op_toint MPI_Request_c2f MPI_Request_f2c MPI_Request_fromint MPI_Request_toint \
         MPI_Session_c2f MPI_Session_f2c MPI_Session_fromint MPI_Session_toint MPI_Status_c2f \
         MPI_Status_c2f08 MPI_Status_f082c MPI_Status_f082f MPI_Status_f2c MPI_Status_f2f08 MPI_Type_c2f \
         MPI_Type_f2c MPI_Type_fromint MPI_Type_toint MPI_Win_c2f MPI_Win_f2c MPI_Win_fromint \
         MPI_Win_toint",
    ),
    // All other functions.
    (
        Role::Other,
        "MPI_Abi_get_fortran_booleans MPI_Abi_get_fortran_info MPI_Abi_get_info MPI_Abi_get_version \
         MPI_Abi_set_fortran_booleans MPI_Abi_set_fortran_info MPI_Abort MPI_Add_error_class \
         MPI_Add_error_code MPI_Add_error_string MPI_Address MPI_Aint_add MPI_Aint_diff MPI_Alloc_mem \
         MPI_Attr_delete MPI_Attr_get MPI_Attr_put MPI_Barrier MPI_Barrier_init MPI_Buffer_attach \
         MPI_Buffer_detach MPI_Buffer_flush MPI_Buffer_iflush MPI_Cancel MPI_Cart_coords MPI_Cart_create \
         MPI_Cart_get MPI_Cart_map MPI_Cart_rank MPI_Cart_shift MPI_Cart_sub MPI_Cartdim_get \
         MPI_Close_port MPI_Comm_accept MPI_Comm_attach_buffer MPI_Comm_call_errhandler MPI_Comm_compare \
         MPI_Comm_connect MPI_Comm_create MPI_Comm_create_errhandler MPI_Comm_create_from_group \
         MPI_Comm_create_group MPI_Comm_create_keyval MPI_Comm_delete_attr MPI_Comm_detach_buffer \
         MPI_Comm_disconnect MPI_Comm_dup MPI_Comm_dup_with_info MPI_Comm_flush_buffer MPI_Comm_free \
         MPI_Comm_free_keyval MPI_Comm_get_attr MPI_Comm_get_errhandler MPI_Comm_get_info \
         MPI_Comm_get_name MPI_Comm_get_parent MPI_Comm_group MPI_Comm_idup MPI_Comm_idup_with_info \
         MPI_Comm_iflush_buffer MPI_Comm_join MPI_Comm_rank MPI_Comm_remote_group MPI_Comm_remote_size \
         MPI_Comm_set_attr MPI_Comm_set_errhandler MPI_Comm_set_info MPI_Comm_set_name MPI_Comm_size \
         MPI_Comm_spawn MPI_Comm_spawn_multiple MPI_Comm_split MPI_Comm_split_type MPI_Comm_test_inter \
         MPI_Dims_create MPI_Dist_graph_create MPI_Dist_graph_create_adjacent MPI_Dist_graph_neighbors \
         MPI_Dist_graph_neighbors_count MPI_Errhandler_create MPI_Errhandler_free MPI_Errhandler_get \
         MPI_Errhandler_set MPI_Error_class MPI_Error_string MPI_Finalized MPI_Free_mem MPI_Get_address \
         MPI_Get_count MPI_Get_elements MPI_Get_elements_x MPI_Get_hw_resource_info \
         MPI_Get_library_version MPI_Get_processor_name MPI_Get_version MPI_Graph_create MPI_Graph_get \
         MPI_Graph_map MPI_Graph_neighbors MPI_Graph_neighbors_count MPI_Graphdims_get \
         MPI_Grequest_complete MPI_Grequest_start MPI_Group_compare MPI_Group_difference MPI_Group_excl \
         MPI_Group_free MPI_Group_from_session_pset MPI_Group_incl MPI_Group_intersection \
         MPI_Group_range_excl MPI_Group_range_incl MPI_Group_rank MPI_Group_size \
         MPI_Group_translate_ranks MPI_Group_union MPI_Ibarrier MPI_Improbe MPI_Info_create \
         MPI_Info_create_env MPI_Info_delete MPI_Info_dup MPI_Info_free MPI_Info_get MPI_Info_get_nkeys \
         MPI_Info_get_nthkey MPI_Info_get_string MPI_Info_get_valuelen MPI_Info_set MPI_Initialized \
         MPI_Intercomm_create MPI_Intercomm_create_from_groups MPI_Iprobe MPI_Is_thread_main \
         MPI_Keyval_create MPI_Keyval_free MPI_Lookup_name MPI_Mprobe MPI_Op_commutative MPI_Op_create \
         MPI_Op_free MPI_Open_port MPI_Pack_external MPI_Pack_external_size MPI_Pack_size MPI_Pcontrol \
         MPI_Probe MPI_Publish_name MPI_Query_thread MPI_Register_datarep MPI_Remove_error_class \
         MPI_Remove_error_code MPI_Remove_error_string MPI_Session_attach_buffer \
         MPI_Session_call_errhandler MPI_Session_create_errhandler MPI_Session_detach_buffer \
         MPI_Session_finalize MPI_Session_flush_buffer MPI_Session_get_errhandler MPI_Session_get_info \
         MPI_Session_get_nth_pset MPI_Session_get_num_psets MPI_Session_get_pset_info \
         MPI_Session_iflush_buffer MPI_Session_init MPI_Session_set_errhandler MPI_Session_set_info \
         MPI_Status_get_error MPI_Status_get_source MPI_Status_get_tag MPI_Status_set_cancelled \
         MPI_Status_set_elements MPI_Status_set_elements_x MPI_Status_set_error MPI_Status_set_source \
         MPI_Status_set_tag MPI_Test_cancelled MPI_Topo_test MPI_Type_contiguous MPI_Type_create_darray \
         MPI_Type_create_f90_complex MPI_Type_create_f90_integer MPI_Type_create_f90_real \
         MPI_Type_create_hindexed MPI_Type_create_hindexed_block MPI_Type_create_hvector \
         MPI_Type_create_indexed_block MPI_Type_create_keyval MPI_Type_create_resized \
         MPI_Type_create_struct MPI_Type_create_subarray MPI_Type_delete_attr MPI_Type_extent \
         MPI_Type_free_keyval MPI_Type_get_attr MPI_Type_get_envelope MPI_Type_get_extent \
         MPI_Type_get_extent_x MPI_Type_get_name MPI_Type_get_true_extent MPI_Type_get_true_extent_x \
         MPI_Type_get_value_index MPI_Type_hindexed MPI_Type_hvector MPI_Type_indexed MPI_Type_lb \
         MPI_Type_match_size MPI_Type_set_attr MPI_Type_set_name MPI_Type_size MPI_Type_size_x \
         MPI_Type_struct MPI_Type_ub MPI_Type_vector MPI_Unpack_external MPI_Unpublish_name \
         MPI_Win_allocate MPI_Win_allocate_shared MPI_Win_attach MPI_Win_call_errhandler MPI_Win_create \
         MPI_Win_create_dynamic MPI_Win_create_errhandler MPI_Win_create_keyval MPI_Win_delete_attr \
         MPI_Win_detach MPI_Win_free_keyval MPI_Win_get_attr MPI_Win_get_errhandler MPI_Win_get_group \
         MPI_Win_get_info MPI_Win_get_name MPI_Win_lock MPI_Win_lock_all MPI_Win_post MPI_Win_set_attr \
         MPI_Win_set_errhandler MPI_Win_set_info MPI_Win_set_name MPI_Win_shared_query MPI_Win_start \
         MPI_Win_sync MPI_Win_test MPI_Win_wait MPI_Wtick MPI_Wtime",
    ),
];

/// Returns the names of the functions of a role, without the suffix `_c`.
pub(crate) fn names(role: Role) -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(move |(of, _)| *of == role).flat_map(|(_, names)| names.split_whitespace())
}

/// Returns the role of each function, by its name without the suffix `_c`.
pub(crate) fn roles() -> HashMap<&'static str, Role> {
    let rows = FUNCTIONS.into_iter();
    rows.flat_map(|(role, names)| names.split_whitespace().map(move |name| (name, role))).collect()
}
