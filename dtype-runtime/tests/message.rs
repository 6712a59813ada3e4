//! Messages of any shape without MPI: values come back as they were, and no bytes do harm.

use std::{
    any::type_name,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    fmt::Debug,
    marker::PhantomData,
    num::{NonZero, Saturating, Wrapping},
    ops::Bound,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use dtype_runtime::{
    Error, FromMessage, MpiDatatype, MpiMessage,
    message::{from_bytes, read_from, to_bytes, write_to},
};
use proptest::{collection::vec, prelude::*};

/// Sends a value through bytes, and through a stream.
#[track_caller]
fn same<T: FromMessage + PartialEq + Debug>(value: &T) {
    let bytes = to_bytes(value).unwrap();
    assert_eq!(from_bytes::<T>(&bytes).unwrap(), *value);
    let mut stream = Vec::new();
    write_to(&mut stream, value).unwrap();
    assert_eq!(stream[8..], bytes, "the stream has the message behind its size");
    assert_eq!(read_from::<T>(&mut &stream[..]).unwrap(), *value);
}

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    id: u32,
    kind: u8,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

/// A type with values of which not every pattern is one, and a skipped field.
#[derive(MpiDatatype, Clone, Debug, PartialEq)]
struct Node {
    phase: Phase,
    letter: char,
    #[mpi(skip)]
    neighbours: Vec<usize>,
    weight: (u8, f64),
}

/// A type in memory order that holds such values.
#[derive(MpiDatatype, Clone, Debug, PartialEq)]
#[mpi(order = "memory")]
struct Pair {
    tag: u8,
    nodes: [Node; 2],
    value: u64,
}

#[derive(MpiMessage, Clone, Debug, PartialEq)]
enum Tree<T> {
    Leaf(T),
    Empty,
    Node { name: String, children: Vec<Tree<T>>, next: Option<Box<Tree<T>>> },
}

#[derive(MpiMessage, Clone, Debug, PartialEq, Default)]
struct Config {
    title: String,
    steps: Vec<f64>,
    particles: Vec<Particle>,
    names: BTreeMap<String, Vec<u16>>,
    #[mpi(skip)]
    open: Option<usize>,
    output: Option<Output>,
}

#[derive(MpiMessage, Debug, PartialEq)]
struct Title<'a>(Cow<'a, str>);

#[derive(MpiMessage, Clone, Debug, PartialEq)]
enum Output {
    File(String),
    Every { steps: u32, of: Result<i128, String> },
}

fn node(i: usize) -> Node {
    let phase = if i.is_multiple_of(2) { Phase::Solid } else { Phase::Liquid };
    Node { phase, letter: 'ü', neighbours: Vec::new(), weight: (i as u8, i as f64) }
}

fn tree(depth: usize) -> Tree<u64> {
    if depth == 0 {
        return Tree::Leaf(7);
    }
    Tree::Node {
        name: format!("level {depth}"),
        children: vec![tree(depth - 1), Tree::Empty],
        next: Some(Box::new(tree(depth - 1))),
    }
}

fn config() -> Config {
    Config {
        title: "a run".to_owned(),
        steps: vec![0.5; 5],
        particles: vec![Particle { id: 3, ..Particle::default() }; 3],
        names: [("one".to_owned(), vec![1]), ("two".to_owned(), vec![2, 2])].into(),
        open: None,
        output: Some(Output::Every { steps: 10, of: Ok(-1) }),
    }
}

