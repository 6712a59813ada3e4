! Programs in Fortran, for mpif.h (BINDING 1), the module mpi (2) and mpi_f08 (3). Each prints a line: its
! name, and a hash of all that it received and of its statuses. The lines must be the same with and without
! the preloaded library.
#if BINDING == 3
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define COMM type(MPI_Comm)
#define WINDOW type(MPI_Win)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s, n) type(MPI_Status) :: s(n)
#define TAG_OF(s) s%MPI_TAG
#else
#define DATATYPE integer
#define REQUEST integer
#define MESSAGE integer
#define COMM integer
#define WINDOW integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define TAG_OF(s) s(MPI_TAG)
#endif

program suite
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr, c_f_pointer
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer, parameter :: n = 120, long = selected_int_kind(18)
  double precision, save :: from(n, n), to(n, n), more(n, 4 * n)
  integer :: rank, ranks, other, code
  integer(long) :: total
  COMM :: world
  DATATYPE :: row, record, list

  call MPI_Init(code)
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank, code)
  call MPI_Comm_size(world, ranks, code)
  other = ieor(rank, 1)
  call make_types()

  call refill(); call one_way();    call tell('send')
  call refill(); call begun();      call tell('isend')
  call refill(); call exchanged();  call tell('sendrecv')
  call refill(); call replaced();   call tell('replace')
  call refill(); call prepared();   call tell('persistent')
  call refill(); call any_of();     call tell('waitany')
  call refill(); call some_of();    call tell('testsome')
  call refill(); call tested();     call tell('test')
  call refill(); call absolute();   call tell('bottom')
  call refill(); call packed();     call tell('pack')
  call refill(); call probed();     call tell('mprobe')
  call refill(); call collective(); call tell('collective')
  call refill(); call of_lists();   call tell('lists')
  call refill(); call in_place();   call tell('in_place')
  call refill(); call later();      call tell('later')
  call refill(); call windows();    call tell('windows')
  call refill(); call freed();      call tell('freed')
#if BINDING == 3
  call refill(); call sections();   call tell('sections')
#endif
  call MPI_Type_free(row, code)
  call MPI_Type_free(record, code)
  call MPI_Type_free(list, code)
  call MPI_Finalize(code)

contains

  subroutine make_types()
    integer :: lengths(4), places(30), i
    integer(MPI_ADDRESS_KIND) :: at(4), extent, zero
    DATATYPE :: types(4), inner
    call MPI_Type_vector(n, 1, n, MPI_DOUBLE_PRECISION, row, code)
    call MPI_Type_commit(row, code)
    lengths = 1
    at = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, 20_MPI_ADDRESS_KIND]
    types = [MPI_CHARACTER, MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_REAL]
    call MPI_Type_create_struct(4, lengths, at, types, inner, code)
    extent = 24
    zero = 0
    call MPI_Type_create_resized(inner, zero, extent, record, code)
    call MPI_Type_commit(record, code)
    call MPI_Type_free(inner, code)
    places = [(7 * i + mod(i, 3), i = 0, 29)]
    call MPI_Type_create_indexed_block(30, 2, places, MPI_DOUBLE_PRECISION, list, code)
    call MPI_Type_commit(list, code)
  end subroutine

  subroutine refill()
    integer :: i, j
    do j = 1, n
      do i = 1, n
        from(i, j) = 1.5d0 * i + 211 * j + 7001 * rank
      end do
    end do
    to = -1
    more = -2
    total = 0
  end subroutine

  subroutine add(number)
    integer, intent(in) :: number
    total = ieor(total * 31_long, int(number, long)) + 17_long
  end subroutine

  subroutine told(status_, datatype_)
    STATUS(status_)
    DATATYPE :: datatype_
    integer :: found
    call MPI_Get_count(status_, datatype_, found, code)
    call add(found)
    call add(TAG_OF(status_))
  end subroutine

  subroutine tell(name)
    character(*), intent(in) :: name
    integer(long) :: bits(n * n), wide(4 * n * n), all(8)
    integer :: i
    bits = transfer(to, bits)
    wide = transfer(more, wide)
    do i = 1, size(bits)
      total = ieor(ishftc(total, 7), bits(i)) + i
    end do
    do i = 1, size(wide)
      total = ieor(ishftc(total, 7), wide(i)) + i
    end do
    all = 0
    call MPI_Gather(total, 1, MPI_INTEGER8, all, 1, MPI_INTEGER8, 0, world, code)
    if (rank == 0) print '(a, 8(1x, z16.16))', name, all(1:ranks)
  end subroutine

  subroutine one_way()
    STATUS(s)
    if (rank == 0) then
      call MPI_Send(from(3, 1), 1, row, other, 5, world, code)
      call MPI_Recv(to(4, 1), 1, row, other, 6, world, s, code)
      call MPI_Ssend(from, 300, record, other, 7, world, code)
    else
      call MPI_Recv(to(3, 1), 1, row, other, 5, world, s, code)
      call MPI_Send(from(9, 1), 1, row, other, 6, world, code)
      call MPI_Recv(to(1, 20), 300, record, other, 7, world, s, code)
    end if
    if (rank == 1) call told(s, record)
    if (rank == 0) call told(s, row)
  end subroutine

  subroutine begun()
    STATUSES(s, 4)
    REQUEST :: r(4)
    call MPI_Irecv(to(2, 1), 1, row, other, 1, world, r(1), code)
    call MPI_Irecv(more, 200, record, other, 2, world, r(2), code)
    call MPI_Isend(from(5, 1), 1, row, other, 1, world, r(3), code)
    call MPI_Issend(from, 150, record, other, 2, world, r(4), code)
    call MPI_Waitall(4, r, s, code)
    call told_of(s, 1, row)
    call told_of(s, 2, record)
    if (all_null(r, 4)) call add(99)
  end subroutine

  subroutine told_of(s, i, datatype_)
    STATUSES(s, *)
    integer, intent(in) :: i
    DATATYPE :: datatype_
