# Sends one event through Kafka and reads its run back from the graph: roundtrip.sh SECONDS
set -eu
run=$(cat /proc/sys/kernel/random/uuid)
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
printf '{"eventType":"COMPLETE","eventTime":"%s","run":{"runId":"%s"},"job":{"namespace":"headwater","name":"helm-test"},"inputs":[],"outputs":[{"namespace":"headwater","name":"helm-test"}],"producer":"urn:headwater:helm-test","schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}\n' \
    "$now" "$run" | headwater emit -
end=$(($(date +%s) + $1))
until headwater run show "$run" --json; do
    if [ "$(date +%s)" -ge "$end" ]; then
        echo "the event was sent $1 s ago, and the graph does not have its run $run" >&2
        exit 1
    fi
    sleep 2
done
