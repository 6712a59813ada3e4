//! A generator of random layouts. Each layout is written three times, with its numbers as literals, as
//! constants and as run-time values, beside a loop that lists the same bytes.

use std::fmt::Write;

use crate::random::Random;

/// The largest length of a dimension, and the largest number that the generated code can look up.
const LONGEST: usize = 7;

/// A number, or the variable of a loop plus a number.
#[derive(Clone, Copy)]
enum Bound {
    Number(i64),
    Variable(usize, i64),
}

enum Item {
    Index(Bound),
    Range { start: Option<Bound>, end: Option<Bound>, closed: bool, step: i64 },
}

/// The form in which the numbers of a layout are written.
#[derive(Clone, Copy, PartialEq)]
enum Tier {
    Literal,
    Constant,
    Value,
}

impl Tier {
    fn number(self, number: i64) -> String {
        let sign = if number < 0 { "-" } else { "" };
        let size = number.abs();
        match self {
            Self::Literal => format!("{sign}{size}"),
            Self::Constant => format!("{sign}NUMBERS[{size}]"),
            Self::Value => format!("{sign}value({size})"),
        }
    }

    fn bound(self, bound: Bound) -> String {
        match bound {
            Bound::Number(number) => self.number(number),
            Bound::Variable(variable, 0) => format!("v{variable}"),
            Bound::Variable(variable, more) => format!("v{variable} + {}", self.number(more)),
        }
    }

    fn item(self, item: &Item) -> String {
        match item {
            Item::Index(bound) => self.bound(*bound),
            Item::Range { start, end, closed, step } => {
                let bound = |bound: &Option<Bound>| bound.map_or_else(String::new, |bound| self.bound(bound));
                let dots = if *closed { "..=" } else { ".." };
                let step = if *step == 1 { String::new() } else { format!("; {}", self.number(*step)) };
                format!("{}{dots}{}{step}", bound(start), bound(end))
            }
        }
    }
}

impl Item {
    /// Returns the indices that the item selects in a dimension of `length` elements, as a plain expression.
    fn indices(&self, length: usize) -> String {
        let bound = |bound: Bound| match bound {
            Bound::Number(number) if number < 0 => (number + length as i64).to_string(),
            bound => Tier::Literal.bound(bound),
        };
        match self {
            Self::Index(index) => format!("[{}]", bound(*index)),
            Self::Range { start, end, closed, step } => {
                let start = start.map_or_else(|| "0".into(), bound);
                let end = end.map_or_else(|| length.to_string(), bound);
                let end = if *closed { format!("{end} + 1") } else { end };
                let back = if *step < 0 { ".rev()" } else { "" };
                format!("({start}..{end}){back}.step_by({})", step.abs())
            }
        }
    }
}

struct Term {
    items: Vec<Item>,
    /// The path `.values[1..3]`: the field, the selection from each array in it, and the type at the end.
    path: Option<Path>,
}

type Path = (&'static str, Vec<(Item, usize)>, &'static str);

struct Layout {
    element: &'static str,
    column_major: bool,
    lengths: Vec<usize>,
    loops: Vec<(i64, i64, bool)>,
    terms: Vec<Term>,
}

impl Layout {
    /// Returns the layout as it is written in `layout!`.
    fn text(&self, tier: Tier) -> String {
        let mut text = String::from(if self.column_major { "column_major " } else { "" });
        text += self.element;
        for length in &self.lengths {
            let _ = write!(text, "[{}]", tier.number(*length as i64));
        }
        text += " => ";
        for (k, term) in self.terms.iter().enumerate() {
            let items: Vec<_> = term.items.iter().map(|item| tier.item(item)).collect();
            let brackets = if items.is_empty() { String::new() } else { format!("[{}]", items.join(", ")) };
            let _ = write!(text, "{}{brackets}", if k == 0 { "" } else { " + " });
            if let Some((field, arrays, _)) = &term.path {
                let _ = write!(text, ".{field}");
                for (item, _) in arrays {
                    let _ = write!(text, "[{}]", tier.item(item));
                }
            }
        }
        for (k, (start, end, closed)) in self.loops.iter().enumerate() {
            let (start, end) = (tier.number(*start), tier.number(*end));
            let before = if k == 0 { " for" } else { "," };
            let _ = write!(text, "{before} v{k} in {start}{}{end}", if *closed { "..=" } else { ".." });
        }
        text
    }

