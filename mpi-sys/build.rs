//! Writes the functions of `functions.txt` and the constants of `constants.txt` in Rust.

use std::{env, error::Error, fmt::Write, fs, path::Path};

use table::{handle, number, rows};

mod table;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=table.rs");
    let (arch, system) = (env::var("CARGO_CFG_TARGET_ARCH")?, env::var("CARGO_CFG_TARGET_OS")?);
    // The folder of libraries in Debian.
    println!("cargo:rustc-env=MPI_SYS_TRIPLE={arch}-{system}-gnu");
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    for (table, write) in
        [("functions", functions as fn(&str) -> Result<String, String>), ("constants", constants)]
    {
        let path = format!("{table}.txt");
        println!("cargo:rerun-if-changed={path}");
        let text = write(&fs::read_to_string(&path)?).map_err(|error| format!("{path}: {error}"))?;
        fs::write(Path::new(&folder).join(format!("{table}.rs")), text)?;
    }
    Ok(())
}

/// An argument: its type in Rust, and what a wrapper does before and after the call.
struct Argument {
    rust: String,
    before: String,
    after: String,
}

impl Argument {
    fn of(name: &str, kind: &str, all: &str) -> Result<Self, String> {
        let plain = |rust: String| Self { rust, before: String::new(), after: String::new() };
        if let Some(rust) = handle(kind).or_else(|| number(kind)) {
            return Ok(plain(rust.to_owned()));
        }
        if kind.starts_with("MPI_") {
            return Ok(plain(kind.to_owned()));
        }
        if kind == "int[3][]" {
            return Ok(plain("*mut [c_int; 3]".to_owned()));
        }
        let list = |kind: &str| -> Option<(String, String)> {
            let (item, length) = kind.strip_suffix(']')?.split_once('[')?;
            Some((item.to_owned(), length.to_owned()))
        };
        let (mode, kind) = ["const ", "out ", "inout "]
            .iter()
            .find_map(|mode| Some((mode.trim(), kind.strip_prefix(mode)?)))
            .unwrap_or(("", kind));
        let pointer = if mode == "const" { "*const" } else { "*mut" };
        if let Some((item, length)) = list(kind) {
            let length = match &*length {
                "ranks" => "convert::ranks(comm)".to_owned(),
                "sources" => "convert::neighbours(comm).0".to_owned(),
                "destinations" => "convert::neighbours(comm).1".to_owned(),
                "at_root" => "convert::at_root(count, root, comm)".to_owned(),
                length => format!("{length}.max(0) as usize"),
            };
            if let Some(number) = number(&item) {
                return Ok(plain(format!("{pointer} {number}")));
            }
            if item == "status" {
                return Ok(Self {
                    rust: "*mut MPI_Status".to_owned(),
                    before: format!("convert::narrow_statuses({name}, {length});"),
                    after: format!("convert::widen_statuses({name}, {length});"),
                });
            }
            let handle = handle(&item).ok_or_else(|| format!("the kind `{kind}` is not known"))?;
            let rust = format!("{pointer} {handle}");
            // The types of a side that sends in place are not read.
            let in_place = name == "sendtypes" && all.contains("sendbuf");
            return Ok(match mode {
                "const" if in_place => Self {
                    rust,
                    before: format!(
                        "let list = convert::List::unless_in_place(sendbuf, {name}, || {length});
    let {name} = list.first();"
                    ),
                    after: String::new(),
                },
                "const" => Self {
                    rust,
                    before: format!(
                        "let {name}_list = convert::List::new({name}, || {length});
    let {name} = {name}_list.first();"
                    ),
                    after: String::new(),
                },
                "out" => {
                    Self { rust, before: String::new(), after: format!("convert::widen({name}, {length});") }
                }
                _ => Self {
                    rust,
                    before: format!("convert::narrow({name}, {length});"),
                    after: format!("convert::widen({name}, {length});"),
                },
            });
        }
        if kind == "status" {
            return Ok(match mode {
                "const" => Self {
                    rust: "*const MPI_Status".to_owned(),
                    before: format!(
                        "let {name}_copy = convert::Status::of({name}); let {name} = {name}_copy.place();"
                    ),
                    after: String::new(),
                },
                _ => Self {
                    rust: "*mut MPI_Status".to_owned(),
                    before: format!("convert::to_native({name});"),
                    after: format!("convert::from_native({name});"),
                },
            });
        }
        if let Some(handle) = handle(kind) {
            // Files are pointers in all libraries.
            let is_cleared = mode == "out" && kind != "file";
            let before = if is_cleared { format!("convert::clear({name});") } else { String::new() };
            return Ok(Self { rust: format!("*mut {handle}"), before, after: String::new() });
        }
        let stars = kind.len() - kind.trim_end_matches('*').len();
        let base = kind.trim_end_matches('*');
        if let (Some(number), 0..=1) = (number(base), stars) {
            return Ok(plain(format!("{pointer} {}{number}", "*mut ".repeat(stars))));
        }
        let base = match base {
            "void" => "c_void",
            "char" => "c_char",
            _ => return Err(format!("the kind `{kind}` is not known")),
        };
        Ok(plain(format!("{pointer} {}{base}", "*mut ".repeat(stars.max(1) - 1))))
    }
}

