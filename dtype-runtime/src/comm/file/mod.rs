//! Files that all ranks read and write together (MPI 4.1 chapter 14).
//!
//! A file holds packed bytes: the values one after another, without padding, in the machine's byte order. So
//! a file is as long as its values, and another program reads it without knowing MPI.
//!
//! Each file of this folder uses only earlier ones of this list:
//!
//! - `errors`: errors with the path of the file; `storage`: the limits of the file system;
//! - `memory`: the packed bytes of a message, and room for those that are read; `rows`: the
//!   runs of a distributed array; `selection`: the parts of a file that layouts select, as datatypes;
//! - `handle`: the open file, its view, and the agreement of all ranks on an error. It alone has MPI's
//!   handle;
//! - `transfer`: reading and writing of bytes; `collected`: of short runs of all ranks;
//! - `options`: opening; `positions`: calls at offsets and in the order of the ranks; `distributed`: calls of
//!   distributed arrays; `view`: views of the program; `pending`: immediate transfers.
//!
//! # Calls of all ranks
//! If a rank left a call of all ranks with an error of its own, the others would wait for it. So each of
//! these calls goes through [`File::agreed`](handle::File::agreed): before the call of MPI, with what this
//! rank has prepared, and after it, with the result. An error of one rank is then an error of all.

mod collected;
mod distributed;
mod errors;
mod handle;
mod memory;
mod options;
mod pending;
mod positions;
mod rows;
mod selection;
mod storage;
mod transfer;
mod view;

pub use distributed::FileAt;
pub use handle::File;
pub use options::FileOptions;
pub use view::FileView;
