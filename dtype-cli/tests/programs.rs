//! Tests of the programs that the command writes. They are compiled, and run against the MPI library that
//! `MPICC` names. Their datatypes must pack the entries of the description, one by one.
//!
//! `cargo xtask test` runs these tests on every library. With `DTYPE_LONG`, they use 500 descriptions.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use dtype_core::{BaseType, TypeTree};

/// A description, its entries, and the distance between two copies in bytes.
struct Case {
    notation: String,
    entries: Vec<(BaseType, i64)>,
    extent: i64,
}

/// A pseudo-random number generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % limit
    }

    fn place(&mut self) -> i64 {
        if self.below(4) == 0 { self.below(100) as i64 - 50 } else { 8 * self.below(16) as i64 }
    }

    fn places(&mut self) -> Vec<i64> {
        (0..=self.below(4)).map(|_| self.place()).collect()
    }

    fn leaf(&mut self) -> TypeTree {
        const BASES: [BaseType; 8] = [
            BaseType::U8,
            BaseType::I16,
            BaseType::I32,
            BaseType::F64,
            BaseType::Int,
            BaseType::Char,
            BaseType::DoubleInt,
            BaseType::F32,
        ];
        TypeTree::Leaf(BASES[self.below(8) as usize])
    }

    /// Returns a tree like that of a struct: fields one after the other, with gaps, some of them arrays.
    fn structure(&mut self) -> TypeTree {
        let (mut end, mut places, mut children) = (0, Vec::new(), Vec::new());
        for _ in 0..=self.below(5) {
            let leaf = self.leaf();
            let size = leaf.measure().unwrap().extent();
            let count = 1 + self.below(8).saturating_sub(4);
            end += self.below(3) as i64 * self.below(9) as i64;
            // In a packed struct, a field may have any offset.
            let place =
                if self.below(8) > 0 { (end as u64).next_multiple_of(size as u64) as i64 } else { end };
            places.push(place);
            children.push(if count > 1 { TypeTree::vector(count, size, leaf) } else { leaf });
            end = place + size * count as i64;
        }
        places[0] = 0;
        TypeTree::structure(places, children)
    }

    fn tree(&mut self, levels: u64) -> TypeTree {
        if levels == 0 {
            return self.leaf();
        }
        let child = self.tree(levels - 1);
        match self.below(4) {
            0 => {
                let natural = child.measure().unwrap().true_extent();
                let stride = if self.below(2) == 0 { natural } else { self.place() };
                TypeTree::vector(1 + self.below(5), stride, child)
            }
            1 => TypeTree::index(self.places(), child),
            2 => {
                let places = self.places();
                let buckets: Vec<u64> = places.iter().map(|_| 1 + self.below(4)).collect();
                TypeTree::index_bucket(self.place(), buckets, places, child)
            }
            _ => {
                let places = self.places();
                let mut children = vec![child];
                for _ in 1..places.len() {
                    let levels = self.below(levels);
                    children.push(self.tree(levels));
                }
                TypeTree::structure(places, children)
            }
        }
    }
}

/// Returns a tree in the notation that a user would write.
fn notation(tree: &TypeTree) -> String {
    match tree {
        TypeTree::Leaf(base) => base.to_string(),
        TypeTree::Vector { count, stride, child } => format!("vec({count}, {stride}, {})", notation(child)),
        TypeTree::Index { displacements, child } => {
            format!("idx({}, {displacements:?}, {})", displacements.len(), notation(child))
        }
        TypeTree::IndexBucket { stride, buckets, displacements, child } => {
            format!("idxbuc({stride}, {buckets:?}, {displacements:?}, {})", notation(child))
        }
        TypeTree::Struct { displacements, children } => {
            let children: Vec<_> = children.iter().map(notation).collect();
            format!("strc({displacements:?}, [{}])", children.join(", "))
        }
    }
}

