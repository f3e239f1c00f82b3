#!/bin/sh
# Random scenarios for so many minutes, `scripts/soak.sh MINUTES [SEED]`: half of the time in the checked
# build (overflow and debug assertions), half in the build that users have. The seed is that of the clock
# unless it is given, and stands in every message. Findings are reduced scenario files in out/soak.
set -eu
cd "$(dirname "$0")/.."
minutes=$1
seed=${2:-$(date +%s)}
half=$(((minutes + 1) / 2))
failed=0
for profile in dev engine; do
    echo "soak: profile $profile, seed $seed, $half minutes"
    cargo build --quiet --profile "$profile" --workspace --bin soak
    folder=target/$([ "$profile" = dev ] && echo debug || echo "$profile")
    "$folder/soak" --minutes "$half" --seed "$seed" --out "out/soak/$profile" || failed=1
    seed=$((seed + 1))
done
exit $failed
