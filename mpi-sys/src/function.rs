//! Functions of the MPI library, each of which is looked up at its first call.

use std::{
    os::raw::c_void,
    process, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::chosen;

/// A function of the MPI library.
pub(crate) struct Function {
    /// Its name, with a zero behind it.
    name: &'static str,
    /// Its address; null before the first call.
    address: AtomicPtr<c_void>,
}

impl Function {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns the address. Ends the program if there is no MPI library, or if it lacks the function.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            self.look_up()
        } else {
            address
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut c_void {
        let why = match chosen::chosen() {
            Ok(library) => match library.symbol(self.name) {
                Some(address) => {
                    self.address.store(address.as_ptr(), Ordering::Relaxed);
                    return address.as_ptr();
                }
                None => format!("{library} has no function `{}`", self.name.trim_end_matches('\0')),
            },
            Err(why) => why.clone(),
        };
        eprintln!("mpi-sys: {why}");
        process::exit(1)
    }
}