fn cases() -> Vec<Case> {
    let count = if env::var_os("DTYPE_LONG").is_some() { 500 } else { 60 };
    let mut random = Random(19);
    let case = |i| {
        let levels = random.below(4);
        let tree = if i % 4 == 3 { random.structure() } else { random.tree(levels) };
        Case {
            notation: notation(&tree),
            entries: tree.flatten().unwrap().entries().collect(),
            extent: tree.measure().unwrap().extent(),
        }
    };
    let mut all: Vec<_> = (0..count).map(case).collect();
    // Predefined datatypes that some library lacks in some language, and complex numbers.
    let bases = [
        BaseType::Logical1,
        BaseType::Logical2,
        BaseType::Logical4,
        BaseType::Logical8,
        BaseType::Real2,
        BaseType::C32,
        BaseType::C64,
    ];
    let leaves = bases.map(TypeTree::Leaf);
    let complex = [BaseType::C32, BaseType::C64].map(|base| TypeTree::vector(3, 32, TypeTree::Leaf(base)));
    let logical = TypeTree::structure([0, 16, 20, 24, 32, 40, 48], leaves.clone());
    let fields = TypeTree::structure([0, 8], [BaseType::C32, BaseType::C64].map(TypeTree::Leaf));
    for tree in leaves.into_iter().chain(complex).chain([logical, fields]) {
        all.push(Case {
            notation: notation(&tree),
            entries: tree.flatten().unwrap().entries().collect(),
            extent: tree.measure().unwrap().extent(),
        });
    }
    all
}

/// The size in bytes of the memory before the beginning of a buffer, and of the memory after it.
const ROOM: i64 = 1 << 16;

/// Returns the byte of memory at an offset from the beginning of the buffer.
fn byte(at: i64) -> u8 {
    (7 * at + 3 + at.div_euclid(256)) as u8
}

/// Returns two packed copies, in hexadecimal.
fn packed(case: &Case) -> String {
    let mut text = String::new();
    for copy in 0..2 {
        for (base, at) in &case.entries {
            let parts = match base.pair() {
                Some([(first, value), (second, index)]) => {
                    vec![(first, value.size()), (second, index.size())]
                }
                None => vec![(0, base.size())],
            };
            for (within, size) in parts {
                let first = copy * case.extent + at + within as i64;
                (first..first + size as i64).for_each(|at| write!(text, "{:02x}", byte(at)).unwrap());
            }
        }
    }
    text
}

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Writes the programs for all cases into a folder, from `convert` and `normalize`. Returns the names of the
/// functions.
fn write_all(cases: &[Case], folder: &Path, format: &str, ending: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        for action in ["convert", "normalize"] {
            let name = format!("{action}{i}");
            let input = folder.join(format!("{name}.txt"));
            fs::write(&input, &case.notation).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_dtype"))
                .args([action, "--format", format, "--function", &name])
                .arg(&input)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}: {output:?}", case.notation);
            fs::write(folder.join(format!("{name}.{ending}")), output.stdout).unwrap();
            names.push(name);
        }
    }
    names
}

/// Returns a compiler of the tested library: the name of its C compiler with `mpicc` replaced.
fn compiler(beginning: &str) -> String {
    let mpicc = xtask::launch::mpicc();
    let (folder, name) = mpicc
        .rsplit_once('/')
        .map_or(("", &mpicc[..]), |(_, name)| (&mpicc[..mpicc.len() - name.len()], name));
    format!("{folder}{}", name.replacen("mpicc", beginning, 1))
}

fn run(command: &mut Command) -> String {
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Checks what a program has packed, line by line.
fn check(cases: &[Case], output: &str) {
    let lines: Vec<_> = output.lines().map(|line| line.trim().to_lowercase()).collect();
    assert_eq!(lines.len(), 2 * cases.len());
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(*line, packed(&cases[i / 2]), "{}", cases[i / 2].notation);
    }
}

