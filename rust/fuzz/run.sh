#!/bin/sh
# Builds the fuzz targets on stable Rust and runs each for so many seconds, two side by side:
#
#     rust/fuzz/run.sh SECONDS [TARGET...]
#
# Where there is no C++ compiler for libFuzzer it says so and ends well. What a run learned is kept in
# target/fuzz/corpus and is where the next one begins; an input that fails is kept in target/fuzz/found.
set -eu
cd "$(dirname "$0")/../.."
seconds=$1
shift
[ $# -gt 0 ] || set -- tail steps tree members lines
if ! ${CXX:-c++} --version >/dev/null 2>&1; then
    echo "SKIPPED: no C++ compiler (${CXX:-c++}), which libFuzzer needs; the Rust half was not fuzzed."
    exit 0
fi
host=$(rustc -vV | sed -n 's/^host: //p')
# What `cargo fuzz` gives a nightly compiler, as far as the stable one takes it. With --target the flags are not for
# build scripts.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --quiet --locked --manifest-path rust/fuzz/Cargo.toml --target "$host" --target-dir target/fuzz
mkdir -p target/fuzz/found
printf '%s\n' "$@" | xargs -P 2 -I TARGET sh -c '
    mkdir -p target/fuzz/corpus/TARGET
    target/fuzz/'"$host"'/debug/TARGET target/fuzz/corpus/TARGET tests/data/json tests/data/antigravity \
        tests/data/claude-code -dict=rust/fuzz/json.dict -max_total_time='"$seconds"' -max_len=3000 -timeout=20 \
        -artifact_prefix=target/fuzz/found/TARGET- >target/fuzz/TARGET.log 2>&1 ||
        { tail -n 40 target/fuzz/TARGET.log; echo "FAILED: TARGET, see target/fuzz/TARGET.log"; exit 1; }
    echo "TARGET: $(grep "Done " target/fuzz/TARGET.log)"'
