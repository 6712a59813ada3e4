//! A generator of random structs of every form that the derive accepts.

use std::fmt::Write;

use crate::random::Random;

impl Random {
    /// Writes `count` structs.
    pub fn structs(mut self, seed: u64, count: usize) -> String {
        let mut file = format!(
            "/// The seed of the random structs.\npub const SEED: u64 = {seed};\n/// The number of structs.\n\
             pub const STRUCTS: usize = {count};\n"
        );
        let (mut visits, mut complete) = (String::new(), String::new());
        let mut are_complete = Vec::new();
        for i in 0..count {
            let is_complete = self.item(i, &are_complete, &mut file);
            are_complete.push(is_complete);
            let visit = format!("    visitor.visit::<S{i}>();\n");
            complete += if is_complete { &visit } else { "" };
            visits += &visit;
        }
        // The generic struct, at some instantiations.
        for i in (0..count).step_by(12) {
            let visit = format!("    visitor.visit::<Generic<S{i}, {}>>();\n", i % 5);
            complete += if are_complete[i] { &visit } else { "" };
            visits += &visit;
        }
        let _ = write!(
            file,
            "\n/// Hands every struct to the visitor.\npub fn for_each(visitor: &impl Visit) \
             {{\n{visits}}}\n\n/// Hands every struct without skipped fields to the visitor.\n\
             pub fn for_each_complete(visitor: &impl VisitComplete) {{\n{complete}}}\n"
        );
        file
    }

    /// Writes a struct, and the list of its bytes that travel, in order. Returns `true` if no field is
    /// skipped, at any level. `are_complete` says so of the structs before.
    fn item(&mut self, i: usize, are_complete: &[bool], file: &mut String) -> bool {
        let (repr, loose) = match self.below(12) {
            0..=4 => ("#[repr(C)]", false),
            5 => ("#[repr(C, packed)]", false),
            6 => ("#[repr(C, packed(2))]", false),
            7 => ("#[repr(C, align(32))]", false),
            8 => ("#[repr(packed(4))]", true),
            _ => ("", true),
        };
        let packed = repr.contains("packed");
        // A struct that travels as bytes must have a fixed layout at all levels, so it consists of numbers
        // only.
        let bytes = !loose && self.one_in(8);
        let memory = !bytes && self.one_in(6);
        let mut attributes = Vec::new();
        if bytes {
            attributes.push("wire = \"bytes\"");
        }
        if memory {
            attributes.push("order = \"memory\"");
        }
        if self.one_in(6) {
            attributes.push(self.choose(&[
                "cost = \"processing\"",
                "cost = \"penalty\"",
                "cost = \"storage\"",
            ]));
        }
        let skips = !bytes && self.one_in(8);
        let fields: Vec<(String, bool)> = (0..=self.below(9))
            .map(|_| {
                let skipped = skips && self.one_in(3);
                let ty = match (skipped, bytes) {
                    (true, _) if self.one_in(2) && !packed => {
                        self.choose(&["String", "Vec<u8>", "Option<Box<f64>>", "*const u8"]).into()
                    }
                    (_, true) => self.number(),
                    // The compiler rejects a packed struct that contains an aligned one.
                    _ if packed => self.number(),
                    _ => self.ty(i, 2),
                };
                (ty, skipped)
            })
            .collect();
        let _ = writeln!(file, "\n#[derive(MpiDatatype)]\n{repr}");
        if !attributes.is_empty() {
            let _ = writeln!(file, "#[mpi({})]", attributes.join(", "));
        }
        let _ = writeln!(file, "#[allow(dead_code)]\npub struct S{i} {{");
        for (k, (ty, skipped)) in fields.iter().enumerate() {
            let skip = if *skipped { "#[mpi(skip)] " } else { "" };
            let _ = writeln!(file, "    {skip}f{k}: {ty},");
        }
        let _ = writeln!(
            file,
            "}}\n\nimpl Cover for S{i} {{\n    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {{"
        );
        if bytes {
            let _ = writeln!(file, "        bytes.push(at..at + size_of::<Self>());");
        } else {
            let covers = fields.iter().enumerate().filter(|(_, (_, skipped))| !skipped);
            let covers: Vec<_> = covers
                .map(|(k, (ty, _))| format!("(std::mem::offset_of!(Self, f{k}), <{ty} as Cover>::cover)"))
                .collect();
            let covers = covers.join(", ");
            let _ = writeln!(
                file,
                "        let fields: &mut [(usize, fn(usize, &mut Vec<Range<usize>>))] = &mut [{covers}];"
            );
            if memory {
                let _ = writeln!(file, "        fields.sort_by_key(|(offset, _)| *offset);");
            }
            let _ = writeln!(
                file,
                "        fields.iter().for_each(|(offset, cover)| cover(at + offset, bytes));"
            );
        }
        let _ = writeln!(file, "    }}\n}}");
        let is_complete = |ty: &str| {
            let digits =
                |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
            ty.split('S').skip(1).filter_map(digits).all(|number: usize| are_complete[number])
        };
        fields.iter().all(|(ty, skipped)| !skipped && is_complete(ty))
    }

    fn number(&mut self) -> String {
        let base = self.choose(&[
            "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "bool", "char", "usize",
        ]);
        match self.below(4) {
            0 => format!("[{base}; {}]", self.below(6)),
            1 => format!("[{base}; LENGTH]"),
            _ => base.into(),
        }
    }

    /// Returns a type for a field of struct `i`, nested at most `depth` levels deep.
    fn ty(&mut self, i: usize, depth: usize) -> String {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            5 if i > 0 => format!("S{}", self.below(i)),
            6 if i > 0 => format!("[S{}; {}]", self.below(i), self.below(4)),
            7 => {
                let parts: Vec<_> = (0..self.below(4)).map(|_| self.ty(i, depth - 1)).collect();
                if parts.is_empty() { "()".into() } else { format!("({},)", parts.join(", ")) }
            }
            8 => format!("[[{}; 2]; {}]", self.ty(i, depth - 1), self.below(3)),
            _ => self.number(),
        }
    }
}