/// Functions without functions of the program that have wrappers by hand, too.
const BY_HAND: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Op_free"];

/// Writes a wrapper for each function.
fn functions(table: &str) -> Result<String, String> {
    let mut text = String::new();
    for row in rows(table) {
        let (name, rest) = row.split_once('(').ok_or_else(|| format!("no arguments: `{row}`"))?;
        let (list, result) = rest.rsplit_once(')').ok_or_else(|| format!("no `)`: `{row}`"))?;
        let result = match result.trim().strip_prefix("-> ") {
            Some(kind) => handle(kind).or_else(|| number(kind)).ok_or_else(|| format!("`{row}`"))?,
            None => "c_int",
        };
        let mut arguments = Vec::new();
        for argument in list.split(", ").filter(|argument| !argument.is_empty()) {
            let (own, kind) = argument.split_once(": ").ok_or_else(|| format!("no kind: `{argument}`"))?;
            arguments.push((own, Argument::of(own, kind, list)?));
        }
        let all = |part: fn(&(&str, Argument)) -> String, between: &str| {
            arguments.iter().map(part).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
        };
        let declared = all(|(own, argument)| format!("{own}: {}", argument.rust), ", ");
        let types = all(|(_, argument)| argument.rust.clone(), ", ");
        let given = all(|(own, _)| (*own).to_owned(), ", ");
        let (before, after) = (
            all(|(_, argument)| argument.before.clone(), "\n    "),
            all(|(_, argument)| argument.after.clone(), "\n    "),
        );
        // Functions of the program, and the beginning, have wrappers by hand.
        let by_hand = list.contains("_function") || BY_HAND.contains(&name);
        let (visible, own) =
            if by_hand { ("pub(crate)", format!("native_{name}")) } else { ("pub", name.to_owned()) };
        let others = ["MPI_Aint", "MPI_Count", "MPI_File", "MPI_Offset"];
        let is_handle = result.starts_with("MPI_") && !others.contains(&result);
        let end =
            if is_handle { format!("{result}(convert::returned(result.0))") } else { "result".to_owned() };
        let before: String = before.lines().map(|line| format!("    {}\n", line.trim())).collect();
        let body = if after.is_empty() && !is_handle {
            format!("{before}    call({given})\n")
        } else {
            format!("{before}    let result = call({given});\n    {after}\n    {end}\n")
        };
        // The profiling interface has a second name for each (MPI 5.0 section 15.2).
        for prefix in if by_hand { &[""][..] } else { &["", "P"] } {
            let _ = write!(
                text,
                "/// Calls `{prefix}{name}` of the MPI library.
///
/// # Safety
/// See the MPI standard.
#[inline]
{visible} unsafe extern \"C\" fn {prefix}{own}({declared}) -> {result} {{
    static FUNCTION: Function = Function::new(\"{prefix}{name}\\0\");
    let call: unsafe extern \"C\" fn({types}) -> {result} = mem::transmute(FUNCTION.address());
{body}}}
"
            );
        }
    }
    Ok(text)
}

