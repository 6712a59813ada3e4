//! The file system under a file, asked without MPI: whether this rank can open a file, and how long a file
//! can be. MPI libraries crash or wait for ever if an immediate write reaches beyond.

use std::{
    fs,
    io::{Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// The largest size in bytes if the file system has no limit, or cannot be asked. MPI libraries wait for ever
/// at some greater offsets.
const LARGEST: u64 = 1 << 60;

/// The transfers for which a file is opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub reads: bool,
    pub writes: bool,
}

/// Returns `true` if this rank can open a file, and the file exists. Nothing is opened that is no regular
/// file: to open a pipe, for example, would wait.
pub(super) fn can_open(path: &Path, Access { reads, writes }: Access) -> bool {
    let path = local(path);
    match fs::metadata(&path) {
        Ok(data) if data.is_file() => fs::File::options().read(reads).write(writes).open(path).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Returns the largest size in bytes that the file system of a file can give it. The system refuses a
/// position beyond (`lseek`), whether the file is that long or not; so nothing is written.
pub(super) fn largest_size(path: &Path) -> u64 {
    let path = local(path);
    if !fs::metadata(&path).is_ok_and(|data| data.is_file()) {
        return LARGEST;
    }
    let opened = fs::File::open(&path).or_else(|_| fs::File::options().write(true).open(&path));
    let Ok(mut file) = opened else { return LARGEST };
    let mut holds = |size: u64| file.seek(SeekFrom::Start(size)).is_ok();
    if holds(LARGEST) {
        return LARGEST;
    }
    let (mut held, mut refused) = (0, LARGEST);
    while refused - held > 1 {
        let size = held.midpoint(refused);
        *if holds(size) { &mut held } else { &mut refused } = size;
    }
    held
}

/// Returns the path without the name of a file system that MPI libraries accept before it, as in `ufs:/a/b`.
fn local(path: &Path) -> PathBuf {
    match path.to_str().and_then(|path| path.split_once(':')) {
        Some((name, rest)) if name.len() > 1 && !path.exists() => PathBuf::from(rest),
        _ => path.to_owned(),
    }
}