#[test]
fn every_type_comes_back() {
    same(&(1u8, -2i64, 0.5f32, true, 'ß', ()));
    same(&(NonZero::new(3u16).unwrap(), Wrapping(7u32), Saturating(-7i8), PhantomData::<str>));
    same(&[[1u64, 2], [3, 4]]);
    same(&(i128::MIN, u128::MAX, usize::MAX));
    same(&"text".to_owned());
    same(&vec!["a".to_owned(), String::new(), "ü".repeat(100)]);
    same(&(vec![Phase::Liquid; 3], vec![true, false], vec![(1u8, 0.5f64)]));
    same(&vec![(); 1000]);
    same(&vec![[0u8; 0]; 1000]);
    same(&(Box::new(5u8), Rc::new("a".to_owned()), Arc::new(vec![1u8])));
    same(&(
        vec![1u8].into_boxed_slice(),
        Box::<str>::from("b"),
        Rc::<[f64]>::from([0.5]),
        Arc::<str>::from("c"),
    ));
    same(&(Some(vec![1u8]), None::<u8>, Ok::<u8, String>(1), Err::<u8, String>("no".to_owned())));
    same(&(Cow::<str>::Owned("x".to_owned()), Cow::<[u16]>::Owned(vec![1])));
    same(&(Duration::new(5, 999_999_999), 1..5u8, 1..=5u8, (1u8.., ..2u8, ..=3u8, ..)));
    same(&[Bound::Included(1u8), Bound::Excluded(2), Bound::Unbounded]);
    same(&VecDeque::from([1u8, 2, 3]));
    same(&(BTreeSet::from([1u8, 2]), HashSet::from(["a".to_owned()]), LinkedList::from([1u8])));
    same(&(BTreeMap::from([(1u8, "one".to_owned())]), HashMap::from([("k".to_owned(), vec![0.5f64])])));
    same(&[node(1), node(2)]);
    same(&vec![Pair { tag: 1, nodes: [node(1), node(2)], value: 9 }; 3]);
    same(&tree(4));
    same(&config());
    let heap = BinaryHeap::from([3u8, 1, 2]);
    let copy: BinaryHeap<u8> = from_bytes(&to_bytes(&heap).unwrap()).unwrap();
    assert_eq!(copy.into_sorted_vec(), heap.into_sorted_vec());
}

#[test]
fn large_slices_are_blocks_and_come_back() {
    let values = |n: usize| (0..n).map(|i| i as f64).collect::<Vec<_>>();
    for n in [4095, 4096, 4097, 100_000] {
        same(&values(n));
        same(&(vec![1u8; n], "x".repeat(8 * n), values(n), vec![values(n), values(3)]));
        same(&[values(n), values(2 * n), values(n)]);
    }
    same(&(vec![[0.5f64; 3]; 5000], Box::new([1u32; 20_000]), vec![true; 50_000]));
    let mut queue: VecDeque<f64> = values(10_000).into();
    queue.rotate_left(7);
    queue.push_back(1.0);
    same(&queue);
    // Structs with padding are packed, not sent from memory.
    let particles = vec![Particle { id: 1, ..Particle::default() }; 5000];
    assert!(to_bytes(&particles).unwrap().len() < 5000 * 30);
    same(&particles);
    same(&(0..10_000).map(node).collect::<Vec<_>>());
}

#[test]
fn a_short_message_keeps_no_memory_of_a_long_one() {
    let long = to_bytes(&vec!["line".to_owned(); 10_000]).unwrap();
    let again = to_bytes(&vec!["line".to_owned(); 10_000]).unwrap();
    let short = to_bytes("line").unwrap();
    assert!(again.capacity() == again.len(), "the second long message is allocated at once");
    assert!([long, again, short].iter().all(|bytes| bytes.capacity() <= 2 * bytes.len() + 1));
}

