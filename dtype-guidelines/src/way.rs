//! A way to pack and to unpack a layout.

/// A function that packs into bytes.
pub type Pack<'a> = Box<dyn Fn(&mut [u8]) + 'a>;
/// A function that unpacks bytes.
pub type Unpack<'a> = Box<dyn Fn(&[u8]) + 'a>;

/// A pair of functions that pack and unpack one layout.
pub struct Way<'a> {
    /// Packs the layout.
    pub pack: Pack<'a>,
    /// Unpacks the layout.
    pub unpack: Unpack<'a>,
}

impl<'a> Way<'a> {
    pub fn new(pack: impl Fn(&mut [u8]) + 'a, unpack: impl Fn(&[u8]) + 'a) -> Self {
        Self { pack: Box::new(pack), unpack: Box::new(unpack) }
    }
}
