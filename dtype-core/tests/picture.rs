//! Pictures of layouts of all kinds and sizes.
#![cfg(feature = "picture")]

use dtype_core::{BaseType, Bounds, NodeCosts, TypeTree, picture::Picture};

fn leaf(base: BaseType) -> TypeTree {
    TypeTree::Leaf(base)
}

fn drawn(tree: &TypeTree, extent: i64) -> Picture {
    let picture = Picture::new("case", tree, Bounds::of_extent(extent)).unwrap();
    picture.tree("tree", tree, 0, &NodeCosts::default()).unwrap()
}

/// Asserts that elements are closed in the order of nesting, and that there is one root.
fn is_well_formed(svg: &str) {
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap_or_else(|| panic!("an element without an end: {rest}"));
        let element = &rest[at + 1..end];
        let name = element.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if element.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{rest:.60}");
        } else if !element.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
        assert_eq!(open.is_empty(), rest.trim().is_empty(), "{rest:.60}");
    }
}

#[test]
fn a_struct_is_drawn_byte_by_byte() {
    let tree =
        TypeTree::structure([0, 8, 16], [leaf(BaseType::U8), leaf(BaseType::F64), leaf(BaseType::I16)]);
    let picture = Picture::new("mixed", &tree, Bounds::of_extent(24)).unwrap();
    let picture = picture.field("flag", 0, 1).field("value", 8, 8).field("level", 16, 2);
    let picture = picture.tree("tree", &tree, 0, &NodeCosts::default()).unwrap();
    let expected = "\
mixed: 11 bytes of data in 24

 0  A░░░░░░░BbbbbbbbCc░░░░░░

A flag  B value  C level  ░ padding

tree              cost
strc 3              20
├─ @ 0: u8           3
├─ @ 8: f64          3
└─ @ 16: i16         3
";
    assert_eq!(picture.text(false), expected);
    let coloured = picture.text(true);
    assert!(coloured.contains("\u{1b}[30;48;2;230;159;0mBbbbbbbb\u{1b}[0m"), "{coloured}");
    let svg = picture.svg();
    is_well_formed(&svg);
    // The bytes of the second child are marked when the pointer is on it or on the root.
    assert!(svg.contains("<rect class=\"c a2 a0\""), "{svg}");
    assert!(svg.contains(".dtype .ha2:hover~.ribbon .a2{"), "{svg}");
}

#[test]
fn an_array_is_a_grid() {
    let column = TypeTree::vector(3, 4, leaf(BaseType::U8));
    let text = drawn(&TypeTree::index([1], column.clone()), 12).text(false);
    assert!(text.contains("\n· ■ · ·\n· ■ · ·\n· ■ · ·\n"), "{text}");
    let planes = TypeTree::vector(2, 24, TypeTree::vector(2, 8, leaf(BaseType::I32)));
    let picture = Picture::new("planes", &planes, Bounds::of_extent(48)).unwrap();
    let text = picture.array(&planes, &[2, 3, 2], 4).unwrap().text(false);
    assert!(text.contains("\n■ ·\n■ ·\n· ·\n\n■ ·\n■ ·\n· ·\n"), "{text}");
    // An array is not drawn if the layout does not fit into it.
    let picture = Picture::new("outside", &column, Bounds::of_extent(9)).unwrap();
    assert!(!picture.array(&column, &[2, 2], 1).unwrap().text(false).contains('■'));
}

#[test]
fn a_picture_of_a_billion_bytes_is_small_and_says_what_repeats() {
    let tree = TypeTree::vector(1000, 1_000_000, TypeTree::vector(100, 80, leaf(BaseType::F64)));
    let picture = drawn(&tree, 1_000_000_000);
    let (svg, text) = (picture.svg(), picture.text(false));
    is_well_formed(&svg);
    assert!(svg.len() < 100_000, "{}", svg.len());
    assert!(text.contains("1000 copies, 1000000 bytes apart\n100 copies, 80 bytes apart\n"), "{text}");
}

#[test]
fn a_picture_of_a_million_runs_is_below_a_megabyte() {
    let places: Vec<i64> = (0..1_000_000).map(|i: i64| 24 * i + 8 * (i * i % 3)).collect();
    let picture = drawn(&TypeTree::index(places, leaf(BaseType::F64)), 24_000_000);
    let svg = picture.svg();
    is_well_formed(&svg);
    assert!(svg.len() < 1 << 20, "{}", svg.len());
}

