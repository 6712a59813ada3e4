//! Pictures of a layout with its given tree and its least-cost tree. On a page of pictures, the reader can
//! change the cost model and the order of a struct's fields.

use std::fmt::{self, Write};

use anyhow::{Context, Result};
use dtype_core::{
    Bounds, CostModel, Solution, TypeTree, normalize,
    picture::{PATTERNS, Picture},
};

use crate::{
    models::Models,
    record::{Field, FieldPlace, Record},
};

/// The content of a picture.
pub(crate) struct Drawn<'a> {
    pub(crate) title: &'a str,
    pub(crate) bounds: Bounds,
    /// The trees with their headings.
    pub(crate) trees: Vec<(&'a str, &'a TypeTree)>,
    pub(crate) costs: &'a dyn CostModel,
    /// The fields, if the layout is a struct.
    pub(crate) record: Option<&'a Record>,
}

/// Returns the picture of a layout.
pub(crate) fn picture(drawn: &Drawn<'_>) -> Result<Picture> {
    let (_, tree) = drawn.trees.first().context("a tree to draw")?;
    let mut picture = Picture::new(drawn.title, tree, drawn.bounds)?;
    for field in drawn.record.iter().flat_map(|record| &record.fields) {
        picture = picture.field(&field.label(), i64::try_from(field.offset)?, field.size);
    }
    for (heading, tree) in &drawn.trees {
        picture = picture.tree(heading, tree, 0, drawn.costs)?;
    }
    Ok(picture)
}

/// Returns the given tree and the least-cost tree with their headings, or only the given one if no cheaper
/// one was found.
pub(crate) fn compared<'a>(
    given: &'a TypeTree,
    least: &'a Solution,
    costs: &dyn CostModel,
) -> Vec<(String, &'a TypeTree)> {
    let optimality = least.optimality.name();
    if given.cost(costs) <= least.cost {
        return vec![(format!("the given tree: nothing cheaper was found ({optimality})"), given)];
    }
    vec![("the given tree".to_owned(), given), (format!("least-cost tree ({optimality})"), &least.tree)]
}

/// The largest number of pictures on a page. Once the pictures exceed `MOST_BYTES` bytes, no further order of
/// fields is added.
const MOST_PICTURES: usize = 150;
const MOST_BYTES: usize = 1 << 20;

/// Returns a page with pictures of a layout under several cost models and, for a struct, in several orders of
/// the fields. The page shows one picture at a time. It has no script and loads no other files.
pub(crate) fn page(
    title: &str,
    tree: &TypeTree,
    bounds: Bounds,
    models: &Models,
    record: Option<&Record>,
) -> Result<String> {
    let mut orders = vec![Order { name: "declared".to_owned(), tree: tree.clone(), bounds, record: None }];
    if let Some(record) = record {
        orders.extend(other_orders(tree, record, MOST_PICTURES / models.iter().count()));
    }
    let mut page = Page::default();
    page.choices += "<p>Cost model:";
    for (m, (name, _)) in models.iter().enumerate() {
        page.choice("model", 'm', m, name)?;
    }
    page.choices += "</p>\n";
    if orders.len() > 1 {
        page.choices += "<p>Order of the fields:";
    }
    for (o, order) in orders.iter().enumerate() {
        if o > 0 && page.pictures.len() > MOST_BYTES {
            write!(page.choices, " and {} others, which this page omits", orders.len() - o)?;
            break;
        }
        page.choice("order", 'o', o, if orders.len() > 1 { &order.name } else { "" })?;
        for (m, (_, costs)) in models.iter().enumerate() {
            let least = normalize(&order.tree, costs)?;
            let trees = compared(&order.tree, &least, costs);
            let trees = trees.iter().map(|(heading, tree)| (heading.as_str(), *tree)).collect();
            let record = order.record.as_ref().or(record);
            let drawn = Drawn { title, bounds: order.bounds, trees, costs, record };
            writeln!(page.rules, "#m{m}:checked~#o{o}:checked~main #p{m}-{o}{{display:block}}")?;
            writeln!(page.pictures, "<div id=\"p{m}-{o}\">\n{}</div>", picture(&drawn)?.svg())?;
        }
    }
    if orders.len() > 1 {
        page.choices += "</p>\n";
    }
    Ok(page.html(&escaped(title)))
}

/// The parts of a page.
#[derive(Default)]
struct Page {
    inputs: String,
    rules: String,
    choices: String,
    pictures: String,
}

impl Page {
    /// Writes one of several choices. The first one is selected. A choice without a name is not shown.
    fn choice(&mut self, group: &str, letter: char, number: usize, name: &str) -> fmt::Result {
        let id = format!("{letter}{number}");
        let checked = if number == 0 { " checked" } else { "" };
        writeln!(self.inputs, "<input type=\"radio\" name=\"{group}\" id=\"{id}\"{checked}>")?;
        if name.is_empty() {
            return Ok(());
        }
        write!(self.choices, " <label for=\"{id}\">{}</label>", escaped(name))?;
        writeln!(self.rules, "#{id}:checked~nav label[for={id}]{{background:#0072B2;color:#fff}}")
    }

