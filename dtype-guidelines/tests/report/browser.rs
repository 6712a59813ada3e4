//! Tests of the page in a browser: it has no errors, shows all plots, fits on a phone, and has a dark mode.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use dtype_guidelines::report::page;

use super::results;

/// A script that logs the visible plots and the overflow of a page on the console.
const PROBE: &str = "<script>addEventListener('load', () => {
    const plots = [...document.querySelectorAll('figure.plot > svg')];
    const seen = plots.filter(svg => svg.getBoundingClientRect().height > 50).length;
    const beyond = document.documentElement.scrollWidth - innerWidth;
    console.log(`seen: ${seen} plots, ${beyond} beyond ${innerWidth}`);
})</script>";

/// A folder for one test, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("dtype-browser-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in a folder for temporary files is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens a page in a browser. Returns the lines of its console, and the pixels of a screenshot as red, green
/// and blue.
fn opened(page: &Path, options: &[&str]) -> (Vec<String>, Vec<[u8; 3]>) {
    let folder = page.parent().unwrap();
    let picture = folder.join("picture.png");
    let browser = env::var_os("DTYPE_BROWSER").unwrap_or_else(|| "chromium".into());
    let output = Command::new(&browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"])
        .args(["--window-size=1000,1400", "--allow-file-access-from-files"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--screenshot={}", picture.display()))
        .args(options)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", browser.display()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(picture.exists(), "{log}");
    let lines = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (lines, pixels(&picture))
}

fn pixels(picture: &Path) -> Vec<[u8; 3]> {
    let file = std::io::BufReader::new(fs::File::open(picture).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    assert!(samples >= 3 && info.bit_depth == png::BitDepth::Eight, "{info:?}");
    bytes[..info.buffer_size()].chunks_exact(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

/// Returns the share of pixels that differ from the first one, which is background.
fn drawn(pixels: &[[u8; 3]]) -> f64 {
    let other = pixels.iter().filter(|pixel| **pixel != pixels[0]).count();
    other as f64 / pixels.len() as f64
}

#[test]
fn a_page_has_no_errors_and_shows_what_it_should() {
    let folder = Folder::new("page");
    let page = page(&[results(3.0)], &[results(1.0)]).unwrap() + PROBE;
    let file = folder.write("page.html", &page);
    let (console, light) = opened(&file, &[]);
    assert_eq!(console.len(), 1, "{console:#?}");
    assert!(console[0].contains("seen: 2 plots, 0 beyond 1000"), "{console:#?}");
    assert!((0.02..0.9).contains(&drawn(&light)), "{}", drawn(&light));
    assert!(light[0].iter().all(|part| *part > 200), "{:?}", light[0]);

    let (console, dark) = opened(&file, &["--blink-settings=preferredColorScheme=0"]);
    assert_eq!(console.len(), 1, "{console:#?}");
    assert!(dark[0].iter().all(|part| *part < 60), "{:?}", dark[0]);
    assert!((0.02..0.9).contains(&drawn(&dark)), "{}", drawn(&dark));

    // A window is at least 500 pixels wide, but a frame can be narrower.
    let frame = "<iframe src=\"page.html\" style=\"width: 360px; height: 800px; border: 0\"></iframe>";
    let (console, _) = opened(&folder.write("phone.html", frame), &[]);
    assert_eq!(console.len(), 1, "{console:#?}");
    assert!(console[0].contains("seen: 2 plots, 0 beyond 360"), "{console:#?}");
}

#[test]
fn what_is_wrong_is_noticed() {
    let folder = Folder::new("wrong");
    let wrong =
        "<!DOCTYPE html><div style=\"width: 2000px; height: 9px\"></div><svg><path d=\"M here\"/></svg>";
    let (console, blank) = opened(&folder.write("page.html", &(wrong.to_owned() + PROBE)), &[]);
    assert!(console.iter().any(|line| line.contains("Expected number")), "{console:#?}");
    assert!(console.iter().any(|line| line.contains("seen: 0 plots, 1008 beyond 1000")), "{console:#?}");
    assert!(drawn(&blank) == 0.0, "{}", drawn(&blank));
}