#[test]
fn sequences_of_large_arrays_come_back() {
    #[derive(MpiMessage, Clone, Debug, PartialEq)]
    struct Large {
        name: String,
        data: [f64; 5000],
    }
    let large = |i: usize| Large { name: i.to_string(), data: [i as f64; 5000] };
    same(&vec![(1u32, [7u8; 40_000]), (2, [8; 40_000])]);
    same(&vec![large(1), large(2)]);
    same(&BTreeMap::from([(1u64, vec![[0.5f64; 5000]]), (2, vec![])]));
    let mut into = vec![large(3), large(4), large(5)];
    dtype_runtime::message::from_bytes_into(&to_bytes(&vec![large(1), large(2)]).unwrap(), &mut into)
        .unwrap();
    assert_eq!(into, [large(1), large(2)]);
    // A box is read into its own memory.
    let boxed: Box<[f64; 4 << 20]> = vec![0.5; 4 << 20].try_into().unwrap();
    let copy: Box<[f64; 4 << 20]> = from_bytes(&to_bytes(&boxed).unwrap()).unwrap();
    assert!(copy.iter().all(|value| *value == 0.5));
}

#[test]
fn skipped_fields_of_an_old_value_stay() {
    let neighbours = |node: Node| Node { neighbours: vec![5, 6], ..node };
    let mut into = vec![neighbours(node(7)), neighbours(node(8)), neighbours(node(9))];
    let bytes = to_bytes(&vec![node(1), node(2)]).unwrap();
    dtype_runtime::message::from_bytes_into(&bytes, &mut into).unwrap();
    assert_eq!(into, [neighbours(node(1)), neighbours(node(2))]);
    let pair = |i| Pair { tag: i as u8, nodes: [node(i), node(i + 1)], value: i as u64 };
    let mut into = pair(5);
    into.nodes[1].neighbours = vec![3];
    dtype_runtime::message::from_bytes_into(&to_bytes(&pair(1)).unwrap(), &mut into).unwrap();
    assert_eq!(into.nodes[1], Node { neighbours: vec![3], ..node(2) });
    let mut into = Config { open: Some(4), ..config() };
    dtype_runtime::message::from_bytes_into(&to_bytes(&config()).unwrap(), &mut into).unwrap();
    assert_eq!(into, Config { open: Some(4), ..config() });
}

#[test]
fn what_borrows_is_received_as_what_owns() {
    #[derive(MpiMessage)]
    struct Line<'a> {
        name: &'a str,
        values: &'a [f64],
        more: &'a Vec<u8>,
    }
    /// A type that borrows only through another one.
    #[derive(MpiMessage)]
    struct Lines<'a> {
        lines: Vec<Line<'a>>,
        title: Cow<'a, str>,
    }
    mod owned {
        #[derive(dtype_runtime::MpiMessage)]
        pub struct Line {
            pub name: String,
            pub values: Vec<f64>,
            pub more: Vec<u8>,
        }
    }
    mod borrowing {
        #[derive(dtype_runtime::MpiMessage)]
        pub struct Trunk<'a> {
            pub children: &'a [Trunk<'a>],
            pub next: Option<&'a Trunk<'a>>,
        }
    }
    mod owning {
        #[derive(dtype_runtime::MpiMessage)]
        pub struct Trunk {
            pub children: Vec<Trunk>,
            pub next: Option<Box<Trunk>>,
        }
    }
    let more = Vec::new();
    let lines = Lines { lines: vec![Line { name: "n", values: &[], more: &more }], title: "t".into() };
    assert!(to_bytes(&lines).is_ok());
    assert_eq!(from_bytes::<Title<'_>>(&to_bytes(&Title("t".into())).unwrap()).unwrap(), Title("t".into()));
    // Pointers do not count in the fingerprint of a type within itself.
    let leaf = || borrowing::Trunk { children: &[], next: None };
    let trunk = borrowing::Trunk { children: &[leaf(), leaf()], next: Some(&leaf()) };
    let copy: owning::Trunk = from_bytes(&to_bytes(&trunk).unwrap()).unwrap();
    assert_eq!((copy.children.len(), copy.next.unwrap().children.len()), (2, 0));
    let bytes = to_bytes(&Line { name: "n", values: &[1.0, 2.0], more: &vec![3] }).unwrap();
    let line: owned::Line = from_bytes(&bytes).unwrap();
    assert_eq!((&*line.name, &*line.values, &*line.more), ("n", &[1.0, 2.0][..], &[3][..]));
    assert_eq!(from_bytes::<Vec<u8>>(&to_bytes(&[1u8, 2][..]).unwrap()).unwrap(), [1, 2]);
    assert_eq!(from_bytes::<String>(&to_bytes("s").unwrap()).unwrap(), "s");
}

