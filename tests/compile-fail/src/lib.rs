//! Cases in `ui` that must not compile. trybuild turns on features of a library only, so this is one.
