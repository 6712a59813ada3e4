//! Tests of the figures in the pages for users and the tables in BENCHMARKS.md against the recorded files.

use std::{fs, path::Path};

use dtype_benches::record::{README_TABLE, insert, ratios, split_shape, table_of};

/// The page with the table of `cargo xtask bench interpose`.
const INTERPOSE_PAGE: &str = "dtype-interpose/README.md";

/// The pages for users, whose figures are checked.
const PAGES: [&str; 3] = ["README.md", INTERPOSE_PAGE, "dtype-cli/README.md"];

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn recorded(name: &str) -> String {
    text_of(&format!("benches/recorded/{name}.csv"))
}

#[test]
fn tables_are_those_of_the_recorded_files() {
    let (page, readme) = (text_of("BENCHMARKS.md"), text_of(INTERPOSE_PAGE));
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        let written = insert(&page, &name, &table_of(&name, &recorded(&name)).unwrap()).unwrap();
        assert!(written == page, "BENCHMARKS.md is not what benches/recorded/{name}.csv says");
        count += 1;
    }
    assert!(count >= 6, "{count} files");
    let written =
        insert(&readme, README_TABLE, &table_of(README_TABLE, &recorded("interpose")).unwrap()).unwrap();
    assert!(written == readme, "{INTERPOSE_PAGE} is not what benches/recorded/interpose.csv says");
}

/// Returns the sentences of README.md that contain figures, made from the recorded files.
fn sentences() -> [String; 2] {
    // The layouts of `pack` that are not random, each once.
    let is_chosen = |case: &str| case.ends_with("/plan") && !case.starts_with("drawn/");
    let [_, middle, slowest] = ratios(&recorded("pack"), ["mpi_pack", "hand"], is_chosen).unwrap();
    let has_padding = |case: &str| {
        let Some((name, count)) = split_shape(case).0.split_once('/') else { return false };
        let is_struct = name.starts_with("struct-") || name.starts_with("particle-");
        is_struct && count.parse::<u32>().is_ok_and(|count| count >= 90)
    };
    let [least, median, most] = ratios(&recorded("libraries"), ["typed", "ours"], has_padding).unwrap();
    [
        format!(
            "To pack by a datatype takes {middle:.1} times as long as a loop by hand at the median, and up \
             to {slowest:.0} times"
        ),
        format!(
            "100 or more structs with padding travel {median:.1} times as fast at the median as by the \
             datatype that a user would write ({least:.1} to {most:.0} times)"
        ),
    ]
}

#[test]
fn figures_of_the_readme_are_those_of_the_recorded_files() {
    let readme = text_of("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in sentences() {
        assert!(readme.contains(&sentence), "README.md does not say: {sentence}");
    }
}

/// Checks that each time or ratio in the pages for users is in the generated table, in one of the sentences
/// above, or in the output of a command.
#[test]
fn the_pages_for_users_have_no_other_figures() {
    let sentences = sentences();
    for page in PAGES {
        let text = text_of(page);
        // Only one page has the table.
        let text = insert(&text, README_TABLE, "").unwrap_or(text);
        // The output of commands is between fences.
        let prose: String = text.split("```").step_by(2).collect();
        let mut prose = prose.split_whitespace().collect::<Vec<_>>().join(" ");
        // A unit is not a figure.
        for known in sentences.iter().map(String::as_str).chain(["units of 0.01 ns"]) {
            prose = prose.replace(known, "");
        }
        let words: Vec<&str> = prose.split(' ').collect();
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(['.', ',', ';', ':', ')']);
            let is_figure = is_number(pair[0])
                && ["times", "×", "%", "ns", "µs", "us", "ms", "s", "→"].contains(&unit)
                || pair[0].ends_with(['%', '×']) && is_number(pair[0]);
            assert!(!is_figure, "{page} has a figure that no recorded file backs: `{} {}`", pair[0], pair[1]);
        }
    }
}

/// Checks that a missing case is an error, so that the table stays unchanged.
#[test]
fn a_recorded_file_without_a_case_is_an_error() {
    let without = recorded("interpose").replace("plain: a number,ours=", "plain: a number,other=");
    let error = table_of(README_TABLE, &without).unwrap_err().to_string();
    assert!(error.contains("has no `ours` of `plain: a number`"), "{error}");
}

/// Checks that the prices of `Wire::Auto` are those of the recorded times.
#[test]
fn prices_are_those_of_the_recorded_file() {
    let prices = dtype_benches::prices::prices(&recorded("libraries")).unwrap();
    assert!(prices == text_of("dtype-engine/src/prices.csv"), "run `cargo xtask bench libraries --record`");
}

/// Checks that the policy of the preloaded library is that of the recorded times.
#[test]
fn the_policy_is_that_of_the_recorded_file() {
    let policy = dtype_benches::policy::policy(&recorded("libraries")).unwrap();
    assert!(
        policy == text_of("dtype-interpose/src/policy.csv"),
        "run `cargo xtask bench libraries --record`"
    );
}
