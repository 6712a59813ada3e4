//! Layouts as bytes: the round trip, and arbitrary bytes.
#![cfg(feature = "marshal")]

use dtype_core::{BaseType, Bounds, TypeTree};
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Error,
    marshal::{marshal, unmarshal},
};
use proptest::prelude::*;

fn tree() -> impl Strategy<Value = TypeTree> {
    let base = proptest::sample::select(BaseType::all().collect::<Vec<_>>());
    base.prop_map(TypeTree::Leaf).prop_recursive(4, 20, 4, |child| {
        let places = proptest::collection::vec(-500i64..500, 0..5);
        prop_oneof![
            (0u64..6, -50i64..50, child.clone())
                .prop_map(|(count, stride, child)| TypeTree::vector(count, stride, child)),
            (places.clone(), child.clone()).prop_map(|(places, child)| TypeTree::index(places, child)),
            (-50i64..50, places, 0u64..4, child.clone()).prop_map(|(stride, places, count, child)| {
                TypeTree::index_bucket(stride, vec![count; places.len()], places, child)
            }),
            proptest::collection::vec((-500i64..500, child), 0..4).prop_map(|parts| {
                let (places, children): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                TypeTree::structure(places, children)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(tree in tree(), lower_bound: i64, extent: i64) {
        let bounds = Bounds { lower_bound, extent };
        prop_assert_eq!(unmarshal(&marshal(&tree, bounds).unwrap()).unwrap(), (tree, bounds));
    }

    #[test]
    fn bytes_with_any_damage_are_an_error_or_another_tree(
        tree in tree(),
        place: proptest::sample::Index,
        with: u8,
        cut: proptest::sample::Index,
    ) {
        let mut bytes = marshal(&tree, Bounds::of_extent(8)).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= with;
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok((tree, _)) = unmarshal(&bytes) {
            prop_assert!(tree.measure().is_ok());
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_tree(bytes: Vec<u8>) {
        if let Ok((tree, bounds)) = unmarshal(&bytes) {
            prop_assert_eq!(unmarshal(&marshal(&tree, bounds).unwrap()).unwrap(), (tree, bounds));
        }
    }
}

#[test]
fn hostile_bytes_are_errors_that_say_why() {
    let told = |bytes: &[u8]| unmarshal(bytes).unwrap_err().to_string();
    assert!(told(&[]).starts_with("these bytes do not describe a layout: "));
    let leaf = TypeTree::Leaf(BaseType::F64);
    let bytes = marshal(&leaf, Bounds::of_extent(8)).unwrap();
    assert_eq!(bytes, [2, 0, 16, 1, 0, 3, b'f', b'6', b'4']);
    assert!(told(&[&bytes[..], &[0]].concat()).ends_with("1 bytes follow the description"));
    assert!(
        told(&[1, 0, 16, 1, 0, 2, b'u', b'8']).contains("version is 1, but this program reads version 2")
    );
    assert!(told(&[2, 0, 16, 1, 0, 3, b'i', b'n', b't']).ends_with("`int` is no base type"));
    assert!(told(&[2, 0, 16, 1, 4, 2, 0, 0]).ends_with("a node lacks children"));
    assert!(
        told(&[2, 0, 16, 2, 0, 2, b'u', b'8', 0, 2, b'u', b'8'])
            .ends_with("the nodes do not form a single tree")
    );
    // A million vecs, each the child of the next.
    let mut deep = vec![2, 0, 16, 0xC1, 0x84, 0x3D, 0, 2, b'u', b'8'];
    deep.extend((0..1_000_000).flat_map(|_| [1, 1, 0]));
    assert!(told(&deep).ends_with("the tree has more than 256 levels"));
    let tower = (0..300).fold(leaf, |tree, _| TypeTree::vector(1, 0, tree));
    let error = marshal(&tower, Bounds::of_extent(8)).unwrap_err();
    assert_eq!(error.to_string(), "these bytes do not describe a layout: the tree has more than 256 levels");
    // More bytes than can be counted.
    let huge = TypeTree::vector(u64::MAX, i64::MAX, TypeTree::Leaf(BaseType::U8));
    assert!(matches!(marshal(&huge, Bounds::of_extent(1)), Err(Error::Pack(PackError::Tree(_)))));
}