#[test]
fn c_programs_pack_what_was_described() {
    let (cases, folder) = (cases(), folder("c"));
    let names = write_all(&cases, &folder, "c", "c");
    let mut main = format!(
        "\
#include <mpi.h>
#include <stdio.h>
static unsigned char memory[{0}], out[1 << 20];
",
        2 * ROOM
    );
    for name in &names {
        writeln!(main, "#include \"{name}.c\"").unwrap();
    }
    writeln!(
        main,
        "\
static int pack(int (*create)(MPI_Datatype *)) {{
  MPI_Datatype type; int at = 0, error = create(&type);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Pack(memory + {ROOM}, 2, type, out, sizeof out, &at, MPI_COMM_SELF);
  for (int i = 0; i < at; i++) printf(\"%02x\", out[i]);
  puts(\"\");
  return error == MPI_SUCCESS ? MPI_Type_free(&type) : error;
}}
int main(int argc, char **argv) {{
  int error = MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (long i = 0; i < {}; i++) {{
    long at = i - {ROOM};
    memory[i] = (unsigned char)(7 * at + 3 + (at >= 0 ? at / 256 : -((255 - at) / 256)));
  }}",
        2 * ROOM
    )
    .unwrap();
    for name in &names {
        writeln!(main, "  if (error == MPI_SUCCESS) error = pack({name}_create);").unwrap();
    }
    main.push_str(
        "  MPI_Finalize();
  return error != MPI_SUCCESS;
}
",
    );
    let source = folder.join("main.c");
    fs::write(&source, main).unwrap();
    let program = folder.join("main");
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"];
    run(Command::new(compiler("mpicc")).args(warnings).arg(&source).arg("-o").arg(&program));
    check(&cases, &run(&mut Command::new(&program)));
}

/// Tests sizes around the limits of C's `int` and `unsigned int`: some libraries overflow there without an
/// error. If a library forgets a copy, the program must report an error as well.
#[test]
fn c_programs_make_datatypes_of_some_gib_or_say_that_the_library_did_not() {
    let int = i64::from(i32::MAX);
    let lengths = [int - 1, int, int + 1, int + 2, 2 * int, (1 << 32) + 17, 1 << 33];
    let case = |notation: String| Case { notation, entries: Vec::new(), extent: 0 };
    let cases: Vec<_> = lengths
        .iter()
        .flat_map(|n| {
            let run = format!("vec({n}, 1, u8)");
            [run.clone(), format!("strc([0, {}], [{run}, f64])", n + 9), format!("vec(2, {}, {run})", n + 9)]
        })
        .map(case)
        .collect();
    let sizes = lengths.iter().flat_map(|n| [*n, n + 8, 2 * n]);
    let folder = folder("large");
    let names = write_all(&cases, &folder, "c", "c");
    let mut main = "#include <mpi.h>\n#include <stdio.h>\n".to_owned();
    for name in &names {
        writeln!(main, "#include \"{name}.c\"").unwrap();
    }
    main.push_str(
        "\
static int forgetful(int count, MPI_Datatype old, MPI_Datatype *new) {
  return MPI_Type_contiguous(count - 1, old, new);
}
#define MPI_Type_contiguous forgetful
#define convert0_create forgetful_create
#include \"convert0.c\"
#undef convert0_create
static void make(int (*create)(MPI_Datatype *)) {
  MPI_Datatype type; MPI_Count size = -1;
  int error = create(&type);
  if (error == MPI_SUCCESS) { MPI_Type_size_x(type, &size); MPI_Type_free(&type); }
  printf(\"%lld\\n\", (long long)size);
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
",
    );
    for name in names.iter().map(String::as_str).chain(["forgetful"]) {
        writeln!(main, "  make({name}_create);").unwrap();
    }
    main.push_str("  return MPI_Finalize();\n}\n");
    let (source, program) = (folder.join("main.c"), folder.join("main"));
    fs::write(&source, main).unwrap();
    run(Command::new(compiler("mpicc")).arg(&source).arg("-o").arg(&program));
    let output = run(&mut Command::new(&program));
    let expected: Vec<_> = sizes.flat_map(|size| [size, size]).chain([-1]).map(|n| n.to_string()).collect();
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn fortran_programs_pack_what_was_described() {
    fortran("fortran", "mpi_f08", "type(MPI_Datatype)");
}

#[test]
fn fortran_programs_of_the_old_module_pack_what_was_described() {
    fortran("fortran-mpi", "mpi", "integer");
}

/// Tests a format that uses the given module of MPI, in which handles of datatypes have the type `datatype`.
fn fortran(format: &str, module: &str, datatype: &str) {
    if !xtask::launch::has_fortran_modules() {
        return;
    }
    let (cases, folder) = (cases(), folder(format));
    let names = write_all(&cases, &folder, format, "f90");
    let mut main = format!("program main\n  use {module}\n");
    for name in &names {
        writeln!(main, "  use {name}_datatype").unwrap();
    }
    writeln!(
        main,
        "  implicit none
  integer(1) :: memory({}:{}), out(1000000)
  integer :: i, at, ierror
  {datatype} :: newtype
  call MPI_Init(ierror)
  do i = {}, {}
    at = iand(7 * i + 3 + floor(i / 256.0d0), 255)
    if (at > 127) at = at - 256
    memory(i) = int(at, 1)
  end do",
        -ROOM,
        ROOM - 1,
        -ROOM,
        ROOM - 1
    )
    .unwrap();
    for name in &names {
        writeln!(main, "  call {name}_create(newtype, ierror)\n  call pack()").unwrap();
    }
    main.push_str(
        "  call MPI_Finalize(ierror)
contains
  subroutine pack()
    if (ierror /= MPI_SUCCESS) stop 1
    at = 0
    call MPI_Pack(memory(0), 2, newtype, out, size(out), at, MPI_COMM_SELF, ierror)
    write (*, '(*(z2.2))') out(1:at)
    call MPI_Type_free(newtype, ierror)
  end subroutine
end program
",
    );
    fs::write(folder.join("main.f90"), main).unwrap();
    let program = folder.join("main");
    let sources = names.iter().map(|name| format!("{name}.f90")).chain(["main.f90".into()]);
    let mut command = Command::new(compiler("mpifort"));
    command.args(["-std=f2018", "-Wall", "-O0"]).args(sources).arg("-o").arg(&program);
    run(command.current_dir(&folder));
    check(&cases, &run(&mut Command::new(&program)));
}

/// `cargo xtask test` installs mpi4py, and `xtask::launch` knows its location.
#[test]
fn python_programs_pack_what_was_described() {
    let (cases, folder) = (cases(), folder("python"));
    let names = write_all(&cases, &folder, "python", "py");
    // mpi4py packs as many copies as the buffer holds, so the buffer holds two.
    let mut main = format!(
        "\
from mpi4py import MPI
memory = memoryview(bytearray((7 * i + 3 + i // 256) & 255 for i in range(-{ROOM}, {ROOM})))
def pack(datatype):
    out = bytearray(1 << 20)
    two = memory[{ROOM}:{ROOM} + 2 * datatype.Get_extent()[1]]
    at = datatype.Pack(two, out, 0, MPI.COMM_SELF)
    print(out[:at].hex())
    datatype.Free()
"
    );
    for name in &names {
        writeln!(main, "import {name}\npack({name}.create_{name}())").unwrap();
    }
    fs::write(folder.join("main.py"), main).unwrap();
    let mut command = Command::new("python3");
    command.arg("main.py").current_dir(&folder);
    command
        .envs(xtask::launch::python(&compiler("mpicc"), xtask::launch::mpi4py().unwrap(), &folder).unwrap());
    check(&cases, &run(&mut command));
}

#[test]
fn rust_programs_pack_what_was_described() {
    let (cases, folder) = (cases(), folder("rust"));
    let mut main = format!(
        "\
#![deny(warnings)]
#![allow(unused_imports)]
use dtype_runtime::{{Layout, MpiDatatype}};
use mpi::{{ffi, traits::*}};
fn pack(datatype: &impl AsRaw<Raw = ffi::MPI_Datatype>) {{
    let memory: Vec<u8> = (-{ROOM}i64..{ROOM}).map(|i| (7 * i + 3 + i.div_euclid(256)) as u8).collect();
    let (mut out, mut at) = (vec![0u8; 1 << 20], 0);
    let code = unsafe {{
        let (from, to) = (memory.as_ptr().add({ROOM}).cast(), out.as_mut_ptr().cast());
        ffi::MPI_Pack(from, 2, datatype.as_raw(), to, out.len() as i32, &mut at, ffi::RSMPI_COMM_SELF)
    }};
    assert_eq!(code, 0);
    out[..at as usize].iter().for_each(|byte| print!(\"{{byte:02x}}\"));
    println!();
}}
"
    );
    // Base types that rsmpi has no name for are refused. Some of the other layouts are structs or parts of
    // arrays.
    let (mut modules, mut calls, mut packed_by) = (String::new(), String::new(), Vec::new());
    for (i, case) in cases.iter().enumerate() {
        let input = folder.join(format!("{i}.txt"));
        fs::write(&input, &case.notation).unwrap();
        let is_named = case.entries.iter().all(|(base, _)| base.plain().is_some());
        for format in ["rsmpi", "rust"] {
            let name = format!("{format}{i}");
            let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
            command.args(["normalize", "--format", format, "--function", &name]).arg(&input);
            let output = command.output().unwrap();
            assert!(is_named || !output.status.success(), "{}", case.notation);
            assert!(!is_named || format == "rust" || output.status.success(), "{}", case.notation);
            if !output.status.success() {
                continue;
            }
            let text = String::from_utf8(output.stdout).unwrap();
            let datatype = match format {
                "rsmpi" => format!("{name}_create()"),
                _ if text.contains("#[derive(MpiDatatype") => format!("Rust{i}::datatype().unwrap()"),
                _ => format!("{name}_create().array_datatype().unwrap()"),
            };
            writeln!(modules, "mod {name};").unwrap();
            writeln!(calls, "    pack(&{name}::{datatype});").unwrap();
            fs::write(folder.join(format!("{name}.rs")), text).unwrap();
            packed_by.push(i);
        }
    }
    let structs = calls.matches("::datatype()").count();
    let parts = calls.matches(".array_datatype()").count();
    assert!(structs > 3 && parts > 3, "{structs} structs, {parts} parts of arrays");
    writeln!(main, "{modules}fn main() {{\n    let _universe = mpi::initialize().unwrap();\n{calls}}}")
        .unwrap();
    fs::write(folder.join("main.rs"), main).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = format!(
        "\
[package]
name = \"written\"
version = \"0.0.0\"
edition = \"2024\"
[[bin]]
name = \"written\"
path = \"main.rs\"
[dependencies]
dtype-runtime = {{ path = {:?}, features = [\"num-complex\"] }}
mpi = {{ version = \"0.8.2\", default-features = false, features = [\"complex\"] }}
num-complex = \"0.4\"
[patch.crates-io]
mpi-sys = {{ path = {:?} }}
[profile.dev]
debug = \"line-tables-only\"
[profile.dev.build-override]
debug = false
[workspace]
",
        workspace.join("dtype-runtime"),
        workspace.join("mpi-sys")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--target-dir"]).arg(target);
    run(build.current_dir(&folder));
    let output = run(&mut xtask::launch::on_ranks(xtask::launch::mpiexec(), 1, target.join("debug/written")));
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines.len(), packed_by.len());
    for (line, i) in lines.iter().zip(packed_by) {
        assert_eq!(*line, packed(&cases[i]), "{}", cases[i].notation);
    }
}