#[test]
fn sequences_of_what_borrows_are_sequences_of_what_owns() {
    #[derive(MpiMessage, PartialEq, Debug)]
    struct Inner<S>(S);
    #[derive(MpiMessage, PartialEq, Debug)]
    struct Outer<A, B> {
        a: Inner<A>,
        b: Vec<Inner<B>>,
    }
    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    struct Padded(u8, u32);
    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C, packed)]
    struct Dense(u8, u32);
    fn is_another<T: FromMessage>(sent: &(impl MpiMessage + ?Sized)) {
        let error = from_bytes::<T>(&to_bytes(sent).unwrap()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("another type"), "{error}");
    }
    fn becomes<T: FromMessage + PartialEq + Debug>(sent: &(impl MpiMessage + ?Sized), expected: &T) {
        assert_eq!(from_bytes::<T>(&to_bytes(sent).unwrap()).unwrap(), *expected);
    }
    let owned = vec!["ab".to_owned(), String::new(), "cd".to_owned()];
    becomes(&["ab", "", "cd"][..], &owned);
    becomes(&[Cow::Borrowed("ab"), "".into(), "cd".into()][..], &owned);
    becomes(&owned, &owned.iter().cloned().map(String::into_boxed_str).collect::<Vec<_>>());
    becomes(&[&[1u8, 2][..], &[]][..], &vec![vec![1u8, 2], vec![]]);
    becomes(&BTreeSet::from(["ab", "cd"]), &BTreeSet::from(["ab".to_owned(), "cd".to_owned()]));
    becomes(&BTreeMap::from([("ab", "cd")]), &BTreeMap::from([("ab".to_owned(), "cd".to_owned())]));
    becomes(&vec![("ab",)], &vec![("ab".to_owned(),)]);
    becomes(&vec![Wrapping(7u64); 10_000], &vec![7u64; 10_000]);
    assert_eq!(to_bytes(&vec![Box::new(1u8); 10]).unwrap().len(), 4 + 10 + 32);
    same(&vec![Box::new(1.5f64); 10_000]);

    // A struct of each is described twice on one side, and once on the other.
    let (a, b) = (Inner("ab"), vec![Inner("cd".to_owned())]);
    let expected = Outer { a: Inner("ab".to_owned()), b: vec![Inner("cd".to_owned())] };
    becomes(&Outer { a, b }, &expected);

    // Values that are copied all at once are none that are copied one by one, however many there are.
    for count in [1, 10_000] {
        is_another::<Vec<u8>>(&vec![&4u8; count]);
        is_another::<Vec<f64>>(&vec![Box::new(4f64); count]);
        is_another::<Vec<Box<f64>>>(&vec![4f64; count]);
        is_another::<Vec<Dense>>(&vec![Padded(1, 2); count]);
    }
    is_another::<[[u8; 20_000]; 2]>(&[&[1u8; 20_000]; 2]);
}

#[test]
fn types_of_one_name_are_two_types() {
    macro_rules! within {
        ($number:ty, $value:expr) => {{
            #[derive(MpiMessage)]
            struct S($number);
            type Inner = S;
            let name = type_name::<S>();
            {
                #[derive(MpiMessage)]
                struct S(Inner);
                assert_eq!(type_name::<S>(), name);
                to_bytes(&S(Inner { 0: $value })).unwrap()
            }
        }};
    }
    let (first, second) = (within!(u32, 1), within!(f32, 1.0));
    assert_ne!(first[first.len() - 32..][..8], second[second.len() - 32..][..8]);
}

