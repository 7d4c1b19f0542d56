#!/bin/sh
# Makes examples/data/birdstrikes.csv from the file of the npm package vega-datasets 3.2.1.
#
#   npm pack vega-datasets@3.2.1 && tar -xzf vega-datasets-3.2.1.tgz
#   scripts/prepare-birdstrikes.sh package/data/birdstrikes.csv > examples/data/birdstrikes.csv
#
# Rows keep their order, since a row's number is its position in the committed vector. The column of the operator is
# left out, so that the table stays below 1 MiB. Headings become short names. Dates become numbers (1990-01-08 is
# 19900108), so that they compare as numbers. Lines end in LF. No field of the source contains a quote or a comma.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 FILE (data/birdstrikes.csv of vega-datasets 3.2.1)" >&2; exit 2; }
want=45777edf69984b37599e73dbfb34dbc976055243547407214261a4fcb9466462
got=$(sha256sum "$1" | cut -d ' ' -f 1)
[ "$got" = "$want" ] || { echo "$1: SHA-256 is $got, not $want: take the file of version 3.2.1" >&2; exit 1; }

awk -F, -v OFS=, '
{ sub(/\r$/, "") }
NR == 1 {
    print "airport", "aircraft", "damage", "date", "state", "phase", "size", "species", "time_of_day", \
          "cost_other", "cost_repair", "cost_total", "speed_kn"
    next
}
NF != 14 { printf "line %d has %d fields, not 14\n", NR, NF > "/dev/stderr"; exit 1 }
{
    gsub("-", "", $4)
    print $1, $2, $3, $4, $6, $7, $8, $9, $10, $11, $12, $13, $14
}' "$1"
