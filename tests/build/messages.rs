//! A generator of random types of every form that `#[derive(MpiMessage)]` accepts, and of random values of
//! them.

use std::fmt::Write;

use crate::random::Random;

/// The forms of an item.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A struct of numbers, which derives `MpiDatatype`.
    Plain,
    Struct,
    Enum,
}

impl Random {
    /// Writes `count` types, and an enum with a variant for each of them.
    pub fn messages(mut self, count: usize) -> String {
        let (mut file, mut visits) = (String::new(), String::new());
        for i in 0..count {
            match self.below(5) {
                0 => self.of_form(Form::Plain, i, &mut file),
                1 | 2 => self.of_form(Form::Struct, i, &mut file),
                _ => self.of_form(Form::Enum, i, &mut file),
            }
            let _ = writeln!(visits, "    visitor.visit::<M{i}>();");
        }
        let list = |write: fn(usize) -> String| (0..count).map(write).collect::<Vec<_>>().join(", ");
        let variants =
            list(|i| if i % 4 == 0 { format!("M{i}(Several<M{i}>)") } else { format!("M{i}(M{i})") });
        let arms = list(|i| format!("{i} => Self::M{i}(random.sample())"));
        let _ = write!(
            file,
            "
/// A value of any of the types.
#[derive(MpiMessage, Clone, Debug, PartialEq)]
pub enum Any {{ {variants} }}

impl Any {{
    /// Returns a value of type `i`.
    pub fn of_type(i: usize, random: &mut Random) -> Self {{
        match i {{ {arms}, _ => unreachable!() }}
    }}
}}

/// The number of types.
pub const MESSAGES: usize = {count};

/// Hands every type to the visitor.
pub fn for_each_message(visitor: &impl VisitMessage) {{
{visits}}}
"
        );
        file
    }

    /// Writes an item, and the implementation that makes a random value of it.
    fn of_form(&mut self, form: Form, i: usize, file: &mut String) {
        let derive = if form == Form::Plain {
            let repr = self.choose(&["", "#[repr(C)]\n", "#[mpi(order = \"memory\")]\n"]);
            format!("#[derive(MpiDatatype, Clone, Debug, PartialEq)]\n{repr}")
        } else {
            "#[derive(MpiMessage, Clone, Debug, PartialEq)]\n".to_owned()
        };
        let (body, value) = if form == Form::Enum {
            let variants: Vec<_> = (0..=self.below(4)).map(|_| self.fields(form, i)).collect();
            let names = (0..).map(|v| format!("V{v}"));
            let body = names.clone().zip(&variants).map(|(name, (body, _))| format!("{name}{body}"));
            // A variant without a value of its own type ends the recursion.
            let body = body.chain(["End".to_owned()]).collect::<Vec<_>>().join(", ");
            let values = names.zip(&variants).enumerate();
            let arms = values.map(|(v, (name, (_, value)))| format!("{v} => Self::{name}{value}"));
            let arms = arms.chain(["_ => Self::End".to_owned()]).collect::<Vec<_>>().join(",\n            ");
            let choice =
                format!("if random.is_deep() {{ {0} }} else {{ random.below({0} + 1) }}", variants.len());
            (format!(" {{ {body} }}"), format!("match {choice} {{\n            {arms}\n        }}"))
        } else {
            let (body, value) = self.fields(form, i);
            let end = if body.starts_with(" {") { "" } else { ";" };
            (format!("{body}{end}"), format!("Self{value}"))
        };
        let word = if form == Form::Enum { "enum" } else { "struct" };
        let _ = writeln!(
            file,
            "\n{derive}pub {word} M{i}{body}\n\nimpl Sample for M{i} {{\n    fn sample(random: &mut Random) \
             -> Self {{\n        {value}\n    }}\n}}"
        );
    }