/// Types of which each has several fields of the next: the time must not double with each.
#[test]
fn large_graphs_of_types_are_described_at_once() {
    macro_rules! chain {
        ($first:ident $second:ident $($more:ident)*) => {
            #[derive(MpiMessage, Default)]
            struct $first(Vec<$second>, Vec<$second>, Vec<$second>, Vec<Round0>, Option<Box<$first>>);
            chain!($second $($more)*);
        };
        ($last:ident) => {
            #[derive(MpiMessage, Default)]
            struct $last(Vec<Round0>, Vec<$last>);
        };
    }
    chain! {
        Round0 Round1 Round2 Round3 Round4 Round5 Round6 Round7 Round8 Round9 Round10 Round11 Round12 Round13
        Round14 Round15 Round16 Round17 Round18 Round19 Round20 Round21 Round22 Round23 Round24 Round25
    }
    let bytes = to_bytes(&Round0::default()).unwrap();
    assert!(from_bytes::<Round0>(&bytes).is_ok() && from_bytes::<Round1>(&bytes).is_err());
}

#[test]
fn large_values_are_read_in_place() {
    #[derive(MpiMessage)]
    struct Link {
        values: [f64; 1000],
        next: Option<Box<Link>>,
    }
    #[derive(MpiDatatype, Clone)]
    struct Grid {
        cells: [f64; 2 << 20],
    }
    // SAFETY: zeros are numbers.
    let grid = || unsafe { Box::<Grid>::new_zeroed().assume_init() };
    let (sent, mut into) = (grid(), grid());
    into.cells[7] = 1.0;
    dtype_runtime::message::from_bytes_into(&to_bytes(&sent).unwrap(), &mut into).unwrap();
    assert_eq!(into.cells[7], 0.0);
    let mut cells: Box<[f64; 2 << 20]> = vec![0.0; 2 << 20].into_boxed_slice().try_into().unwrap();
    let bytes = to_bytes(&cells).unwrap();
    cells[7] = 1.0;
    dtype_runtime::message::from_bytes_into(&bytes, &mut cells).unwrap();
    assert_eq!(cells[7], 0.0);

    // A message cannot nest values that do not fit the stack together.
    let list =
        |links| (0..links).fold(None, |next, _| Some(Box::new(Link { values: [0.0; 1000], next }))).unwrap();
    assert!(from_bytes::<Box<Link>>(&to_bytes(&list(30)).unwrap()).is_ok());
    let error = from_bytes::<Box<Link>>(&to_bytes(&list(127)).unwrap()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("have 264264 bytes, too many for the stack"), "{error}");
}

#[test]
fn another_type_is_an_error() {
    let bytes = to_bytes(&config()).unwrap();
    let message = |error: Error| error.to_string();
    assert!(
        message(from_bytes::<Tree<u64>>(&bytes).unwrap_err())
            .contains("another type than `message::Tree<u64>`")
    );
    let types: [(&str, Vec<u8>); 10] = [
        ("u32", to_bytes(&1u32).unwrap()),
        ("i32", to_bytes(&1i32).unwrap()),
        ("char", to_bytes(&'a').unwrap()),
        ("[u32; 1]", to_bytes(&[1u32]).unwrap()),
        ("Vec<u32>", to_bytes(&vec![1u32]).unwrap()),
        ("Tree<u32>", to_bytes(&Tree::Leaf(1u32)).unwrap()),
        ("Tree<u64>", to_bytes(&Tree::Leaf(1u64)).unwrap()),
        ("Option<u32>", to_bytes(&Some(1u32)).unwrap()),
        ("Vec<Vec<u32>>", to_bytes(&vec![vec![1u32]]).unwrap()),
        ("u8, bool", to_bytes(&(1u8, true)).unwrap()),
    ];
    let mut prints: Vec<_> = types.iter().map(|(_, bytes)| &bytes[bytes.len() - 32..][..8]).collect();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), types.len());
    for (bytes, says) in [
        (&bytes[..10], "it has 10 bytes"),
        (&[0; 40][..], "it does not end as an owned message"),
        (&[][..], "it has 0 bytes"),
    ] {
        assert!(message(from_bytes::<Config>(bytes).unwrap_err()).contains(says));
    }
}

