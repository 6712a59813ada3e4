include!("any.rs");