#if BINDING == 3
    call told(s(i), datatype_)
#else
    call told(s(1, i), datatype_)
#endif
  end subroutine

  logical function all_null(r, count)
    integer, intent(in) :: count
    REQUEST :: r(count)
    integer :: i
    all_null = .true.
    do i = 1, count
      if (r(i) /= MPI_REQUEST_NULL) all_null = .false.
    end do
  end function

  subroutine exchanged()
    STATUS(s)
    call MPI_Sendrecv(from(1, 1), 1, row, other, 3, to(2, 1), 1, row, other, 3, world, s, code)
    call told(s, row)
    call MPI_Sendrecv(from, 8, list, other, 4, more, 8, list, other, 4, world, MPI_STATUS_IGNORE, code)
  end subroutine

  subroutine replaced()
    STATUS(s)
    to = from
    call MPI_Sendrecv_replace(to(7, 1), 1, row, other, 3, other, 3, world, s, code)
    call told(s, row)
  end subroutine

  subroutine prepared()
    REQUEST :: r(2)
    integer :: round
    call MPI_Recv_init(to(2, 1), 1, row, other, 1, world, r(1), code)
    call MPI_Send_init(from(5, 1), 1, row, other, 1, world, r(2), code)
    do round = 1, 3
      from(5, :) = from(5, :) + round
      if (round == 2) then
        call MPI_Start(r(1), code)
        call MPI_Start(r(2), code)
        call MPI_Wait(r(1), MPI_STATUS_IGNORE, code)
        call MPI_Wait(r(2), MPI_STATUS_IGNORE, code)
      else
        call MPI_Startall(2, r, code)
        call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, code)
      end if
      more(:, round) = to(2, :)
    end do
    call MPI_Request_free(r(1), code)
    call MPI_Request_free(r(2), code)
    if (all_null(r, 2)) call add(98)
  end subroutine

  subroutine several(r)
    REQUEST :: r(8)
    integer :: i
    do i = 1, 4
      call MPI_Irecv(more(i, 1), 1, row, other, i, world, r(i), code)
    end do
    do i = 1, 4
      call MPI_Isend(from(2 * i, 1), 1, row, other, i, world, r(4 + i), code)
    end do
  end subroutine

  subroutine any_of()
    REQUEST :: r(8)
    STATUS(s)
    integer :: i, place
    logical :: done
    integer :: places
    call several(r)
    places = 0
    do i = 1, 4
      call MPI_Waitany(8, r, place, s, code)
      places = places + 2**place
    end do
    i = 4
    do while (i < 8)
      call MPI_Testany(8, r, place, done, s, code)
      if (done) then
        places = places + 2**place
        i = i + 1
      end if
    end do
    call add(places)
    if (all_null(r, 8)) call add(97)
  end subroutine

  subroutine some_of()
    REQUEST :: r(8)
    STATUSES(s, 8)
    integer :: left, done, places(8), i, sum
    call several(r)
    left = 8
    sum = 0
    do while (left > 0)
      if (left > 4) then
        call MPI_Testsome(8, r, done, places, s, code)
      else
        call MPI_Waitsome(8, r, done, places, MPI_STATUSES_IGNORE, code)
      end if
      do i = 1, done
        sum = sum + 2**places(i)
      end do
      left = left - done
    end do
    call add(sum)
  end subroutine

  subroutine tested()
    REQUEST :: r(8), one
    STATUS(s)
    logical :: done
    call several(r)
    done = .false.
    do while (.not. done)
      call MPI_Testall(8, r, done, MPI_STATUSES_IGNORE, code)
    end do
    call MPI_Irecv(to(3, 1), 1, row, other, 50, world, one, code)
    call MPI_Send(from(3, 1), 1, row, other, 50, world, code)
    done = .false.
    do while (.not. done)
      call MPI_Request_get_status(one, done, s, code)
    end do
    call told(s, row)
    done = .false.
    do while (.not. done)
      call MPI_Test(one, done, s, code)
    end do
  end subroutine

  subroutine absolute()
    integer(MPI_ADDRESS_KIND) :: here(2), there(2)
    DATATYPE :: send, receive, parts(2)
    integer :: lengths(2)
    call MPI_Get_address(from(4, 1), here(1), code)
    call MPI_Get_address(from(1, 30), here(2), code)
    call MPI_Get_address(to(6, 1), there(1), code)
    call MPI_Get_address(more, there(2), code)
    lengths = [1, 100]
    parts(1) = row
    parts(2) = MPI_DOUBLE_PRECISION
    call MPI_Type_create_struct(2, lengths, here, parts, send, code)
    call MPI_Type_create_struct(2, lengths, there, parts, receive, code)
    call MPI_Type_commit(send, code)
    call MPI_Type_commit(receive, code)
    call MPI_Sendrecv(MPI_BOTTOM, 1, send, other, 1, MPI_BOTTOM, 1, receive, other, 1, world, &
                      MPI_STATUS_IGNORE, code)
    call MPI_Type_free(send, code)
    call MPI_Type_free(receive, code)
  end subroutine

  subroutine packed()
    character :: bytes(40000)
    integer :: position
    position = 0
    bytes = char(0)
    call MPI_Pack(from(2, 1), 1, row, bytes, 40000, position, world, code)
    call MPI_Pack(from, 200, record, bytes, 40000, position, world, code)
    call add(position)
    position = 0
    call MPI_Unpack(bytes, 40000, position, to(8, 1), 1, row, world, code)
    call MPI_Unpack(bytes, 40000, position, more, 200, record, world, code)
    call add(position)
  end subroutine

  subroutine probed()
    MESSAGE :: message
    REQUEST :: r, receive
    STATUS(s)
    call MPI_Isend(from(5, 1), 1, row, other, 1, world, r, code)
    call MPI_Mprobe(other, 1, world, message, s, code)
    call told(s, row)
    call MPI_Mrecv(to(1, 1), 1, row, message, s, code)
    call told(s, row)
    call MPI_Wait(r, MPI_STATUS_IGNORE, code)
    call MPI_Isend(from(6, 1), 1, row, other, 2, world, r, code)
    call MPI_Mprobe(other, 2, world, message, s, code)
    call MPI_Imrecv(to(2, 1), 1, row, message, receive, code)
    call MPI_Wait(receive, s, code)
    call told(s, row)
    call MPI_Wait(r, MPI_STATUS_IGNORE, code)
  end subroutine

  subroutine collective()
    DATATYPE :: narrow
    integer(MPI_ADDRESS_KIND) :: extent, zero
    extent = 8
    zero = 0
    call MPI_Type_create_resized(row, zero, extent, narrow, code)
    call MPI_Type_commit(narrow, code)
    if (rank == 0) to = from
    call MPI_Bcast(to(3, 1), 2, narrow, 0, world, code)
    call MPI_Gather(from(1, 1), 2, narrow, more, 2 * n, MPI_DOUBLE_PRECISION, 1, world, code)
    call MPI_Scatter(from(1, 1), 2, narrow, more(1, 200), 2 * n, MPI_DOUBLE_PRECISION, 0, world, code)
    call MPI_Allgather(from(1, 1), n, MPI_DOUBLE_PRECISION, to(9, 1), 1, narrow, world, code)
    call MPI_Alltoall(from(20, 1), 1, narrow, to(30, 1), 1, narrow, world, code)
    call MPI_Type_free(narrow, code)
  end subroutine

  subroutine of_lists()
    DATATYPE :: narrow
    integer(MPI_ADDRESS_KIND) :: extent, zero
    integer :: counts(2), places(2), mine(2), some(2), bytes(2)
    DATATYPE :: each(2)
    extent = 8
    zero = 0
    call MPI_Type_create_resized(row, zero, extent, narrow, code)
    call MPI_Type_commit(narrow, code)
    counts = [2, 3]
    places = [10, 3]
    mine = counts(rank + 1)
    call MPI_Gatherv(from(1, 1), counts(rank + 1), narrow, to, counts, places, narrow, 0, world, code)
    call MPI_Scatterv(from, counts, places, narrow, to(40, 1), counts(rank + 1), narrow, 1, world, code)
    call MPI_Allgatherv(from(5, 1), counts(rank + 1), narrow, to(60, 1), counts, places, narrow, world, code)
    call MPI_Alltoallv(from, counts, places, narrow, to(90, 1), mine, places, narrow, world, code)
    some = 1
    bytes = [0, 8 * 7]
    each = row
    call MPI_Alltoallw(from(11, 1), some, bytes, each, to(100, 1), some, bytes, each, world, code)
    call MPI_Type_free(narrow, code)
  end subroutine

  subroutine in_place()
    DATATYPE :: narrow
    integer(MPI_ADDRESS_KIND) :: extent, zero
    extent = 8
    zero = 0
    call MPI_Type_create_resized(row, zero, extent, narrow, code)
    call MPI_Type_commit(narrow, code)
    to = from
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 1, narrow, to, 1, narrow, 0, world, code)
    else
      call MPI_Gather(from(2, 1), 1, narrow, to, 1, narrow, 0, world, code)
    end if
    call MPI_Allgather(MPI_IN_PLACE, 1, narrow, to(50, 1), 1, narrow, world, code)
    call MPI_Type_free(narrow, code)
  end subroutine

  subroutine later()
    REQUEST :: r(3)
    if (rank == 0) to = from
    call MPI_Ibcast(to(3, 1), 1, row, 0, world, r(1), code)
    call MPI_Igather(from(1, 1), 1, row, more, n, MPI_DOUBLE_PRECISION, 0, world, r(2), code)
    call MPI_Iallgather(from(2, 1), 1, row, more(1, 100), n, MPI_DOUBLE_PRECISION, world, r(3), code)
    call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, code)
  end subroutine

  subroutine freed()
    REQUEST :: r
    STATUS(s)
    call MPI_Isend(from(5, 1), 1, row, other, 1, world, r, code)
    call MPI_Request_free(r, code)
    call MPI_Recv(to(5, 1), 1, row, other, 1, world, s, code)
    call told(s, row)
    call MPI_Barrier(world, code)
  end subroutine

  subroutine windows()
    WINDOW :: w
    integer(MPI_ADDRESS_KIND) :: bytes, at
    double precision, pointer :: there(:)
