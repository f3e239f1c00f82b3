#!/bin/sh
# Random scenarios for some minutes, `scripts/soak.sh MINUTES [SEED]`: half of the time in the checked
# build (overflow and debug assertions), half in the build that users have. The seed is that of the clock
# unless it is given, and stands in every message. Findings are reduced scenario files in out/soak.
# First the property tests of all crates, ten times with other cases than those of `make test`.
set -eu
cd "$(dirname "$0")/.."
minutes=$1
seed=${2:-$(date +%s)}
half=$(((minutes + 1) / 2))
failed=0
mkdir -p out
cargo test --quiet --workspace --lib --test rfc --test engines --no-run
for _ in 1 2 3 4 5 6 7 8 9 10; do
    echo "soak: property tests, PROPTEST_RNG_SEED=$seed"
    PROPTEST_RNG_SEED=$seed cargo test --quiet --workspace --lib --test rfc --test engines >out/property-tests.txt 2>&1 || {
        cat out/property-tests.txt
        failed=1
    }
    seed=$((seed + 1))
done
for profile in dev engine; do
    echo "soak: profile $profile, seed $seed, $half minutes"
    cargo build --quiet --profile "$profile" --workspace --bin soak
    folder=target/$([ "$profile" = dev ] && echo debug || echo "$profile")
    "$folder/soak" --minutes "$half" --seed "$seed" --out "out/soak/$profile" || failed=1
    seed=$((seed + 1))
done
exit $failed
