//! What the kernels cost. Each answer is asserted before it is timed; `benches/kernels.py` runs this.

mod work;

use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;

static INPUT: LazyLock<work::Input> = LazyLock::new(work::Input::named);

fn main() {
    divan::main();
}

#[divan::bench(args = work::KERNELS.iter().map(|kernel| kernel.0), sample_count = 15, sample_size = 1)]
fn kernel(bencher: Bencher<'_, '_>, name: &str) {
    let (_, work, expected) = work::kernel(name);
    assert_eq!(work(&INPUT), expected(&INPUT), "{name}");
    bencher.counter(BytesCount::new(INPUT.bytes.len())).bench(|| work(&INPUT));
}