    /// Returns the fields of a struct or variant, and the expression that makes them.
    fn fields(&mut self, form: Form, i: usize) -> (String, String) {
        let fields: Vec<(String, bool)> = (0..self.below(6))
            .map(|_| {
                let skipped = self.one_in(12);
                let ty = match form {
                    _ if skipped => self.choose(&["Option<String>", "Vec<u8>", "u64"]).to_owned(),
                    Form::Plain => self.plain(i),
                    _ => self.part(i, form == Form::Enum, 3),
                };
                (ty, skipped)
            })
            .collect();
        if fields.is_empty() && self.one_in(2) {
            return (String::new(), String::new());
        }
        // The fields of a plain struct have names, as most structs do.
        let named = form == Form::Plain || !self.one_in(3);
        let name = |k: usize| if named { format!("f{k}: ") } else { String::new() };
        let (mut body, mut value) = (Vec::new(), Vec::new());
        for (k, (ty, skipped)) in fields.iter().enumerate() {
            let (attribute, made) =
                if *skipped { ("#[mpi(skip)] ", "Default::default()") } else { ("", "random.sample()") };
            body.push(format!("{attribute}{}{ty}", name(k)));
            value.push(format!("{}{made}", name(k)));
        }
        let (body, value) = (body.join(", "), value.join(", "));
        if named {
            (format!(" {{ {body} }}"), format!(" {{ {value} }}"))
        } else {
            (format!("({body})"), format!("({value})"))
        }
    }

    /// Returns a type whose values are numbers at fixed places.
    fn plain(&mut self, i: usize) -> String {
        let base = self.base();
        match self.below(5) {
            0 => format!("[{base}; {}]", self.below(4)),
            1 => format!("({base}, {})", self.base()),
            2 if i > 0 && self.one_in(3) => "Fixed".to_owned(),
            _ => base.to_owned(),
        }
    }

    fn base(&mut self) -> &'static str {
        let all: &[&'static str] = &[
            "i8",
            "i16",
            "i32",
            "i64",
            "u8",
            "u16",
            "u32",
            "u64",
            "f32",
            "f64",
            "bool",
            "char",
            "usize",
            "std::num::NonZero<u32>",
        ];
        all[self.below(all.len())]
    }

    /// Returns a type whose values can be compared, for keys and members of sets.
    fn key(&mut self) -> String {
        self.choose(&["u8", "i64", "char", "String", "(bool, u16)", "Vec<u8>", "[u32; 2]"]).to_owned()
    }

    /// Returns the type of a field of item `i`, nested at most `depth` levels deep.
    fn part(&mut self, i: usize, is_enum: bool, depth: usize) -> String {
        if depth == 0 || self.one_in(4) {
            return match self.below(6) {
                0 => "String".to_owned(),
                1 => self.choose(&["i128", "u128", "()", "Duration", "Cow<'static, str>"]).to_owned(),
                2 if i > 0 => format!("M{}", self.below(i)),
                _ => self.plain(i),
            };
        }
        let mut part = || self.part(i, is_enum, depth - 1);
        let (first, second) = (part(), part());
        match self.below(19) {
            0..=3 => format!("Vec<{first}>"),
            4 => format!("Vec<{}>", self.plain(i)),
            5 => format!("Box<[{first}]>"),
            6 => format!("Option<{first}>"),
            7 => format!("Result<{first}, {second}>"),
            8 => format!("[{first}; {}]", self.below(4)),
            9 => format!("({first}, {second})"),
            10 => format!("VecDeque<{first}>"),
            11 => format!("BTreeMap<{}, {first}>", self.key()),
            12 => format!("HashMap<{}, {first}>", self.key()),
            13 => format!("{}Set<{}>", self.choose(&["BTree", "Hash"]), self.key()),
            14 => format!("{}<{first}>", self.choose(&["Box", "Rc", "Arc", "LinkedList", "Several"])),
            15 => format!("std::ops::Range<{}>", self.base()),
            16 if is_enum => format!("Vec<M{i}>"),
            17 if is_enum => format!("Option<Box<M{i}>>"),
            _ => format!("Vec<{second}>"),
        }
    }
}