/// Damages the bytes of a message in all ways: truncates it, and changes each byte to several values.
fn damaged(bytes: &[u8], mut check: impl FnMut(&[u8])) {
    (0..bytes.len()).for_each(|length| check(&bytes[..length]));
    for i in 0..bytes.len() {
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut other = bytes.to_vec();
            other[i] ^= change;
            check(&other);
        }
        let mut shorter = bytes.to_vec();
        shorter.remove(i);
        check(&shorter);
    }
}

#[test]
fn damaged_messages_are_values_or_errors_and_leave_an_old_value_as_it_was() {
    fn of<T: FromMessage + PartialEq + Debug + Clone>(value: &T, old: &T) {
        damaged(&to_bytes(value).unwrap(), |bytes| {
            let made = from_bytes::<T>(bytes);
            let mut into = old.clone();
            let result = dtype_runtime::message::from_bytes_into(bytes, &mut into);
            match made {
                Ok(made) => assert_eq!((result, into), (Ok(()), made)),
                Err(_) => assert!(result.is_err() && into == *old),
            }
        });
    }
    of(&config(), &Config::default());
    of(&tree(2), &Tree::Leaf(1));
    of(&vec![node(1), node(2)], &vec![node(3)]);
    of(&(vec![true, false], Some('x'), [Phase::Liquid; 2]), &(vec![], None, [Phase::Solid; 2]));
    of(&(Duration::new(1, 2), BTreeMap::from([(1u8, 2u16)]), VecDeque::from([1u8])), &Default::default());
}

#[test]
fn an_enum_may_have_more_variants_than_a_byte_has_values() {
    macro_rules! many {
        ($($name:ident)*) => {
            #[derive(MpiMessage, Clone, Debug, PartialEq)]
            enum Many { $($name),*, Last(String) }
            const MANY: &[Many] = &[$(Many::$name),*];
        };
    }
    many! {
        V0 V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 V16 V17 V18 V19 V20 V21 V22 V23 V24
        V25 V26 V27 V28 V29 V30 V31 V32 V33 V34 V35 V36 V37 V38 V39 V40 V41 V42 V43 V44 V45 V46
        V47 V48 V49 V50 V51 V52 V53 V54 V55 V56 V57 V58 V59 V60 V61 V62 V63 V64 V65 V66 V67 V68
        V69 V70 V71 V72 V73 V74 V75 V76 V77 V78 V79 V80 V81 V82 V83 V84 V85 V86 V87 V88 V89 V90
        V91 V92 V93 V94 V95 V96 V97 V98 V99 V100 V101 V102 V103 V104 V105 V106 V107 V108 V109 V110
        V111 V112 V113 V114 V115 V116 V117 V118 V119 V120 V121 V122 V123 V124 V125 V126 V127 V128
        V129 V130 V131 V132 V133 V134 V135 V136 V137 V138 V139 V140 V141 V142 V143 V144 V145 V146
        V147 V148 V149 V150 V151 V152 V153 V154 V155 V156 V157 V158 V159 V160 V161 V162 V163 V164
        V165 V166 V167 V168 V169 V170 V171 V172 V173 V174 V175 V176 V177 V178 V179 V180 V181 V182
        V183 V184 V185 V186 V187 V188 V189 V190 V191 V192 V193 V194 V195 V196 V197 V198 V199 V200
        V201 V202 V203 V204 V205 V206 V207 V208 V209 V210 V211 V212 V213 V214 V215 V216 V217 V218
        V219 V220 V221 V222 V223 V224 V225 V226 V227 V228 V229 V230 V231 V232 V233 V234 V235 V236
        V237 V238 V239 V240 V241 V242 V243 V244 V245 V246 V247 V248 V249 V250 V251 V252 V253 V254
        V255 V256 V257 V258 V259 V260 V261 V262 V263 V264 V265 V266 V267 V268 V269 V270 V271 V272
        V273 V274 V275 V276 V277 V278 V279 V280 V281 V282 V283 V284 V285 V286 V287 V288 V289 V290
        V291 V292 V293 V294 V295 V296 V297 V298 V299
    }
    assert!(MANY.len() > 256);
    same(&MANY.to_vec());
    same(&Many::Last("last".to_owned()));
    let bytes = to_bytes(&Many::Last(String::new())).unwrap();
    let mut other = bytes.clone();
    other[..4].copy_from_slice(&301u32.to_ne_bytes());
    let error = from_bytes::<Many>(&other).unwrap_err().to_string();
    assert!(error.contains("301 is not a variant of `Many`"), "{error}");
}