#if BINDING == 1
    integer(MPI_ADDRESS_KIND) :: memory
#else
    type(c_ptr) :: memory
#endif
    bytes = 8 * 16000
    ! Some builds do not support windows in the program's own memory.
    call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, world, memory, w, code)
    call c_f_pointer(transfer(memory, c_null_ptr), there, [16000])
    there = 0
    at = 5
    call MPI_Win_fence(0, w, code)
    call MPI_Put(from(3, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_fence(0, w, code)
    call MPI_Get(to(7, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, w, code)
    call MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w, code)
    at = 200
    call MPI_Put(from(4, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_flush(other, w, code)
    call MPI_Get(to(9, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_unlock(other, w, code)
    call MPI_Win_lock_all(0, w, code)
    at = 500
    call MPI_Put(from(1, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_flush_all(w, code)
    call MPI_Get(to(11, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_flush_local_all(w, code)
    call MPI_Get(to(12, 1), 1, row, other, at, n, MPI_DOUBLE_PRECISION, w, code)
    call MPI_Win_flush_local(other, w, code)
    call MPI_Get(to(13, 1), 1, row, other, at, 1, row, w, code)
    call MPI_Win_unlock_all(w, code)
    call MPI_Barrier(world, code)
    more(1:100, 1:160) = reshape(there, [100, 160])
    call MPI_Win_free(w, code)
  end subroutine

#if BINDING == 3
  subroutine sections()
    STATUS(s)
    REQUEST :: r
    double precision, save, asynchronous :: line(9000), back(9000)
    ! Array sections, for which MPICH makes datatypes of its own.
    call MPI_Sendrecv(from(1:n:3, 2:90), 40 * 89, MPI_DOUBLE_PRECISION, other, 1, &
                      to(2:n:3, 1:89), 40 * 89, MPI_DOUBLE_PRECISION, other, 1, world, s)
    call MPI_Sendrecv(from(4, :), n, MPI_DOUBLE_PRECISION, other, 1, &
                      more(9, 1:n), n, MPI_DOUBLE_PRECISION, other, 1, world, s)
    line = reshape(from, [9000])
    back = 0
    call MPI_Sendrecv(line(1::3), 3000, MPI_DOUBLE_PRECISION, other, 1, &
                      back(2::3), 3000, MPI_DOUBLE_PRECISION, other, 1, world, s)
    call told(s, MPI_DOUBLE_PRECISION)
    if (MPI_SUBARRAYS_SUPPORTED) then
      call MPI_Irecv(back(3::3), 3000, MPI_DOUBLE_PRECISION, other, 2, world, r)
      call MPI_Send(line(2::3), 3000, MPI_DOUBLE_PRECISION, other, 2, world)
      call MPI_Wait(r, s)
      call told(s, MPI_DOUBLE_PRECISION)
    end if
    more(1:n, 200:274) = reshape(back, [n, 75])
  end subroutine
#endif
end program
