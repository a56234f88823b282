//! `counts FILE KERNEL TIMES`: a kernel so many times on a transcript, for the instructions to be counted.
//! `benches/counts.py` runs this; two runs that differ in TIMES alone differ in the kernel alone.

// What is only measured is not used here.
#[allow(dead_code)]
mod work;

use std::env;
use std::hint::black_box;
use std::path::Path;

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let [file, name, times] = &words[..] else { panic!("counts FILE KERNEL TIMES") };
    let (input, (_, work, expected)) = (work::Input::read(Path::new(file)), work::kernel(name));
    let expected = expected(&input);
    for _ in 0..times.parse().expect("TIMES is a number") {
        assert_eq!(work(black_box(&input)), expected, "{name}");
    }
}
