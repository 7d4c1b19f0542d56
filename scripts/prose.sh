#!/usr/bin/env bash
# Finds phrases that a native technical writer would not use in README.md, other pages of the root, and docs/. Prints
# file, line and what to write instead. Text and tables are checked, code is not. Passing does not make prose good: read
# it aloud.
#
#   scripts/prose.sh [FILE..]
set -euo pipefail

cd "$(dirname "$0")/.."

# An extended regular expression for lower-case words, and the advice.
rules=$(cat <<'END'
can not                                  => cannot
(is|are|was|were|be|been) no [a-z]+      => is not a ..
none of                                  => no .., not ..
no such                                  => name the thing: .. does not exist
anew|once more                           => again
, of which|of which (the|all|each)       => a second sentence
in (the|its|their) place                 => instead of ..
(inside|outside) of                      => inside, outside
stands|stood                             => is, means
, else                                   => , otherwise
(if|when) left out|unless told otherwise => by default
go on|goes on|went on|going on           => continue
(take|takes|taken) away                  => remove
(has|have) to be                         => must be
what [a-z]+ (come|comes|came) to         => the result of ..
what (is|are|was|were) [a-z]+ (is|are)   => name the thing: the missing proofs are ..
END
)

files=("$@")
if [ ${#files[@]} = 0 ]; then
    mapfile -t files < <(printf '%s\n' ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md && find docs -name '*.md' -not -path 'docs/book/*' | sort)
fi

# A phrase may begin at the end of a line, so the last words of the previous line are put before each line.
RULES=$rules awk '
    BEGIN {
        n = split(ENVIRON["RULES"], line, "\n")
        for (i = 1; i <= n; i++) { split(line[i], cell, / *=> */); rule[i] = cell[1]; advice[i] = cell[2] }
    }
    FNR == 1 { tail = ""; fence = 0 }
    /^ *```/ { fence = !fence; tail = ""; next }
    fence { next }
    # These queries contain sentences of the program, which a test compares.
    FILENAME == "docs/sql.md" && /^\| `/ { tail = ""; next }
    {
        gsub(/`[^`]*`|\]\([^)]*\)/, " x "); text = tolower($0); gsub(/[^a-z0-9.,;:?!-]+/, " ", text); gsub(/^ | $/, "", text)
        gsub(/there (is|are|was|were) no/, "there x no", text); gsub(/(is|are) no longer/, "x", text)
        gsub(/[.,;:?!]/, " &", text); text = " " tail " " text " "
        for (i = 1; i <= n; i++) if (match(text, " (" rule[i] ") ") && RSTART + RLENGTH - 1 > length(tail) + 2) {
            printf "%s:%d: \"%s\": %s\n", FILENAME, FNR, substr(text, RSTART + 1, RLENGTH - 2), advice[i]; bad = 1
        }
        count = split(text, word, " "); tail = count > 1 ? word[count - 1] " " word[count] : word[count]
    }
    END { exit bad }
' "${files[@]}" && echo "prose: ${#files[@]} files, no phrase to replace"
