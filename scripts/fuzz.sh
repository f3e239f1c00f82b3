#!/bin/sh
# Coverage-guided fuzzing of the parsers: `scripts/fuzz.sh [SECONDS [TARGET...]]`, all targets by default.
#
# libFuzzer counts which edges of the code an input reaches. The compiler inserts the counters by two
# options that stable toolchains have, so neither nightly nor cargo-fuzz is needed. Inputs that reach
# something new are kept in fuzz/found, those that break a parser in fuzz/artifacts. Whoever mends
# a parser adds the input to fuzz/corpus, which is small and runs as an ordinary test (crates/soak).
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=${*:-$(ls fuzz/corpus)}
host=$(rustc -vV | sed -n 's/^host: //p')
counters="-Cpasses=sancov-module -Ccodegen-units=1 --cfg fuzzing"
for argument in level=4 inline-8bit-counters pc-table trace-compares; do
    counters="$counters -Cllvm-args=-sanitizer-coverage-$argument"
done
RUSTFLAGS="$counters" cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host"
failed=0
for target in $targets; do
    mkdir -p "fuzz/found/$target" fuzz/artifacts
    echo "fuzz $target for $seconds s"
    "fuzz/target/$host/release/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=8192 -print_final_stats=1 -artifact_prefix="fuzz/artifacts/$target-" \
        "fuzz/found/$target" "fuzz/corpus/$target" 2>fuzz/found/$target.log || failed=1
    sed -n 's/^stat::number_of_executed_units: */  inputs: /p; /ERROR\|SUMMARY\|panicked/p' \
        "fuzz/found/$target.log"
    sed -n 's/.*cov: \([0-9]*\) .*/\1/p' "fuzz/found/$target.log" | tail -1 | sed 's/^/  edges: /'
done
exit $failed