    /// Returns the loops that list the bytes of the same values.
    fn loops(&self) -> String {
        let mut text = String::new();
        for (k, (start, end, closed)) in self.loops.iter().enumerate() {
            let _ = write!(text, "for v{k} in {start}..{}{end} {{ ", if *closed { "=" } else { "" });
        }
        for term in &self.terms {
            let mut dimensions: Vec<usize> = (0..self.lengths.len()).collect();
            if self.column_major {
                dimensions.reverse();
            }
            for &k in &dimensions {
                let _ = write!(text, "for i{k} in {} {{ ", term.items[k].indices(self.lengths[k]));
            }
            let index = dimensions
                .iter()
                .fold(String::from("0"), |at, k| format!("({at}) * {} + i{k}", self.lengths[*k]));
            let element = self.element;
            let mut at = format!("({index}) as usize * size_of::<{element}>()");
            let mut leaf = element;
            let mut inner = 0;
            if let Some((field, arrays, ty)) = &term.path {
                let _ = write!(at, " + std::mem::offset_of!({element}, {field})");
                leaf = ty;
                let mut size = format!("size_of::<{ty}>()");
                let mut sizes: Vec<_> = arrays
                    .iter()
                    .rev()
                    .map(|(_, length)| {
                        let entry = size.clone();
                        size = format!("{length} * {size}");
                        entry
                    })
                    .collect();
                sizes.reverse();
                for ((item, length), size) in arrays.iter().zip(&sizes) {
                    let _ = write!(text, "for j{inner} in {} {{ ", item.indices(*length));
                    let _ = write!(at, " + j{inner} as usize * {size}");
                    inner += 1;
                }
            }
            let _ = write!(text, "<{leaf} as Cover>::cover({at}, &mut bytes); ");
            text += &"} ".repeat(dimensions.len() + inner);
        }
        text + &"} ".repeat(self.loops.len())
    }

    /// Returns `true` if a byte of an element is selected twice. Compares cells and fields instead of bytes.
    fn overlaps(&self) -> bool {
        let mut cells = Vec::new();
        self.turn(0, &mut Vec::new(), &mut cells);
        cells.sort();
        cells.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn turn(&self, depth: usize, variables: &mut Vec<i64>, cells: &mut Vec<Vec<i64>>) {
        if let Some((start, end, closed)) = self.loops.get(depth) {
            for value in *start..end + i64::from(*closed) {
                variables.push(value);
                self.turn(depth + 1, variables, cells);
                variables.pop();
            }
            return;
        }
        for term in &self.terms {
            let axes: Vec<_> =
                term.items.iter().zip(&self.lengths).map(|(item, n)| listed(item, *n, variables)).collect();
            let fields: Vec<Vec<i64>> = match (&term.path, self.element) {
                // The parts that each path covers, as numbers: equal parts have equal numbers.
                (Some((field, arrays, _)), _) => {
                    let number = match *field {
                        "tag" => 0,
                        "values" => 1,
                        _ => 2,
                    };
                    let entries: Vec<_> =
                        arrays.iter().map(|(item, length)| listed(item, *length, variables)).collect();
                    // A path without indices selects all entries of the array.
                    let whole: [&[i64]; 2] =
                        if *field == "inner" { [&[0, 1], &[0, 1, 2]] } else { [&[0, 1, 2, 3], &[0]] };
                    let entry = |k: usize| entries.get(k).map_or(whole[k].to_vec(), Clone::clone);
                    if number == 0 {
                        vec![vec![0, 0, 0]]
                    } else {
                        product(&[vec![number], entry(0), entry(1)])
                    }
                }
                (None, "Pair") => {
                    let mut all = vec![vec![0, 0, 0]];
                    all.extend(product(&[vec![1], vec![0, 1, 2, 3], vec![0]]));
                    all.extend(product(&[vec![2], vec![0, 1], vec![0, 1, 2]]));
                    all
                }
                (None, _) => vec![Vec::new()],
            };
            for cell in product(&axes) {
                cells.extend(fields.iter().map(|field| [cell.clone(), field.clone()].concat()));
            }
        }
    }
}

fn product(axes: &[Vec<i64>]) -> Vec<Vec<i64>> {
    axes.iter().fold(vec![Vec::new()], |rows, axis| {
        rows.iter()
            .flat_map(|row| axis.iter().map(move |index| [row.clone(), vec![*index]].concat()))
            .collect()
    })
}

fn value(bound: Bound, variables: &[i64]) -> i64 {
    match bound {
        Bound::Number(number) => number,
        Bound::Variable(variable, more) => variables[variable] + more,
    }
}

/// Returns the indices that an item selects.
fn listed(item: &Item, length: usize, variables: &[i64]) -> Vec<i64> {
    let from_front = |bound: Bound| {
        let value = value(bound, variables);
        if value < 0 { value + length as i64 } else { value }
    };
    match item {
        Item::Index(index) => vec![from_front(*index)],
        Item::Range { start, end, closed, step } => {
            let first = start.map_or(0, from_front);
            let past = end.map_or(length as i64, |end| from_front(end) + i64::from(*closed));
            let mut indices: Vec<i64> = (first..past).collect();
            if *step < 0 {
                indices.reverse();
            }
            indices.into_iter().step_by(step.unsigned_abs() as usize).collect()
        }
    }
}

impl Random {
    /// Writes `count` layouts.
    pub fn layouts(mut self, seed: u64, count: usize) -> String {
        let numbers: Vec<_> = (0..=LONGEST).map(|number| number.to_string()).collect();
        let mut file = format!(
            "/// The seed of the random layouts.\npub const SEED: u64 = {seed};\nconst NUMBERS: [i32; {}] = \
             [{}];\nfn value(number: i32) -> i32 {{ std::hint::black_box(number) }}\n\n/// Hands every \
             layout to the check.\npub fn for_each(world: &SimpleCommunicator) {{\n",
            LONGEST + 1,
            numbers.join(", ")
        );
        for i in 0..count {
            let layout = self.layout();
            let elements: usize = layout.lengths.iter().product();
            let _ = writeln!(
                file,
                "    {{\n        let mut bytes: Vec<Range<usize>> = Vec::new();\n        {}\n        let \
                 bytes = &bytes[..];",
                layout.loops()
            );
            let check = if layout.overlaps() { "read" } else { "read_and_write" };
            let name = format!("{i}: {}", layout.text(Tier::Literal));
            let _ = writeln!(file, "        let costs = [");
            for tier in [Tier::Literal, Tier::Constant, Tier::Value] {
                let text = layout.text(tier);
                let unwrap = if tier == Tier::Value { ".unwrap()" } else { "" };
                let _ = writeln!(
                    file,
                    "            {check}::<{}, _>(world, {name:?}, &layout!({text}){unwrap}, {elements}, \
                     bytes),",
                    layout.element
                );
            }
            let _ = writeln!(file, "        ];\n        assert_eq!(costs, [costs[0]; 3], {name:?});");
            let _ = writeln!(file, "    }}");
        }
        file + "}\n"
    }

