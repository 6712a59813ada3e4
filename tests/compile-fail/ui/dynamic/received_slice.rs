use dtype_runtime::message::from_bytes;

fn main() {
    let _ = from_bytes::<&[u8]>(&[]);
}