#[test]
fn nesting_has_a_limit_on_both_sides() {
    fn nested(levels: usize) -> Tree<u8> {
        let mut tree = Tree::Leaf(1);
        for _ in 0..levels {
            tree = Tree::Node { name: String::new(), children: Vec::new(), next: Some(Box::new(tree)) };
        }
        tree
    }
    same(&nested(128));
    assert_eq!(
        to_bytes(&nested(129)).unwrap_err().to_string(),
        "the value cannot be sent: its parts are nested more than 128 levels deep; hold the nodes of a long \
         list or a deep tree in a `Vec`, and refer to them by their indices"
    );
}

proptest! {
    #[test]
    fn arbitrary_values_come_back(
        texts in vec(".*", 0..20),
        numbers in vec(vec(any::<f64>().prop_map(f64::to_bits), 0..50), 0..10),
        map in proptest::collection::btree_map(any::<u16>(), proptest::option::of(".*"), 0..20),
        flags in vec(any::<(bool, char, i8)>(), 0..30),
    ) {
        same(&(texts, numbers, map, flags));
    }

    #[test]
    fn arbitrary_bytes_are_no_danger(
        bytes in vec(any::<u8>(), 0..300), front in 0..400u64, in_band in 0..400u64, number in 0..4u32,
    ) {
        fn of<T: FromMessage>(value: &T, bytes: &[u8], [in_band, front]: [u64; 2], number: u32) {
            let valid = to_bytes(value).unwrap();
            let trailer = &valid[valid.len() - 32..];
            let mut all = bytes.to_vec();
            all.extend_from_slice(&trailer[..8]);
            all.extend([in_band, front].map(u64::to_ne_bytes).as_flattened());
            all.extend(number.to_ne_bytes());
            all.extend_from_slice(&trailer[28..]);
            drop(from_bytes::<T>(&all));
            let mut whole = bytes.to_vec();
            whole.extend_from_slice(&trailer[..8]);
            whole.extend([bytes.len() as u64, 0].map(u64::to_ne_bytes).as_flattened());
            whole.extend_from_slice(&trailer[24..]);
            drop(from_bytes::<T>(&whole));
        }
        of(&config(), &bytes, [in_band, front], number);
        of(&tree(1), &bytes, [in_band, front], number);
        of(&vec![vec![1u8]], &bytes, [in_band, front], number);
        of(&vec![node(1)], &bytes, [in_band, front], number);
    }
}

#[test]
#[cfg(feature = "ndarray")]
fn arrays_of_too_many_dimensions_are_not_sent() {
    let array = ndarray::ArrayD::<u8>::zeros(vec![1; 33]);
    let error = to_bytes(&array).unwrap_err().to_string();
    assert_eq!(error, "the value cannot be sent: an array has 33 dimensions, more than 32");
}

