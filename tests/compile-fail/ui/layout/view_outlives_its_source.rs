use dtype_runtime::layout;

fn main() {
    let view;
    {
        let values = [1u8; 8];
        view = layout!(u8[8] => [2..4]).of(&values);
    }
    view.pack();
}