/// Writes a static for each constant that differs between libraries, and the function that sets them.
fn constants(table: &str) -> Result<String, String> {
    let mut declared = String::new();
    let mut fixed = String::new();
    let mut stored = String::new();
    let mut set = String::new();
    let alias = |name: &str| match name {
        "MPI_C_FLOAT_COMPLEX" => "RSMPI_FLOAT_COMPLEX".to_owned(),
        "MPI_C_DOUBLE_COMPLEX" => "RSMPI_DOUBLE_COMPLEX".to_owned(),
        name => name.replacen("MPI_", "RSMPI_", 1),
    };
    for row in rows(table) {
        let (left, right) = row.split_once(" = ").ok_or_else(|| format!("no `=`: `{row}`"))?;
        let Some((name, kind)) = left.split_once(": ") else {
            let rust = alias(left);
            let _ = write!(
                fixed,
                "pub const {left}: c_int = {right};
#[export_name = \"mpi_sys_{left}\"]
static FIXED_{left}: c_int = {right};
"
            );
            let _ =
                write!(declared, "    #[link_name = \"mpi_sys_{left}\"]\n    pub static {rust}: c_int;\n");
            continue;
        };
        let is_number = number(kind).is_some();
        let rust = match (handle(kind), number(kind)) {
            (Some(handle), _) => handle.to_owned(),
            (_, Some(number)) => number.to_owned(),
            _ => {
                let base = kind.trim_end_matches('*');
                let base = match base {
                    "void" => "c_void",
                    "char" => "c_char",
                    "int" => "c_int",
                    base => base,
                };
                format!("{}{base}", "*mut ".repeat(kind.matches('*').count()))
            }
        };
        // Programs in Rust know two names: the standard's, and that of rsmpi.
        for own in [name.to_owned(), alias(name)] {
            // A function, and a complex number of Fortran.
            if own == "RSMPI_UNWEIGHTED" || own == "RSMPI_DOUBLE_COMPLEX" && name == "MPI_DOUBLE_COMPLEX" {
                continue;
            }
            let _ = write!(
                declared,
                "    /// `{name}` of the MPI library.
    #[link_name = \"mpi_sys_{name}\"]
    pub static {own}: {rust};
"
            );
        }
        let raw = if is_number { rust.clone() } else { "usize".to_owned() };
        let _ = write!(
            stored,
            "    #[export_name = \"mpi_sys_{name}\"]\n    pub static mut {name}: {raw} = 0;\n"
        );
        let mut values = ["Value::None"; 5].map(str::to_owned);
        for value in right.split(", ") {
            let (family, value) = value.split_once(' ').ok_or_else(|| format!("no value: `{row}`"))?;
            let at = ["mpich", "mpich5", "intel", "openmpi", "abi"].iter().position(|of| *of == family);
            let at = at.ok_or_else(|| format!("the family `{family}` is not known"))?;
            values[at] = if let Some(symbol) = value.strip_prefix('*') {
                format!("Value::At(\"{symbol}\\0\")")
            } else if value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                format!("Value::Number({value})")
            } else {
                format!("Value::Symbol(\"{value}\\0\")")
            };
        }
        let [mpich, mpich5, intel, openmpi, abi] = values;
        let [mpich5, intel] =
            [mpich5, intel].map(|own| if own == "Value::None" { mpich.clone() } else { own });
        let null = match handle(kind) {
            Some(_) if !name.ends_with("_NULL") => {
                let of = match kind {
                    "type" => "DATATYPE",
                    "errhandler" => "ERRHANDLER",
                    "message" => "MESSAGE",
                    _ => kind,
                };
                format!("storage::MPI_{}_NULL", of.to_uppercase())
            }
            _ => String::new(),
        };
        let value = format!("library.value([{mpich}, {mpich5}, {intel}, {openmpi}, {abi}])");
        let null = match &*null {
            "" if kind == "int" => "i64::from(c_int::MIN)".to_owned(),
            "" => "0".to_owned(),
            null => format!("{null} as i64"),
        };
        let _ = writeln!(set, "    storage::{name} = {value}.unwrap_or({null}) as {raw};");
    }
    // In the table, the null handle of each kind comes first: the others may be set to it.
    Ok(format!(
        "extern \"C\" {{
{declared}}}

{fixed}
mod storage {{
    use super::*;
{stored}}}

/// Sets all constants to the values of a library.
pub(crate) unsafe fn set(library: &Library) {{
{set}}}
"
    ))
}
