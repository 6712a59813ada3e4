//! The line of Python that runs, for reports. Its functions are those of the interpreter, if the process has
//! one.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
    ptr::{null, null_mut},
};

/// An object of Python.
type Object = *mut c_void;

/// Functions of the interpreter, all of its stable ABI from version 3.9 on.
struct Interpreter {
    frame: unsafe extern "C" fn() -> Object,
    code: unsafe extern "C" fn(Object) -> Object,
    line: unsafe extern "C" fn(Object) -> c_int,
    attribute: unsafe extern "C" fn(Object, *const c_char) -> Object,
    text: unsafe extern "C" fn(Object, *mut isize) -> *const c_char,
    release: unsafe extern "C" fn(Object),
    forget_error: unsafe extern "C" fn(),
}

/// Returns `true` if a loaded module is an extension of Python, by its name.
pub(crate) fn is_extension(module: &str) -> bool {
    module.contains(".cpython-") || module.contains(".abi3.")
}

/// Returns the function and the line of Python that this thread runs, or `None` if it runs none, or other
/// threads may run Python now.
pub(crate) fn place() -> Option<String> {
    // SAFETY: `function` is asked for the types that the interpreter's header declares.
    unsafe {
        let is_initialized: unsafe extern "C" fn() -> c_int = function(c"Py_IsInitialized")?;
        let has_lock: unsafe extern "C" fn() -> c_int = function(c"PyGILState_Check")?;
        if is_initialized() == 0 || has_lock() == 0 {
            return None;
        }
        let interpreter = Interpreter {
            frame: function(c"PyEval_GetFrame")?,
            code: function(c"PyFrame_GetCode")?,
            line: function(c"PyFrame_GetLineNumber")?,
            attribute: function(c"PyObject_GetAttrString")?,
            text: function(c"PyUnicode_AsUTF8AndSize")?,
            release: function(c"Py_DecRef")?,
            forget_error: function(c"PyErr_Clear")?,
        };
        interpreter.place()
    }
}

/// Returns a function of the interpreter, or `None` if the process has no interpreter.
///
/// # Safety
/// `F` is the type of a pointer to the function.
unsafe fn function<F>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name ends in a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: the address is not null, and that of the function, whose pointer has the type `F`.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

impl Interpreter {
    /// Returns the function and the line that run.
    ///
    /// # Safety
    /// This thread holds the interpreter's lock.
    unsafe fn place(&self) -> Option<String> {
        // SAFETY: the lock is held. The frame is borrowed, and lives as long as its function runs. The code
        // is this function's own until it is released.
        unsafe {
            let frame = (self.frame)();
            if frame.is_null() {
                return None;
            }
            let (code, line) = ((self.code)(frame), (self.line)(frame));
            let [file, name] = [c"co_filename", c"co_name"].map(|name| self.text_of(code, name));
            (self.release)(code);
            let (file, name) = file.zip(name)?;
            let file = Path::new(&file).file_name()?.to_string_lossy().into_owned();
            Some(format!("{name} ({file}:{line})"))
        }
    }

    /// Returns an attribute that is text, or `None` if it cannot be written as UTF-8.
    ///
    /// # Safety
    /// This thread holds the interpreter's lock, and `object` is live.
    unsafe fn text_of(&self, object: Object, name: &CStr) -> Option<String> {
        // SAFETY: the lock is held and the object is live. The attribute is this function's own until it is
        // released, and its text lives as long. The program must not meet an error that it did not cause.
        unsafe {
            let attribute = (self.attribute)(object, name.as_ptr());
            let text = if attribute.is_null() { null() } else { (self.text)(attribute, null_mut()) };
            let found = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            if found.is_none() {
                (self.forget_error)();
            }
            if !attribute.is_null() {
                (self.release)(attribute);
            }
            found
        }
    }
}