#[test]
#[cfg(feature = "serde")]
fn what_serde_cannot_write_leaves_the_message_as_it_was() {
    use dtype_runtime::message::{Fingerprint, Reader, Serde, Writer};

    struct No;
    impl serde::Serialize for No {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not today"))
        }
    }
    struct Perhaps(u8, Serde<No>);
    impl MpiMessage for Perhaps {
        fn describe(of: &mut Fingerprint) {
            of.add("Perhaps");
        }
        fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
            to.bytes(&[self.0]);
            assert!(matches!(self.1.write(to), Err(Error::Unsendable { .. })));
            Ok(())
        }
    }
    impl FromMessage for Perhaps {
        fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
            let [number] = from.array()?;
            Ok(Self(number, Serde(No)))
        }
    }
    let values = vec![Perhaps(1, Serde(No)), Perhaps(2, Serde(No))];
    let copy: Vec<Perhaps> = from_bytes(&to_bytes(&values).unwrap()).unwrap();
    assert_eq!(copy.iter().map(|value| value.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn hand_written_messages_are_read_part_by_part() {
    use dtype_runtime::message::{Fingerprint, Reader, Writer};

    #[derive(Debug, PartialEq)]
    struct Parts([u8; 3], Vec<u8>, usize);
    impl MpiMessage for Parts {
        fn describe(of: &mut Fingerprint) {
            of.add("Parts");
        }
        fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
            to.bytes(&self.0);
            to.length(self.1.len());
            to.bytes(&self.1);
            to.length(self.2);
            Ok(())
        }
    }
    impl FromMessage for Parts {
        fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
            let first = from.array()?;
            let length = from.length()?;
            let second = from.bytes(length)?.to_vec();
            let last = from.length()?;
            assert!(matches!(from.array::<1>(), Err(Error::Message { .. })));
            assert!(matches!(from.bytes(1), Err(Error::Message { .. })));
            assert!(matches!(from.length(), Err(Error::Message { .. })));
            assert_eq!(from.bytes(0), Ok(&[][..]));
            Ok(Self(first, second, last))
        }
    }
    for last in [0, 7, u32::MAX as usize - 1, u32::MAX as usize, usize::MAX] {
        let parts = Parts([1, 2, 3], vec![4; 5], last);
        assert_eq!(from_bytes::<Parts>(&to_bytes(&parts).unwrap()).unwrap(), parts);
    }
}

/// Checks texts of all lengths around those at which they are read otherwise: eight bytes, and a block.
#[test]
fn texts_at_the_limits_come_back_and_wrong_ones_are_errors() {
    let lengths = (0..20).chain((32 << 10) - 2..(32 << 10) + 2);
    let texts: Vec<String> = lengths.flat_map(|length| ["a".repeat(length), "é".repeat(length)]).collect();
    let bytes = to_bytes(&texts).unwrap();
    assert_eq!(from_bytes::<Vec<String>>(&bytes).unwrap(), texts);
    assert_eq!(from_bytes::<Vec<String>>(&to_bytes(&texts[..40]).unwrap()).unwrap(), texts[..40]);
    for length in 1..20 {
        let wrong: Vec<u8> = std::iter::repeat_n(b'a', length - 1).chain([0xff]).collect();
        // A text is its length in 4 bytes, and then its bytes.
        let mut bytes = to_bytes(&"a".repeat(length)).unwrap();
        bytes[4..4 + length].copy_from_slice(&wrong);
        assert!(from_bytes::<String>(&bytes).is_err(), "{length}");
        for announced in [length as u32 + 1, (32 << 10) - 1, u32::MAX - 1, u32::MAX] {
            let mut bytes = to_bytes(&"a".repeat(length)).unwrap();
            bytes[..4].copy_from_slice(&announced.to_ne_bytes());
            assert!(from_bytes::<String>(&bytes).is_err(), "{announced} of {length}");
        }
    }
}