#[test]
fn copies_beyond_counting_are_not_visited_one_by_one() {
    let number = || leaf(BaseType::F64);
    let many: Vec<i64> = (0..100_000).map(|i| 8 * i).collect();
    for tree in [
        TypeTree::vector(1 << 40, 8, TypeTree::vector(2, 1 << 43, number())),
        TypeTree::index_bucket(8, [1 << 40, 3], [0, 1 << 44], number()),
        TypeTree::index_bucket(8, [1 << 40], [0], TypeTree::index([0, 1 << 43], number())),
        TypeTree::index(many.clone(), TypeTree::index(many, TypeTree::index([0, 1 << 40], number()))),
    ] {
        let picture = drawn(&tree, 1 << 45);
        // The drawn copies appear, and the parts that were not visited are not called padding.
        let text = picture.text(false);
        assert!(text.contains("Aaaaaaaa"), "{text}");
        is_well_formed(&picture.svg());
    }
    // The window has the first numbers of each column. The traversal does not find them one after the other.
    let columns = TypeTree::vector(1 << 40, -8, TypeTree::vector(2, 1 << 44, number()));
    let picture =
        Picture::new("columns", &columns, Bounds { lower_bound: -(1 << 43), extent: 1 << 45 }).unwrap();
    assert!(!picture.text(false).contains("░ padding"), "{}", picture.text(false));
}

#[test]
fn fields_that_overlap_keep_their_own_colours() {
    let tree = TypeTree::structure([0, 2], [leaf(BaseType::I32), leaf(BaseType::F64)]);
    let picture = Picture::new("record", &tree, Bounds::of_extent(12)).unwrap();
    let text = picture.field("a", 0, 4).field("b", 2, 8).text(false);
    assert!(text.contains("AaBbbbbbbb░░") && text.contains("A a  B b"), "{text}");
}

#[test]
fn strange_layouts_and_names_are_drawn() {
    let empty = TypeTree::structure([], []);
    let byte = || leaf(BaseType::Byte);
    let strange = [
        empty.clone(),
        TypeTree::structure([0, 3], [empty, byte()]),
        TypeTree::vector(5, 0, byte()),
        TypeTree::vector(1 << 40, 0, byte()),
        TypeTree::vector(1 << 40, -3, leaf(BaseType::I16)),
        TypeTree::vector(3, 1 << 60, byte()),
        TypeTree::index([i64::MIN / 2, i64::MAX / 2 - 100], byte()),
        TypeTree::index([5, 5, 5, 4], leaf(BaseType::LongDouble)),
        TypeTree::index_bucket(-8, [3, 0, 2], [100, 0, -100], leaf(BaseType::DoubleInt)),
        TypeTree::structure([0, 4, 2], [leaf(BaseType::F64), leaf(BaseType::F64), leaf(BaseType::F32)]),
        TypeTree::vector(100_000, 8, TypeTree::vector(100_000, 800_000, leaf(BaseType::F64))),
        (0..60).fold(byte(), |child, _| TypeTree::vector(1, 7, child)),
        TypeTree::structure(
            (0..500).map(|i| 8 * i).collect::<Vec<_>>(),
            (0..500).map(|_| byte()).collect::<Vec<_>>(),
        ),
    ];
    for tree in &strange {
        for bounds in [
            Bounds::of_extent(0),
            Bounds::of_extent(-40),
            Bounds { lower_bound: -7, extent: 3000 },
            Bounds { lower_bound: i64::MAX, extent: i64::MAX },
            Bounds { lower_bound: i64::MIN, extent: i64::MAX },
        ] {
            let picture = Picture::new("a <b> & \"c\" \u{1}", tree, bounds).unwrap();
            let picture = picture.field("<&>", 0, u64::MAX).field("", -5, 2);
            let picture = picture.tree("]]> </svg>", tree, 0, &NodeCosts::processing()).unwrap();
            let svg = picture.svg();
            is_well_formed(&svg);
            assert!(svg.len() < 1 << 20 && !svg.contains('\u{1}'));
            let picture = picture.array(tree, &[3, 0], 8).unwrap().array(tree, &[1, 1 << 40], 1).unwrap();
            is_well_formed(&picture.svg());
            picture.text(true);
        }
    }
}
