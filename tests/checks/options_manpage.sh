#!/usr/bin/env bash
# The man pages and --help say the same: every option, command and environment variable of one is in the other, and the
# page begins to explain it with the words of the help. --help comes from the table in launch/options.c.
set -euo pipefail

# "name<tab>Words of the help, without the default" for each row of --help.
from_help() {
    awk '
        /^(options|commands|environment):$/ { wanted = 1; next }
        /^[a-z]/ { wanted = 0 }
        wanted && /^  / {
            name = substr($0, 3, 22); help = substr($0, 26)
            gsub(/^ +| +$/, "", name); sub(/,  *--/, " --", name); sub(/ \(default: .*/, "", help)
            print name "\t" toupper(substr(help, 1, 1)) substr(help, 2)
        }' "$1" | sort
}

# "name<tab>all text" for each .TP of those sections of a man page.
from_page() {
    awk '
        function flush() { if (name != "") print name "\t" text; name = text = "" }
        { gsub(/\\f[IR]/, ""); gsub(/\\-/, "-"); gsub(/"/, ""); gsub(/  +/, " ") }
        /^\.SH/ { flush(); wanted = /OPTIONS|COMMANDS|ENVIRONMENT/; next }
        /^\.TP/ { flush(); tag = wanted; next }
        tag { name = $0; sub(/^\.BR? /, "", name); gsub(/ *,? +/, " ", name); tag = 0; next }
        name != "" { sub(/^\.BR? /, ""); text = text (text == "" ? "" : " ") $0 }
        END { flush() }' "$1" | sort
}

# Print the disagreements; status 1 when there are any.
compare() {
    local bad=0 name help text
    if ! diff <(from_help "$1" | cut -f1) <(from_page "$2" | cut -f1); then
        bad=1
    fi
    while IFS=$'\t' read -r name help; do
        text=$(from_page "$2" | awk -F'\t' -v name="$name" '$1 == name { print $2 }')
        if [[ "$text" != "$help"* && "$text" != "" ]]; then
            echo "$name: '$text' does not begin with '$help'"
            bad=1
        fi
    done < <(from_help "$1")
    return $bad
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for program in gsrt-launch gsrt; do
    "$GSRT_BUILDDIR/tests/launch/options_test" --help-of "$program" >"$work/help"
    page="$GSRT_SRCDIR/launch/$program.1"
    # First show that the check can fail: an option less, and another word.
    grep -v -e '--json' "$work/help" >"$work/less"
    sed 's/print the version/show the version/' "$work/help" >"$work/other"
    for planted in less other; do
        if compare "$work/$planted" "$page" >/dev/null; then
            echo "this check is broken: it did not see the planted '$planted' of $program"
            exit 2
        fi
    done
    if ! compare "$work/help" "$page"; then
        echo "launch/$program.1 and '$program --help' disagree ('<': only in the help, '>': only in the page)"
        failed=1
    fi
done
exit $failed