    fn html(&self, title: &str) -> String {
        let Self { inputs, rules, choices, pictures } = self;
        format!(
            "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>{title}</title>
<style>
body{{font:15px system-ui,sans-serif;max-width:980px;margin:1.5em auto;padding:0 10px}}
h1{{font-size:1.3em;overflow-wrap:anywhere}}
input{{position:absolute;opacity:0}}
input:focus-visible~nav{{outline:2px solid #0072B2}}
label{{display:inline-block;border:1px solid #0072B2;border-radius:4px;padding:2px 8px;margin:2px}}
label{{cursor:pointer}}
main div{{display:none}}
svg{{max-width:100%;height:auto}}
{rules}</style>
</head>
<body>
<h1>{title}</h1>
<svg width=\"0\" height=\"0\" style=\"position:absolute\">{PATTERNS}</svg>
{inputs}<nav>
{choices}</nav>
<p>Point at a line of a tree: its bytes are marked. Point at a byte: its field, base type and \
displacement are shown. Costs are those of a node with all below it.</p>
<main>
{pictures}</main>
</body>
</html>
"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace(char::is_control, " ").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A struct with its fields in some order.
struct Order {
    name: String,
    tree: TypeTree,
    bounds: Bounds,
    record: Option<Record>,
}

/// Returns the struct with its fields in other orders, as C would lay them out. The order with the least
/// padding is the first. If at most four fields can move, all orders follow. Otherwise, each field is put
/// first and last.
fn other_orders(tree: &TypeTree, record: &Record, most: usize) -> Vec<Order> {
    let TypeTree::Struct { displacements, children } = tree else { return Vec::new() };
    // If C would place the fields elsewhere, as for a packed struct, no field is moved.
    if !record.is_laid_out() {
        return Vec::new();
    }
    let (first, free): (Vec<&Field>, Vec<&Field>) =
        record.fields.iter().partition(|field| field.place == FieldPlace::First);
    let mut wanted: Vec<(String, Vec<&Field>)> = Vec::new();
    if let Some(better) = record.reordered() {
        let fields: Vec<_> = better.fields.into_iter().map(|(field, _)| field).collect();
        let free = fields.into_iter().filter(|field| field.place == FieldPlace::Free).collect();
        wanted.push(("least padding".to_owned(), free));
    }
    if free.len() <= 4 {
        for order in permutations(&free) {
            let names: Vec<_> = order.iter().map(|field| field.label()).collect();
            wanted.push((names.join(", "), order));
        }
    } else {
        for (i, field) in free.iter().enumerate() {
            let mut rest = free.clone();
            rest.remove(i);
            wanted.push((format!("{} first", field.label()), [&[*field], &rest[..]].concat()));
            wanted.push((format!("{} last", field.label()), [&rest[..], &[*field]].concat()));
        }
    }
    let mut seen = vec![free.clone()];
    wanted
        .into_iter()
        .filter(|(_, order)| {
            let is_new = !seen.contains(order);
            seen.push(order.clone());
            is_new
        })
        .filter_map(|(name, order)| {
            let other = laid_out(record, &first, &order)?;
            // A part moves with the field that contains it.
            let moved = displacements.iter().zip(children).map(|(at, child)| {
                let holds = |field: &Field| (field.offset..field.offset + field.size).contains(&(*at as u64));
                let field = record.fields.iter().position(holds)?;
                // A part that extends beyond its field cannot be moved.
                let Field { offset, size, .. } = &record.fields[field];
                let end = at.checked_add(child.measure().ok()?.upper_bound)?;
                if end > i64::try_from(offset + size).ok()? {
                    return None;
                }
                Some(at - record.fields[field].offset as i64 + other.fields[field].offset as i64)
            });
            let mut parts: Vec<_> = moved.collect::<Option<Vec<i64>>>()?.into_iter().zip(children).collect();
            parts.sort_by_key(|(at, _)| *at);
            let (places, children): (Vec<i64>, Vec<TypeTree>) =
                parts.into_iter().map(|(at, child)| (at, child.clone())).unzip();
            let bounds = Bounds::of_extent(i64::try_from(other.size).ok()?);
            Some(Order { name, tree: TypeTree::structure(places, children), bounds, record: Some(other) })
        })
        .take(most.saturating_sub(1))
        .collect()
}

/// Returns a record with the fields in `order` after those in `first`, each at the next offset that its
/// alignment allows. Only the offsets change: the list of fields keeps its order.
fn laid_out(record: &Record, first: &[&Field], order: &[&Field]) -> Option<Record> {
    let mut end = first.iter().map(|field| field.offset + field.size).max().unwrap_or(0);
    let mut fields = record.fields.clone();
    for field in order {
        let offset = end.checked_next_multiple_of(field.alignment)?;
        end = offset.checked_add(field.size)?;
        let place = record.fields.iter().position(|known| known == *field)?;
        fields[place].offset = offset;
    }
    Some(Record { fields, size: end.checked_next_multiple_of(record.alignment)?, ..record.clone() })
}

/// Returns all orders of the given fields.
fn permutations<'a>(all: &[&'a Field]) -> Vec<Vec<&'a Field>> {
    if all.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (i, first) in all.iter().enumerate() {
        let mut rest = all.to_vec();
        rest.remove(i);
        orders.extend(permutations(&rest).into_iter().map(|order| [&[*first], &order[..]].concat()));
    }
    orders
}