    fn layout(&mut self) -> Layout {
        let element = ["u8", "i16", "f32", "f64", "[i32; 3]", "(u8, f64)", "Pair", "Pair"][self.below(8)];
        let lengths: Vec<usize> = (0..=self.below(4)).map(|_| 1 + self.below(LONGEST)).collect();
        let shortest = *lengths.iter().min().expect("one dimension at least") as i64;
        let loops: Vec<_> = (0..self.below(5).saturating_sub(2))
            .map(|_| {
                let start = self.below(shortest as usize) as i64;
                let closed = self.one_in(3);
                (
                    start,
                    self.below((shortest - start + 1) as usize) as i64 + start - i64::from(closed),
                    closed,
                )
            })
            .map(|(start, end, closed)| (start, end.max(start), closed))
            .map(|(start, end, closed)| (start, end.min(shortest - i64::from(closed)), closed))
            .collect();
        let terms = (0..=self.below(5) / 2)
            .map(|_| Term {
                items: lengths.iter().map(|length| self.selected(*length, loops.len())).collect(),
                path: (element == "Pair" && !self.one_in(4)).then(|| self.path()),
            })
            .collect();
        Layout { element, column_major: self.one_in(4), lengths, loops, terms }
    }

    fn path(&mut self) -> Path {
        match self.below(6) {
            0 => ("tag", Vec::new(), "u8"),
            1 => ("values", Vec::new(), "[f64; 4]"),
            2 | 3 => ("values", vec![(self.selected(4, 0), 4)], "f64"),
            4 => ("inner", vec![(self.selected(2, 0), 2)], "[i16; 3]"),
            _ => ("inner", vec![(self.selected(2, 0), 2), (self.selected(3, 0), 3)], "i16"),
        }
    }

    /// Returns a random item for a dimension of `length` elements. The item may use the variables of `loops`
    /// loops. The values of the variables are valid indices in every dimension.
    fn selected(&mut self, length: usize, loops: usize) -> Item {
        let n = length as i64;
        if loops > 0 && self.one_in(2) {
            let variable = self.below(loops);
            let (bound, next) = (Bound::Variable(variable, 0), Bound::Variable(variable, 1));
            let range = |start, end, closed| Item::Range { start, end, closed, step: 1 };
            return match self.below(4) {
                0 => range(Some(bound), None, false),
                1 => range(None, Some(bound), self.one_in(2)),
                2 => range(Some(bound), Some(next), false),
                _ => Item::Index(bound),
            };
        }
        if self.one_in(3) {
            return Item::Index(Bound::Number(self.below(2 * length) as i64 - n));
        }
        let (a, b) = (self.below(length + 1) as i64, self.below(length + 1) as i64);
        let closed = self.one_in(3) && a.max(b) > 0;
        let (first, past) = (a.min(b), a.max(b));
        // Some bounds count from the end. A bound at the end cannot: 0 counts from the front.
        let mut bound =
            |at: i64| if at < n && self.one_in(4) { Bound::Number(at - n) } else { Bound::Number(at) };
        let start = (first > 0).then(|| bound(first));
        let end = (closed || past < n).then(|| bound(past - i64::from(closed)));
        let step = [1, 1, 1, 2, 3, -1, -2][self.below(7)];
        Item::Range { start, end, closed, step }
    }
}
