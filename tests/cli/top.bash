# Sourced first by every test here, so that it also runs by hand and from any directory: goes to
# the top of the source tree; B is the build directory; fail and skip end the test, saying why.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export B=${B:-build} NO_COLOR=1
fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "$*"; exit 77; }
